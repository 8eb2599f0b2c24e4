//! Lengths of packets at each layer.

use std::collections::BTreeMap;

use crate::model::trials::Rates;
use crate::transform::size::ethernet::{FCS, HEADER, MINIMUM_WITHOUT_FCS, PREAMBLE_AND_IFG};
use crate::trials::read::Taps;
use crate::trials::read::kept::Share;

/// Octets around a flow's packets: before the IP header, and of the headers up to the payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Headers {
    pub(crate) link: u32,
    pub(crate) head: Option<u32>,
}

impl Default for Headers {
    /// Untagged Ethernet, IPv4 and UDP.
    fn default() -> Self {
        Self { link: HEADER, head: Some(28) }
    }
}

impl Headers {
    pub(crate) fn of(taps: &Taps, flow: u16) -> Self {
        taps.flows
            .all
            .get(usize::from(flow))
            .map_or_else(Self::default, |flow| Self { link: flow.link, head: flow.head })
    }

    /// Octets of a frame with FCS.
    pub(crate) fn l2(self, size: u16) -> u32 {
        (u32::from(size) + self.link).max(MINIMUM_WITHOUT_FCS) + FCS
    }
}

/// Sums of octets over packets: whole numbers, but where records stand for others of which a part came out.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Load {
    packets: f64,
    l1: f64,
    l2: f64,
    l3: f64,
    l4: f64,
    without_l4: f64,
}

impl Load {
    pub(crate) fn add(&mut self, headers: Headers, size: u16) {
        let filled = MINIMUM_WITHOUT_FCS.saturating_sub(u32::from(size) + headers.link);
        self.add_share(headers, Share::one(u32::from(size), filled), 1.0);
    }

    /// A part of the packets that a record stands for.
    pub(crate) fn add_share(&mut self, headers: Headers, share: Share, part: f64) {
        let packets = part * f64::from(share.frames);
        let l3 = part * f64::from(share.octets);
        let l2 = l3 + packets * f64::from(headers.link + FCS) + part * f64::from(share.others);
        self.packets += packets;
        self.l2 += l2;
        self.l1 += l2 + packets * PREAMBLE_AND_IFG as f64;
        self.l3 += l3;
        match headers.head {
            Some(head) => self.l4 += (l3 - packets * f64::from(head)).max(0.0),
            None => self.without_l4 += packets,
        }
    }

    /// Mean IP length.
    pub(crate) fn mean(&self) -> Option<f64> {
        (self.packets > 0.0).then(|| self.l3 / self.packets)
    }

    /// At a rate of frames per second.
    pub(crate) fn rates(&self, fps: Option<f64>) -> Option<Rates> {
        let fps = fps.filter(|_| self.packets > 0.0)?;
        let of = |octets: f64| fps * 8.0 * octets / self.packets;
        let l4_bps = (self.without_l4 == 0.0).then(|| of(self.l4));
        Some(Rates { fps, l1_bps: of(self.l1), l2_bps: of(self.l2), l3_bps: of(self.l3), l4_bps })
    }
}

/// The class of the sizes of a trial: one size, a mix of few, or random ones. `frames`: what each stands for; empty for one each. `least`:
/// from which size on one stands for others, too.
pub(crate) fn size_class(sizes: &[u16], frames: &[f64], least: &dyn Fn(u16) -> Option<u16>) -> String {
    let mut sums: BTreeMap<u16, f64> = BTreeMap::new();
    for (i, size) in sizes.iter().enumerate() {
        *sums.entry(*size).or_default() += frames.get(i).copied().unwrap_or(1.0);
    }
    let all: f64 = sums.values().sum();
    let counts: Vec<(u16, f64)> = sums.into_iter().collect();
    let name = |size: u16| match least(size).filter(|least| *least < size) {
        Some(least) => format!("{least}-{size}"),
        None => size.to_string(),
    };
    if let [(size, _)] = counts.as_slice() {
        return name(*size);
    }
    let common: Vec<&(u16, f64)> = counts.iter().filter(|(_, count)| count * 100.0 >= all).collect();
    let covered: f64 = common.iter().map(|(_, count)| count).sum();
    // A few packets beside a load are none of it.
    if let ([(size, _)], true) = (common.as_slice(), covered * 100.0 >= 95.0 * all) {
        return name(*size);
    }
    if (2..=8).contains(&common.len()) && covered * 100.0 >= 95.0 * all {
        let names: Vec<String> = common.iter().map(|(size, _)| name(*size)).collect();
        return format!("mix:{}", names.join(","));
    }
    "random".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_one_size_a_mix_or_random() {
        assert_eq!(size_class(&[512; 9], &[], &|_| None), "512");
        let imix: Vec<u16> = [40, 40, 576, 40, 1500, 576].repeat(50);
        assert_eq!(size_class(&imix, &[], &|_| None), "mix:40,576,1500");
        assert_eq!(size_class(&(64..1400).collect::<Vec<u16>>(), &[], &|_| None), "random");
        assert_eq!(size_class(&[vec![64; 998], vec![84, 98]].concat(), &[], &|_| None), "64");
        // A common size below 95 % beside rare ones is random.
        assert_eq!(size_class(&[vec![64; 90], (100..110).collect()].concat(), &[], &|_| None), "random");
    }
}

//! Lengths of packets at each layer.

use crate::model::trials::Rates;
use crate::transform::size::ethernet::{FCS, HEADER, MINIMUM_WITHOUT_FCS, PREAMBLE_AND_IFG};
use crate::trials::read::Taps;

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

/// Sums of octets over packets.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Load {
    packets: u64,
    l1: u64,
    l2: u64,
    l3: u64,
    l4: u64,
    without_l4: u64,
}

impl Load {
    pub(crate) fn add(&mut self, headers: Headers, size: u16) {
        let l2 = u64::from(headers.l2(size));
        self.packets += 1;
        self.l2 += l2;
        self.l1 += l2 + PREAMBLE_AND_IFG;
        self.l3 += u64::from(size);
        match headers.head {
            Some(head) => self.l4 += u64::from(u32::from(size).saturating_sub(head)),
            None => self.without_l4 += 1,
        }
    }

    /// Mean IP length.
    pub(crate) fn mean(&self) -> Option<f64> {
        (self.packets > 0).then(|| self.l3 as f64 / self.packets as f64)
    }

    /// At a rate of frames per second.
    pub(crate) fn rates(&self, fps: Option<f64>) -> Option<Rates> {
        let fps = fps.filter(|_| self.packets > 0)?;
        let of = |octets: u64| fps * 8.0 * octets as f64 / self.packets as f64;
        let l4_bps = (self.without_l4 == 0).then(|| of(self.l4));
        Some(Rates { fps, l1_bps: of(self.l1), l2_bps: of(self.l2), l3_bps: of(self.l3), l4_bps })
    }
}

/// The class of the sizes of a trial: one size, a mix of few, or random ones.
pub(crate) fn size_class(sizes: &[u16]) -> String {
    let mut sorted = sizes.to_vec();
    sorted.sort_unstable();
    let mut counts: Vec<(u16, usize)> = Vec::new();
    for size in sorted {
        match counts.last_mut() {
            Some((own, count)) if *own == size => *count += 1,
            _ => counts.push((size, 1)),
        }
    }
    if let [(size, _)] = counts.as_slice() {
        return size.to_string();
    }
    let common: Vec<&(u16, usize)> = counts.iter().filter(|(_, count)| count * 100 >= sizes.len()).collect();
    let covered: usize = common.iter().map(|(_, count)| count).sum();
    if (2..=8).contains(&common.len()) && covered * 100 >= 95 * sizes.len() {
        let names: Vec<String> = common.iter().map(|(size, _)| size.to_string()).collect();
        return format!("mix:{}", names.join(","));
    }
    "random".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_one_size_a_mix_or_random() {
        assert_eq!(size_class(&[512; 9]), "512");
        let imix: Vec<u16> = [40, 40, 576, 40, 1500, 576].repeat(50);
        assert_eq!(size_class(&imix), "mix:40,576,1500");
        assert_eq!(size_class(&(64..1400).collect::<Vec<u16>>()), "random");
        // A common size below 95 % beside rare ones is random.
        assert_eq!(size_class(&[vec![64; 90], (100..110).collect()].concat()), "random");
    }
}

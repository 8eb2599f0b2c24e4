//! What the pairs of each packet size add up to, as rows of the report.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::direction::times;
use crate::matching::measure::known::Known;
use crate::matching::measure::losses::Losses;
use crate::matching::measure::sizes::SizeTally;
use crate::matching::measure::tally::SaTally;
use crate::matching::packets::ledger::PairBasis;
use crate::matching::packets::mapping::Inside;
use crate::model::pairs::Size;
use crate::model::report::Parts;
use crate::transform::size::ethernet::l1_of_packet;

/// Octets of the longest packet that the shortest Ethernet frame holds.
const SHORTEST: u64 = 46;

/// A row for each size, also for those of which every packet was lost.
pub(super) fn size_rows(sa: &SaTally, at: u32, losses: &Losses, known: &Known, doubted: bool) -> Vec<Size> {
    let of = |from: (u32, u32)| from.0 == at;
    let lost = losses.missed_sizes.keys().chain(losses.ends.iter().flat_map(|ends| ends.sizes.keys()));
    let lost = lost.copied().filter(|key| of(*key)).map(|(_, bytes)| bytes);
    let all: BTreeSet<u32> = sa.sizes.iter().map(|(bytes, _)| bytes).chain(lost).collect();
    all.into_iter().map(|bytes| size_row(sa, at, bytes, losses, known, doubted)).collect()
}

/// Whether packets of several sizes have pairs by order that are mostly guesses: their lengths may be those of others.
fn has_guessed_sizes(sa: &SaTally) -> bool {
    sa.is_by_order() && sa.is_guessed() && sa.sizes.iter().nth(1).is_some()
}

fn size_row(sa: &SaTally, at: u32, bytes: u32, losses: &Losses, known: &Known, doubted: bool) -> Size {
    let size = sa.sizes.get(bytes);
    let frames = size.map_or(0, |size| size.frames);
    let missed = losses.missed_sizes.get(&(at, bytes)).copied().unwrap_or(0);
    let encapsulated = sa.encapsulated != Some(false);
    // Packets of the tunnel without a plaintext one are among those that were missed, of whichever size.
    let is_crossed = missed > 0 && sa.alone > 0 && sa.may_be_crossed();
    let before = (encapsulated && !doubted && !is_crossed).then_some(missed);
    let (lost_end_to_end, behind) = losses.behind(at, Some(bytes), before);
    let lost_behind_tunnel = behind.filter(|behind| !sa.may_be_before(*behind));
    let mtu = losses.mtus.get(&at).filter(|mtu| bytes > **mtu && encapsulated && missed > 0);
    // Lengths that decided which packets are pairs are no figures, nor are those of guesses among several sizes.
    let all_missed = losses.missed.get(&at).copied().unwrap_or(0);
    let told = size.filter(|_| !sa.is_chosen_by_mapping(all_missed) && !has_guessed_sizes(sa));
    let mean = told.map(|size| size.overhead_sum as f64 / frames.max(1) as f64);
    let predicted = told
        .filter(|size| size.predicted == size.frames && size.frames > 0)
        .map(|size| size.predicted_sum as f64 / frames as f64);
    let difference = predicted.zip(mean).map(|(predicted, mean)| mean - predicted);
    let l1_plain = l1_of_packet(bytes.into());
    let l1_tunnel = told.and_then(|size| l1_tunnel(size, f64::from(bytes) + mean?));
    Size {
        sa: sa.name.clone(),
        inner_bytes: bytes.into(),
        frames,
        outer_bytes_min: told.map(|size| size.outer.0),
        outer_bytes_max: told.map(|size| size.outer.1),
        overhead_min_bytes: told.map(|size| size.overhead.0),
        overhead_max_bytes: told.map(|size| size.overhead.1),
        overhead_of_inner_pct: mean.map(|mean| mean * 100.0 / f64::from(bytes.max(1))),
        l1_plain_bytes: Some(l1_plain),
        l1_tunnel_bytes: l1_tunnel,
        circuit_share_pct: l1_tunnel.map(|l1_tunnel| l1_plain as f64 * 100.0 / l1_tunnel),
        parts: told.and_then(|size| parts(bytes, size, known)),
        predicted_bytes: predicted.map(|predicted| predicted.round() as i64),
        difference_bytes: difference,
        difference_why: size.zip(difference).filter(|(_, difference)| difference.abs() > 1e-9).map(
            |(size, difference)| {
                Cow::Borrowed(if size.carried > 0 {
                    "padding of the plaintext frame is carried in the tunnel"
                } else if size.padded_further > 0 {
                    "the sender pads further than its cipher needs"
                } else if difference > 0.0 {
                    "longer than the transform needs: padding against traffic analysis, or other headers inside"
                } else {
                    "shorter than the transform makes it: compression, or a packet that is not the one that was paired"
                })
            },
        ),
        latency_ns: size.and_then(|size| size.times.as_ref()).and_then(times),
        lost_before_tunnel: before,
        lost_behind_tunnel,
        lost_end_to_end,
        icmp_mtu_bytes: mtu.map(|mtu| (*mtu).into()),
        loss_pct: (encapsulated && !doubted).then(|| missed as f64 * 100.0 / (frames + missed).max(1) as f64),
        basis: PairBasis::of_most(size.map_or(&sa.basis, |size| &size.basis)).unwrap_or(PairBasis::Order),
    }
}

/// Mean layer 1 octets of packets whose mean outer length is this. Fragments have frames of their own, of lengths that are not kept.
fn l1_tunnel(size: &SizeTally, outer: f64) -> Option<f64> {
    let whole = size.parts.fragmentation == 0;
    if size.outer.0 == size.outer.1 {
        return whole.then(|| l1_of_packet(size.outer.0) as f64);
    }
    // Above the shortest frame every octet counts.
    let (least, most) = (l1_of_packet(SHORTEST), l1_of_packet(SHORTEST + 1));
    let linear = whole && size.outer.0 >= SHORTEST && most > least;
    linear.then(|| outer + (least - SHORTEST) as f64)
}

/// What the overhead is made of. Of opaque ESP only where one transform alone makes the lengths.
fn parts(bytes: u32, size: &SizeTally, known: &Known) -> Option<Parts> {
    let frames = size.frames.max(1) as f64;
    let mean = |sum: u64| sum as f64 / frames;
    let sums = size.parts;
    let mut parts = Parts {
        outer_ip: mean(sums.outer_ip),
        udp: mean(sums.udp),
        tcp: mean(sums.tcp),
        gre: mean(sums.gre),
        ah: mean(sums.ah),
        esp_header: mean(sums.esp_header),
        iv: mean(sums.iv),
        esp_pad: mean(sums.esp_pad),
        esp_trailer: mean(sums.esp_trailer),
        icv: mean(sums.icv),
        fragmentation: mean(sums.fragmentation),
        ..Parts::default()
    };
    if let Some((least, most)) = size.esp {
        let family = known.family.filter(|_| least == most && size.basis == [0, 0, size.frames])?;
        let (ip, gre) = match known.inside? {
            Inside::Packet | Inside::IpInIp => (0, 0),
            Inside::Gre(gre) => (0, gre),
            Inside::Ah(_) => return None,
            Inside::Tunnel(ip, gre) => (ip, gre),
            // The packet's own header stands outside and is no overhead.
            Inside::Payload(header) => {
                parts.outer_ip -= f64::from(header);
                (0, 0)
            }
        };
        let content = match known.inside? {
            Inside::Payload(header) => bytes.checked_sub(header)?,
            _ => bytes.checked_add(ip + gre)?,
        };
        let fixed = 8 + 2 + family.iv + family.icv;
        parts.outer_ip += f64::from(ip);
        parts.gre += f64::from(gre);
        parts.esp_header = 8.0;
        parts.iv = f64::from(family.iv);
        parts.esp_trailer = 2.0;
        parts.icv = f64::from(family.icv);
        parts.esp_pad = f64::from(least.checked_sub(content)?.checked_sub(fixed)?);
    }
    Some(parts)
}

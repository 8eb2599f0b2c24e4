//! What other protocols have where ESP has its SPI and its number: words that never change, and lengths.

use std::collections::{BTreeMap, BTreeSet};

use super::may_be_foreign;
use crate::analysis::finish::tap::SaView;
use crate::analysis::state::sa::sas::SaState;
use crate::analysis::state::sa::sizes::Sizes;
use crate::model::{Address, SaKey, Spi, Timestamp};
use crate::transform::iv::IvPattern;

/// The SPIs of one way, each with its least number and the lengths of its outer packets.
pub(super) type Lengths = BTreeMap<Spi, (Option<u32>, BTreeSet<u32>)>;

/// The lengths of the packets of SAs in UDP, by way.
pub(super) fn lengths(sas: &[SaView<'_>], sizes: &Sizes) -> BTreeMap<(Address, Address), Lengths> {
    let mut keys: BTreeMap<u32, &SaKey> = BTreeMap::new();
    let mut lengths: BTreeMap<(Address, Address), Lengths> = BTreeMap::new();
    for sa in sas.iter().filter(|sa| may_be_foreign(sa)) {
        keys.insert(sa.id, &sa.key);
        let own = lengths.entry((sa.key.src, sa.key.dst)).or_default().entry(sa.key.spi).or_default();
        own.0 = sa.state.sequence.first_range().map(|(least, _)| least);
    }
    for (cell, _) in sizes.opaque.iter() {
        let Some(key) = keys.get(&cell.sa) else { continue };
        let whole = cell.outer_bytes.saturating_sub(added_by_fragments(key.src, cell.fragments));
        lengths.entry((key.src, key.dst)).or_default().entry(key.spi).or_default().1.insert(whole);
    }
    lengths
}

/// Octets of headers by which the fragments of a packet are longer than the packet (RFC 791 section 3.2, RFC 8200 section 4.5).
fn added_by_fragments(src: Address, fragments: u32) -> u32 {
    match fragments {
        0 | 1 => 0,
        n if src.is_v4() => 20 * (n - 1),
        n => 40 * (n - 1) + 8 * n,
    }
}

/// Whether the second half of each SPI is the length of its packets, but for what the headers take: TURN channel data (RFC 8656 section
/// 12.4) or IPFIX (RFC 7011 section 3.1). One SPI may be so by chance, and is one where all packets are of one length, unless the number is
/// what channel data or IPFIX have there as well.
pub(super) fn spell_lengths(spis: &Lengths) -> bool {
    /// Of fewer lengths it may be chance.
    const LEAST: usize = 3;
    let mut headers = BTreeSet::new();
    for (spi, (_, lengths)) in spis {
        let (kind, length) = (spi.0 >> 16, spi.0 & 0xffff);
        let (Some(outer), 1, true) = (lengths.first(), lengths.len(), kind >> 12 == 4 || kind == 10) else {
            return false;
        };
        headers.insert(i64::from(*outer) - i64::from(length));
    }
    let known = || spis.iter().all(|(spi, (number, _))| number.is_some_and(|number| is_behind_a_length(*spi, number)));
    headers.len() == 1 && (spis.len() >= LEAST || known())
}

/// Whether `number` is what follows the length: in channel data an RTP header (RFC 3550 section 5.1), in IPFIX a time of this century in seconds.
fn is_behind_a_length(spi: Spi, number: u32) -> bool {
    const CENTURY: std::ops::Range<u32> = 946_684_800..u32::MAX;
    if spi.0 >> 28 == 4 { number >> 30 == 2 } else { CENTURY.contains(&number) }
}

/// Whether a first word is the second of its first packet, or the word behind the number the second of each packet: traffic generators (iperf3)
/// and exports of flows (NetFlow, RFC 3954 section 5.1) tell the time there. Of random SPIs one in seven million does.
pub(super) fn tells_the_time(spi: Spi, state: &SaState) -> bool {
    /// How far clocks may be apart, in seconds.
    const APART: i64 = 300;
    /// Fewer words may be near by chance.
    const LEAST: usize = 3;
    let Some(ends) = state.seen.ends() else { return false };
    let second = |time: Timestamp| time.ns().map(|ns| ns.div_euclid(1_000_000_000));
    let (Some(first), Some(last)) = (second(ends.first_time), second(ends.last_time)) else { return false };
    let samples = state.evidence.ivs();
    let near = |word: u64, last: i64| (first - APART..=last + APART).contains(&(word as i64));
    near(spi.0.into(), first) || samples.len() >= LEAST && samples.iter().all(|sample| near(sample.octets >> 32, last))
}

/// Whether the payload after the number is a structure, text or samples in clear. Ciphertext and IP packets in ESP-NULL are not.
/// `may_be_tcp`: nothing else would have shown that it is TCP in ESP-NULL.
pub(super) fn is_structured(state: &SaState, is_length: impl Fn(u32) -> bool, may_be_tcp: bool) -> bool {
    let samples = state.evidence.ivs();
    let changes = samples.iter().zip(samples.iter().skip(1)).any(|(a, b)| a.octets != b.octets);
    let is_clear = IvPattern::is_clear(&samples)
        || IvPattern::is_clear_udp(&samples, is_length)
        || may_be_tcp && changes && IvPattern::is_clear_tcp(&samples)
        || state.evidence.is_of_a_protocol();
    state.evidence.is_structured() && !is_clear
}

/// Whether the word behind the number is the same in all packets, and what follows it never changes either, or as random octets do: that is no
/// IV, which counts as a whole, and no packet in clear.
pub(super) fn has_a_constant(state: &SaState, is_length: impl Fn(u32) -> bool) -> bool {
    /// Fewer packets may agree by chance.
    const LEAST: usize = 3;
    /// Two random words differ in at least so many bits, but for one pair in a thousand. Two values of a counter hardly ever do.
    const DIFFERENT: u32 = 8;
    let samples = state.evidence.ivs();
    let words = || samples.iter().map(|sample| sample.octets >> 32);
    let first = words().next().filter(|word| *word != 0);
    let mut changes =
        samples.iter().zip(samples.iter().skip(1)).map(|(a, b)| ((a.octets ^ b.octets) as u32).count_ones());
    samples.len() >= LEAST
        && changes.all(|bits| bits == 0 || bits >= DIFFERENT)
        && first.is_some_and(|first| words().all(|word| word == first))
        && !matches!(IvPattern::of(&samples), IvPattern::Counter | IvPattern::SequenceXor)
        && !IvPattern::is_clear(&samples)
        && !IvPattern::is_clear_udp(&samples, is_length)
        && !state.evidence.is_of_a_protocol()
}

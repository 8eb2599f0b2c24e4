//! Which length a packet has in ESP: the arithmetic that tells which packets can be which.

mod of_sas;

use std::collections::BTreeMap;

pub(in crate::matching) use self::of_sas::Mappings;
use crate::model::Address;
use crate::transform::inference::{self, Catalogue, Family};
use crate::transform::iv::IvPattern;
use crate::transform::size::layers::{ESP_HEADER, ESP_TRAILER};

/// From the length of a packet to that of the ESP around it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::matching) struct Mapping {
    /// Block, IV and ICV of the transform.
    pub(in crate::matching) family: Family,
    /// What is inside ESP besides the packet.
    pub(in crate::matching) inside: Inside,
    /// Least length of ESP where the sender fills up against traffic analysis (RFC 4303 section 2.7), 0 for none.
    pub(in crate::matching) floor: u32,
}

/// What is inside ESP besides the packet, or of the packet not inside.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::matching) enum Inside {
    /// The packet alone: tunnel mode.
    Packet,
    /// The packet alone, too, but of IP in IP in transport mode: on the wire the same as tunnel mode (RFC 3884 section 3).
    IpInIp,
    /// GRE in transport mode, with the length of its header in bytes.
    Gre(u32),
    /// AH around the packet in transport mode, with the length of its header in bytes: to lengths the same as a tunnel in tunnel mode.
    Ah(u32),
    /// A tunnel in tunnel mode: the lengths in bytes of its own IP header and of GRE.
    Tunnel(u32, u32),
    /// Transport mode: the packet without its IP header, with the length of that in bytes.
    Payload(u32),
}

impl Inside {
    /// What may be inside the ESP of an SA between these addresses, the commonest first, each with what it loses in bits: a judgement that
    /// only orders what lengths leave open, as that of the catalogue of transforms.
    ///
    /// In transport mode the addresses of a packet are those of the SA (RFC 4301 section 3.2); `shared` says how many are. A translation on
    /// the way may change one of them.
    pub(in crate::matching) fn possible(src: Address, shared: SharedAddresses) -> Vec<(i32, Self)> {
        let header = Self::Payload(if src.is_v4() { 20 } else { 40 });
        let payload = match shared {
            SharedAddresses::Both => Some((0, header)),
            SharedAddresses::One => Some((-3, header)),
            SharedAddresses::None => None,
        };
        // Nothing that is sent tells IP in IP from tunnel mode: it is what was meant only where transport mode is stated.
        let carried = [
            (-2 * inference::MARGIN, Self::IpInIp),
            (-2, Self::Gre(4)),
            (-4, Self::Tunnel(20, 4)),
            (-4, Self::Gre(8)),
            (-6, Self::Tunnel(20, 0)),
            (-6, Self::Tunnel(20, 8)),
            (-6, Self::Ah(24)),
            (-6, Self::Ah(28)),
        ];
        [(0, Self::Packet)].into_iter().chain(payload).chain(carried).collect()
    }

    /// Whether ESP is in transport mode.
    pub(in crate::matching) const fn transport(self) -> bool {
        matches!(self, Self::IpInIp | Self::Gre(_) | Self::Ah(_) | Self::Payload(_))
    }

    /// Octets that ESP has inside beyond those of the packet.
    pub(in crate::matching) const fn extra(self) -> i32 {
        match self {
            Self::Packet | Self::IpInIp => 0,
            Self::Gre(bytes) | Self::Ah(bytes) => bytes as i32,
            Self::Tunnel(ip, gre) => (ip + gre) as i32,
            Self::Payload(header) => -(header as i32),
        }
    }
}

impl Inside {
    /// In words: how many bytes of a header, and around which.
    const fn words(self) -> (Option<u32>, &'static str) {
        match self {
            Self::Packet => (None, "tunnel mode"),
            Self::IpInIp => (None, "IP in IP in transport mode"),
            Self::Payload(_) => (None, "transport mode"),
            Self::Gre(bytes) => (Some(bytes), "GRE in transport mode"),
            Self::Ah(bytes) => (Some(bytes), "AH in transport mode"),
            Self::Tunnel(_, 0) => (None, "IP in IP in tunnel mode"),
            Self::Tunnel(_, bytes) => (Some(bytes), "GRE in tunnel mode"),
        }
    }

    /// All of them in words: `in tunnel mode or in 4 or 8 bytes of GRE in transport mode`.
    pub(in crate::matching) fn names(all: &[Self]) -> String {
        let mut kinds: Vec<(&str, Vec<String>)> = Vec::new();
        for (bytes, around) in all.iter().map(|inside| inside.words()) {
            let bytes = bytes.map(|bytes| bytes.to_string());
            match kinds.iter_mut().find(|(other, _)| *other == around) {
                Some((_, own)) => own.extend(bytes),
                None => kinds.push((around, bytes.into_iter().collect())),
            }
        }
        let name = |(around, bytes): &(&str, Vec<String>)| match bytes.as_slice() {
            [] => format!("in {around}"),
            bytes => format!("in {} bytes of {around}", bytes.join(" or ")),
        };
        kinds.iter().map(name).collect::<Vec<_>>().join(" or ")
    }
}

impl Mapping {
    /// Whether ESP can have this length at all: a number of blocks, or any length up to the floor that TFC padding fills up to.
    pub(in crate::matching) fn allows(&self, esp: u32) -> bool {
        esp <= self.floor || self.family.allows(esp, self.family.block)
    }

    /// Length of ESP (header to ICV) around a packet of this length.
    pub(in crate::matching) fn esp(&self, inner: u32) -> Option<u32> {
        let content = inner.checked_add_signed(self.inside.extra())?.checked_add(ESP_TRAILER as u32)?;
        let fixed = ESP_HEADER as u32 + self.family.iv + self.family.icv;
        Some(content.checked_next_multiple_of(self.family.block.max(1))?.checked_add(fixed)?.max(self.floor))
    }
}

/// How many of the addresses of an SA packets have themselves.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::matching) enum SharedAddresses {
    /// None: they are of other hosts.
    None,
    /// The source or the destination.
    One,
    /// Both: they are of the SA's own hosts.
    Both,
}

impl SharedAddresses {
    pub(in crate::matching) const fn of(source: bool, destination: bool) -> Self {
        match (source, destination) {
            (true, true) => Self::Both,
            (false, false) => Self::None,
            _ => Self::One,
        }
    }
}

/// How many packets have which length.
pub(in crate::matching) type Lengths = BTreeMap<u32, u32>;

/// The mapping that makes the most of these ESP lengths out of these packets, and the share of ESP packets that it makes.
///
/// Only lengths are compared, not their order, so it needs no pairs. Among equals the likeliest counts. `possible`: what may be inside.
pub(in crate::matching) fn fit(
    plain: &Lengths,
    esp: &Lengths,
    (catalogue, iv): (&Catalogue, IvPattern),
    possible: &[(i32, Inside)],
) -> Option<(Mapping, f64)> {
    let distinct: Vec<u32> = esp.keys().copied().collect();
    // Either side may have packets that the other lacks.
    let total: u32 = esp.values().sum::<u32>().min(plain.values().sum());
    let floor = tfc_floor(esp);
    let mut best: Option<(Mapping, u32)> = None;
    for floor in [0, floor.unwrap_or(0)] {
        let considered: Vec<u32> = distinct.iter().copied().filter(|length| *length > floor || floor == 0).collect();
        let considered = if considered.is_empty() { &distinct } else { &considered };
        for (_, inside, family) in candidates(catalogue.weighed(considered, iv), possible) {
            let mapping = Mapping { family, inside, floor };
            let made = made(&mapping, plain, esp);
            if made > 0 && best.is_none_or(|(_, most)| made > most) {
                best = Some((mapping, made));
            }
        }
        // Fillings are looked for only where padding to blocks does not explain the lengths.
        if floor == 0 && best.is_some_and(|(_, made)| f64::from(made) >= 0.9 * f64::from(total)) {
            break;
        }
    }
    best.map(|(mapping, made)| (mapping, f64::from(made) / f64::from(total.max(1))))
}

/// All that may be inside with all families, the likeliest first, each with its evidence in bits.
pub(in crate::matching) fn candidates(
    families: Vec<(i32, Family)>,
    possible: &[(i32, Inside)],
) -> Vec<(i32, Inside, Family)> {
    let with = |(own, family): (i32, Family)| possible.iter().map(move |(bits, inside)| (own + bits, *inside, family));
    let mut all: Vec<(i32, Inside, Family)> = families.into_iter().flat_map(with).collect();
    all.sort_by_key(|(bits, ..)| std::cmp::Reverse(*bits));
    all
}

/// The mapping that somebody stated, and the share of packets that it makes, of those that could have a counterpart.
///
/// A transform and its mode leave open what else is inside: transport mode may protect the packet or a tunnel that carries it. Of what the
/// mode allows, that counts which makes the most.
pub(in crate::matching) fn stated(
    given: &Mapping,
    plain: &Lengths,
    esp: &Lengths,
    possible: &[(i32, Inside)],
) -> (Mapping, f64) {
    let total = esp.values().sum::<u32>().min(plain.values().sum());
    let share = |mapping: &Mapping| f64::from(made(mapping, plain, esp)) / f64::from(total.max(1));
    let mut best = (*given, share(given));
    let of_mode = possible.iter().map(|(_, inside)| *inside);
    for inside in of_mode.filter(|inside| inside.transport() == given.inside.transport()) {
        let mapping = Mapping { inside, ..*given };
        let share = share(&mapping);
        if share > best.1 {
            best = (mapping, share);
        }
    }
    best
}

/// How many of the ESP packets the mapping makes out of the packets, each used once.
fn made(mapping: &Mapping, plain: &Lengths, esp: &Lengths) -> u32 {
    let mut left = esp.clone();
    let mut made = 0;
    for (&inner, &count) in plain {
        if let Some(there) = mapping.esp(inner).and_then(|length| left.get_mut(&length)) {
            let taken = count.min(*there);
            *there -= taken;
            made += taken;
        }
    }
    made
}

/// The least length, if a quarter of the packets have it, as where a sender pads all short packets up to it.
fn tfc_floor(esp: &Lengths) -> Option<u32> {
    let (&least, &count) = esp.first_key_value()?;
    let total: u32 = esp.values().sum();
    (count * 4 >= total && total >= 4).then_some(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(of: impl IntoIterator<Item = u32>) -> Lengths {
        let mut lengths = Lengths::new();
        of.into_iter().for_each(|length| *lengths.entry(length).or_default() += 1);
        lengths
    }

    /// All that may be inside between hosts of IPv4.
    fn all() -> Vec<(i32, Inside)> {
        Inside::possible(Address::v4([192, 0, 2, 1]), SharedAddresses::Both)
    }

    const AES_CBC_SHA1: Family = Family { block: 16, iv: 16, icv: 12 };
    const SIZES: [u32; 9] = [40, 52, 77, 128, 301, 576, 702, 1_013, 1_400];

    fn fitted(mapping: Mapping, iv: IvPattern) -> Mapping {
        let esp = lengths(SIZES.iter().filter_map(|inner| mapping.esp(*inner)));
        let (found, share) = fit(&lengths(SIZES), &esp, (&Catalogue::new(), iv), &all()).expect("something fits");
        assert!(share > 0.99, "{share}");
        found
    }

    #[test]
    fn lengths_tell_what_is_around_and_inside() {
        for inside in [Inside::Packet, Inside::Gre(4), Inside::Payload(20), Inside::Tunnel(20, 4)] {
            let mapping = Mapping { family: AES_CBC_SHA1, inside, floor: 0 };
            let found = fitted(mapping, IvPattern::Random);
            for inner in 40..1_500 {
                assert_eq!(found.esp(inner), mapping.esp(inner), "{inside:?} {found:?}");
            }
        }
    }

    #[test]
    fn a_stated_mode_leaves_open_what_else_is_inside() {
        for (_, inside) in all() {
            let made = Mapping { family: AES_CBC_SHA1, inside, floor: 0 };
            let esp = lengths(SIZES.iter().filter_map(|inner| made.esp(*inner)));
            let mode = |transport| if transport { Inside::Payload(20) } else { Inside::Packet };
            let given = Mapping { inside: mode(inside.transport()), ..made };
            let (found, share) = stated(&given, &lengths(SIZES), &esp, &all());
            assert!(share > 0.99 && found.inside.transport() == inside.transport(), "{inside:?}: {found:?} {share}");
            for inner in SIZES {
                assert_eq!(found.esp(inner), made.esp(inner), "{inside:?} {found:?}");
            }
            // A transform that makes none of the lengths stays as it was said, and makes nothing.
            let other = Mapping { family: Family { block: 4, iv: 8, icv: 2_000 }, ..given };
            assert_eq!(stated(&other, &lengths(SIZES), &esp, &all()), (other, 0.0));
        }
    }

    #[test]
    fn transport_mode_is_looked_for_with_the_header_of_the_addresses() {
        let hosts = [Address::v4([192, 0, 2, 1]), Address::v6([0x20; 16])];
        for (src, header) in hosts.into_iter().zip([20, 40]) {
            for shared in [SharedAddresses::None, SharedAddresses::One, SharedAddresses::Both] {
                let all = Inside::possible(src, shared);
                let payloads: Vec<Inside> =
                    all.iter().map(|(_, inside)| *inside).filter(|own| matches!(own, Inside::Payload(_))).collect();
                let expected = if shared == SharedAddresses::None { vec![] } else { vec![Inside::Payload(header)] };
                assert_eq!(payloads, expected, "{src} {shared:?}");
            }
        }
    }

    #[test]
    fn ciphers_that_are_hardly_met_come_last() {
        // 200 octets of IPv6 in transport mode with AES-GCM-16, and IPv4 of many sizes, which fit a cipher without IV in GRE.
        let gcm = Family { block: 4, iv: 8, icv: 16 };
        let sizes: [(Address, u32, &[u32]); 2] =
            [(Address::v6([0x20; 16]), 40, &[200]), (Address::v4([192, 0, 2, 1]), 20, &SIZES)];
        for (src, header, sizes) in sizes {
            let mapping = Mapping { family: gcm, inside: Inside::Payload(header), floor: 0 };
            let esp = lengths(sizes.iter().filter_map(|inner| mapping.esp(*inner)));
            let possible = Inside::possible(src, SharedAddresses::Both);
            let plain = lengths(sizes.iter().copied());
            let found = fit(&plain, &esp, (&Catalogue::new(), IvPattern::SequenceXor), &possible);
            assert_eq!(found, Some((mapping, 1.0)), "{src}");
        }
    }

    #[test]
    fn names_say_each_kind_once() {
        let all = [Inside::Packet, Inside::Gre(4), Inside::Ah(24), Inside::Gre(8)];
        assert_eq!(
            Inside::names(&all),
            "in tunnel mode or in 4 or 8 bytes of GRE in transport mode or in 24 bytes of AH in transport mode"
        );
    }

    #[test]
    fn filling_up_is_found() {
        let gcm = Mapping { family: Family { block: 4, iv: 8, icv: 16 }, inside: Inside::Packet, floor: 1_036 };
        assert_eq!(gcm.esp(64), Some(1_036));
        assert_eq!(fitted(gcm, IvPattern::SequenceXor), gcm);
    }

    #[test]
    fn documents_lengths() {
        // The Cisco 892 document: 64 octets in ESP-DES-MD5 are 120 with the outer header, in AES-128-CBC with SHA-1 136.
        let des = Mapping { family: Family { block: 8, iv: 8, icv: 12 }, inside: Inside::Packet, floor: 0 };
        assert_eq!(des.esp(64), Some(100));
        assert_eq!(Mapping { family: AES_CBC_SHA1, inside: Inside::Packet, floor: 0 }.esp(64), Some(116));
        assert_eq!(Mapping { family: AES_CBC_SHA1, inside: Inside::Payload(40), floor: 0 }.esp(20), None);
    }
}

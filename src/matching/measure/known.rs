//! What pairs say about the transform of an SA.

use std::sync::Arc;

use super::tally::SaTally;
use crate::matching::TunnelKey;
use crate::matching::packets::mapping::{Inside, Mapping, SharedAddresses, candidates};
use crate::matching::packets::prefix::Prefix;
use crate::model::Protocol;
use crate::model::report::{Name, SaMode, TransformBasis, TransformReport};
use crate::transform::Esp;
use crate::transform::inference::{self, Catalogue, Family, family_name};
use crate::transform::iv::{IvPattern, IvSample};

/// What the pairs of an SA say about its transform.
pub(in crate::matching) struct Known {
    pub(in crate::matching) report: TransformReport,
    pub(in crate::matching) mode: SaMode,
    /// The family, where all that fit agree on IV and ICV.
    pub(in crate::matching) family: Option<Family>,
    pub(in crate::matching) inside: Option<Inside>,
}

impl Known {
    /// `ivs`: the eight octets behind the ESP header, of the first packets.
    pub(in crate::matching) fn of(sa: &SaTally, missed: u64, catalogue: &Catalogue, ivs: &[IvSample]) -> Self {
        let iv = IvPattern::of(ivs);
        let Some(mapping) = sa.mapping.filter(|_| sa.sizes.iter().any(|(_, size)| size.esp.is_some())) else {
            return Self::visible(sa);
        };
        if sa.is_chosen_by_mapping(missed) {
            return Self::chosen(sa.matched);
        }
        let lengths: Vec<(u32, u32)> =
            sa.sizes.iter().filter_map(|(inner, size)| Some((inner, size.esp.filter(|(a, b)| a == b)?.0))).collect();
        let fitting = Fitting::of(sa, mapping, &lengths, (catalogue, iv));
        let first = fitting.families.first().copied();
        if first.is_some_and(|first| may_be_null(first, ivs, iv)) {
            return Self::open(&fitting, lengths.len());
        }
        let usual = first.filter(|first| !catalogue.is_rare(*first));
        let all = |same: &dyn Fn(&Family, &Family) -> bool| {
            first.is_some_and(|first| fitting.families.iter().all(|family| same(&first, family)))
        };
        let same_cipher = all(&|a, b| (a.block, a.iv) == (b.block, b.iv));
        let same_icv = all(&|a, b| a.icv == b.icv);
        let candidates: Vec<Name> = catalogue.members(&fitting.families).map(|esp| esp.to_string().into()).collect();
        let name =
            usual.filter(|_| same_cipher).map(|first| Name::from(family_name(first, same_icv.then_some(first.icv))));
        Self {
            report: TransformReport {
                basis: if first.is_some() { TransformBasis::Inferred } else { TransformBasis::Unknown },
                name,
                candidates: Arc::from(candidates),
                evidence: Some(fitting.evidence(lengths.len(), first.is_some() && usual.is_none()).into()),
                ..TransformReport::default()
            },
            mode: fitting.mode(),
            family: usual.filter(|_| fitting.single),
            inside: fitting.insides.first().copied(),
        }
    }

    /// Lengths that ESP which does not encrypt makes, too.
    fn open(fitting: &Fitting, sizes: usize) -> Self {
        let evidence = format!(
            "{} So does ESP that does not encrypt (ESP-NULL), and what was captured of the content does not tell it from ciphertext.",
            fitting.evidence(sizes, false)
        );
        let report = TransformReport {
            basis: TransformBasis::Unknown,
            evidence: Some(evidence.into()),
            ..TransformReport::default()
        };
        Self { report, mode: fitting.mode(), family: None, inside: None }
    }

    /// What is stated of an SA, unless a length of its pairs is impossible for it.
    pub(in crate::matching) fn unless_stated(self, sa: &SaTally, stated: Option<&Esp>) -> Self {
        let Some((esp, mapping)) = stated.zip(sa.mapping).filter(|(esp, own)| Family::of(esp) == own.family) else {
            return self;
        };
        let fits = |(inner, (least, most)): (u32, (u32, u32))| {
            let made = mapping.esp(inner);
            made == Some(least) && made == Some(most)
        };
        let lengths = || sa.sizes.iter().filter_map(|(inner, size)| Some((inner, size.esp?)));
        let sizes = lengths().count();
        if sizes == 0 || !lengths().all(fits) {
            return self;
        }
        let evidence = format!("stated; it makes the ESP lengths of all packet sizes ({sizes}).");
        let report = TransformReport {
            basis: TransformBasis::Expected,
            name: Some(esp.to_string().into()),
            evidence: Some(evidence.into()),
            ..TransformReport::default()
        };
        let mode = if mapping.inside.transport() { SaMode::Transport } else { SaMode::Tunnel };
        Self { report, mode, family: Some(mapping.family), inside: Some(mapping.inside) }
    }

    /// A mapping that chose the few pairs it has makes their lengths, right or wrong.
    fn chosen(matched: u64) -> Self {
        let pairs = if matched == 1 { "the one pair".to_owned() } else { format!("the {matched} pairs") };
        let evidence = format!(
            "lengths decided which packets are pairs: {pairs} of this SA, by order, are no evidence of its transform."
        );
        let report = TransformReport {
            basis: TransformBasis::Unknown,
            evidence: Some(evidence.into()),
            ..TransformReport::default()
        };
        Self { report, mode: SaMode::Unknown, family: None, inside: None }
    }

    /// Of what is in clear, headers say what it is.
    fn visible(sa: &SaTally) -> Self {
        let name = match sa.key {
            TunnelKey::Sa(key) if key.protocol == Protocol::Ah => sa
                .ah_bytes
                .map(|bytes| format!("AH, {}-bit ICV or with padding", u32::from(bytes.saturating_sub(12)) * 8)),
            TunnelKey::Sa(_) => None,
            TunnelKey::Bare(47, ..) => Some("GRE".to_owned()),
            TunnelKey::Bare(4 | 41, ..) => Some("IP in IP".to_owned()),
            TunnelKey::Bare(..) => None,
        };
        let basis = if sa.matched > 0 { TransformBasis::Visible } else { TransformBasis::Unknown };
        let mode = match sa.transport {
            Some(true) => SaMode::Transport,
            Some(false) => SaMode::Tunnel,
            None => SaMode::Unknown,
        };
        let report = TransformReport { basis, name: name.map(Name::from), ..TransformReport::default() };
        Self { report, mode, family: None, inside: None }
    }
}

/// All that makes the lengths of the pairs of an SA.
struct Fitting {
    /// One family with one of what may be inside, no other.
    single: bool,
    /// Each once, the likeliest first.
    families: Vec<Family>,
    /// Each once, the likeliest first.
    insides: Vec<Inside>,
}

impl Fitting {
    fn of(sa: &SaTally, found: Mapping, lengths: &[(u32, u32)], (catalogue, iv): (&Catalogue, IvPattern)) -> Self {
        let distinct: Vec<u32> = lengths.iter().map(|(_, esp)| *esp).collect();
        let mut all = candidates(catalogue.weighed(&distinct, iv), &possible(sa, found.inside));
        all.retain(|(_, inside, family)| {
            let mapping = Mapping { family: *family, inside: *inside, floor: found.floor };
            lengths.iter().all(|(inner, esp)| mapping.esp(*inner) == Some(*esp))
        });
        // What else may be inside is told apart by what is usual, too, not by lengths alone.
        let (most, usual) = all.first().map_or((0, found.inside), |(most, usual, _)| (*most, *usual));
        all.retain(|(bits, inside, _)| *inside == usual || *bits > most - inference::MARGIN);
        let (mut families, mut insides) = (Vec::new(), Vec::new());
        for (_, inside, family) in &all {
            if !families.contains(family) {
                families.push(*family);
            }
            if !insides.contains(inside) {
                insides.push(*inside);
            }
        }
        if insides.is_empty() {
            insides.push(found.inside);
        }
        Self { single: all.len() == 1, families, insides }
    }

    fn mode(&self) -> SaMode {
        let all = |transport: bool| self.insides.iter().all(|inside| inside.transport() == transport);
        match (all(false), all(true)) {
            (true, _) => SaMode::Tunnel,
            (_, true) => SaMode::Transport,
            _ => SaMode::Unknown,
        }
    }

    /// In words. `rare`: only ciphers that are hardly ever met are among what fits.
    fn evidence(&self, sizes: usize, rare: bool) -> String {
        let fit = match self.families.len() {
            1 => "one combination of block, IV and ICV fits".to_owned(),
            count => format!("{count} combinations of block, IV and ICV fit"),
        };
        let lengths = match sizes {
            1 => "the ESP length of the one packet size".to_owned(),
            sizes => format!("the ESP lengths of all {sizes} packet sizes"),
        };
        let only = if rare { " Only ciphers that are hardly ever met are among them." } else { "" };
        format!("{fit} {lengths}, {}.{only}", Inside::names(&self.insides))
    }
}

/// Whether ESP-NULL makes the lengths of a family, and the first octets are not those of ciphertext: they are constant, begin as IP does, or were not
/// captured.
fn may_be_null(family: Family, ivs: &[IvSample], iv: IvPattern) -> bool {
    /// What ESP-NULL pads to, and the ICVs of the usual algorithms.
    const BLOCK: u32 = 4;
    const ICVS: [u32; 4] = [12, 16, 24, 32];
    /// GRE in transport mode, with a key or without, adds as much.
    const BESIDES: [u32; 3] = [0, 4, 8];
    /// Fewer do not begin like IPv6 by more than chance.
    const ENOUGH: usize = 3;
    let is_ipv6 = || ivs.len() >= ENOUGH && ivs.iter().all(|sample| sample.octets >> 60 == 6);
    // An IV that counts is one.
    let in_clear = match iv {
        IvPattern::Repeated => true,
        IvPattern::Unclear => ivs.is_empty() || IvPattern::is_clear(ivs) || is_ipv6(),
        _ => false,
    };
    let fits = |icv: &u32| BESIDES.iter().any(|more| (family.iv + family.icv).abs_diff(*icv) == *more);
    family.block <= BLOCK && in_clear && ICVS.iter().any(fits)
}

/// What may be inside the ESP of this SA by the addresses of its pairs, besides what they were found with.
fn possible(sa: &SaTally, found: Inside) -> Vec<(i32, Inside)> {
    // Lengths do not tell it from tunnel mode: it was found only because transport mode is stated.
    if found == Inside::IpInIp {
        return vec![(0, found)];
    }
    let TunnelKey::Sa(key) = sa.key else { return vec![(0, found)] };
    let is = |prefix: Option<Prefix>, address| prefix.is_some_and(|prefix| prefix.is(address));
    let mut all = Inside::possible(key.src, SharedAddresses::of(is(sa.src, key.src), is(sa.dst, key.dst)));
    if !all.iter().any(|(_, inside)| *inside == found) {
        all.push((0, found));
    }
    all
}

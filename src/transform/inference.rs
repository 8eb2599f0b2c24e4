//! Which transforms fit the lengths and IVs of an SA whose transform nobody gave.
//!
//! An ESP packet is 8 octets of header, the IV, whole blocks, and the ICV (RFC 4303 section 2). So lengths say something about the
//! block and about the ICV modulo the block, and an IV that counts is none of CBC. A random one may be of any mode. What they cannot say is not
//! said.

mod chosen;
mod weights;
mod words;

use std::collections::BTreeMap;

use self::chosen::chances;
pub use self::chosen::{are_chosen, are_walked};
pub use self::weights::is_unlike;
use self::weights::{cipher_common, excluding_bits, integrity_common, iv_bits};
use self::words::{one_of, open};
use super::Esp;
use super::iv::IvPattern;
use crate::transform::algorithm::cipher::CIPHERS;
use crate::transform::algorithm::integrity::{INTEGRITIES, Place};
use crate::transform::size::layers::{ESP_HEADER, ESP_TRAILER};

/// What the wire can tell of a transform: block, IV and the whole ICV, in octets.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Family {
    /// What plaintext is padded to.
    pub block: u32,
    /// Explicit IV.
    pub iv: u32,
    /// ICV, the cipher's own or the integrity algorithm's.
    pub icv: u32,
}

/// A family that fits.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Fit {
    family: Family,
    /// Its transforms, the commonest first.
    members: Vec<(i32, Esp)>,
    /// How common the commonest member is, in bits; 0 is most common.
    common: i32,
}

/// What is known of an SA's transform.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inference {
    /// The family that fits best.
    pub family: Family,
    /// Whether block and IV are decided: nothing else fits nearly as well.
    pub decided: bool,
    /// The whole ICV, in octets, where lengths decide it.
    pub icv: Option<u32>,
    /// Transforms of the catalogue that fit, the likeliest first; without the rare ones where there are others.
    pub candidates: Vec<Esp>,
    /// Least and most octets that protection adds, over all families that are reckoned with.
    pub protection: (u64, u64),
    /// The weakness of the cipher, where block and IV are decided and every cipher that fits has one.
    pub weak: Option<&'static str>,
    /// The lengths of ESP that it rests on.
    pub lengths: Vec<u32>,
    /// What the verdict rests on and what it leaves open.
    pub evidence: String,
}

/// So many bits less and a family is not reckoned with.
pub(crate) const MARGIN: i32 = 5;
/// So many bits less and a family is no candidate.
const FAR: i32 = 2 * MARGIN;
/// Members rarer than this do not make a verdict doubtful: algorithms for Fibre Channel, and the never deployed.
const RARE: i32 = -8;

/// Lengths that might have disagreed, and did not, from which on a counter in the place of the IV does not say that a counter mode is in use, and
/// bits from which on they exclude ESP-NULL where packets share the octets of an IV.
const CONTRADICTING: i32 = 10;

/// All families of the catalogue, made once for many SAs.
#[derive(Clone, Debug)]
pub struct Catalogue {
    families: Vec<Fit>,
}

impl Default for Catalogue {
    fn default() -> Self {
        Self::new()
    }
}

impl Catalogue {
    /// All families. ESP-NULL has evidence of its own and is not among them.
    #[must_use]
    pub fn new() -> Self {
        Self { families: families() }
    }

    /// The families that can make at least nine in ten of these lengths of ESP packets, the likeliest by IV and use first.
    #[must_use]
    pub fn families(&self, lengths: &[u32], iv: IvPattern) -> Vec<Family> {
        self.weighed(lengths, iv).into_iter().map(|(_, family)| family).collect()
    }

    /// The same, each with its evidence in bits: 0 is the most.
    pub(crate) fn weighed(&self, lengths: &[u32], iv: IvPattern) -> Vec<(i32, Family)> {
        let makes = |family: Family| {
            let made = lengths.iter().filter(|length| family.allows(**length, family.block)).count();
            made * 10 >= lengths.len() * 9
        };
        let possible: Vec<&Fit> = self.families.iter().filter(|fit| makes(fit.family)).collect();
        // What random IVs say for CBC they say only where lengths allow a block.
        let grain = possible.iter().map(|fit| fit.family.block).max().unwrap_or(WIDEST);
        let weigh = |fit: &&Fit| (iv_bits(fit, iv, grain) + fit.common, fit.family);
        let mut fits: Vec<(i32, Family)> = possible.iter().map(weigh).collect();
        fits.sort_by_key(|(evidence, family)| (std::cmp::Reverse(*evidence), *family));
        fits
    }

    /// Whether only ciphers and integrity algorithms that are hardly ever met make up this family: what fits no other fits none.
    pub(crate) fn is_rare(&self, family: Family) -> bool {
        !self.families.iter().any(|fit| fit.family == family && fit.common > RARE)
    }

    /// The transforms of these families, the rare ones only where there are no others.
    pub fn members<'c>(&'c self, families: &'c [Family]) -> impl Iterator<Item = &'c Esp> {
        let of = move |family: &'c Family| self.families.iter().filter(move |fit| fit.family == *family);
        let members = move || families.iter().flat_map(of).flat_map(|fit| &fit.members);
        let usual = members().any(|(common, _)| *common > RARE);
        members().filter(move |(common, _)| *common > RARE || !usual).map(|(_, esp)| esp)
    }

    /// Infers from the lengths of ESP packets (from the header to the end of the ICV, in octets; each length once) and their IVs.
    /// `None` where no transform fits, or there is no length.
    #[must_use]
    pub fn infer(&self, lengths: &[u32], iv: IvPattern) -> Option<Inference> {
        self.infer_from(lengths, iv, false)
    }

    /// The same. `chosen`: somebody chose the sizes ([`are_chosen`]), so that lengths agree whatever the block is.
    #[must_use]
    pub fn infer_from(&self, lengths: &[u32], iv: IvPattern, chosen: bool) -> Option<Inference> {
        let grain = grain(lengths)?;
        let chances = if chosen { 0 } else { chances(lengths, grain) };
        let mut fits = self.fits(lengths, iv, chances)?;
        // Lengths that agree further than the block of what fits best were chosen, too: they say nothing about smaller blocks.
        let hidden = !chosen && fits.first().is_some_and(|(_, fit)| fit.family.block < grain);
        // So many lengths agree by no chance, and a sender may count the IVs of CBC, too, against the rules: nothing is decided.
        let contradicted = hidden && iv == IvPattern::Counter && chances >= CONTRADICTING;
        let chosen = chosen || hidden && !contradicted;
        if contradicted {
            fits = self.fits(lengths, IvPattern::Unclear, 0)?;
        } else if chosen && chances > 0 {
            fits = self.fits(lengths, iv, 0)?;
        }
        let (best, first) = *fits.first()?;
        let family = first.family;
        let same = |fit: &Fit| (fit.family.block, fit.family.iv) == (family.block, family.iv);
        let within =
            |margin: i32| fits.iter().filter(move |(evidence, fit)| fit.common > RARE && *evidence > best - margin);
        // What fits only ciphers that are hardly ever met fits no cipher.
        let is_cipher = first.common > RARE && excludes_null(first, iv, grain, chances);
        let decided = is_cipher && within(MARGIN).all(|(_, fit)| same(fit));
        let mut icvs: Vec<u32> = within(MARGIN).filter(|(_, fit)| same(fit)).map(|(_, fit)| fit.family.icv).collect();
        icvs.push(family.icv);
        icvs.sort_unstable();
        icvs.dedup();
        let icv = (decided && icvs.len() == 1).then_some(family.icv);
        let protection = within(MARGIN)
            .map(|(_, fit)| fit.family.protection())
            .fold(family.protection(), |(least, most), (low, high)| (least.min(low), most.max(high)));
        let common = within(FAR).flat_map(|(_, fit)| fit.members.iter().filter(|(common, _)| *common > RARE));
        let mut candidates: Vec<Esp> = common.map(|(_, esp)| *esp).collect();
        if candidates.is_empty() {
            candidates = first.members.iter().map(|(_, esp)| *esp).collect();
        }
        let all_weak = first.members.iter().all(|(_, esp)| esp.cipher.weak.is_some());
        let weak = first.members.first().filter(|_| decided && all_weak).and_then(|(_, esp)| esp.cipher.weak);
        let mut evidence = match lengths.len() {
            1 => format!("Only one length of ESP; {}.", iv.words()),
            n => format!("{n} lengths of ESP agree modulo {grain}; {}.", iv.words()),
        };
        if contradicted {
            evidence.push_str(" The two contradict each other.");
        }
        if chosen && grain > NARROWEST && lengths.len() > 1 {
            evidence.push_str(" The sizes are few, or in steps: chosen ones, which hide a smaller block.");
        }
        if decided {
            evidence.push_str(&self.excluded(family, lengths, iv, grain));
            if icv.is_none() {
                evidence.push_str(&format!(" Lengths cannot decide the ICV: {} bytes fit.", one_of(&icvs)));
            }
        } else {
            evidence.push_str(" They cannot decide the cipher's block.");
            evidence.push_str(&open(&candidates));
        }
        let lengths = lengths.to_vec();
        Some(Inference { family, decided, icv, candidates, protection, weak, lengths, evidence })
    }

    /// The families that make these lengths, the likeliest first, each with its bits of evidence. `chances`: how many lengths might
    /// have disagreed.
    fn fits(&self, lengths: &[u32], iv: IvPattern, chances: i32) -> Option<Vec<(i32, &Fit)>> {
        let (shortest, grain) = (*lengths.iter().min()?, grain(lengths)?);
        let allowed = self.families.iter().filter(|fit| fit.family.allows(shortest, grain));
        let mut fits: Vec<(i32, &Fit)> = allowed
            .map(|fit| {
                // A smaller block makes it a coincidence that all lengths agree modulo a larger one.
                let halvings = i32::try_from((grain / fit.family.block.min(grain)).ilog2()).unwrap_or(0);
                (excluding_bits(fit, iv, grain) - halvings * chances, fit)
            })
            .collect();
        // What is rare comes last, and stays.
        let rarity = |fit: &Fit| fit.common + iv_bits(fit, iv, grain) - excluding_bits(fit, iv, grain);
        fits.sort_by_key(|(evidence, fit)| (std::cmp::Reverse(evidence + rarity(fit)), fit.family));
        Some(fits)
    }

    /// The other kinds of cipher, and what excludes each.
    fn excluded(&self, family: Family, lengths: &[u32], iv: IvPattern, grain: u32) -> String {
        let mut kinds: BTreeMap<(u32, u32), u8> = BTreeMap::new();
        let other = |fit: &&Fit| (fit.family.block, fit.family.iv) != (family.block, family.iv) && fit.common > RARE;
        for fit in self.families.iter().filter(other) {
            let why = match () {
                () if !fit.family.fits(lengths) => LENGTHS,
                () if excluding_bits(fit, iv, grain) < 0 => IV,
                () => GRAIN,
            };
            let known = kinds.entry((fit.family.block, fit.family.iv)).or_insert(why);
            *known = (*known).max(why);
        }
        let by = |wanted: u8, why: &str| {
            let of = kinds.iter().filter(|(_, why)| **why == wanted);
            let names: Vec<String> =
                of.map(|(&(block, iv), _)| family_name(Family { block, iv, icv: 0 }, None)).collect();
            (!names.is_empty()).then(|| format!("{} by {why}", names.join(", ")))
        };
        let agree = format!("lengths that all agree modulo {grain}");
        let all: Vec<String> =
            [by(LENGTHS, "impossible lengths"), by(IV, "the IVs"), by(GRAIN, &agree)].into_iter().flatten().collect();
        if all.is_empty() { String::new() } else { format!(" Excluded: {}.", all.join("; ")) }
    }
}

/// What excludes a kind of cipher, the surest first.
const LENGTHS: u8 = 0;
const IV: u8 = 1;
const GRAIN: u8 = 2;

/// The block of AES in CBC.
const WIDEST: u32 = 16;
/// What ESP pads to where the cipher has no block (RFC 4303 section 2.4).
const NARROWEST: u32 = 4;

/// The largest block that all lengths agree with.
fn grain(lengths: &[u32]) -> Option<u32> {
    let shortest = lengths.iter().min()?;
    let agree = |grain: u32| lengths.iter().all(|length| length % grain == shortest % grain);
    [WIDEST, 8, NARROWEST].into_iter().find(|grain| agree(*grain))
}

impl Family {
    /// The family of a transform.
    #[must_use]
    pub const fn of(esp: &Esp) -> Self {
        Self { block: esp.cipher.alignment, iv: esp.cipher.iv, icv: esp.icv() }
    }

    /// Whether ESP packets of these lengths (header to end of ICV, in octets) can be of this family. One that cannot contradicts
    /// the transform.
    #[must_use]
    pub fn fits(self, lengths: &[u32]) -> bool {
        lengths.iter().all(|length| self.allows(*length, self.block))
    }

    /// Whether a packet of this length, and others that differ by multiples of `grain`, can be of this family.
    pub(crate) fn allows(self, shortest: u32, grain: u32) -> bool {
        let fixed = ESP_HEADER as u32 + self.iv + self.icv;
        let content = shortest.checked_sub(fixed).filter(|content| *content >= self.block);
        content.is_some_and(|content| content.is_multiple_of(self.block)) && grain.is_multiple_of(self.block)
    }

    /// Least and most octets that protection adds to what is inside: header, IV, padding, trailer and ICV.
    #[must_use]
    pub const fn protection(self) -> (u64, u64) {
        let least = ESP_HEADER + ESP_TRAILER + self.iv as u64 + self.icv as u64;
        (least, least + self.block as u64 - 1)
    }
}

impl Inference {
    /// What to call it where block and IV are decided.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        Some(family_name(Some(self.family).filter(|_| self.decided)?, self.icv))
    }
}

/// What to call the transforms of a family; `icv` where it is decided, in octets.
#[must_use]
pub fn family_name(family: Family, icv: Option<u32>) -> String {
    let Family { block, iv, .. } = family;
    let cipher = match (block, iv) {
        (16, 16) => "AES-CBC".to_owned(),
        (8, 8) => "3DES-CBC or DES-CBC".to_owned(),
        (4, 8) => "AES-GCM or another counter mode".to_owned(),
        (block, 0) => format!("a cipher without IV, block {block}"),
        (block, iv) => format!("a cipher with an IV of {iv}, block {block}"),
    };
    match icv {
        Some(0) => format!("{cipher}, no ICV"),
        Some(icv) => format!("{cipher}, {}-bit ICV", icv * 8),
        None => cipher,
    }
}

/// Whether a family is told from ESP-NULL: packets that share their first octets may lie there in clear, with lengths that agree by chance.
fn excludes_null(fit: &Fit, iv: IvPattern, grain: u32, chances: i32) -> bool {
    let halvings = i32::try_from((grain / NARROWEST).ilog2()).unwrap_or(0);
    iv != IvPattern::Repeated || iv_bits(fit, iv, grain) == 0 && halvings * chances >= CONTRADICTING
}

/// All families with their members.
fn families() -> Vec<Fit> {
    let mut fits: Vec<Fit> = Vec::new();
    for cipher in CIPHERS.iter().filter(|cipher| cipher.encrypts()) {
        let integrities = INTEGRITIES.iter().filter(|one| one.place == Place::Both && !cipher.is_combined());
        for integrity in integrities.map(Some).chain([None]) {
            let esp = Esp { cipher, key_bits: None, integrity };
            let family = Family::of(&esp);
            let common = cipher_common(cipher) + integrity_common(cipher, integrity);
            let at = fits.iter().position(|fit| fit.family == family).unwrap_or_else(|| {
                fits.push(Fit { family, members: Vec::new(), common: i32::MIN });
                fits.len() - 1
            });
            if let Some(fit) = fits.get_mut(at) {
                fit.members.push((common, esp));
                fit.common = fit.common.max(common);
            }
        }
    }
    for fit in &mut fits {
        fit.members.sort_by_key(|(common, _)| std::cmp::Reverse(*common));
    }
    fits
}

#[cfg(test)]
mod tests;

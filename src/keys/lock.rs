//! Keys as the policies state them, ready to be used.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::holder::{Ends, Holder, Unusable};
use super::limits::{MAX_HIGH_HALVES, MAX_KEYS_OF_AN_SA};
use super::tool::{Tool, tool};
use serde::Serialize;

use crate::model::{Address, Protocol, SaKey, Spi};
use crate::policy::{Basis, Mode, Numbering, Policies, Secret, Stated};
use crate::transform::{Esp, Integrity, KeyLengths};

/// Keys with one SPI and other addresses that a packet is tried with; an SPI with more of them is not the mark of one SA.
const MAX_TRANSLATED: usize = 16;
/// Keys of other SAs between the same two ends that a packet is tried with.
const MAX_OTHERS: usize = 8;
/// Keys of one end that are looked through for those.
const LOOKED_AT: usize = 1_024;

/// All usable keys, by the SA they belong to. Equal keys of one SPI are one key, whoever states it and whatever ends are known.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    locks: Vec<Lock>,
    /// Keys of SAs whose ends are known.
    exact: HashMap<SaKey, Vec<usize>>,
    /// Keys of SAs that some statement leaves an end of open.
    open: HashMap<(Protocol, Spi), Vec<usize>>,
    /// All keys of an SPI.
    by_spi: HashMap<(Protocol, Spi), Vec<usize>>,
    /// Keys of SAs that begin or end at an address.
    by_end: HashMap<(Protocol, Address), Vec<usize>>,
    unusable: Vec<Unusable>,
}

/// One key of an SA, and who states it.
#[derive(Debug)]
pub(crate) struct Lock {
    number: usize,
    parts: Parts,
    tool: Tool,
    /// High halves that the sequence number of a packet may have, the likeliest first; `None` for one that is not extended. Those that
    /// contradict the statements come last.
    highs: Vec<Option<u32>>,
    numberings: Vec<Numbering>,
    holders: Vec<Holder>,
}

/// What makes a key: transform and secrets, not who states them.
#[derive(Clone, PartialEq, Debug)]
struct Parts {
    protocol: Protocol,
    spi: Spi,
    esp: Option<Esp>,
    ah: Option<&'static Integrity>,
    cipher: Option<Secret>,
    authenticator: Option<Secret>,
}

/// What two keys of one SA differ in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Difference {
    /// Cipher or integrity algorithm.
    pub(crate) transform: bool,
    /// The key of the cipher, where both have one.
    pub(crate) cipher: bool,
    /// The key of the integrity check, where both have one.
    pub(crate) authenticator: bool,
}

/// A key that may be that of a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate<'l> {
    pub(crate) lock: &'l Lock,
    /// Whether it is stated for the ends of the packet, as far as ends are stated. Otherwise for the same SPI between other addresses.
    pub(crate) own: bool,
}

impl Locks {
    pub(crate) fn of_policies(policies: &Policies) -> Self {
        let view = policies.view();
        let mut made = Self::default();
        for stated in view.stated.iter().filter(|one| one.used) {
            let Some(tool) = tool(stated) else { continue };
            let name: Arc<str> = view.name(stated.router).into();
            let holder = Holder {
                router: stated.router,
                name,
                cite: stated.cites.first().cloned(),
                ends: Ends { src: stated.src, dst: stated.dst },
                way: stated.way,
                numbering: stated.numbering,
                listed: stated.basis == Basis::Listed,
            };
            match tool {
                Ok(tool) => made.add(stated, tool, holder),
                Err(why) => made.refuse(stated, holder, why),
            }
        }
        made.locks.iter_mut().for_each(|lock| lock.highs = highs(&lock.numberings));
        made
    }

    fn refuse(&mut self, stated: &Stated, holder: Holder, why: String) {
        let Stated { protocol, spi, src, dst, .. } = *stated;
        self.unusable.push(Unusable { protocol, spi, src, dst, holder, why });
    }

    fn add(&mut self, stated: &Stated, tool: Tool, holder: Holder) {
        let Some(parts) = Parts::of(stated) else { return };
        let id = (stated.protocol, stated.spi);
        let same = |number: &&usize| self.locks.get(**number).is_some_and(|lock| lock.parts == parts);
        let beside = self.by_spi.get(&id).map(Vec::as_slice).unwrap_or_default();
        let own = stated.key().and_then(|key| self.exact.get(&key)).map(Vec::as_slice).unwrap_or_default();
        let known = beside.iter().take(MAX_KEYS_OF_AN_SA).chain(own).find(same).copied();
        let numbers = match stated.key() {
            Some(key) => self.exact.entry(key).or_default(),
            None => self.open.entry(id).or_default(),
        };
        let number = known.unwrap_or(self.locks.len());
        if !numbers.contains(&number) {
            if numbers.len() >= MAX_KEYS_OF_AN_SA {
                let why = format!(
                    "it is one of more than {MAX_KEYS_OF_AN_SA} keys that are stated for this SA, and is not tried"
                );
                return self.refuse(stated, holder, why);
            }
            numbers.push(number);
        }
        if known.is_none() {
            self.by_spi.entry(id).or_default().push(number);
            self.locks.push(Lock {
                number,
                parts,
                tool,
                highs: Vec::new(),
                numberings: Vec::new(),
                holders: Vec::new(),
            });
        }
        for end in [stated.src, stated.dst].into_iter().flatten() {
            let of_end = self.by_end.entry((stated.protocol, end)).or_default();
            if of_end.last() != Some(&number) {
                of_end.push(number);
            }
        }
        if let Some(lock) = self.locks.get_mut(number) {
            lock.hold(stated, holder);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.locks.len()
    }

    /// Which keys there are and who agrees on them; nothing of a key is in it.
    pub(crate) fn outline(&self) -> impl Serialize {
        let holders = |lock: &Lock| {
            let each = |one: &Holder| (one.router, one.ends, one.way, one.numbering);
            lock.holders.iter().map(each).collect::<Vec<_>>()
        };
        let usable = self.locks.iter().map(|lock| (lock.tool.transform().to_string(), holders(lock)));
        let not = self.unusable.iter().map(|one| (one.protocol, one.spi, one.holder.router));
        (usable.collect::<Vec<_>>(), not.collect::<Vec<_>>())
    }

    pub(crate) fn unusable(&self) -> &[Unusable] {
        &self.unusable
    }

    /// A key by its number among all.
    pub(crate) fn numbered(&self, number: usize) -> Option<&Lock> {
        self.locks.get(number)
    }

    /// The keys that packets of an SA may have, always in the same order: those stated with both ends, those stated with fewer, and for
    /// ESP those of the same SPI between other addresses, which may be translated on the way. (A translated AH verifies under no key.)
    #[inline]
    pub(crate) fn of(&self, sa: &SaKey) -> impl Iterator<Item = Candidate<'_>> {
        let exact = self.exact.get(sa).map(Vec::as_slice).unwrap_or_default();
        let id = (sa.protocol, sa.spi);
        let open = if self.open.is_empty() { None } else { self.open.get(&id) };
        let open = open.map(Vec::as_slice).unwrap_or_default();
        let numbered = |number: &usize| self.locks.get(*number);
        let fits = move |number: &&usize| {
            numbered(number).is_some_and(|lock| lock.holders.iter().any(|holder| holder.ends.fit(sa)))
        };
        let open = open.iter().filter(move |number| !exact.contains(number)).filter(fits);
        let own = exact.iter().chain(open).filter_map(numbered).map(|lock| Candidate { lock, own: true });
        let others = if sa.protocol == Protocol::Esp { self.by_spi.get(&id) } else { None };
        let others = others.map(Vec::as_slice).filter(|all| all.len() <= MAX_TRANSLATED).unwrap_or_default();
        let elsewhere = move |lock: &&Lock| {
            lock.holders.iter().all(|holder| !holder.ends.fit(sa))
                && lock.holders.iter().any(|holder| holder.ends.may_be_translated_to(sa))
        };
        let translated = others.iter().filter_map(numbered).filter(elsewhere);
        own.chain(translated.map(|lock| Candidate { lock, own: false }))
    }

    /// Keys of other SAs between the same two ends, either way.
    pub(crate) fn others(&self, sa: &SaKey) -> Vec<&Lock> {
        let mut seen: HashSet<usize> = HashSet::new();
        let of = |end| self.by_end.get(&(sa.protocol, end)).map(Vec::as_slice).unwrap_or_default();
        let all = of(sa.src).iter().take(LOOKED_AT).chain(of(sa.dst).iter().take(LOOKED_AT));
        all.filter(|number| seen.insert(**number))
            .filter_map(|number| self.locks.get(*number))
            .filter(|lock| lock.holders.iter().all(|holder| !(lock.parts.spi == sa.spi && holder.ends.fit(sa))))
            .filter(|lock| lock.holders.iter().any(|holder| holder.ends.are_among(sa)))
            .take(MAX_OTHERS)
            .collect()
    }
}

impl Parts {
    /// The parts of a key that the transform uses: IOS wants keys typed where the transform takes none.
    fn of(stated: &Stated) -> Option<Self> {
        let suite = stated.suite?;
        let Stated { protocol, spi, .. } = *stated;
        let (cipher, authenticator) = (stated.cipher.clone(), stated.authenticator.clone());
        Some(match protocol {
            Protocol::Esp => {
                let mut esp = suite.esp?;
                let cipher = cipher.filter(|_| esp.cipher.keys != KeyLengths::None);
                let bits =
                    cipher.as_ref().and_then(Secret::bits).and_then(|bits| bits.checked_sub(esp.cipher.salt * 8));
                esp.key_bits = bits.filter(|_| esp.cipher.keys.has_choice()).or(esp.key_bits);
                let checks = esp
                    .integrity
                    .is_some_and(|one| one.place != crate::transform::algorithm::integrity::Place::Unnamed);
                let authenticator = authenticator.filter(|_| checks);
                Self { protocol, spi, esp: Some(esp), ah: None, cipher, authenticator }
            }
            _ => Self { protocol, spi, esp: None, ah: suite.ah, cipher: None, authenticator },
        })
    }
}

impl Lock {
    fn hold(&mut self, stated: &Stated, holder: Holder) {
        if !self.numberings.contains(&stated.numbering) {
            self.numberings.push(stated.numbering);
        }
        if stated.mode != Some(Mode::Tunnel) {
            self.tool.take_any_mode();
        }
        if !self.holders.iter().any(|one| one.says_the_same(&holder)) {
            self.holders.push(holder);
        }
    }

    pub(crate) const fn number(&self) -> usize {
        self.number
    }

    pub(crate) const fn spi(&self) -> Spi {
        self.parts.spi
    }

    pub(crate) const fn tool(&self) -> &Tool {
        &self.tool
    }

    pub(crate) fn highs(&self) -> &[Option<u32>] {
        &self.highs
    }

    /// Whether somebody states that the numbers are extended.
    pub(crate) fn is_extended(&self) -> bool {
        self.numberings.iter().any(|numbering| matches!(numbering, Numbering::Extended(_)))
    }

    pub(crate) fn holders(&self) -> &[Holder] {
        &self.holders
    }

    /// The ESP transform, where it is a key of ESP.
    pub(crate) const fn esp(&self) -> Option<&Esp> {
        self.parts.esp.as_ref()
    }

    /// Its secrets: of the cipher, of the integrity check.
    pub(super) const fn secrets(&self) -> (Option<&Secret>, Option<&Secret>) {
        (self.parts.cipher.as_ref(), self.parts.authenticator.as_ref())
    }

    /// Whether it can show that a packet was made with another key: it has an integrity check.
    pub(crate) fn checks(&self) -> bool {
        self.parts.authenticator.is_some() || self.parts.esp.is_some_and(|esp| esp.cipher.is_combined())
    }

    /// What it and another key of the same SA differ in.
    pub(crate) fn difference(&self, other: &Self) -> Difference {
        let (a, b) = (&self.parts, &other.parts);
        let unlike = |a: &Option<Secret>, b: &Option<Secret>| matches!((a, b), (Some(a), Some(b)) if a != b);
        Difference {
            transform: a.esp != b.esp || a.ah != b.ah,
            cipher: unlike(&a.cipher, &b.cipher),
            authenticator: unlike(&a.authenticator, &b.authenticator),
        }
    }

    /// Whether another key has the same secrets, whatever its SA.
    pub(crate) fn shares_secrets(&self, other: &Self) -> bool {
        (&self.parts.cipher, &self.parts.authenticator) == (&other.parts.cipher, &other.parts.authenticator)
    }
}

/// High halves that packets may have. A state that displays one was displayed some time around the capture; where nothing is said, packets
/// are tried as not extended first. A sender whose numbers are extended although it is not said, or the reverse, is found by the last ones.
fn highs(numberings: &[Numbering]) -> Vec<Option<u32>> {
    let mut highs: Vec<Option<u32>> = Vec::new();
    let mut add = |high: Option<u32>| {
        if !highs.contains(&high) {
            highs.push(high);
        }
    };
    let mut most = UNSAID_HALVES;
    for numbering in numberings {
        match *numbering {
            Numbering::Plain => add(None),
            Numbering::Extended(high) => {
                most = MAX_HIGH_HALVES;
                [Some(high), high.checked_sub(1), high.checked_add(1)]
                    .into_iter()
                    .flatten()
                    .map(Some)
                    .for_each(&mut add);
            }
            Numbering::Unsaid => {
                most = MAX_HIGH_HALVES;
                add(None);
            }
        }
    }
    (0..most).map(Some).for_each(&mut add);
    add(None);
    highs
}

/// High halves that are tried although all say that numbers are not extended.
const UNSAID_HALVES: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn high_halves_are_a_fixed_set_that_begins_with_the_likeliest() {
        assert_eq!(highs(&[Numbering::Plain]), [None, Some(0), Some(1)]);
        let unsaid = highs(&[Numbering::Unsaid]);
        assert_eq!((unsaid.len(), unsaid.get(..2)), (17, Some(&[None, Some(0)][..])));
        let stated = highs(&[Numbering::Extended(40)]);
        assert_eq!((stated.len(), stated.get(..3)), (20, Some(&[Some(40), Some(39), Some(41)][..])));
        assert_eq!((highs(&[Numbering::Extended(0)]).len(), stated.last()), (17, Some(&None)));
        let both = highs(&[Numbering::Plain, Numbering::Extended(7)]);
        assert_eq!(both.get(..3), Some(&[None, Some(7), Some(6)][..]));
    }
}

//! Keys as the policies state them, ready to be used.

use std::collections::HashMap;
use std::sync::Arc;

use super::tool::{Tool, tool};
use crate::analysis::limits::{MAX_HIGH_HALVES, MAX_KEYS_OF_AN_SA};
use crate::model::{Address, Protocol, SaKey, Spi};
use crate::policy::{Cite, Numbering, Policies, Secret, Stated};

/// All usable keys, by the SA they belong to.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    locks: Vec<Lock>,
    /// Keys of SAs whose ends are known.
    exact: HashMap<SaKey, Vec<usize>>,
    /// Keys of SAs that some statement leaves an end of open.
    open: HashMap<(Protocol, Spi), Vec<usize>>,
    unusable: Vec<Unusable>,
}

/// One key of one SA, and who states it.
#[derive(Debug)]
pub(crate) struct Lock {
    number: usize,
    tool: Tool,
    /// High halves that the sequence number of a packet may have, the likeliest first; `None` for one that is not extended.
    highs: Vec<Option<u32>>,
    src: Option<Address>,
    dst: Option<Address>,
    holders: Vec<Holder>,
}

/// Who states a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Holder {
    /// Number of the router among those of the policies.
    pub router: usize,
    /// Its name.
    pub name: Arc<str>,
    /// The line that names the SPI, keys removed.
    pub cite: Option<Cite>,
}

/// A key that cannot be used: the ICV is not checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unusable {
    /// The protocol of its SA.
    pub protocol: Protocol,
    /// The SPI of its SA.
    pub spi: Spi,
    /// Source of the SA, where known.
    pub src: Option<Address>,
    /// Destination of the SA, where known.
    pub dst: Option<Address>,
    /// Who states it.
    pub holder: Holder,
    /// Why, a clause without a full stop; it says lengths, nothing of the key.
    pub why: String,
}

/// What two statements of one key agree in.
#[derive(PartialEq)]
struct Same<'p> {
    suite: crate::transform::Suite,
    cipher: Option<&'p Secret>,
    authenticator: Option<&'p Secret>,
    ends: (Option<Address>, Option<Address>),
    numbering: Numbering,
}

impl Locks {
    pub(crate) fn of_policies(policies: &Policies) -> Self {
        let view = policies.view();
        let mut made = Self::default();
        let mut known: Vec<Same<'_>> = Vec::new();
        for stated in view.stated.iter().filter(|one| one.used) {
            let name: Arc<str> = view.name(stated.router).into();
            let holder = Holder { router: stated.router, name, cite: stated.cites.first().cloned() };
            let (Some(suite), Some(tool)) = (stated.suite, tool(stated)) else { continue };
            let tool = match tool {
                Ok(tool) => tool,
                Err(why) => {
                    let Stated { protocol, spi, src, dst, .. } = *stated;
                    made.unusable.push(Unusable { protocol, spi, src, dst, holder, why });
                    continue;
                }
            };
            let same = Same {
                suite,
                cipher: stated.cipher.as_ref(),
                authenticator: stated.authenticator.as_ref(),
                ends: (stated.src, stated.dst),
                numbering: stated.numbering,
            };
            let numbers = match stated.key() {
                Some(key) => made.exact.entry(key).or_default(),
                None => made.open.entry((stated.protocol, stated.spi)).or_default(),
            };
            if let Some(&number) = numbers.iter().find(|&&number| known.get(number) == Some(&same)) {
                if let Some(lock) = made.locks.get_mut(number)
                    && !lock.holders.iter().any(|one| one.router == holder.router)
                {
                    lock.holders.push(holder);
                }
            } else if numbers.len() < MAX_KEYS_OF_AN_SA {
                let number = made.locks.len();
                let (src, dst) = (stated.src, stated.dst);
                let highs = highs(stated.numbering);
                made.locks.push(Lock { number, tool, highs, src, dst, holders: vec![holder] });
                numbers.push(number);
                known.push(same);
            } else {
                let Stated { protocol, spi, src, dst, .. } = *stated;
                let why = format!(
                    "it is one of more than {MAX_KEYS_OF_AN_SA} keys that are stated for this SA, and is not tried"
                );
                made.unusable.push(Unusable { protocol, spi, src, dst, holder, why });
            }
        }
        made
    }

    pub(crate) fn len(&self) -> usize {
        self.locks.len()
    }

    /// Which keys there are and who agrees on them, in words that hold nothing of a key.
    pub(crate) fn outline(&self) -> Vec<String> {
        let routers = |holders: &[Holder]| holders.iter().map(|one| one.router).collect::<Vec<_>>();
        let usable = self.locks.iter().map(|lock| {
            format!("{:?} {:?} {} {:?}", lock.src, lock.dst, lock.tool.transform(), routers(&lock.holders))
        });
        let not = self.unusable.iter().map(|one| format!("{} {} {}", one.protocol.name(), one.spi, one.holder.router));
        usable.chain(not).collect()
    }

    pub(crate) fn unusable(&self) -> &[Unusable] {
        &self.unusable
    }

    /// The keys of an SA, always in the same order: those stated with both ends first.
    #[inline]
    pub(crate) fn of(&self, sa: &SaKey) -> impl Iterator<Item = &Lock> {
        let exact = self.exact.get(sa).into_iter().flatten();
        let open = if self.open.is_empty() { None } else { self.open.get(&(sa.protocol, sa.spi)) };
        let fits = |lock: &&Lock| lock.src.is_none_or(|src| src == sa.src) && lock.dst.is_none_or(|dst| dst == sa.dst);
        let open = open.into_iter().flatten();
        exact.chain(open).filter_map(|&number| self.locks.get(number)).filter(fits)
    }
}

impl Lock {
    pub(crate) const fn number(&self) -> usize {
        self.number
    }

    pub(crate) const fn tool(&self) -> &Tool {
        &self.tool
    }

    pub(crate) fn highs(&self) -> &[Option<u32>] {
        &self.highs
    }

    pub(crate) fn holders(&self) -> &[Holder] {
        &self.holders
    }
}

/// High halves that packets may have. A state that displays one was displayed some time around the capture; where nothing is said, packets
/// are tried as not extended first.
fn highs(numbering: Numbering) -> Vec<Option<u32>> {
    let mut highs: Vec<Option<u32>> = match numbering {
        Numbering::Plain => return vec![None],
        Numbering::Extended(high) => {
            [Some(high), high.checked_sub(1), high.checked_add(1)].into_iter().flatten().map(Some).collect()
        }
        Numbering::Unsaid => vec![None],
    };
    for high in (0..MAX_HIGH_HALVES).map(Some) {
        if !highs.contains(&high) {
            highs.push(high);
        }
    }
    highs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn high_halves_are_a_fixed_set_that_begins_with_the_likeliest() {
        assert_eq!(highs(Numbering::Plain), [None]);
        let unsaid = highs(Numbering::Unsaid);
        assert_eq!((unsaid.len(), unsaid.get(..2)), (17, Some(&[None, Some(0)][..])));
        let stated = highs(Numbering::Extended(40));
        assert_eq!((stated.len(), stated.get(..3)), (19, Some(&[Some(40), Some(39), Some(41)][..])));
        assert_eq!(highs(Numbering::Extended(0)).len(), 16);
    }
}

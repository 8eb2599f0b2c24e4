//! Transforms that the user or the configurations say.

use std::collections::BTreeMap;

use crate::matching::packets::mapping::{Inside, Mapping};
use crate::model::{Protocol, SaKey, Spi};
use crate::policy::{self, Policies};
use crate::transform::Esp;
use crate::transform::inference::Family;
use crate::transform::size::path::Mode;

/// Transforms by SA, and one for all others.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given {
    exact: BTreeMap<SaKey, (Mapping, Esp)>,
    open: BTreeMap<Spi, (Mapping, Esp)>,
    all: Option<(Mapping, Esp)>,
}

impl Given {
    /// What policies state, and `all` for every SA that none of them names.
    pub(crate) fn new(policies: Option<&Policies>, all: Option<(&Esp, Mode)>) -> Self {
        let mut given =
            Self { all: all.map(|(esp, mode)| (mapping(esp, mode == Mode::Transport, 0), *esp)), ..Self::default() };
        for stated in policies.map(Policies::view).iter().flat_map(|view| &view.stated) {
            let Some(esp) = stated.suite.and_then(|suite| suite.esp) else { continue };
            if stated.protocol != Protocol::Esp || !esp.cipher.encrypts() {
                continue;
            }
            let mapping = mapping(&esp, stated.mode == Some(policy::Mode::Transport), stated.tfc);
            match stated.key() {
                Some(key) => given.exact.insert(key, (mapping, esp)),
                None => given.open.insert(stated.spi, (mapping, esp)),
            };
        }
        given
    }

    fn stated(&self, sa: &SaKey) -> Option<&(Mapping, Esp)> {
        self.exact.get(sa).or_else(|| self.open.get(&sa.spi)).or(self.all.as_ref())
    }

    /// The transform that is stated for an SA.
    pub(super) fn esp(&self, sa: &SaKey) -> Option<&Esp> {
        self.stated(sa).map(|(_, esp)| esp)
    }

    pub(super) fn of(&self, sa: &SaKey) -> Option<Mapping> {
        let (mapping, _) = *self.stated(sa)?;
        let is_v6 = !sa.src.is_v4();
        let inside = if is_v6 && mapping.inside.transport() { Inside::Payload(40) } else { mapping.inside };
        Some(Mapping { inside, ..mapping })
    }
}

fn mapping(esp: &Esp, transport: bool, tfc: u32) -> Mapping {
    let inside = if transport { Inside::Payload(20) } else { Inside::Packet };
    let family = Family::of(esp);
    let bare = Mapping { family, inside: Inside::Packet, floor: 0 };
    Mapping { family, inside, floor: if tfc > 0 { bare.esp(tfc).unwrap_or(0) } else { 0 } }
}

//! `swanctl --list-sas` of strongSwan.

use crate::model::{Address, Protocol};
use crate::policy::facts::builder::Builder;
use crate::policy::facts::router::{Display, Installed, Mode, Way};
use crate::policy::form::paste::Read;
use crate::policy::words::{endpoint, hex};

/// Reads the display: an IKE SA with its ends, then its child SAs with an inbound and an outbound SPI each.
#[derive(Default)]
pub(in crate::policy) struct Swanctl {
    local: Option<Address>,
    remote: Option<Address>,
    child: Option<Child>,
}

struct Child {
    protocol: Protocol,
    mode: Option<Mode>,
    udp: bool,
    words: String,
    cite: crate::policy::Cite,
}

impl Swanctl {
    /// `name: #1, ESTABLISHED, IKEv2, ...`.
    pub(in crate::policy) fn open(&mut self, _text: &str, words: &[&str], _: &mut Builder) -> Read {
        let [name, number, state, version, ..] = words else { return Read::Foreign };
        let mine =
            name.ends_with(':') && number.starts_with('#') && state.ends_with(',') && version.starts_with("IKEv");
        if mine {
            *self = Self::default();
        }
        Read::when(mine)
    }

    /// A line below it.
    pub(in crate::policy) fn go_on(&mut self, text: &str, words: &[&str], builder: &mut Builder) -> Read {
        if self.open(text, words, builder) == Read::Understood {
            return Read::Understood;
        }
        match words {
            ["local", .., "@", end] => self.local = endpoint(end),
            ["remote", .., "@", end] => self.remote = endpoint(end),
            [name, number, "reqid", ..] if name.ends_with(':') && number.starts_with('#') => self.child(text, builder),
            ["in", spi, ..] => self.sa(Way::In, spi, builder),
            ["out", spi, ..] => self.sa(Way::Out, spi, builder),
            [
                "local" | "remote" | "installed" | "established" | "active:" | "passive:" | "queued:" | "rekeying",
                ..,
            ] => {}
            [one] if one.contains('/') => {}
            _ => return Read::Foreign,
        }
        Read::Understood
    }

    fn child(&mut self, text: &str, builder: &mut Builder) {
        let parts: Vec<&str> = text.split(", ").collect();
        let proposal =
            parts.iter().find_map(|part| part.split_once(':').filter(|(name, _)| matches!(*name, "ESP" | "AH")));
        let mode = parts.iter().find_map(|part| {
            let mode = if part.starts_with("TUNNEL") { Mode::Tunnel } else { Mode::Transport };
            (part.starts_with("TUNNEL") || part.starts_with("TRANSPORT")).then_some(mode)
        });
        // Up to the proposal; what stands behind it may be anything.
        let end = proposal.map_or(0, |(_, words)| words.find(' ').map_or(0, |blank| words.len() - blank));
        let read =
            parts.iter().position(|part| part.starts_with("ESP:") || part.starts_with("AH:")).map_or(0, |at| at + 1);
        let shown = parts.get(..read).unwrap_or_default().join(", ");
        let shown = shown.get(..shown.len().saturating_sub(end)).unwrap_or_default().to_owned();
        self.child = proposal.map(|(name, words)| Child {
            protocol: if name == "AH" { Protocol::Ah } else { Protocol::Esp },
            mode,
            udp: text.contains("-in-UDP"),
            words: words.split(' ').next().unwrap_or_default().to_owned(),
            cite: builder.cite(&shown),
        });
    }

    fn sa(&mut self, way: Way, word: &str, builder: &mut Builder) {
        let Some(child) = &self.child else { return };
        let Some(spi) = hex(word.trim_end_matches(',')) else {
            builder.wrong("an SPI that is no hex number of at most eight digits");
            return;
        };
        let (src, dst) = if way == Way::In { (self.remote, self.local) } else { (self.local, self.remote) };
        let cite = builder.cite(&format!("{} {word}", if way == Way::In { "in" } else { "out" }));
        let mut sa = Installed {
            way: Some(way),
            src,
            dst,
            words: child.words.clone(),
            mode: child.mode,
            udp: child.udp,
            negotiated: true,
            ..Installed::listed(Display::Swanctl, child.protocol, spi, cite)
        };
        sa.cites.push(child.cite.clone());
        if let Some(router) = builder.router() {
            router.installed.push(sa);
        }
    }
}

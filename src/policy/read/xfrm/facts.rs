//! Facts of Linux states and policies that other makes have no word for.

use serde::Serialize;

use crate::model::{Address, Protocol, Spi};
use crate::policy::facts::router::Mode;
use crate::policy::{Cite, Selector};

/// What the kernel keeps of a state besides its ends, SPI, algorithms and keys.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct KernelState {
    /// Ties it to templates; 0 where none is set.
    pub reqid: u32,
    /// Packets it is for.
    pub mark: Mark,
    /// The xfrm interface it is for; 0 where none is.
    pub if_id: u32,
    /// Anti-replay window in packets.
    pub window: u32,
    /// Flags in the words of `ip xfrm`, in order, `esn` among them.
    pub flags: Vec<String>,
    /// Further flags (`extra-flag`).
    pub extra_flags: Vec<String>,
    /// ESP in UDP or TCP.
    pub encap: Option<Encap>,
    /// Its selector in the words of `ip xfrm`, where it is narrower than everything.
    pub selector: Option<String>,
    /// Mark set on packets that leave it, in the words of `ip xfrm`.
    pub output_mark: Option<String>,
    /// Offload to a network device, in the words of `ip xfrm`.
    pub offload: Option<String>,
    /// Whether the listing leaves the keys out.
    pub keys_hidden: bool,
    /// Whether a command makes it, with keys that were typed.
    #[serde(skip)]
    pub typed: bool,
    /// Packets that it processed (`lifetime current`).
    pub packets: Option<u64>,
    /// Packets that it dropped (`stats`).
    pub drops: Option<Drops>,
    /// Whether its counters show packets received or sent: inbound, outbound.
    pub counted: (bool, bool),
    /// Lines of what findings name, by keyword.
    pub lines: Vec<(&'static str, Cite)>,
}

impl KernelState {
    /// Whether sequence numbers are extended.
    pub(in crate::policy) fn esn(&self) -> bool {
        self.flags.iter().any(|flag| flag == "esn")
    }

    /// The line of a keyword.
    pub(in crate::policy) fn line(&self, keyword: &str) -> Option<&Cite> {
        self.lines.iter().find(|(name, _)| *name == keyword).map(|(_, cite)| cite)
    }
}

/// A mark with its mask: a packet fits if its mark under the mask is the value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize)]
pub struct Mark {
    /// The value.
    pub value: u32,
    /// The mask; 0 fits every packet.
    pub mask: u32,
}

impl Mark {
    /// `0x5/0xffffffff`, or a value alone, in decimal or hex.
    pub(super) fn read(word: &str) -> Option<Self> {
        let (value, mask) = word.split_once('/').map_or((word, None), |(value, mask)| (value, Some(mask)));
        let mask = mask.map_or(Some(u32::MAX), number)?;
        Some(Self { value: number(value)?, mask })
    }

    /// Whether it fits every packet.
    pub(in crate::policy) const fn any(self) -> bool {
        self.mask == 0
    }

    /// Whether the mark that a policy looks a state up with fits the state (`xfrm_state_find` of the kernel).
    pub(in crate::policy) const fn found_by(self, policy: Self) -> bool {
        policy.value & policy.mask & self.mask == self.value
    }
}

impl std::fmt::Display for Mark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.any() { f.write_str("none") } else { write!(f, "0x{:x}/0x{:x}", self.value, self.mask) }
    }
}

/// ESP in UDP or TCP.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct Encap {
    /// `espinudp`, `espinudp-nonike` or `espintcp`.
    pub kind: String,
    /// Source port.
    pub sport: u16,
    /// Destination port.
    pub dport: u16,
    /// Original address, as displayed.
    pub original: String,
}

/// Packets that a state dropped, by reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Drops {
    /// Older than the window (`replay-window`).
    pub outside_window: u64,
    /// Received before (`replay`).
    pub replayed: u64,
    /// Failed the integrity check (`failed`).
    pub failed: u64,
}

/// Direction of a policy.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub enum Direction {
    /// Packets that leave.
    Out,
    /// Packets that arrive for the host.
    In,
    /// Packets that arrive to be forwarded.
    Fwd,
}

impl Direction {
    /// The word of `ip xfrm`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Out => "out",
            Self::In => "in",
            Self::Fwd => "fwd",
        }
    }

    pub(super) fn read(word: &str) -> Option<Self> {
        [Self::Out, Self::In, Self::Fwd].into_iter().find(|one| one.name() == word)
    }
}

/// A policy of the kernel.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct XfrmPolicy {
    /// Packets it takes; `None` where more narrows them than a selector can hold.
    pub selector: Option<Selector>,
    /// Its selector in the words of `ip xfrm`.
    pub words: String,
    /// Direction.
    pub direction: Direction,
    /// Whether it drops packets instead.
    pub block: bool,
    /// Lower numbers are looked at first.
    pub priority: u32,
    /// Packets it is for.
    pub mark: Mark,
    /// The xfrm interface it is for; 0 where none is.
    pub if_id: u32,
    /// Whether it is of the main table (`ptype main`).
    pub main: bool,
    /// What it asks for, innermost first; none for a bypass.
    pub templates: Vec<Template>,
    /// Where it stands.
    pub cite: Cite,
}

/// What a policy asks of a state.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Template {
    /// Source of the outer packet; `None` is any.
    pub src: Option<Address>,
    /// Destination of the outer packet; `None` is any.
    pub dst: Option<Address>,
    /// AH, ESP or IPComp.
    pub protocol: Option<Protocol>,
    /// 0 fits any state.
    pub reqid: u32,
    /// `None` fits any SPI.
    pub spi: Option<Spi>,
    /// Tunnel or transport; `None` for other modes.
    pub mode: Option<Mode>,
    /// Whether packets pass without it (`level use`).
    pub optional: bool,
    /// Where it stands.
    pub cite: Cite,
}

/// A number in decimal, or in hex with `0x`; `10(0x0000000a)` is 10.
pub(super) fn number(word: &str) -> Option<u32> {
    let word = word.split_once('(').map_or(word, |(number, _)| number);
    crate::policy::words::spi(word).map(|number| number.0)
}

/// A selector in the words of `ip xfrm`; `None` where it has no such form.
pub(in crate::policy) fn selector_words(selector: &Selector) -> Option<String> {
    let mut words = format!("src {} dst {}", selector.src.cidr()?, selector.dst.cidr()?);
    if selector.protocol != "ip" {
        words.push_str(&format!(" proto {}", selector.protocol));
    }
    for (name, port) in [("sport", &selector.src_port), ("dport", &selector.dst_port)] {
        match port.strip_prefix("eq ") {
            Some(number) => words.push_str(&format!(" {name} {number}")),
            None if port.is_empty() => {}
            // The type and code of ICMP stand where ports do.
            None => words.push_str(&format!(" {port}")),
        }
    }
    Some(words)
}

/// The word of a protocol in `ip xfrm`.
pub(super) const fn protocol_word(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::IpComp => "comp",
        other => other.name(),
    }
}

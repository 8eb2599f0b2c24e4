//! What a run was asked for that changes its figures. Part of every state: states of different settings do not merge.

use serde::{Deserialize, Serialize};

use super::limits::MEMORY_LIMIT;
use crate::dissect::{DissectOptions, Note, Stack};
use crate::keys::expectation::Expectation;
use crate::model::{Address, Spi, Timestamp};

/// Settings of an analysis. `T` is how limits in time are told: as moments, or as somebody asks for them who does not know yet when a
/// capture begins.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Settings<T = Timestamp> {
    /// Width of a time bin, in nanoseconds.
    pub bin_ns: u64,
    /// Leave out frames before this time.
    pub from: Option<T>,
    /// Leave out frames at and after this time.
    pub to: Option<T>,
    /// Keep only frames with this address in one of their IP headers.
    pub peer: Option<Address>,
    /// Keep only frames with this SPI.
    pub spi: Option<Spi>,
    /// UDP ports besides 500 and 4500 that carry ESP.
    pub udp_ports: Vec<u16>,
    /// TCP ports besides 4500 that carry IKE and ESP in TCP.
    pub tcp_ports: Vec<u16>,
    /// Treat VXLAN and GENEVE as tunnels, not as mirror shells.
    pub overlay: bool,
    /// Rate of the link, in bits per second.
    pub link_rate_bps: Option<u64>,
    /// Lost share of an SA's numbers from which `sequence-gap` is a warning, in per cent.
    pub max_loss_pct: f64,
    /// What should be on the wire.
    pub expectation: Expectation,
    /// Shortest pause between two files of a rotation that may be a hole in the capture, in nanoseconds. It is asked for when the report is
    /// made, so states of different ones merge.
    #[serde(skip)]
    pub hole_ns: Option<u64>,
    /// Memory that the analysis may take, in octets, about. It changes no figure before it is reached, so states of different limits
    /// merge.
    #[serde(skip, default = "memory_limit")]
    pub memory_limit: u64,
}

const fn memory_limit() -> u64 {
    MEMORY_LIMIT
}

impl<T> Default for Settings<T> {
    fn default() -> Self {
        Self {
            bin_ns: 1_000_000_000,
            from: None,
            to: None,
            peer: None,
            spi: None,
            udp_ports: Vec::new(),
            tcp_ports: Vec::new(),
            overlay: false,
            link_rate_bps: None,
            max_loss_pct: 0.1,
            expectation: Expectation::default(),
            hole_ns: None,
            memory_limit: MEMORY_LIMIT,
        }
    }
}

impl<T> Settings<T> {
    /// The same settings with their time limits converted.
    pub(crate) fn with_times<U>(&self, told: impl Fn(&T) -> U) -> Settings<U> {
        let Self {
            bin_ns,
            from,
            to,
            peer,
            spi,
            udp_ports,
            tcp_ports,
            overlay,
            link_rate_bps,
            max_loss_pct,
            expectation,
            hole_ns,
            memory_limit,
        } = self;
        Settings {
            bin_ns: *bin_ns,
            from: from.as_ref().map(&told),
            to: to.as_ref().map(&told),
            peer: *peer,
            spi: *spi,
            udp_ports: udp_ports.clone(),
            tcp_ports: tcp_ports.clone(),
            overlay: *overlay,
            link_rate_bps: *link_rate_bps,
            max_loss_pct: *max_loss_pct,
            expectation: expectation.clone(),
            hole_ns: *hole_ns,
            memory_limit: *memory_limit,
        }
    }

    /// What dissection is asked for.
    pub(crate) fn dissect_options(&self) -> DissectOptions {
        DissectOptions {
            udp_ports: self.udp_ports.clone(),
            tcp_ports: self.tcp_ports.clone(),
            overlay: self.overlay,
            innermost: false,
        }
    }
}

/// Whether a frame bears this SPI, in UDP also where it is decided in the end whether the flow carries ESP.
fn bears(stack: &Stack, wanted: Spi) -> bool {
    let may_be_wanted = |note: &Note| matches!(note, Note::UdpCandidate { spi, .. } if *spi == wanted);
    stack.sas.iter().any(|sa| sa.spi == wanted) || stack.notes.iter().any(may_be_wanted)
}

impl Settings {
    /// Whether a frame of this time is wanted. A frame without a time is, unless a limit was given.
    #[inline]
    pub(crate) fn admits_time(&self, time: Timestamp) -> bool {
        if self.from.is_none() && self.to.is_none() {
            return true;
        }
        time != Timestamp::UNKNOWN && self.from.is_none_or(|from| time >= from) && self.to.is_none_or(|to| time < to)
    }

    /// Whether the filters want a frame.
    #[inline]
    #[must_use]
    pub fn admits(&self, stack: &Stack) -> bool {
        (self.peer.is_none() && self.spi.is_none()) || self.admits_slow(stack)
    }

    #[cold]
    fn admits_slow(&self, stack: &Stack) -> bool {
        let peer = self.peer.is_none_or(|peer| stack.ips.iter().any(|ip| ip.src == peer || ip.dst == peer));
        peer && self.spi.is_none_or(|spi| bears(stack, spi))
    }

    /// In which setting the two differ, in words.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<String> {
        let Self {
            bin_ns,
            from,
            to,
            peer,
            spi,
            udp_ports,
            tcp_ports,
            overlay,
            link_rate_bps,
            max_loss_pct,
            expectation,
            hole_ns: _,
            memory_limit: _,
        } = self;
        let different = [
            ("--bin", *bin_ns != other.bin_ns),
            ("--from", *from != other.from),
            ("--to", *to != other.to),
            ("--peer", *peer != other.peer),
            ("--spi", *spi != other.spi),
            ("--udp-port", *udp_ports != other.udp_ports),
            ("--tcp-port", *tcp_ports != other.tcp_ports),
            ("--overlay", *overlay != other.overlay),
            ("--link-rate", *link_rate_bps != other.link_rate_bps),
            ("--max-loss", *max_loss_pct != other.max_loss_pct),
            ("--config", *expectation != other.expectation),
        ];
        let names: Vec<_> = different.iter().filter(|(_, differs)| *differs).map(|(name, _)| *name).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }
}

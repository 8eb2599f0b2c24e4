//! The words of the trials report.

use serde::{Deserialize, Serialize};

/// An enum whose variants are words of the report.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $word)] $variant,)*
        }

        impl $name {
            /// The word used in every output.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }
    };
}

words! {
    /// A way through the device.
    Direction {
        /// Into the tunnel at the plain tap.
        Fwd = "fwd",
        /// Out of the tunnel at the plain tap.
        Rev = "rev",
    }
}

words! {
    /// What a stretch of test traffic is.
    Kind {
        /// A load kept up long enough to measure rates.
        Trial = "trial",
        /// Too short for rates: a back-to-back burst.
        Burst = "burst",
        /// Fewer frames than a trial or burst has: learning frames.
        Stray = "stray",
        /// A load that rises or falls all the time: no trial.
        Ramp = "ramp",
    }
}

words! {
    /// Which directions are loaded during a trial.
    Ways {
        /// This one alone.
        One = "one",
        /// Both, with equal loads and sizes.
        Both = "both",
        /// Both, with different loads or sizes.
        BothUnequal = "both-unequal",
    }
}

words! {
    /// What the device did with the load of a trial.
    State {
        /// It forwarded the load whole.
        Equal = "equal",
        /// It forwarded less, or a queue grew.
        Overloaded = "overloaded",
        /// It lost packets without being overloaded: a bad link, a policer.
        Lossy = "lossy",
        /// Its output paused while packets came in.
        Stalled = "stalled",
        /// It forwarded nothing.
        Silent = "silent",
        /// Which of these is not known; `undetermined[]` says why.
        Undetermined = "undetermined",
    }
}

words! {
    /// How it is known which frame became which.
    Basis {
        /// By the content of the packets.
        Content = "content",
        /// By the content of decrypted packets.
        Decrypted = "decrypted",
        /// By order: as many came out as went in.
        Order = "order",
        /// By order, with the packets that a full first-in-first-out queue drops left out: latencies are modelled.
        TailDrop = "tail-drop",
        /// By sequence numbers alone: packets that are missing were offered.
        Sequence = "sequence",
        /// Nothing came out.
        None = "none",
    }
}

words! {
    /// How a bracket is closed.
    Bound {
        /// Between a load that passed and one that failed.
        Bracketed = "bracketed",
        /// No load failed.
        AtLeast = "at-least",
        /// No load passed.
        AtMost = "at-most",
        /// Neither.
        None = "none",
    }
}

words! {
    /// What limits the forwarded rate.
    Limit {
        /// The tunnel's link is full.
        Link = "link",
        /// The device.
        Device = "device",
    }
}

words! {
    /// Whether the rate per octet is known.
    Slope {
        /// The service times grow with the size beyond doubt.
        Determined = "determined",
        /// They do not.
        Undetermined = "undetermined",
    }
}

words! {
    /// Whether the time per packet is known.
    Fix {
        /// It differs from zero beyond doubt.
        Determined = "determined",
        /// It does not.
        Undetermined = "undetermined",
        /// The whole time is per packet: size makes no measurable difference.
        PerPacket = "per-packet",
    }
}

words! {
    /// What a buffer counts.
    Unit {
        /// Packets.
        Frames = "frames",
        /// Octets of packets.
        Octets = "octets",
        /// The sizes that were measured do not tell.
        Undetermined = "undetermined",
    }
}

words! {
    /// Where a search is.
    Phase {
        /// Steps of constant length.
        Step = "step",
        /// Halving steps.
        Binary = "binary",
        /// Ended.
        Done = "done",
    }
}

words! {
    /// A figure, or all figures that begin like this.
    Figure {
        /// `state`.
        State = "state",
        /// `latency_*`, `device_latency_*`, `waiting_frames`, `ratio` and what follows from them.
        Latency = "latency",
        /// `latency_sf_*` and `latency_ct_*`.
        LatencySf = "latency_sf",
        /// `device_latency_p50_ns`.
        DeviceLatency = "device_latency",
        /// `ratio` and `latency_slope_ppm`.
        Ratio = "ratio",
        /// `offered_fps` and the rates that follow from it.
        Offered = "offered",
        /// `forwarded_fps` and the rates that follow from it.
        Forwarded = "forwarded",
        /// `offered_l4_bps` and `forwarded_l4_bps`.
        L4 = "l4",
        /// `tunnel_fps` and `tunnel_l1_bps`.
        Tunnel = "tunnel",
        /// `tunnelled`, `lost_before_tunnel` and `lost_behind_tunnel`.
        Tunnelled = "tunnelled",
        /// `sequence_lost`.
        SequenceLost = "sequence_lost",
        /// `inner_bytes`, and rates in bit/s of plaintext.
        Inner = "inner_bytes",
        /// `backlog_max_frames`.
        Backlog = "backlog_max_frames",
        /// `buffer_frames`.
        Buffer = "buffer_frames",
        /// `load_pct`.
        Load = "load_pct",
        /// `equilibrium` and the lower end of its bracket.
        Equilibrium = "equilibrium",
        /// The upper end of the bracket of `equilibrium`.
        EquilibriumAbove = "equilibrium_above",
        /// `rfc1242` and the lower end of its bracket.
        Rfc1242 = "rfc1242",
        /// The upper end of the bracket of `rfc1242`.
        Rfc1242Above = "rfc1242_above",
        /// `mfrzl`.
        Mfrzl = "mfrzl",
        /// `service_fps`.
        Service = "service_fps",
        /// `limit`.
        Limit = "limit",
        /// `r_alg_bps`.
        RAlg = "r_alg",
        /// `t_fix_ns`.
        TFix = "t_fix",
        /// `unit`.
        Unit = "unit",
        /// `elapsed_seconds` and `elapsed_l4_bps`.
        Elapsed = "elapsed",
        /// `seconds` and `goodput_l4_bps`.
        Seconds = "seconds",
        /// `received_segments`.
        Received = "received_segments",
        /// `longest_lossless_frames`.
        Lossless = "longest_lossless_frames",
        /// `shortest_lossy_frames`.
        Lossy = "shortest_lossy_frames",
        /// `increase_pct` and `of_baseline_pct`.
        Increase = "increase_pct",
        /// `clock_offset_ns` and `clock_drift_ppm`.
        ClockOffset = "clock_offset_ns",
        /// `clock_drift_ppm`.
        ClockDrift = "clock_drift_ppm",
    }
}

words! {
    /// Why a figure is null.
    Reason {
        /// There is no tap after the one where packets come in.
        NoOutTap = "no-out-tap",
        /// There is no tap between the ends.
        NoMiddleTap = "no-middle-tap",
        /// No packet of the trial was seen at the last tap.
        NothingForwarded = "nothing-forwarded",
        /// A clock was set during the trial.
        ClockStep = "clock-step",
        /// No silence before any trial shows an idle device: the clocks cannot be compared.
        NoAnchor = "no-anchor",
        /// Several clocks stamped the captures, and how far they are apart is known to a part of the time that packets take only.
        DependsOnOffset = "depends-on-offset",
        /// No packet of the trial was as fast as an idle device was in others: the path or a clock changed between them, or the device
        /// was busy when the trial began.
        NoIdlePacket = "no-idle-packet",
        /// The times of a tap are too coarse for it.
        CoarseTimestamps = "coarse-timestamps",
        /// The packets are encrypted, and no plaintext side shows their lengths.
        Opaque = "opaque",
        /// The rate of the link is not known.
        NoLinkRate = "no-link-rate",
        /// The packets are neither UDP nor TCP.
        NoTransport = "no-transport",
        /// Too few frames for a slope.
        TooFewFrames = "too-few-frames",
        /// The tunnel tap shows no IPsec.
        NoIpsec = "no-ipsec",
        /// The headers of the tunnel have no sequence number.
        NoSequence = "no-sequence",
        /// No packet was lost by a full queue.
        NotOverloaded = "not-overloaded",
        /// No load was forwarded whole.
        NoEqualTrial = "no-equal-trial",
        /// No load was forwarded without loss.
        NoLosslessTrial = "no-lossless-trial",
        /// No higher load failed.
        NoFailingTrial = "no-failing-trial",
        /// No trial was overloaded.
        NoOverload = "no-overload",
        /// The service times do not grow with the size beyond doubt.
        SizeMakesNoDifference = "size-makes-no-difference",
        /// The sizes span less than 2 : 1.
        SizesTooClose = "sizes-too-close",
        /// Zero fits as well.
        ZeroFits = "zero-fits",
        /// Neither packets nor octets agree over the sizes.
        NeitherAgrees = "neither-agrees",
        /// No beginning or no end of the connection was captured.
        ConnectionCut = "connection-cut",
        /// The last octet was not acknowledged in the capture.
        NotAcknowledged = "not-acknowledged",
        /// No burst passed whole.
        NoLosslessBurst = "no-lossless-burst",
        /// No longer burst lost packets.
        NoLossyBurst = "no-lossy-burst",
        /// One of the trials has no latency.
        NoLatency = "no-latency",
        /// It is not known which frame is which: times contradict it, several ways fit, or more frames came out than packets came in.
        AssociationUnclear = "association-unclear",
        /// Losses fit a full queue, but one that held another number of packets than in other loads of that size, or one that both
        /// directions may share: the device drops by another rule, and which of equal packets it dropped is not known.
        QueueUnclear = "queue-unclear",
        /// Both directions are loaded, and nothing tells which direction of the tunnel carries which.
        TunnelUnclear = "tunnel-unclear",
        /// The capture of the tap begins or ends during the trial.
        CaptureCut = "capture-cut",
        /// More frames than are kept: the limit on memory.
        TooManyFrames = "too-many-frames",
        /// Too few packets that take as long at all times: the drift of a clock may be none and may be more.
        DriftUntold = "drift-untold",
        /// What tells the drift of a clock contradicts each other: packets that meet an idle device and those of loads, or both directions.
        DriftContradicted = "drift-contradicted",
    }
}

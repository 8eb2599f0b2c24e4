//! The words that reports choose from a list: one type a list, written the same way in every output and read back by it.

/// Declares vocabularies: each variant with the word that every output writes for it.
macro_rules! vocabularies {
    ($(
        $(#[$about:meta])*
        $name:ident {
            $($(#[$word_about:meta])* $variant:ident = $word:tt,)+
        }
    )+) => {
        $(
            $(#[$about])*
            #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize)]
            #[cfg_attr(test, derive(schemars::JsonSchema))]
            pub enum $name {
                $($(#[$word_about])* #[serde(rename = $word)] $variant,)+
            }

            impl $name {
                /// All words of the list.
                pub const ALL: &[Self] = &[$(Self::$variant),+];

                /// The word in every output.
                #[must_use]
                pub const fn name(self) -> &'static str {
                    match self {
                        $(Self::$variant => $word,)+
                    }
                }
            }

            impl ::std::fmt::Display for $name {
                fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                    f.pad(self.name())
                }
            }
        )+
    };
}

pub(crate) use vocabularies;

vocabularies! {
    /// The name and version of the schema of a report.
    ReportSchema {
        /// The first.
        V1 = "spiglass.report/1",
    }

    /// How the digest of a file is computed.
    DigestAlgorithm {
        /// XXH3 with 128 bits: tells files apart, but does not resist forgery.
        Xxh3128 = "xxh3-128",
        /// SHA-256 (FIPS 180-4).
        Sha256 = "sha256",
    }

    /// The name and version of the schema of a report of pairs.
    MatchSchema {
        /// The first.
        V1 = "spiglass.match/1",
    }

    /// The name and version of the schema of two reports compared.
    DiffSchema {
        /// The first.
        V1 = "spiglass.diff/1",
    }

    /// What became of a finding between two reports.
    FindingChangeKind {
        /// Only the later report has it.
        Begun = "begun",
        /// Both have it, with another count or severity.
        Changed = "changed",
        /// Only the earlier report has it.
        Ended = "ended",
    }

    /// Which of two reports has an SA.
    SaChangeKind {
        /// Only the later one.
        New = "new",
        /// Only the earlier one.
        Gone = "gone",
    }

    /// A figure of two reports.
    FigureKind {
        /// Mean overhead per packet, in octets.
        OverheadMeanBytes = "overhead_mean_bytes",
        /// Packets lost, in per cent.
        LossPct = "loss_pct",
        /// Frames per second.
        FramesPerS = "frames_per_s",
        /// Rate at layer 1, in bit/s.
        L1Bps = "l1_bps",
        /// Median latency, in nanoseconds.
        LatencyP50Ns = "latency_p50_ns",
        /// Latency that 99 of 100 packets do not exceed, in nanoseconds.
        LatencyP99Ns = "latency_p99_ns",
    }

    /// The name and version of the schema of a report of trials.
    TrialsSchema {
        /// The first.
        V1 = "spiglass.trials/1",
    }

    /// The name and version of the schema of what a device forwards.
    DeviceSchema {
        /// The first.
        V1 = "spiglass.device/1",
    }

    /// The name and version of the schema of a search that is played through.
    SearchSchema {
        /// The first.
        V1 = "spiglass.search/1",
    }

    /// The name and version of the schema of a calculation.
    CalcSchema {
        /// The first.
        V1 = "spiglass.calc/1",
    }

    /// Whether every figure is exact.
    Exactness {
        /// No limit was hit.
        Exact = "exact",
        /// A limit was hit; `degraded_why` says which.
        Degraded = "degraded",
    }

    /// How much a finding matters.
    Severity {
        /// Worth knowing.
        Note = "note",
        /// Something is probably wrong.
        Warning = "warning",
        /// Something is wrong.
        Error = "error",
    }

    /// Which side of a tunnel a tap is on.
    TapRole {
        /// Traffic in clear.
        Plain = "plain",
        /// Traffic in IPsec or another tunnel, with at most a tenth in clear.
        Tunnel = "tunnel",
        /// Both.
        Mixed = "mixed",
        /// No IP traffic from which it could be known.
        Unknown = "unknown",
    }

    /// The mode of an SA (RFC 4301 section 4.1).
    SaMode {
        /// A whole IP packet is inside.
        Tunnel = "tunnel",
        /// The payload of an IP packet is inside.
        Transport = "transport",
        /// The packets do not show it.
        Unknown = "unknown",
    }

    /// How a transform is known.
    TransformBasis {
        /// A configuration states it.
        Expected = "expected",
        /// The headers show it.
        Visible = "visible",
        /// Lengths, IVs and padding decide it.
        Inferred = "inferred",
        /// It is not determined.
        Unknown = "unknown",
    }

    /// How overhead and padding are known.
    OverheadBasis {
        /// The inner packet is in clear.
        Visible = "visible",
        /// The inner packet was decrypted.
        Decrypted = "decrypted",
        /// The inner packet was seen at another tap.
        Matched = "matched",
        /// The transform allows it at the outer lengths seen.
        Modelled = "modelled",
        /// It is not determined.
        Unknown = "unknown",
    }

    /// What padding consists of.
    Pattern {
        /// 0x00 only.
        Zero = "zero",
        /// 0xff only.
        Ff = "ff",
        /// One other octet, repeated.
        Repeated = "repeated",
        /// Different octets.
        Other = "other",
    }

    /// How layer 1 lengths are known.
    #[derive(Default)]
    LengthBasis {
        /// From the lengths of Ethernet frames.
        #[default]
        Measured = "measured",
        /// Lengths of an Ethernet frame had to be assumed.
        Assumed = "assumed",
    }

    /// How the time that rates are over is known.
    TimeBasis {
        /// From the first to the last frame by the capture's clock.
        CaptureClock = "capture-clock",
        /// The clock was set back meanwhile: the sum of its forward steps.
        ClockStepped = "clock-stepped",
    }

    /// What began, ended or changed.
    EventKind {
        /// The first frame of an SA.
        SaStart = "sa-start",
        /// The last frame of an SA.
        SaStop = "sa-stop",
        /// An SA took over from another.
        Rekey = "rekey",
        /// A sequence counter began anew on the same SPI.
        Restart = "restart",
        /// A sequence counter passed 2^32.
        Wrap = "wrap",
    }

    /// Which way packets go between the plain tap and the tunnel's.
    TunnelWay {
        /// The plain tap saw them first.
        Encapsulated = "encapsulated",
        /// The tunnel's tap saw them first.
        Decapsulated = "decapsulated",
        /// It is not determined.
        Unknown = "unknown",
    }

    /// Which way packets go between the two plaintext sides.
    EndsWay {
        /// The plain tap saw them first.
        PlainToExit = "plain-to-exit",
        /// The exit tap saw them first.
        ExitToPlain = "exit-to-plain",
        /// Their TTL is the same on both sides.
        Unknown = "unknown",
    }

    /// How a pair is known.
    PairBasis {
        /// The inner packet is visible and the same.
        Content = "content",
        /// The inner packet was decrypted, its ICV verified as far as there is one, and it is the same.
        Decrypted = "decrypted",
        /// By lengths, order and times.
        Order = "order",
    }

    /// How offset and drift of two clocks are known.
    #[derive(Default)]
    ClockBasis {
        /// There is no pair.
        #[default]
        Unknown = "unknown",
        /// Both sides are in one capture, or the user said that they have one clock.
        OneClock = "one-clock",
        /// From pairs of both directions.
        BothDirections = "both-directions",
        /// From pairs of one direction: the shortest time in the device is taken for zero.
        OneDirection = "one-direction",
    }

    /// Where a packet was lost.
    LossPlace {
        /// Between the plain tap and the tunnel tap.
        BeforeTunnel = "before-tunnel",
        /// Between the tunnel tap and the exit tap.
        BehindTunnel = "behind-tunnel",
        /// Between the plain tap and the exit tap; on which side of the tunnel tap is not known.
        EndToEnd = "end-to-end",
    }
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use serde::{Deserialize, Serialize};

    use super::*;
    use crate::model::{Encapsulation, Protocol};

    fn every_word_is_read_back<T>(all: &[T])
    where
        T: Copy + PartialEq + fmt::Debug + fmt::Display + Serialize + for<'de> Deserialize<'de>,
    {
        for word in all {
            let written = serde_json::to_string(word).unwrap();
            assert_eq!(written, format!("\"{word}\""));
            assert_eq!(serde_json::from_str::<T>(&written).unwrap(), *word);
        }
    }

    #[test]
    fn words_are_written_and_read_by_one_list() {
        every_word_is_read_back(ReportSchema::ALL);
        every_word_is_read_back(Severity::ALL);
        every_word_is_read_back(EventKind::ALL);
        every_word_is_read_back(ClockBasis::ALL);
        every_word_is_read_back(Protocol::ALL);
        every_word_is_read_back(Encapsulation::ALL);
    }

    #[test]
    fn other_words_are_refused_by_name() {
        let error = serde_json::from_str::<ReportSchema>("\"spiglass.report/2\"").unwrap_err().to_string();
        assert!(error.contains("spiglass.report/2") && error.contains("spiglass.report/1"), "{error}");
    }
}

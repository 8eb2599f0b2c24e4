//! What was configured and injected in each scenario, in the terms of findings.
//!
//! Every finding of severity warning or error is listed here, and every note that a scenario is there to show. What a
//! sender's own Ethernet padding leaks is counted from the frames and not listed.

/// One scenario of the laboratory.
pub struct Scenario {
    /// Its directory.
    pub dir: &'static str,
    /// ESP is NULL encryption with an ICV of so many octets.
    pub null_icv: Option<usize>,
    /// Findings that must be there.
    pub findings: &'static [Expected],
    /// Codes of notes that may be there: `(file, code)`.
    pub may: &'static [(&'static str, &'static str)],
}

/// One finding, or several of one code that add up.
pub struct Expected {
    /// Stem of the capture it is found in.
    pub file: &'static str,
    pub code: &'static str,
    pub severity: &'static str,
    /// SPI of the SA it is about.
    pub spi: Option<u32>,
    /// Sum of the counts.
    pub count: u64,
}

const fn on(file: &'static str, severity: &'static str, code: &'static str, spi: u32, count: u64) -> Expected {
    Expected { file, code, severity, spi: Some(spi), count }
}

const fn tap(file: &'static str, severity: &'static str, code: &'static str, count: u64) -> Expected {
    Expected { file, code, severity, spi: None, count }
}

const fn quiet(dir: &'static str) -> Scenario {
    Scenario { dir, null_icv: None, findings: &[], may: &[] }
}

const fn with(dir: &'static str, findings: &'static [Expected]) -> Scenario {
    Scenario { dir, null_icv: None, findings, may: &[] }
}

const fn null(dir: &'static str, icv: usize) -> Scenario {
    Scenario { dir, null_icv: Some(icv), findings: &[], may: &[] }
}

const ERROR: &str = "error";
const WARNING: &str = "warning";
const NOTE: &str = "note";

/// SPIs of the plain scenarios: R1 to R2, and back.
const FWD: u32 = 0x3e9;
const REV: u32 = 0x3ea;

/// A count that depends on how a finding is counted is not compared.
pub const ANY: u64 = u64::MAX;

pub const SCENARIOS: &[Scenario] = &[
    quiet("ah-md5"),
    quiet("ah-md5+esp-des"),
    quiet("ah-md5+esp-des-md5"),
    quiet("ah-sha1"),
    // The kernel pads the AH to 8 octets and leaves stale octets of the original Ethernet header there.
    with(
        "ah-sha256",
        &[on("tunnel", WARNING, "ah-padding-leak", FWD, 80), on("tunnel", WARNING, "ah-padding-leak", REV, 49)],
    ),
    quiet("ah-sha256-align4"),
    with(
        "ah-sha512",
        &[on("tunnel", WARNING, "ah-padding-leak", FWD, 80), on("tunnel", WARNING, "ah-padding-leak", REV, 49)],
    ),
    // One multicast listener report crosses the link in clear: link-local, and not what a tunnel is for.
    Scenario {
        dir: "ah6in6-sha1",
        null_icv: None,
        findings: &[],
        may: &[("tunnel", "clear-traffic"), ("combined", "clear-traffic")],
    },
    // Both taps see the same packets one hop apart, so the two of them in one file are a tap that copies.
    with("clear", &[tap("combined", NOTE, "tap-copies", 129)]),
    quiet("corrupt-before-tap"),
    quiet("delay-20ms"),
    quiet("duplicate-after-tap"),
    with("equal-size-loss", &[on("tunnel", WARNING, "sequence-gap", FWD, 15)]),
    quiet("esn-hi"),
    with("esn-wrap-aes128-sha256", &[on("tunnel", WARNING, "sequence-wrap", FWD, 1)]),
    quiet("esp-3des-sha1"),
    quiet("esp-aes-ctr-sha256"),
    quiet("esp-aes128-cbc-sha1"),
    quiet("esp-aes128-cbc-sha512"),
    quiet("esp-aes128-gcm16"),
    quiet("esp-aes256-gcm16"),
    quiet("esp-des-md5"),
    quiet("esp-des-noauth"),
    null("esp-null-md5", 12),
    null("esp-null-sha256", 16),
    quiet("esp-over-ah"),
    Scenario { dir: "esp-tfc-gcm", null_icv: None, findings: &[], may: &[("tunnel", "tfc-padding")] },
    quiet("esp6in4-aes128-sha1"),
    quiet("frag-inner"),
    // 32 of the 80 packets do not fit the link and go in two fragments.
    with(
        "frag-outer-1500",
        &[
            on("tunnel", WARNING, "outer-fragmentation", FWD, ANY),
            on("tunnel", WARNING, "outer-fragmentation", REV, ANY),
        ],
    ),
    with(
        "frag-outer-nopmtudisc",
        &[tap("plain-a", WARNING, "pmtu-icmp", 20), tap("plain-b", WARNING, "pmtu-icmp", 12)],
    ),
    // The gateway's own interface shows what it decapsulates again; `any` shows it on both sides besides.
    Scenario {
        dir: "gateway-tap",
        null_icv: None,
        findings: &[
            tap("gw-r1w", NOTE, "gateway-view", ANY),
            tap("gw-any-sll1", NOTE, "gateway-view", ANY),
            tap("gw-any-sll2", NOTE, "gateway-view", ANY),
            tap("tunnel-snap96", NOTE, "capture-snaplen", ANY),
        ],
        may: &[("gw-any-sll1", "clear-traffic"), ("gw-any-sll2", "clear-traffic")],
    },
    quiet("gre-over-esp-transport"),
    quiet("gre-plain"),
    // Protected traffic goes one way only, and R2's time exceeded messages come back in clear.
    with("header-copy", &[tap("tunnel", NOTE, "sa-one-way", ANY), tap("tunnel", NOTE, "clear-traffic", ANY)]),
    with("icmp-fragneeded", &[tap("plain-a", WARNING, "pmtu-icmp", 20), tap("plain-b", WARNING, "pmtu-icmp", 12)]),
    quiet("idle"),
    quiet("imix-udp"),
    quiet("ip6tnl-4in6"),
    quiet("ip6tnl-4in6-noelim"),
    quiet("ipcomp"),
    quiet("ipip-over-esp-transport"),
    quiet("loss-after-tap"),
    with("loss-before-tap", &[on("tunnel", WARNING, "sequence-gap", FWD, 10)]),
    quiet("nat-t-aes128-sha1"),
    quiet("random-aes128-sha1"),
    null("random-null-sha256", 16),
    quiet("random-two-tunnels"),
    quiet("rekey"),
    quiet("reorder-after-tap"),
    with("reorder-before-tap", &[on("tunnel", NOTE, "sequence-late", FWD, 84)]),
    with("reorder-esn128", &[on("tunnel", NOTE, "sequence-late", FWD, 178)]),
    with("replay", &[on("tunnel", WARNING, "sequence-duplicate", FWD, 40)]),
    with(
        "restart-same-spi-esp",
        &[on("tunnel", WARNING, "sequence-restart", FWD, 1), on("tunnel", WARNING, "sequence-restart", REV, 1)],
    ),
    with(
        "restart-short",
        &[on("tunnel", WARNING, "sequence-restart", FWD, 1), on("tunnel", WARNING, "sequence-restart", REV, 1)],
    ),
    with("seqwrap-noesn-maywrap", &[on("tunnel", WARNING, "sequence-wrap", FWD, 1)]),
    // The sender stops at 0xffffffff: there is no wrap to be seen.
    quiet("seqwrap-noesn-stops"),
    quiet("sit-6in4"),
    // Nothing at all comes back on this link, so no more can be said than that the capture shows one direction.
    with("spi-mismatch-oneway", &[tap("tunnel", NOTE, "capture-one-direction", ANY)]),
    with("spi-zero", &[on("tunnel", ERROR, "spi-zero", 0, 80)]),
    quiet("steps-512-after-tap"),
    with("steps-512-before-tap", &[on("tunnel", WARNING, "sequence-gap", FWD, 42)]),
    with(
        "steps-ah-1024",
        &[on("tunnel", WARNING, "sequence-gap", FWD, 12), tap("tunnel", NOTE, "capture-one-direction", ANY)],
    ),
    with(
        "steps-long-aes128-sha1-1024",
        &[
            on("tunnel", WARNING, "sequence-gap", FWD, 363),
            tap("tunnel", NOTE, "capture-one-direction", ANY),
            tap("tunnel", NOTE, "capture-snaplen", ANY),
            tap("plain-a", NOTE, "capture-snaplen", ANY),
            tap("plain-b", NOTE, "capture-snaplen", ANY),
        ],
    ),
    with(
        "tcp-transfer",
        &[
            tap("plain-a", WARNING, "pmtu-icmp", 6),
            tap("tunnel", NOTE, "capture-snaplen", ANY),
            tap("plain-a", NOTE, "capture-snaplen", ANY),
            tap("plain-b", NOTE, "capture-snaplen", ANY),
        ],
    ),
    // Each plain tap shows one direction before its transport ESP and the other still in it. The two taps in one file show
    // the 49 reverse packets twice, one hop apart: 49 of 258 frames are too few for a tap that copies, and no network duplicated them.
    with(
        "transport-bitw-aes-sha1",
        &[
            tap("plain-a", NOTE, "sa-one-way", ANY),
            tap("plain-a", NOTE, "clear-traffic", ANY),
            tap("plain-b", NOTE, "sa-one-way", ANY),
            tap("plain-b", NOTE, "clear-traffic", ANY),
            on("combined", NOTE, "sequence-duplicate", REV, 49),
        ],
    ),
    with("transport-host-aes-sha1", &[tap("combined", NOTE, "tap-copies", 129)]),
    with(
        "two-clocks",
        &[
            tap("tunnel", NOTE, "capture-snaplen", ANY),
            tap("plain-a", NOTE, "capture-snaplen", ANY),
            tap("plain-b", NOTE, "capture-snaplen", ANY),
        ],
    ),
    quiet("vlan-esp-aes128-sha1"),
    quiet("wrong-auth-key"),
];

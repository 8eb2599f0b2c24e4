//! What happens in a scenario, drawn by its seed.

use crate::support::build::Noise;

/// How packets follow each other.
#[derive(Clone, Copy, Debug)]
pub enum Pace {
    /// Every so many nanoseconds.
    Even(u64),
    /// At random, so many nanoseconds apart on the average.
    Random(u64),
    /// Eight at once.
    Bursts(u64),
    /// Every so many nanoseconds, with silences in between.
    Voice(u64),
}

/// How long they are.
#[derive(Clone, Copy, Debug)]
pub enum Size {
    One(u64),
    Imix,
    Any,
}

/// What protects them: block, IV, ICV; `clear` leaves them in clear.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transform {
    pub block: u64,
    pub iv: u64,
    pub icv: u64,
    pub clear: bool,
}

impl Transform {
    /// What a plaintext packet of so many octets gains in the tunnel.
    pub fn overhead(self, scenario: &Scenario, inner: u64) -> i64 {
        let header = |v6: bool| if v6 { 40 } else { 20 };
        let content = if scenario.transport { inner - header(scenario.inner_v6) } else { inner };
        let shim = if scenario.nat_t { 8 } else { 0 };
        let esp = 8 + self.iv + (content + 2).next_multiple_of(self.block) + self.icv;
        (header(scenario.outer_v6) + shim + esp) as i64 - inner as i64
    }
}

/// A part of the time, in per mille of it: from, to.
pub type Part = (u64, u64);

/// Step of a capture's timestamps, in nanoseconds.
pub type StepNs = u64;

/// What users meet and [`Scenario::random`] does not draw. Shares are per mille, times in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unusual {
    Nothing,
    /// So many SAs at a time, each packet in any of them; the path of each takes so much longer than that of the one before.
    Parallel(u64, u64),
    /// Packets of this share do not wait before they are numbered; the others wait so long.
    Priority(u64, u64),
    /// The gateway forwards so many bits per second and drops what would wait longer.
    Queue(u64, u64),
    /// The tap of a side misses this share of the frames.
    Missed(usize, u64),
    /// The plain tap shows each frame twice, so long apart.
    Mirrored(u64),
    /// Longer packets are fragmented before they are encrypted.
    Fragmented(u64),
    /// The gateway translates the near host's address before it encrypts.
    Translated,
    /// After this share of the packets the gateway sends one without content.
    Dummies(u64),
    /// Each packet is sent through a second tunnel, too.
    Twin,
    /// The counter jumps ahead: when, and by how much.
    Failover(u64, u32),
    /// The MTU of the tunnel's wire is this from then on.
    Narrowed(u64, u64),
    /// The tunnel's clock runs faster from then on, in ppm.
    Slewed(u64, i64),
    /// What is lost is sent again, byte for byte, so much later.
    Resent(u64),
    /// The new SA has another transform.
    Rekeyed(Transform),
    /// The file of a side has some frames up to three places late.
    Shuffled(usize),
    /// Packets are sent at an even pace, with silences in between.
    Voice,
    /// So many routers are between the near host and the plain tap.
    Routed(u8),
    /// The tunnel carries other packets than the plain tap shows.
    Unrelated,
    /// The near host sends to a group behind the far gateway, and hosts of both links look for services there.
    Group,
}

impl Unusual {
    /// Transform of the new SA, if it is another.
    pub fn rekeyed(self) -> Option<Transform> {
        if let Self::Rekeyed(transform) = self { Some(transform) } else { None }
    }

    /// Longest time that it adds between two taps.
    pub fn longest_ns(self) -> u64 {
        match self {
            Self::Parallel(count, apart) => count * apart,
            Self::Priority(_, wait) => wait,
            Self::Queue(_, longest) => longest + 20_000_000,
            Self::Slewed(..) => 10_000_000,
            _ => 0,
        }
    }
}

/// What happens to packets.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    pub seed: u64,
    pub packets: u64,
    pub pace: Pace,
    pub size: Size,
    /// The ways there and back have this many packets for each 8.
    pub there: u64,
    pub back: u64,
    pub transform: Transform,
    pub delay_ns: u64,
    pub jitter_ns: u64,
    /// In per mille: lost in the gateway, on the wire between gateway and tunnel tap, and beyond the tunnel tap.
    pub lost_before: u64,
    pub lost_after: u64,
    pub lost_behind: u64,
    /// Per mille of the packets in the tunnel that come twice.
    pub copies: u64,
    /// Per mille of the plaintext packets that go elsewhere.
    pub elsewhere: u64,
    /// Per mille of the packets in the tunnel that are overtaken.
    pub overtaken: u64,
    /// When each side records: plain, tunnel, exit.
    pub windows: [Part; 3],
    /// When it does not in between.
    pub holes: [Option<Part>; 3],
    /// When the gateway drops everything.
    pub outage: Option<Part>,
    /// Other frames at both taps, so many nanoseconds apart: keepalives, ARP.
    pub others_ns: Option<u64>,
    pub one_clock: bool,
    pub ahead_ns: i64,
    pub drift_ppm: f64,
    /// When the tunnel's clock is set, and by how much.
    pub set: Option<(u64, i64)>,
    pub step_ns: StepNs,
    pub inner_v6: bool,
    pub outer_v6: bool,
    pub nat_t: bool,
    pub vlan: bool,
    pub transport: bool,
    /// When the SA is replaced by another.
    pub rekey: Option<u64>,
    pub exit: bool,
    /// Packets are equal, identification and payload.
    pub identical: bool,
    /// MTU of the tunnel's wire, beyond which packets are fragmented after encryption.
    pub mtu: Option<u64>,
    pub swapped: bool,
    pub unusual: Unusual,
}

pub fn pick<T: Copy>(noise: &mut Noise, of: &[T]) -> T {
    of[noise.below(of.len() as u64) as usize]
}

impl Scenario {
    pub fn random(seed: u64, troubles: usize) -> Self {
        let mut noise = Noise(seed.wrapping_mul(0x1234_5678_9abc_def1));
        let n = &mut noise;
        let one_clock = n.below(3) == 0;
        let one_in = |n: &mut Noise, count: u64| n.below(count) == 0;
        let window = |n: &mut Noise| {
            if n.below(3) > 0 { (0, 1_000) } else { (n.below(300), 1_000 - n.below(300)) }
        };
        let part = |n: &mut Noise| {
            let from = 150 + n.below(500);
            (from, from + 40 + n.below(200))
        };
        let gap = pick(n, &[100_000, 600_000, 1_000_000, 4_000_000, 20_000_000]);
        let windows = [window(n), window(n), window(n)];
        // Usually one trouble at a time; several at once leave less that is known.
        let drawn: Vec<u64> = (0..troubles).map(|_| n.below(12)).collect();
        let has = |trouble: u64| drawn.contains(&trouble);
        let holes = [0, 1, 2].map(|side| has(side).then(|| part(n)));
        let transport = one_in(n, 8);
        let inner_v6 = one_in(n, 6);
        let outer_v6 = if transport { inner_v6 } else { one_in(n, 6) };
        let clear = Transform { block: 4, iv: 0, icv: 12, clear: true };
        let opaque = [
            Transform { block: 16, iv: 16, icv: 12, clear: false },
            Transform { block: 16, iv: 16, icv: 16, clear: false },
            Transform { block: 8, iv: 8, icv: 12, clear: false },
            Transform { block: 4, iv: 8, icv: 16, clear: false },
        ];
        let transform = if one_in(n, 5) { clear } else { pick(n, &opaque) };
        let identical = has(3);
        Self {
            seed,
            packets: 150 + n.below(650),
            pace: pick(n, &[Pace::Even(gap), Pace::Random(gap), Pace::Bursts(gap)]),
            size: pick(n, &[Size::One(200), Size::One(1_400), Size::Imix, Size::Any, Size::Any]),
            there: 8,
            back: pick(n, &[0, 0, 1, 4, 8, 8]),
            transform,
            delay_ns: pick(n, &[20_000, 55_000, 270_000, 3_000_000, 20_000_000]),
            jitter_ns: pick(n, &[1_000, 8_000, 30_000, 300_000]),
            lost_before: pick(n, &[0, 0, 0, 10, 50]),
            lost_after: pick(n, &[0, 0, 0, 10, 50]),
            lost_behind: pick(n, &[0, 0, 20]),
            copies: pick(n, &[0, 0, 0, 30]),
            elsewhere: pick(n, &[0, 0, 0, 200]),
            overtaken: if has(5) { 20 } else { 0 },
            windows,
            holes,
            outage: has(4).then(|| part(n)),
            others_ns: one_in(n, 2).then(|| gap * pick(n, &[3, 10])),
            one_clock,
            ahead_ns: if one_clock { 0 } else { pick(n, &[0, 1_500_000_000, -7_000_000_000, 3_600_000_000_000]) },
            drift_ppm: if one_clock { 0.0 } else { pick(n, &[0.0, 20.0, -50.0]) },
            set: (!one_clock && has(6))
                .then(|| (300 + n.below(400), pick(n, &[50_000_000, -50_000_000, 2_000_000_000]))),
            step_ns: pick(n, &[1, 1, 1, 1, 1_000, 1_000, 1_000_000, 1_000_000_000]),
            inner_v6,
            outer_v6,
            nat_t: !transport && one_in(n, 6),
            vlan: one_in(n, 6),
            transport,
            rekey: has(7).then(|| 300 + n.below(400)),
            exit: one_in(n, 4),
            identical,
            mtu: (!outer_v6 && one_in(n, 8)).then_some(1_400),
            swapped: one_in(n, 30),
            unusual: Unusual::Nothing,
        }
    }

    /// One that [`Self::random`] does not draw: without its troubles, with one of [`Unusual`].
    pub fn unusual(seed: u64) -> Self {
        let usual = Self { swapped: false, ..Self::random(seed, 0) };
        let mut noise = Noise(seed.wrapping_mul(0x0dd5_eed5_0dd5_eed5) ^ 0x7);
        let n = &mut noise;
        let gap = match usual.pace {
            Pace::Even(gap) | Pace::Random(gap) | Pace::Bursts(gap) | Pace::Voice(gap) => gap,
        };
        let when = 300 + n.below(400);
        let opaque = Transform { block: 16, iv: 16, icv: 16, clear: false };
        let other = Transform { block: 4, iv: 0, icv: 16, clear: usual.transform.clear };
        let tunnel = Self { transport: false, ..usual };
        let v4 = Self { inner_v6: false, ..tunnel };
        let (scenario, unusual) = match n.below(19) {
            0 => (usual, Unusual::Parallel(2 + n.below(7), pick(n, &[0, 5_000, 200_000, 3_000_000]))),
            1 => (usual, Unusual::Priority(pick(n, &[100, 500, 900]), gap * pick(n, &[2, 5, 20]))),
            2 => {
                let bits = 8 * match usual.size {
                    Size::One(bytes) => bytes,
                    _ => 600,
                };
                let rate = bits * 1_000_000_000 / gap;
                (usual, Unusual::Queue(rate * pick(n, &[7, 9, 11]) / 10, gap * pick(n, &[10, 50, 200])))
            }
            3 | 4 => (usual, Unusual::Missed(n.below(3) as usize, pick(n, &[5, 20, 100]))),
            5 => (usual, Unusual::Mirrored(pick(n, &[1_000, 15_000, 400_000]))),
            6 => (v4, Unusual::Fragmented(pick(n, &[500, 1_000, 1_300]))),
            7 => (tunnel, Unusual::Translated),
            8 => (tunnel, Unusual::Dummies(pick(n, &[10, 100, 500]))),
            9 => (tunnel, Unusual::Twin),
            10 => (usual, Unusual::Failover(when, pick(n, &[500, 10_000, 1 << 21]))),
            11 => (Self { outer_v6: false, ..usual }, Unusual::Narrowed(when, pick(n, &[1_400, 1_000]))),
            12 => (Self { one_clock: false, ..usual }, Unusual::Slewed(when, pick(n, &[500, -500, 5_000]))),
            13 => (Self { lost_before: 30, ..usual }, Unusual::Resent(pick(n, &[1_000_000, 200_000_000]))),
            14 => (
                Self { rekey: Some(when), ..usual },
                Unusual::Rekeyed(if usual.transform.clear { other } else { opaque }),
            ),
            15 => (usual, Unusual::Shuffled(n.below(2) as usize)),
            16 => (Self { pace: Pace::Voice(20_000_000), ..usual }, Unusual::Voice),
            17 => (Self { one_clock: false, ..usual }, Unusual::Routed(1 + n.below(3) as u8)),
            _ => (usual, Unusual::Unrelated),
        };
        let outer_v6 = if scenario.transport { scenario.inner_v6 } else { scenario.outer_v6 };
        Self { outer_v6, unusual, ..scenario }
    }

    /// Sizes, paces and times leave one alignment: figures are wanted.
    pub fn is_clear_cut(&self) -> bool {
        matches!(self.size, Size::Any | Size::Imix)
            && self.step_ns <= 1_000
            && !self.identical
            && !self.swapped
            && self.set.is_none()
    }
}

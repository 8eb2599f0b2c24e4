//! Display filters of Wireshark 4 that show the frames of a finding: by SA and numbers, by what ICMP and fragments have in
//! common, and by the numbers of frames only where nothing else says it.

use super::{Draft, SaView, Tap};
use crate::analysis::state::sa::sequence::history::{Behind, History, Skipped};
use crate::model::report::{Finding, Occurrence};
use crate::model::{Address, Protocol, SaKey};

/// Numbers of an SA, first and last.
pub(crate) type Range = (u32, u32);

impl Draft {
    /// Sets the filter.
    pub(crate) fn filter(mut self, filter: impl Into<Option<String>>) -> Self {
        self.finding.filter = filter.into();
        self
    }

    /// Leaves it to the frames that are listed, where not the whole SA is meant.
    pub(crate) fn unfiltered(self) -> Self {
        self.filter(None)
    }
}

/// Gives findings without a filter one by the numbers of their frames, where all frames are listed and of one capture.
pub(crate) fn by_frames(findings: &mut [Finding]) {
    for finding in findings.iter_mut().filter(|finding| finding.filter.is_none()) {
        let Some(first) = finding.occurrences.first() else { continue };
        if finding.occurrences.iter().all(|one| one.capture == first.capture) {
            finding.filter = Some(frames(&finding.occurrences));
        }
    }
}

/// `frame.number in {347..349, 412}`
fn frames(occurrences: &[Occurrence]) -> String {
    let numbers = occurrences.iter().map(|one| (one.frame, one.frame)).collect();
    match joined(numbers).as_slice() {
        [(first, last)] if first == last => format!("frame.number == {first}"),
        parts => format!("frame.number in {{{}}}", listed(parts)),
    }
}

/// All packets of an SA; `None` where Wireshark does not know them for such.
pub(crate) fn of_sa(tap: &Tap<'_>, sa: &SaView<'_>) -> Option<String> {
    if sa.flow.is_some() {
        // On ports of its own Wireshark shows ESP as data: the SPI is the first word of it.
        let [a, b, c, d] = sa.key.spi.0.to_be_bytes();
        let way = of_way(sa.key.protocol, sa.key.src, sa.key.dst).replacen(sa.key.protocol.name(), "udp", 1);
        return Some(format!("{way} && udp.payload[0:4] == {a:02x}:{b:02x}:{c:02x}:{d:02x}"));
    }
    let (field, ends) = header(tap, &sa.key);
    is_known(sa).then(|| format!("{field} == {}{ends}", sa.key.spi))
}

/// Packets of an SA with some of its numbers.
pub(crate) fn of_numbers(tap: &Tap<'_>, sa: &SaView<'_>, ranges: Vec<Range>) -> Option<String> {
    let field = match sa.key.protocol {
        Protocol::Esp => "esp.sequence",
        Protocol::Ah => "ah.sequence",
        Protocol::IpComp => return None,
    };
    let sa = of_sa(tap, sa).filter(|_| sa.flow.is_none())?;
    // Numbers that go past 2^32 are two ranges.
    let split = ranges.into_iter().flat_map(|(first, last)| {
        let whole =
            if first <= last { [Some((first, last)), None] } else { [Some((first, u32::MAX)), Some((0, last))] };
        whole.into_iter().flatten()
    });
    let wide = split.map(|(first, last)| (u64::from(first), u64::from(last))).collect();
    match joined(wide).as_slice() {
        [] => None,
        [(first, last)] if first == last => Some(format!("{sa} && {field} == {first}")),
        [(first, last)] => Some(format!("{sa} && {field} >= {first} && {field} <= {last}")),
        parts => Some(format!("{sa} && {field} in {{{}}}", listed(parts))),
    }
}

/// The numbers of the gaps that are listed, with those on both sides.
pub(crate) fn of_gaps(tap: &Tap<'_>, sa: &SaView<'_>, history: &History, most: usize) -> Option<String> {
    let holes = |gap: &Skipped| gap.missing.iter().flatten().map(|_| around(gap)).collect::<Vec<_>>();
    let first = history.gaps.iter().flat_map(holes).take(most);
    let last = history.last_gap.iter().filter(|gap| gap.filled_late() != Some(gap.count())).map(around);
    of_numbers(tap, sa, first.chain(last).collect())
}

fn around(gap: &Skipped) -> Range {
    (gap.before.number as u32, gap.after.number as u32)
}

/// The numbers of frames that came late or again.
pub(crate) fn of_behind(
    tap: &Tap<'_>,
    sa: &SaView<'_>,
    listed: &[Behind],
    last: Option<&Behind>,
    most: usize,
) -> Option<String> {
    let range = |behind: &Behind| {
        let end = behind.number().saturating_add_unsigned(behind.count.saturating_sub(1));
        (behind.number() as u32, end as u32)
    };
    of_numbers(tap, sa, listed.iter().take(most).chain(last).map(range).collect())
}

/// Fragments of the packets of an SA. They bear no SPI.
pub(crate) fn of_fragments(key: &SaKey) -> String {
    if key.src.is_v4() {
        format!("(ip.flags.mf == 1 || ip.frag_offset > 0) && ip.src == {} && ip.dst == {}", key.src, key.dst)
    } else {
        format!("ipv6.fraghdr && ipv6.src == {} && ipv6.dst == {}", key.src, key.dst)
    }
}

/// Errors of a router that say a packet was too big.
pub(crate) fn of_too_big(router: Address) -> String {
    if router.is_v4() {
        format!("icmp.type == 3 && icmp.code == 4 && ip.src == {router}")
    } else {
        format!("icmpv6.type == 2 && ipv6.src == {router}")
    }
}

/// Packets in clear.
pub(crate) fn of_clear() -> String {
    "(ip || ipv6) && !esp && !ah && !ipcomp && !isakmp".to_owned()
}

/// All packets with the SPI of an SA.
pub(crate) fn of_spi(key: &SaKey) -> String {
    format!("{} == {}", field(key.protocol), key.spi)
}

/// All packets of a protocol from one address to another.
pub(crate) fn of_way(protocol: Protocol, src: Address, dst: Address) -> String {
    let ip = if src.is_v4() { "ip" } else { "ipv6" };
    format!("{} && {ip}.src == {src} && {ip}.dst == {dst}", protocol.name())
}

const fn field(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Esp => "esp.spi",
        Protocol::Ah => "ah.spi",
        Protocol::IpComp => "ipcomp.cpi",
    }
}

/// Whether Wireshark sees the header of the SA in all of its packets.
fn is_known(sa: &SaView<'_>) -> bool {
    let [_, _, tcp, wesp] = sa.state.encapsulations;
    sa.flow.is_none() && tcp == 0 && wesp == 0
}

/// The field that has the SPI, and the addresses where another SA has the same SPI.
fn header(tap: &Tap<'_>, key: &SaKey) -> (&'static str, String) {
    let field = field(key.protocol);
    let one = tap.has_spi_once(key);
    let ip = if key.src.is_v4() { "ip" } else { "ipv6" };
    let ends = if one { String::new() } else { format!(" && {ip}.src == {} && {ip}.dst == {}", key.src, key.dst) };
    (field, ends)
}

/// Ranges in order, those that touch joined.
fn joined(mut ranges: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    ranges.sort_unstable();
    let mut parts: Vec<(u64, u64)> = Vec::new();
    for (first, last) in ranges {
        match parts.last_mut() {
            Some(part) if first <= part.1.saturating_add(1) => part.1 = part.1.max(last),
            _ => parts.push((first, last)),
        }
    }
    parts
}

/// `330..334, 400`
fn listed(parts: &[(u64, u64)]) -> String {
    let words =
        parts.iter().map(|(first, last)| if first == last { first.to_string() } else { format!("{first}..{last}") });
    words.collect::<Vec<_>>().join(", ")
}

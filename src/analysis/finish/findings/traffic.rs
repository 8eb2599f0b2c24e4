//! Who answers whom, and what runs beside the tunnel.

mod inner_one_way;

use std::collections::{BTreeMap, BTreeSet};

use super::{Draft, Listed, Tap, filter, percent, plural};
use crate::analysis::finish::copying::CopiesAre;
use crate::analysis::finish::rows::directions::copied::{CopiedDirection, copied};
use crate::analysis::finish::rows::sas::encapsulation;
use crate::analysis::finish::tcp;
use crate::analysis::finish::twice::{ShownTwice, Twice};
use crate::analysis::settings::Settings;
use crate::analysis::state::base::seen::Seen;
use crate::analysis::state::base::tables::{DirectionKey, GROUP};
use crate::model::report::Finding;
use crate::model::{Address, Encapsulation, Protocol};

/// Fewer frames one way say nothing about the other.
const ENOUGH: u64 = 10;
/// Address pairs named in an evidence.
const NAMED: usize = 3;

pub(crate) fn add(findings: &mut Vec<Finding>, tap: &Tap<'_>, settings: &Settings) {
    add_foreign(findings, tap);
    add_streams(findings, tap, settings);
    add_copies(findings, tap);
    add_forwarded(findings, tap);
    // A filter by SPI leaves out the other direction and all that is in clear: nothing follows from their absence.
    if settings.spi.is_some() {
        return;
    }
    let one_direction = runs_one_way(tap);
    if tap.has_one_mac_pair() {
        let (seen, evidence) = (
            tap.stream.totals.sums.ip_frames,
            "IP packets run both ways with one pair of MAC addresses: rates by MAC address hold both directions.",
        );
        findings.push(Draft::new("capture-one-mac-pair", evidence.into()).at(tap).count(seen).done());
    }
    if let Some(seen) = one_direction {
        let evidence = format!(
            "All {} of this tap run one way; what the other direction does is not known.",
            plural(seen.count, "IP frame")
        );
        findings.push(Draft::new("capture-one-direction", evidence).seen(tap, &seen).done());
    } else {
        add_one_way(findings, tap);
        inner_one_way::add(findings, tap);
    }
    let Twice { in_clear, in_tunnels } = &tap.decapsulated;
    add_gateway_view(findings, tap, in_clear, "in clear");
    add_gateway_view(findings, tap, in_tunnels, "in a tunnel without IPsec");
    if !in_clear.surely {
        add_clear(findings, tap);
    }
}

/// Whether all IP traffic of the tap runs one way (and there is enough of it to say so).
fn runs_one_way(tap: &Tap<'_>) -> Option<Seen> {
    let tables = &tap.stream.tables;
    let mut seen = Seen::default();
    let mut keys: BTreeSet<DirectionKey> = BTreeSet::new();
    for (id, direction) in tap.stream.rates.iter().filter(|(_, d)| d.ip_frames > 0) {
        keys.insert(*tables.directions.get(id)?);
        let mut here = direction.seen;
        here.count = direction.ip_frames;
        seen.join(&here);
    }
    let answered = keys.iter().any(|key| match *key {
        DirectionKey::Mac(src, dst) => {
            src != dst
                && keys.iter().any(|other| match *other {
                    // Group traffic from the other side is an answer of sorts: the TAP sees that side.
                    DirectionKey::Mac(s, d) => {
                        s != d && (s == dst && (d == src || d == GROUP) || s != src && dst == GROUP)
                    }
                    _ => false,
                })
        }
        DirectionKey::Ip(src, dst) => src != dst && keys.contains(&DirectionKey::Ip(dst, src)),
        _ => true,
    });
    (!answered && seen.count >= ENOUGH && !tap.has_answers()).then_some(seen)
}

/// Traffic of one protocol between two endpoints, both ways.
fn add_one_way(findings: &mut Vec<Finding>, tap: &Tap<'_>) {
    let mut ways: BTreeMap<(Protocol, Address, Address), (Seen, Vec<String>)> = BTreeMap::new();
    for sa in &tap.sas {
        let (seen, names) = ways.entry((sa.key.protocol, sa.key.src, sa.key.dst)).or_default();
        seen.join(&sa.state.seen);
        names.push(sa.name.to_string());
    }
    for ((protocol, src, dst), (seen, names)) in &ways {
        // Of the way back in TCP only parts of messages may have been seen.
        let is_cut = tap.stream.notices.tcp_continuations.contains_key(&(*dst, *src));
        if dst.is_multicast() || seen.count < ENOUGH || is_cut || ways.contains_key(&(*protocol, *dst, *src)) {
            continue;
        }
        let title = protocol.title();
        let evidence = format!(
            "{} from {src} to {dst}, and no {title} from {dst} back at this TAP.",
            plural(seen.count, &format!("{title} frame"))
        );
        let name = names.first().cloned().unwrap_or_default();
        findings.push(
            Draft::new("sa-one-way", evidence)
                .of(name)
                .seen(tap, seen)
                .filter(filter::of_way(*protocol, *src, *dst))
                .done(),
        );
    }
}

/// The busiest pairs, in words.
fn named(mut pairs: Vec<(u64, Address, Address)>) -> String {
    pairs.sort_unstable_by(|a, b| b.0.cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let more = pairs.len().saturating_sub(NAMED);
    let mut words: Vec<String> = pairs.iter().take(NAMED).map(|(n, src, dst)| format!("{src} > {dst} ({n})")).collect();
    if more > 0 {
        words.push(format!("{more} more"));
    }
    words.join(", ")
}

fn add_copies(findings: &mut Vec<Finding>, tap: &Tap<'_>) {
    if !tap.copying {
        return;
    }
    let (copies, frames) = (tap.stream.copies.copies(), tap.stream.totals.sums.frames);
    let mut evidence = format!(
        "{} of {frames} frames ({}) repeat a packet seen within the last 10 ms. Sequence figures, sizes, rates and overhead \
         are given without them; totals count them.",
        copies.count,
        percent(copies.count, frames)
    );
    if !copies_whole_directions(tap) {
        evidence.push_str(
            " No direction has copies of 80 % or more of its packets, as a TAP makes them that copies all: duplicated by the network, or by a mirror port \
              that drops frames.",
        );
    }
    evidence.push_str(&of_directions(&copied(tap)));
    if tap.stream.copies.pattern.recurs() {
        evidence.push_str(
            " The same few packets recur: a generator that sends each packet twice looks the same. If so, the rates are twice as high.",
        );
    }
    findings.push(Draft::new("tap-copies", evidence).listed(tap, &copies, "a packet again").done());
}

/// Directions that show packets of others again, to follow a sentence.
fn of_directions(copied: &[CopiedDirection]) -> String {
    let Some(CopiedDirection { name, frames, copies }) = copied.first() else { return String::new() };
    let all = if copies == frames { "all packets".to_owned() } else { format!("{copies} of {frames} frames") };
    let (more, they_have) = match copied.len() - 1 {
        0 => (String::new(), "it has"),
        more => (format!(", and most in {}", plural(more as u64, "other direction")), "they have"),
    };
    format!(" In the direction {name} {all} are copies{more}, so {they_have} no rates.")
}

/// SAs whose packets a router sends on.
fn add_forwarded(findings: &mut Vec<Finding>, tap: &Tap<'_>) {
    let own = || tap.sas.iter().filter(|sa| sa.copies_are == CopiesAre::SentOn);
    let (mut seen, mut again) = (Seen::default(), 0);
    for sa in own() {
        seen.join(&sa.state.seen);
        again += sa.left_out().frames;
    }
    let Some(first) = own().next() else { return };
    let more = own().count() - 1;
    let more = if more > 0 { format!(" and {}", plural(more as u64, "more SA")) } else { String::new() };
    let evidence = format!(
        "{again} of {} of {} {} from {} to {}{more} show a packet again: a router sent it on, back between the same MAC addresses or in another tunnel. \
         Figures of the SA hold each packet once; rates by direction and totals hold both frames, as the links do.",
        plural(seen.count, "frame"),
        first.key.protocol.title(),
        first.key.spi,
        first.key.src,
        first.key.dst
    );
    findings.push(Draft::new("sa-forwarded", evidence).seen(tap, &seen).count(again).done());
}

/// Whether in some direction nearly every packet has copies, or there is nothing but copies.
fn copies_whole_directions(tap: &Tap<'_>) -> bool {
    tap.stream.rates.iter().any(|(_, direction)| {
        let copies = direction.copies.frames;
        let packets = direction.sums.frames.saturating_sub(copies);
        copies > 0 && copies.saturating_mul(5) >= packets.saturating_mul(4)
    })
}

/// A gateway's own capture shows what it decapsulates right behind the ESP packet.
fn add_gateway_view(findings: &mut Vec<Finding>, tap: &Tap<'_>, shown: &ShownTwice, how: &str) {
    if shown.listed.count == 0 {
        return;
    }
    let packets = plural(shown.listed.count, "packet");
    let evidence = if shown.surely {
        let counted = if tap.has_macs() {
            format!("They were not on the wire {how}, and rates by MAC address are without them.")
        } else {
            format!(
                "They were not on that wire {how}. Rates by address count them, and once more where they were captured again as they were forwarded."
            )
        };
        format!(
            "{packets} {how} directly follow the encapsulated packet they came in, in the same direction: this capture was taken on a gateway, \
             which shows inbound packets twice. {counted}"
        )
    } else if shown.answered {
        format!(
            "{packets} {how} directly follow an encapsulated packet that they may have come in, in the same direction, and their answers were \
             captured {how}, too: this capture was taken on a gateway, which shows inbound packets twice, or beside the only port of one, where \
             each packet passes encapsulated and {how}. It does not show which, so rates of that direction are not given."
        )
    } else {
        format!(
            "{packets} {how} directly follow an encapsulated packet that they may have come in, in the same direction: this capture was taken on \
             a gateway, which shows inbound packets twice, or the sender left them unprotected. Packets of so few lengths do not show which, \
             so rates of that direction are not given. A capture beside the gateway would show it."
        )
    };
    let what = format!("shown again, decapsulated{}", if shown.surely { "" } else { ", or in clear" });
    findings.push(Draft::new("gateway-view", evidence).listed(tap, &shown.listed, &what).done());
}

/// Datagrams on the ports of ESP in UDP that are no ESP.
fn add_foreign(findings: &mut Vec<Finding>, tap: &Tap<'_>) {
    let mut seen = Listed::default();
    let mut pairs: BTreeMap<(Address, Address), u64> = BTreeMap::new();
    for sa in &tap.foreign {
        seen.join(&sa.state.listed_packets());
        *pairs.entry((sa.key.src, sa.key.dst)).or_default() += sa.state.seen.count;
    }
    if seen.count == 0 {
        return;
    }
    let pairs = pairs.into_iter().map(|((src, dst), count)| (count, src, dst)).collect();
    let ports = if tap.foreign.iter().any(super::SaView::in_tcp) { "UDP and TCP ports" } else { "UDP ports" };
    let evidence = format!(
        "{} on {ports} of IPsec are likely another protocol: lengths, SPIs or sequence numbers do not behave like ESP ({}).",
        plural(seen.count, "datagram"),
        named(pairs)
    );
    findings.push(
        Draft::new("udp-not-esp", evidence).listed(tap, &seen, "datagram on a port of IPsec that is no ESP").done(),
    );
}

/// IKE and ESP in TCP that could not be read.
fn add_streams(findings: &mut Vec<Finding>, tap: &Tap<'_>, settings: &Settings) {
    let notices = &tap.stream.notices;
    let is_read = |port: u16| tcp::is_read(port, settings);
    for (&(address, port), seen) in notices.tcp_streams.iter().filter(|((_, port), _)| !is_read(*port)) {
        let evidence = format!(
            "{} to {address}, TCP port {port}, with the prefix that streams of IKE and ESP in TCP begin with (RFC 9329). Segments without it were not \
             read as such there, so the SAs in them are not known, their traffic counts as clear, and goodput is not determined. --tcp-port {port} reads them.",
            plural(seen.count, "segment")
        );
        findings.push(Draft::new("tcp-stream-unread", evidence).listed(tap, seen, "prefix of a stream").done());
    }
    let carried = tap.sas.iter().filter(|sa| encapsulation(sa) == Encapsulation::Tcp);
    let known: BTreeSet<(Address, Address)> =
        carried.flat_map(|sa| [(sa.key.src, sa.key.dst), (sa.key.dst, sa.key.src)]).collect();
    let begins = |address: Address| notices.tcp_streams.keys().any(|(own, port)| *own == address && is_read(*port));
    for (&(src, dst), seen) in &notices.tcp_continuations {
        // Else another protocol may use the port.
        if !known.contains(&(src, dst)) && !begins(src) && !begins(dst) {
            continue;
        }
        let evidence = format!(
            "{} from {src} to {dst} begin or end within a message, or hold none: ESP in them was not read. Which numbers are missing is not \
             determined, nor is goodput; sizes and overhead are those of messages that fill their segments.",
            plural(seen.count, "TCP segment")
        );
        let what = "segment that is not whole messages";
        findings
            .push(Draft::new("tcp-continuation", evidence).of(format!("{src} > {dst}")).listed(tap, seen, what).done());
    }
}

/// Traffic in clear beside the tunnel.
fn add_clear(findings: &mut Vec<Finding>, tap: &Tap<'_>) {
    let clear = &tap.clear();
    let tunnelled = tap.tunnelled_frames();
    if clear.count == 0 || tunnelled == 0 {
        return;
    }
    let flows = tap.stream.tables.flows.iter().filter(|(_, key)| !key.inner);
    let hidden = |src, dst, directions| -> u64 {
        let of_sas: u64 = tap.esp_between(src, dst).map(|sa| sa.taken_for_clear().0).sum();
        let ike = tap.stream.notices.speak_ike(src, dst);
        of_sas + if ike { tap.loose.later_of_ike_in(directions) } else { 0 }
    };
    let in_clear =
        flows.filter_map(|(id, key)| Some((tap.stream.flows.get(id)?.count, id, key))).map(|(n, id, key)| {
            let headless = tap.headless_of(id, key).map_or(0, |(frames, _)| frames);
            let directions = tap.stream.flows.marks(id).map_or(0, |marks| marks.directions());
            let others = tap.copies_taken_for_clear(id, key) + headless + hidden(key.src, key.dst, directions);
            (n.saturating_sub(others), key.src, key.dst)
        });
    let foreign = tap.foreign.iter().map(|sa| (sa.state.seen.count, sa.key.src, sa.key.dst));
    let mut pairs: BTreeMap<(Address, Address), u64> = BTreeMap::new();
    for (n, src, dst) in in_clear.chain(foreign).filter(|(n, _, _)| *n > 0) {
        *pairs.entry((src, dst)).or_default() += n;
    }
    let pairs = pairs.into_iter().map(|((src, dst), count)| (count, src, dst)).collect();
    let evidence = format!(
        "{} of unicast IP in clear beside {}: {}.",
        plural(clear.count, "frame"),
        plural(tunnelled, "tunnelled frame"),
        named(pairs)
    );
    findings.push(
        Draft::new("clear-traffic", evidence).seen(tap, clear).of_clear(tap, clear).filter(filter::of_clear()).done(),
    );
}

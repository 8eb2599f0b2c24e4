//! SPIs that nobody expects, and expected SAs that are not there.

mod never_seen;

use std::collections::BTreeSet;

use super::super::findings::{Draft, plural};
use super::super::tap::{SaView, Tap};
use super::translated::Translated;
use super::{Expected, on_the_wire};
use crate::analysis::finish::rows::sas::encapsulation;
use crate::analysis::settings::Settings;
use crate::model::report::{Finding, Fix, Severity};
use crate::model::{Encapsulation, Protocol, SaKey, Spi};
use crate::policy::slip;
use crate::policy::{Basis, Stated, Way, retyped};

/// SPIs named in an evidence.
const NAMED: usize = 4;

pub(super) fn add(
    findings: &mut Vec<Finding>,
    taps: &[Tap<'_>],
    settings: &Settings,
    expected: &Expected<'_>,
    translated: &Translated,
) {
    let seen: BTreeSet<SaKey> = on_the_wire(taps).map(|(_, sa)| sa.key).collect();
    // Expected SAs whose absence another finding explains.
    let mut explained: BTreeSet<SaKey> = translated.stated.clone();
    for (tap, sa) in on_the_wire(taps).filter(|(_, sa)| !translated.known.contains(&sa.key)) {
        let judged = Judge { expected, seen: &seen, tap, sa }.finding(&mut explained);
        findings.extend(judged);
    }
    never_seen::add(findings, taps, settings, expected, &seen, &explained);
}

/// One SA of the wire.
struct Judge<'j, 'v, 'p> {
    expected: &'j Expected<'v>,
    seen: &'j BTreeSet<SaKey>,
    tap: &'j Tap<'p>,
    sa: &'j SaView<'p>,
}

impl Judge<'_, '_, '_> {
    fn finding(&self, explained: &mut BTreeSet<SaKey>) -> Option<Finding> {
        let key = self.sa.key;
        let stated = self.expected.of(&key);
        if !stated.is_empty() {
            return self.not_received(stated, explained);
        }
        if self.expected.open.contains(&(key.protocol, key.spi)) {
            return None;
        }
        if key.spi.is_zero() {
            // Another finding says that 0 is sent; here only what is missing for it.
            explained.extend(self.expected.beside(&key));
            return None;
        }
        self.wrong_protocol(explained).or_else(|| self.wrong_end(explained)).or_else(|| self.unknown(explained))
    }

    /// The sender has it, and the receiver, as far as its SAs were given, does not.
    fn not_received(&self, stated: &[&Stated], explained: &mut BTreeSet<SaKey>) -> Option<Finding> {
        let key = self.sa.key;
        if stated.iter().any(|one| one.way != Some(Way::Out)) {
            return None;
        }
        let beside = self.expected.beside(&key);
        let waiting: Vec<SaKey> = beside.iter().filter(|other| self.received(other)).copied().collect();
        let receiving: Vec<&Stated> = waiting.iter().flat_map(|other| self.expected.of(other)).copied().collect();
        let receiver = receiving.iter().find(|one| one.way != Some(Way::Out))?;
        explained.extend(waiting.iter().filter(|other| !self.seen.contains(other)));
        let name = self.expected.view.name(receiver.router);
        let evidence = format!(
            "{} from {} to {} with SPI {} ({}): {} sends it as configured, and {name} expects {}, so it drops them.",
            self.frames(),
            key.src,
            key.dst,
            key.spi.0,
            key.spi,
            self.expected.holders(stated),
            named(&waiting)
        );
        let all: Vec<&Stated> = stated.iter().chain(&receiving).copied().collect();
        let fix = waiting.first().map_or_else(Vec::new, |meant| self.retype(key.spi, meant.spi, stated));
        Some(self.draft("spi-unexpected", evidence, &all, fix))
    }

    fn received(&self, key: &SaKey) -> bool {
        self.expected.of(key).iter().any(|one| one.way != Some(Way::Out))
    }

    /// Right ends and SPI, AH for ESP or the reverse.
    fn wrong_protocol(&self, explained: &mut BTreeSet<SaKey>) -> Option<Finding> {
        let key = self.sa.key;
        let protocol = match key.protocol {
            Protocol::Esp => Protocol::Ah,
            Protocol::Ah => Protocol::Esp,
            Protocol::IpComp => return None,
        };
        let meant = SaKey { protocol, ..key };
        let stated = self.expected.of(&meant);
        stated.first()?;
        explained.insert(meant);
        let evidence = format!(
            "{} from {} to {} with SPI {} ({}), which is expected in {} ({}).",
            self.frames(),
            key.src,
            key.dst,
            key.spi.0,
            key.spi,
            protocol.title(),
            self.expected.holders(stated)
        );
        let mut finding = self.draft("sa-wrong-protocol", evidence, stated, self.clear(stated));
        let of = |way| stated.iter().any(|one| one.basis == Basis::Manual && one.way == Some(way));
        if of(Way::Out) && of(Way::In) {
            // Both ends were given, and they agree.
            finding.cause = format!(
                "Both configurations say {}, so what is on the wire was built from others: SAs older than the configurations, \
                 or other routers' or other versions of them.",
                protocol.title()
            );
        }
        Some(finding)
    }

    /// Right SPI, the wrong way round, or from or to another address.
    fn wrong_end(&self, explained: &mut BTreeSet<SaKey>) -> Option<Finding> {
        let key = self.sa.key;
        let same = self.expected.by_spi.get(&(key.protocol, key.spi))?;
        let Some(meant) = same.iter().find(|other| other.src == key.dst && other.dst == key.src) else {
            return self.elsewhere(same, explained);
        };
        let stated = self.expected.of(meant);
        explained.insert(*meant);
        // The other direction's SPI that was meant here.
        let right = self.expected.beside(&key);
        let instead = if right.is_empty() { String::new() } else { format!(" Expected here is {}.", named(right)) };
        explained.extend(right);
        let evidence = format!(
            "{} from {} to {} with SPI {} ({}), which is expected the other way: inbound and outbound are exchanged on one of the two routers, \
             or in what was given ({}).{instead}",
            self.frames(),
            key.src,
            key.dst,
            key.spi.0,
            key.spi,
            self.expected.holders(stated)
        );
        let all: Vec<&Stated> =
            stated.iter().chain(right.iter().flat_map(|key| self.expected.of(key))).copied().collect();
        Some(self.draft("sa-wrong-direction", evidence, &all, self.clear(stated)))
    }

    /// Right SPI, and one of the two ends: a wrong address, or another tunnel, whose SPIs are its own.
    fn elsewhere(&self, same: &[SaKey], explained: &mut BTreeSet<SaKey>) -> Option<Finding> {
        let key = self.sa.key;
        let shares = |other: &&SaKey| (other.src == key.src) != (other.dst == key.dst);
        // Where the other one is there as well, or these ends have SAs of their own, the number says nothing.
        let meant = same.iter().filter(shares).find(|other| !self.seen.contains(other))?;
        if self.expected.covers(key.src, key.dst) {
            return None;
        }
        let stated = self.expected.of(meant);
        explained.insert(*meant);
        if self.is_translated(meant) {
            return Some(self.translated(meant, stated));
        }
        let evidence = format!(
            "{} from {} to {} with SPI {} ({}), which is expected from {} to {} ({}). No configuration given has an SA between these \
             ends; another tunnel may have the same SPI.",
            self.frames(),
            key.src,
            key.dst,
            key.spi.0,
            key.spi,
            meant.src,
            meant.dst,
            self.expected.holders(stated)
        );
        let mut finding = self.draft("sa-wrong-direction", evidence, stated, Vec::new());
        finding.severity = Severity::Warning;
        finding.cause =
            "An address of a peer is not the one that was meant, or the packets belong to another tunnel.".to_owned();
        Some(finding)
    }

    /// Whether one end has another address than is stated because it is translated: ESP is in UDP, as behind NAT, or an SA of the other
    /// direction has the same address in the place of the same one.
    fn is_translated(&self, meant: &SaKey) -> bool {
        let key = self.sa.key;
        let in_udp = encapsulation(self.sa) == Encapsulation::Udp;
        let back = |other: &&SaKey| (other.src, other.dst) == (key.dst, key.src) && other.protocol == key.protocol;
        let meant_too = |other: &SaKey| {
            let stated = SaKey { src: meant.dst, dst: meant.src, ..*other };
            self.expected.of(other).is_empty() && !self.expected.of(&stated).is_empty()
        };
        key.protocol == Protocol::Esp && (in_udp || self.seen.iter().filter(back).any(meant_too))
    }

    fn translated(&self, meant: &SaKey, stated: &[&Stated]) -> Finding {
        let key = self.sa.key;
        // A key that verifies says that it is this SA.
        let sure = self.sa.state.keyed.as_deref().is_some_and(|keyed| keyed.verified() > 0);
        let evidence = format!(
            "{} from {} to {} with SPI {} ({}), which is stated from {} to {} ({}). {}: addresses are translated between these ends (NAT){}.",
            self.frames(),
            key.src,
            key.dst,
            key.spi.0,
            key.spi,
            meant.src,
            meant.dst,
            self.expected.holders(stated),
            if encapsulation(self.sa) == Encapsulation::Udp {
                "ESP is in UDP"
            } else {
                "The other direction has the same address in the place of the same one"
            },
            if sure { "" } else { ", or another tunnel has the same numbers" }
        );
        self.draft("sa-translated", evidence, stated, Vec::new())
    }

    /// An SPI that nobody states, between ends that somebody states SAs of.
    fn unknown(&self, explained: &mut BTreeSet<SaKey>) -> Option<Finding> {
        let key = self.sa.key;
        if key.protocol == Protocol::IpComp || !self.expected.covers(key.src, key.dst) {
            return None;
        }
        let beside = self.expected.beside(&key);
        if key.protocol == Protocol::Ah && beside.is_empty() {
            // Wireshark's list has no place for AH: a list of ESP alone says nothing of the AH around it.
            let inside = self.expected.beside(&SaKey { protocol: Protocol::Esp, ..key });
            let mut stated = inside.iter().flat_map(|key| self.expected.of(key));
            if !inside.is_empty() && stated.all(|one| one.basis == Basis::Listed) {
                return None;
            }
        }
        let mut slips: Vec<(bool, &SaKey, &'static str)> = beside
            .iter()
            .filter(|meant| !self.may_be_rekeyed(meant) || meant.spi.0.abs_diff(key.spi.0) > STEPS)
            .filter_map(|meant| Some((self.seen.contains(meant), meant, slip(meant.spi, key.spi)?)))
            .collect();
        // An expected SA that is missing is likelier meant than one that is there.
        slips.sort_by_key(|(seen, meant, _)| (*seen, **meant));
        let frames = self.frames();
        let number = format!("{frames} from {} to {} with SPI {} ({})", key.src, key.dst, key.spi.0, key.spi);
        if let Some((_, meant, how)) = slips.first().filter(|(seen, _, _)| !seen) {
            explained.insert(**meant);
            let stated = self.expected.of(meant);
            if self.is_another_back() {
                return Some(self.of_another_time(&number, meant, stated));
            }
            let evidence = format!(
                "{number}: no configuration has it. Expected is {} ({}; {}), and this is {how}.",
                meant.spi.0,
                meant.spi,
                self.expected.holders(stated)
            );
            let mut finding = self.draft("spi-mistyped", evidence, stated, self.retype(key.spi, meant.spi, stated));
            if let Some(cause) = cause_of_slip(stated, how) {
                finding.cause = cause;
            }
            return Some(finding);
        }
        let all: Vec<&Stated> = beside.iter().flat_map(|key| self.expected.of(key)).copied().collect();
        // Expected ones of the same direction are on the wire too: what a display shows came before or after.
        let snapshot = all.iter().all(|one| one.basis == Basis::InForce)
            && beside.iter().any(|meant| self.seen.contains(meant) || self.may_be_rekeyed(meant));
        let instead = if beside.is_empty() {
            format!("no {} SA is stated in this direction", key.protocol.title())
        } else {
            format!("expected is {}", named(beside))
        };
        let rekeyed = if snapshot { " The display is a snapshot: a rekey since then explains it too." } else { "" };
        let evidence = format!("{number}: no configuration has it; {instead}.{rekeyed}");
        let missing: Vec<SaKey> = beside.iter().filter(|key| !self.seen.contains(key)).copied().collect();
        explained.extend(missing);
        let mut finding = self.draft("spi-unexpected", evidence, &all, self.clear(&all));
        if snapshot {
            finding.severity = Severity::Warning;
        }
        Some(finding)
    }

    /// A number that might be mistyped, but for what comes back.
    fn of_another_time(&self, number: &str, meant: &SaKey, stated: &[&Stated]) -> Finding {
        let evidence = format!(
            "{number}: no configuration has it. Expected is {} ({}; {}). What comes back has another number than is expected, too: it seems \
             that the two ends agree with each other, as two mistakes at once are unlikely. Their SAs are of another time than what was given, or belong to another \
             tunnel between them.",
            meant.spi.0,
            meant.spi,
            self.expected.holders(stated)
        );
        let mut finding = self.draft("spi-unexpected", evidence, stated, Vec::new());
        finding.severity = Severity::Warning;
        finding.cause = OF_ANOTHER_TIME.to_owned();
        finding
    }

    /// Whether the other direction, too, uses an SPI that is not stated, close to an expected SPI that was not seen.
    fn is_another_back(&self) -> bool {
        let key = self.sa.key;
        let back = |other: &&SaKey| (other.src, other.dst, other.protocol) == (key.dst, key.src, key.protocol);
        let is_other = |other: &SaKey| {
            let beside = self.expected.beside(other);
            let missing = beside.iter().filter(|meant| !self.seen.contains(meant));
            self.expected.of(other).is_empty()
                && missing.filter_map(|meant| slip(meant.spi, other.spi)).next().is_some()
        };
        self.seen.iter().filter(back).any(is_other)
    }

    /// Whether IKE may have put this SA in the place of the one that a display shows: both numbers are as if they were drawn, and none as people choose.
    fn may_be_rekeyed(&self, meant: &SaKey) -> bool {
        let is_shown = self.expected.of(meant).iter().all(|one| one.basis == Basis::InForce);
        is_shown && meant.spi.0.min(self.sa.key.spi.0) >= DRAWN
    }

    fn frames(&self) -> String {
        plural(self.sa.state.seen.count, &format!("{} frame", self.sa.key.protocol.title()))
    }

    /// Who sends, as far as its SAs were given: it decides what is on the wire.
    fn sender<'s>(&self, stated: &[&'s Stated]) -> Option<&'s Stated> {
        stated.iter().find(|one| one.way == Some(Way::Out)).copied()
    }

    /// Builds the SAs of the sender with its peer again: those in force are older than its configuration.
    fn clear(&self, stated: &[&Stated]) -> Vec<Fix> {
        let manual = |one: &&Stated| one.basis == Basis::Manual;
        let Some((one, peer)) = self.sender(stated).filter(manual).and_then(|one| Some((one, one.dst?))) else {
            return Vec::new();
        };
        let host = self.expected.view.name(one.router).to_owned();
        vec![Fix { host, lines: vec![format!("clear crypto sa peer {peer}")] }]
    }

    /// Gives the sender the SPI that is expected instead of the one on the wire, where its configuration was given.
    fn retype(&self, present: Spi, spi: Spi, stated: &[&Stated]) -> Vec<Fix> {
        let Some(one) = self.sender(stated).filter(|one| one.basis != Basis::Listed) else { return Vec::new() };
        if one.spi == spi && one.basis == Basis::Manual {
            return self.clear(stated);
        }
        if one.map.is_none() && !self.expected.linux.contains(&one.router) {
            return Vec::new();
        }
        let lines = retyped(self.expected.view, one, present, spi);
        let host = self.expected.view.name(one.router).to_owned();
        if lines.is_empty() { Vec::new() } else { vec![Fix { host, lines }] }
    }

    fn draft(&self, code: &'static str, evidence: String, stated: &[&Stated], fix: Vec<Fix>) -> Finding {
        let lines = self.expected.lines(stated);
        // An SPI is wrong or right however few packets carry it, so a single one is no mere note.
        let draft =
            Draft::new(code, evidence).about(self.tap, self.sa).count(self.sa.state.seen.count).caused_by(lines, fix);
        draft.of_suspect(self.tap, self.sa).done()
    }
}

/// The likely cause where neither direction uses a stated SPI.
const OF_ANOTHER_TIME: &str =
    "The list or the configuration that was given is older or newer than the SAs, or does not hold this tunnel.";

/// Of numbers that are drawn by chance, fewer than one in 256 is below this. Some gateways count up from such a number: by so few steps from rekeying
/// to rekeying.
const DRAWN: u32 = 1 << 24;
const STEPS: u32 = 1 << 8;

fn named(keys: &[SaKey]) -> String {
    let listed: Vec<String> = keys.iter().take(NAMED).map(|key| format!("{} ({})", key.spi.0, key.spi)).collect();
    let more = keys.len().saturating_sub(NAMED);
    if more > 0 { format!("{} or {more} others", listed.join(", ")) } else { listed.join(" or ") }
}

/// Why a number is another one than stated; `None` where the catalogue's cause fits.
fn cause_of_slip(stated: &[&Stated], how: &str) -> Option<String> {
    if stated.iter().any(|one| one.basis == Basis::Manual && one.way == Some(Way::Out)) {
        let cause = "The sender's configuration has the expected number: the SA in force was built before that line was typed, and was not \
                     cleared.";
        return Some(cause.to_owned());
    }
    let is_hex = how.contains("hex digits") || how.contains("read as hex");
    (!is_hex).then(|| format!("The number was typed or written wrongly: {how}."))
}

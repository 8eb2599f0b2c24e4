//! Addresses that are translated between the ends of an SA: its key verifies packets that have other addresses than it is stated for.

use std::collections::BTreeSet;

use super::super::findings::{Draft, plural};
use super::super::tap::{SaView, Tap};
use super::{Expected, on_the_wire};
use crate::keys::{Holder, Lock, Locks};
use crate::model::report::{Finding, Severity};
use crate::model::{Address, Protocol, SaKey};
use crate::policy::{Way, config_line};

/// What is known of translations.
#[derive(Default)]
pub(super) struct Translated {
    /// SAs of the wire that are not stated as they are, but verify under a key for other addresses.
    pub(super) known: BTreeSet<SaKey>,
    /// SAs as they are stated, which the wire has under other addresses.
    pub(super) stated: BTreeSet<SaKey>,
}

/// An SA of the wire, and those who state its key for other addresses.
struct Case<'c, 't> {
    tap: &'c Tap<'t>,
    sa: &'c SaView<'t>,
    verified: u64,
    here: Vec<&'c Holder>,
    away: Vec<&'c Holder>,
}

impl Case<'_, '_> {
    fn ends(&self) -> (Address, Address) {
        let SaKey { src, dst, .. } = self.sa.key;
        (src.min(dst), src.max(dst))
    }

    /// Whether the sender itself has other addresses than its packets: they were translated after it sent them.
    fn is_proved(&self, expected: &Expected<'_>) -> bool {
        let key = self.sa.key;
        let own =
            |holder: &Holder| expected.view.owners.get(&key.src).is_some_and(|owners| owners.contains(&holder.router));
        let sends = |holder: &&&Holder| holder.way == Some(Way::Out);
        let sent = self
            .away
            .iter()
            .any(|holder| holder.way == Some(Way::Out) && (holder.ends.dst != Some(key.dst) || !own(holder)));
        sent && self.here.iter().find(sends).is_none()
    }
}

pub(super) fn find(
    findings: &mut Vec<Finding>,
    taps: &[Tap<'_>],
    locks: &Locks,
    expected: &Expected<'_>,
) -> Translated {
    let cases: Vec<Case<'_, '_>> = on_the_wire(taps).filter_map(|(tap, sa)| case(tap, sa, locks)).collect();
    // Where both directions between two addresses verify for others, neither is a slip in the address of a peer.
    let both = |case: &Case<'_, '_>| {
        cases.iter().any(|other| (other.sa.key.src, other.sa.key.dst) == (case.sa.key.dst, case.sa.key.src))
    };
    let proved: BTreeSet<(Address, Address)> =
        cases.iter().filter(|case| case.is_proved(expected) || both(case)).map(Case::ends).collect();
    let mut translated = Translated::default();
    for case in &cases {
        let proved = proved.contains(&case.ends());
        // The receiver has another address for its peer than the packets have. Where the sender's own is that, it is no translation.
        if !proved && !case.here.is_empty() {
            continue;
        }
        if case.here.is_empty() {
            translated.known.insert(case.sa.key);
        }
        let keys = case
            .away
            .iter()
            .filter_map(|holder| Some(SaKey { src: holder.ends.src?, dst: holder.ends.dst?, ..case.sa.key }));
        translated.stated.extend(keys);
        if proved {
            let others = others(case);
            findings.retain(|finding| !(finding.code == "config-peer-mismatch" && concerns(finding, &others)));
        }
        findings.push(finding(case, proved, expected));
    }
    translated
}

fn case<'c, 't>(tap: &'c Tap<'t>, sa: &'c SaView<'t>, locks: &'c Locks) -> Option<Case<'c, 't>> {
    let keyed = sa.state.keyed.as_deref().filter(|_| sa.key.protocol == Protocol::Esp)?;
    let verified = |lock: &(u16, &Lock)| keyed.verified_by(lock.0);
    let all = (0..).zip(locks.of(&sa.key).map(|candidate| candidate.lock));
    let (number, lock) = all.max_by_key(verified).filter(|lock| verified(lock) > 0)?;
    let (here, rest): (Vec<&Holder>, Vec<&Holder>) = lock.holders().iter().partition(|holder| holder.ends.fit(&sa.key));
    let other =
        |holder: &&Holder| holder.ends.src.is_some() && holder.ends.dst.is_some() && !holder.ends.are_reversed(&sa.key);
    let away: Vec<&Holder> = rest.into_iter().filter(other).collect();
    (!away.is_empty()).then(|| Case { tap, sa, verified: keyed.verified_by(number), here, away })
}

/// The addresses that differ, as stated and as they are on the wire.
fn others(case: &Case<'_, '_>) -> BTreeSet<String> {
    let key = case.sa.key;
    let of = |holder: &&Holder| {
        let differs = |stated: Option<Address>, seen: Address| {
            stated.filter(|stated| *stated != seen).map(|stated| [stated, seen])
        };
        [differs(holder.ends.src, key.src), differs(holder.ends.dst, key.dst)]
    };
    case.away.iter().flat_map(of).flatten().flatten().map(|address| address.to_string()).collect()
}

/// Whether a difference between two configurations is about one of these addresses.
fn concerns(finding: &Finding, addresses: &BTreeSet<String>) -> bool {
    let mut words = finding.config.iter().flat_map(|line| line.text.split_whitespace());
    words.any(|word| addresses.contains(word))
}

fn finding(case: &Case<'_, '_>, proved: bool, expected: &Expected<'_>) -> Finding {
    let SaKey { src, dst, spi, .. } = case.sa.key;
    let states = |holder: &&Holder| {
        let way = match holder.way {
            Some(Way::In) => " (inbound)",
            Some(Way::Out) => " (outbound)",
            None => "",
        };
        let (from, to) = (holder.ends.src, holder.ends.dst);
        let shown = |end: Option<Address>| end.map_or_else(|| "any".to_owned(), |end| end.to_string());
        format!("{}{way} from {} to {}", holder.name, shown(from), shown(to))
    };
    let mut stated: Vec<String> = case.away.iter().map(states).collect();
    stated.dedup();
    let mut evidence = format!(
        "{} from {src} to {dst} with SPI {} ({spi}) verify under the key of an SA that is stated with other addresses: {}.",
        plural(case.verified, "ESP frame"),
        spi.0,
        stated.join(", ")
    );
    evidence.push_str(if proved {
        " Addresses are translated between these ends (NAT). The ICV of ESP does not cover them, so that the SA is not harmed."
    } else {
        " Addresses are translated between these ends (NAT), or the address of the peer is another than the one that was meant."
    });
    let lines = case
        .away
        .iter()
        .chain(&case.here)
        .filter_map(|holder| Some(config_line(expected.view.policies, holder.router, holder.cite.as_ref()?)));
    let draft = Draft::new("sa-translated", evidence).about(case.tap, case.sa).count(case.verified);
    let draft = draft.caused_by(lines.take(super::CITED).collect(), Vec::new());
    if proved { draft } else { draft.severity(Severity::Warning) }.done()
}

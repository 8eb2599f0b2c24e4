//! Traffic inside tunnels without an answer.

use std::collections::{BTreeMap, BTreeSet};

use super::{ENOUGH, named};
use crate::analysis::finish::findings::{Draft, SaView, Tap, plural};
use crate::analysis::state::base::seen::Seen;
use crate::analysis::state::base::tables::{DirectionKey, FlowKey};
use crate::model::report::{Finding, Severity};
use crate::model::{Address, SaKey};

/// Flows without an answer.
#[derive(Default)]
struct Unanswered {
    flows: Vec<(u64, Address, Address)>,
    seen: Seen,
}

/// Inner traffic that nothing inside any SA answers.
pub(super) fn add(findings: &mut Vec<Finding>, tap: &Tap<'_>) {
    if answers_may_hide(tap) {
        return;
    }
    let flows = &tap.stream.tables.flows;
    let carrier = |id: u32| tap.stream.flows.carrier(id);
    let ends = |id: u32| carrier(id).and_then(|carrier| carrier.ends(&tap.stream.tables));
    let is_answered = |key: &FlowKey| flows.find(&FlowKey { src: key.dst, dst: key.src, ..*key }).is_some();
    let inner = || flows.iter().filter(|(_, key)| key.inner && !key.dst.is_multicast());
    let answered: BTreeSet<(Address, Address)> =
        inner().filter(|(_, key)| is_answered(key)).filter_map(|(id, _)| ends(id)).collect();
    let [mut asking, mut needs_none, mut elsewhere] =
        [Unanswered::default(), Unanswered::default(), Unanswered::default()];
    let shown = Shown::of(tap);
    for (id, key) in inner().filter(|(_, key)| !is_answered(key)) {
        let Some(flow) = tap.stream.flows.get(id).filter(|flow| flow.count >= ENOUGH) else { continue };
        // Logs, traps, flow exports and media need no answer; TCP does.
        let is_told = !carrier(id).is_some_and(|carrier| carrier.shows_tcp())
            && ends(id).is_some_and(|ends| answered.contains(&ends));
        let own = match ends(id) {
            Some(ends) if !tap.sas.is_empty() && !shown.goes_back(ends) => &mut elsewhere,
            _ if is_told => &mut needs_none,
            _ => &mut asking,
        };
        own.flows.push((flow.count, key.src, key.dst));
        own.seen.join(flow);
    }
    let found = [(asking, Answer::Due), (needs_none, Answer::NotNeeded), (elsewhere, Answer::Elsewhere)];
    findings.extend(found.into_iter().filter(|(own, _)| !own.flows.is_empty()).map(|(own, is)| finding(tap, own, is)));
}

/// From which MAC address to which.
type Way = ([u8; 6], [u8; 6]);

/// What a tap shows of the ways back to gateways.
#[derive(Default)]
struct Shown {
    /// Outer addresses that packets are sent to, IKE included.
    receivers: BTreeSet<Address>,
    /// IP packets by the MAC address that sends them, and packets of SAs by the IP address that sends these.
    sent: BTreeMap<[u8; 6], u64>,
    of_sas: BTreeMap<Address, u64>,
    /// MAC addresses that frames are sent to, with those that send them.
    links: BTreeMap<[u8; 6], BTreeSet<[u8; 6]>>,
    /// From which MAC address to which the packets between the ends of a tunnel go.
    ways: BTreeMap<(Address, Address), BTreeSet<Way>>,
}

impl Shown {
    fn of(tap: &Tap<'_>) -> Self {
        let tables = &tap.stream.tables;
        let mut own = Self::default();
        for (_, key) in tables.directions.iter() {
            match *key {
                DirectionKey::Mac(from, to) if from != to => drop(own.links.entry(to).or_default().insert(from)),
                DirectionKey::Ip(_, dst) => drop(own.receivers.insert(dst)),
                DirectionKey::Mac(..) | DirectionKey::Unknown | DirectionKey::Other => {}
            }
        }
        for (_, path) in tables.paths.iter() {
            let Some(ends) = tables.pair_of(path) else { continue };
            own.receivers.insert(ends.1);
            if let Some(&DirectionKey::Mac(from, to)) = tables.directions.get(path.direction) {
                own.ways.entry(ends).or_default().insert((from, to));
            }
        }
        own.receivers.extend(tables.flows.iter().filter(|(_, key)| !key.inner).map(|(_, key)| key.dst));
        for (id, of) in tap.stream.rates.iter() {
            if let Some(DirectionKey::Mac(from, _)) = tables.directions.get(id) {
                *own.sent.entry(*from).or_default() += of.ip_frames;
            }
        }
        for sa in &tap.sas {
            *own.of_sas.entry(sa.key.src).or_default() += sa.state.seen.count;
        }
        own.receivers.extend(tap.stream.notices.ike_ways.keys().map(|(_, dst)| *dst));
        own.receivers.extend(tap.sas.iter().map(|sa| sa.key.dst));
        own
    }

    /// Whether anything is sent to the near end of a tunnel, by its IP address or by the MAC address that its packets come from: the way back passes
    /// this tap. What a mirror shows of the same packets before that, on another link, does not count.
    fn goes_back(&self, ends: (Address, Address)) -> bool {
        // A router in between sends what others sent, too: the way back need not be over it.
        let is_between = |own: &[u8; 6]| {
            let own_frames = self.of_sas.get(&ends.0).copied().unwrap_or(0);
            if self.sent.get(own).is_some_and(|frames| *frames > own_frames + own_frames / 10 + ENOUGH) {
                return true;
            }
            let mut others = self.ways.iter().filter(|((src, _), _)| *src != ends.0);
            others.any(|(_, ways)| ways.iter().any(|(from, _)| from == own))
        };
        let sends_back = |ways: &BTreeSet<Way>| {
            let gateways = ways.iter().map(|(own, _)| own).filter(|own| !is_between(own));
            let back = gateways.filter_map(|own| Some((own, self.links.get(own)?)));
            back.flat_map(|(own, senders)| senders.iter().map(move |from| (*from, *own)))
                .any(|way| !ways.contains(&way))
        };
        self.receivers.contains(&ends.0) || self.ways.get(&ends).is_some_and(sends_back)
    }
}

/// What is known of the answers to packets inside a tunnel.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// They would pass this tap.
    Due,
    /// Packets without connection in a tunnel through which others are answered.
    NotNeeded,
    /// Nothing at this tap is sent to the near end of the tunnel, nor to its MAC address.
    Elsewhere,
}

fn finding(tap: &Tap<'_>, Unanswered { flows, seen }: Unanswered, answer: Answer) -> Finding {
    let counters = match (answer, sas_answer(tap)) {
        (Answer::Elsewhere, _) => {
            " At this TAP nothing is sent to the gateway that they come from, by its IP or MAC address: the answers may take another way."
        }
        (_, Answers::None) if tap.sas.is_empty() => "",
        (_, Answers::None) => " In the words of a router's counters, one side encrypts, never decrypts.",
        (_, Answers::All) => {
            " The SAs carry packets both ways: the routers encrypt and decrypt, and these hosts are not answered, or from other addresses."
        }
        (_, Answers::Some) => "",
    };
    let others = match answer {
        Answer::NotNeeded => {
            " Other hosts are answered through this tunnel, and logs, traps, flow exports and media need no answer."
        }
        Answer::Due | Answer::Elsewhere => "",
    };
    let evidence = format!(
        "{} inside the tunnel have no answer inside any {} back: {}.{counters}{others} Whether the far side drops these packets or has no answer to \
         them, the wire cannot show; its counters (`#pkts decaps` of `show crypto ipsec sa`) can.",
        plural(seen.count, "packet"),
        if tap.sas.is_empty() { "tunnel" } else { "SA" },
        named(flows)
    );
    let draft = Draft::new("inner-one-way", evidence).seen(tap, &seen);
    // Tunnels that protect nothing carry media and telemetry, which need no answer, and so do those that others are answered through.
    let is_note = tap.sas.is_empty() || answer != Answer::Due;
    if is_note { draft.severity(Severity::Note) } else { draft }.done()
}

/// Which SAs have one of their protocol back.
enum Answers {
    None,
    Some,
    All,
}

fn sas_answer(tap: &Tap<'_>) -> Answers {
    let back = |sa: &SaView<'_>| SaKey { src: sa.key.dst, dst: sa.key.src, ..sa.key };
    let answered = tap.sas.iter().filter(|sa| tap.sas_between(back(sa)).next().is_some()).count();
    match answered {
        0 => Answers::None,
        all if all == tap.sas.len() => Answers::All,
        _ => Answers::Some,
    }
}

/// Whether an SA whose packets are mostly opaque runs the other way of a tunnel that can be looked into.
fn answers_may_hide(tap: &Tap<'_>) -> bool {
    let tables = &tap.stream.tables;
    let visible: BTreeSet<(Address, Address)> = tables
        .paths
        .iter()
        .filter(|(_, path)| path.encapsulated > 0)
        .filter_map(|(_, path)| tables.pair_of(path))
        .collect();
    let mostly = |sa: &SaView<'_>| sa.is_opaque() && sa.state.opaque.saturating_mul(2) > sa.state.seen.count;
    tap.sas.iter().any(|sa| mostly(sa) && visible.contains(&(sa.key.dst, sa.key.src)))
}

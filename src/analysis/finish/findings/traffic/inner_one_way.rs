//! Traffic inside tunnels without an answer.

use std::collections::BTreeSet;

use super::{ENOUGH, named};
use crate::analysis::finish::findings::{Draft, SaView, Tap, plural};
use crate::analysis::state::base::seen::Seen;
use crate::analysis::state::base::tables::FlowKey;
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
    let [mut asking, mut one_way] = [Unanswered::default(), Unanswered::default()];
    for (id, key) in inner().filter(|(_, key)| !is_answered(key)) {
        let Some(flow) = tap.stream.flows.get(id).filter(|flow| flow.count >= ENOUGH) else { continue };
        // Logs, traps, flow exports and media need no answer; TCP does.
        let needs_none = !carrier(id).is_some_and(|carrier| carrier.shows_tcp())
            && ends(id).is_some_and(|ends| answered.contains(&ends));
        let own = if needs_none { &mut one_way } else { &mut asking };
        own.flows.push((flow.count, key.src, key.dst));
        own.seen.join(flow);
    }
    for (own, others) in [
        (asking, ""),
        (
            one_way,
            " Other hosts are answered through this tunnel, and logs, traps, flow exports and media need no answer.",
        ),
    ] {
        if !own.flows.is_empty() {
            findings.push(finding(tap, own, others));
        }
    }
}

/// `others`: the sentence about hosts that are answered, where there are any.
fn finding(tap: &Tap<'_>, Unanswered { flows, seen }: Unanswered, others: &str) -> Finding {
    let counters = match sas_answer(tap) {
        Answers::None if tap.sas.is_empty() => "",
        Answers::None => " In the words of a router's counters, one side encrypts, never decrypts.",
        Answers::All => {
            " The SAs carry packets both ways: the routers encrypt and decrypt, and these hosts are not answered, or from other addresses."
        }
        Answers::Some => "",
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
    let is_note = tap.sas.is_empty() || !others.is_empty();
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

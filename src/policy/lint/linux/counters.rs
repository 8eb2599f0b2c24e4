//! Drops that the kernel counted per state: which side drops, and why.

use std::collections::BTreeSet;

use super::super::super::{Installed, Problem, View};
use super::differ::{Place, at};
use super::model::{Host, Verdict, kernel, outbound};
use crate::model::report::Severity;
use crate::policy::read::xfrm::KernelState;

/// Drops of failed integrity are all of what arrived unless the state let more than so many times as many pass.
const FEW: u64 = 1;
/// Fewer packets than these that the anti-replay check drops, among at least ten times as many, are what any path does.
const SINGLE: u64 = 10;
/// Packets that may be on their way, or of which none arrived yet.
const AT_FIRST: u64 = 5;

pub(super) fn judge(view: &View<'_>, hosts: &[Host<'_>], explained: &BTreeSet<Place>, verdicts: &mut Vec<Verdict>) {
    for (number, host) in hosts.iter().enumerate() {
        for state in 0..host.states.len() {
            let place = (number, state);
            if !explained.contains(&place) {
                verdicts.extend(failed(view, hosts, place));
                verdicts.extend(lost(view, hosts, place));
            }
            verdicts.extend(replayed(view, hosts, place));
        }
    }
}

fn subject(sa: &Installed) -> String {
    let ends = sa.src.zip(sa.dst).map_or_else(String::new, |(src, dst)| format!(" from {src} to {dst}"));
    format!("{} SPI {} ({}){ends}", sa.protocol.title(), sa.spi.0, sa.spi)
}

/// The other end of a state that receives.
fn sender<'h, 'v>(hosts: &'h [Host<'v>], place: Place) -> Option<(&'h Host<'v>, &'h Installed)> {
    let sa = at(hosts, place)?;
    hosts.iter().enumerate().filter(|(other, _)| *other != place.0).find_map(|(_, other)| {
        let same = |one: &Installed| (one.protocol, one.src, one.dst, one.spi) == (sa.protocol, sa.src, sa.dst, sa.spi);
        other.states.iter().map(|state| &state.now).find(|one| same(one)).map(|state| (other, state))
    })
}

/// Packets that one end sent and of which the other end counts none, not even one that it dropped.
fn lost(view: &View<'_>, hosts: &[Host<'_>], place: Place) -> Option<Verdict> {
    let (host, sa) = (hosts.get(place.0)?, at(hosts, place)?);
    let (extra, (sender, state)) = (kernel(sa)?, sender(hosts, place)?);
    // Packets without the mark, or of another interface, find no state, and a card that does the work counts itself.
    let is_counted_here = |one: &KernelState| one.mark.any() && one.if_id == 0 && one.offload.is_none();
    if !is_counted_here(extra) || !is_counted_here(kernel(state)?) {
        return None;
    }
    let dropped = extra.drops.is_some_and(|drops| drops.failed > 0 || drops.replayed > 0 || drops.outside_window > 0);
    let sent = kernel(state)?.packets.filter(|sent| *sent > AT_FIRST)?;
    // If another finding already corrected this state, that fault explains the loss.
    let name = |one: &Installed| (one.protocol, one.src, one.dst, one.spi);
    let is_as_read =
        |host: &Host<'_>| host.states.iter().filter_map(|one| one.was.as_ref()).any(|was| name(was) == name(sa));
    if !is_as_read(host) || !is_as_read(sender) {
        return None;
    }
    if dropped || extra.packets != Some(0) || outbound(host, sa) != Some(false) || outbound(sender, state) != Some(true)
    {
        return None;
    }
    let evidence = format!(
        "{}: {} counts {sent} packets sent, {} counts 0 received{}. Unless the listing of {2} is older, the packets are lost between the two \
         (a filter that drops {} or UDP port 4500, or a route), or {2} drops them before it finds the state: XfrmInNoStates in \
         /proc/net/xfrm_stat counts these.",
        subject(sa),
        sender.name,
        host.name,
        if extra.drops.is_some() { " and 0 dropped" } else { "" },
        sa.protocol.title()
    );
    let problem = Problem::new("sa-counters", evidence).severity(Severity::Warning).about(host.name);
    let problem = problem.lines(view.policies, host.router, sa.cites.first());
    Some(Verdict::told(problem.lines(view.policies, sender.router, state.cites.first())))
}

/// `failed`: packets whose integrity check failed. Only a receiver counts them.
fn failed(view: &View<'_>, hosts: &[Host<'_>], place: Place) -> Option<Verdict> {
    let (host, sa) = (hosts.get(place.0)?, at(hosts, place)?);
    let extra = kernel(sa)?;
    let count = extra.drops?.failed;
    if count == 0 || outbound(host, sa) == Some(true) {
        return None;
    }
    let passed = extra.packets.unwrap_or(0);
    let all = passed <= count.saturating_mul(FEW);
    let sender = sender(hosts, place);
    let sent = sender.and_then(|(sender, state)| Some((sender.name, kernel(state)?.packets.filter(|sent| *sent > 0)?)));
    let sent = sent.map_or_else(String::new, |(name, sent)| format!(" {name} sent {sent}."));
    let known = |sa: &Installed| sa.authenticator.is_some() || sa.cipher.is_some();
    let compared = sender.is_some_and(|(_, state)| known(state) && known(sa));
    let cause = match (all, compared) {
        (true, true) => {
            "Keys and algorithms of the two ends agree in these texts: the packets are changed on the way, or the counter is older than the keys."
        }
        (true, false) => {
            "The SPI is right, so that keys or algorithms of the two ends likely differ; they cannot be compared here, and which end is wrong is not known."
        }
        (false, _) => {
            "Most packets pass, so that keys and algorithms are right: these were damaged or forged on the way, or of an older key."
        }
    };
    let evidence = format!(
        "{}: {} drops {count} packets because their integrity check failed (`failed {count}`, {passed} passed).{sent} {cause}",
        subject(sa),
        host.name
    );
    // Counters outlive a correction of the other end, and comparison of keys says more than they do.
    let severity = match (compared, all) {
        (true, true) => Severity::Warning,
        (true, false) => Severity::Note,
        (false, true) => Severity::Error,
        (false, false) => Severity::Warning,
    };
    let mut problem = Problem::new("counter-integrity-failed", evidence).severity(severity).about(host.name).lines(
        view.policies,
        host.router,
        sa.cites.first().into_iter().chain(extra.line("stats")),
    );
    if let Some((sender, state)) = sender {
        problem = problem.lines(view.policies, sender.router, state.cites.first());
    }
    Some(Verdict::told(problem))
}

/// `replay` and `replay-window`: packets received before, and packets older than the window.
fn replayed(view: &View<'_>, hosts: &[Host<'_>], place: Place) -> Option<Verdict> {
    let (host, sa) = (hosts.get(place.0)?, at(hosts, place)?);
    let extra = kernel(sa)?;
    let drops = extra.drops?;
    if drops.replayed == 0 && drops.outside_window == 0 {
        return None;
    }
    let counted = |count: u64| if count == 1 { "1 packet".to_owned() } else { format!("{count} packets") };
    let mut said = Vec::new();
    if drops.replayed > 0 {
        said.push(format!("{} with a number received before (`replay {}`)", counted(drops.replayed), drops.replayed));
    }
    if drops.outside_window > 0 {
        said.push(format!(
            "{} older than the window of {} (`replay-window {}`)",
            counted(drops.outside_window),
            extra.window,
            extra.window
        ));
    }
    let dropped = drops.replayed.saturating_add(drops.outside_window);
    let passed = extra.packets.unwrap_or(0);
    let few = passed >= dropped.saturating_mul(if dropped < SINGLE { 10 } else { 1_000 });
    let evidence = format!(
        "{}: the anti-replay check of {} dropped {}. Keys and SPI are right: likely causes are copies or reordering on the way, or a \
         sender that counts from 1 again.",
        subject(sa),
        host.name,
        said.join(" and ")
    );
    let severity = if few { Severity::Note } else { Severity::Warning };
    let problem = Problem::new("counter-replay", evidence).severity(severity).about(host.name).lines(
        view.policies,
        host.router,
        sa.cites.first().into_iter().chain(extra.line("stats")),
    );
    Some(Verdict::told(problem))
}

//! Two states that the kernel cannot tell apart: the second is refused.

use std::collections::BTreeMap;

use super::super::super::{Problem, View};
use super::model::{Host, Verdict, kernel};

pub(super) fn judge(view: &View<'_>, hosts: &[Host<'_>]) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for host in hosts {
        let mut seen: BTreeMap<_, usize> = BTreeMap::new();
        for (at, state) in host.states.iter().enumerate() {
            let (sa, Some(extra)) = (&state.now, kernel(&state.now)) else { continue };
            let Some(&first) = seen.get(&(sa.dst, sa.protocol, sa.spi, extra.mark)) else {
                seen.insert((sa.dst, sa.protocol, sa.spi, extra.mark), at);
                continue;
            };
            let Some(first) = host.states.get(first) else { continue };
            let listed_again = first.now.src == sa.src
                && first.now.words == sa.words
                && first.now.cipher == sa.cipher
                && first.now.authenticator == sa.authenticator;
            if listed_again {
                continue;
            }
            let evidence = format!(
                "{}: two states have destination {}, protocol {} and SPI {} ({}). The kernel finds inbound packets by these three and \
                 refuses the second state (File exists).",
                host.name,
                sa.dst.map(|dst| dst.to_string()).unwrap_or_default(),
                sa.protocol.title(),
                sa.spi.0,
                sa.spi
            );
            let problem = Problem::new("config-state-duplicate", evidence).about(host.name).lines(
                view.policies,
                host.router,
                first.now.cites.first().into_iter().chain(sa.cites.first()),
            );
            verdicts.push(Verdict::told(problem));
        }
    }
    verdicts
}

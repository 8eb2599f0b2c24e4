//! What silences of the taps on the two plaintext sides were.

use super::{EndToEnd, Gone};
use crate::matching::measure::doubt::Silent;
use crate::matching::measure::silence::{Known, Verdict, WAYS};

impl EndToEnd {
    /// Decides which packets that are missing in silences of either tap were lost.
    pub(super) fn judge(&mut self) {
        let balances = self.balances();
        let way_of: Vec<Option<usize>> = self
            .flows
            .iter()
            .map(|(key, _)| match balances.get(&(key.src, key.dst)).copied().unwrap_or(0).signum() {
                1 => Some(0),
                -1 => Some(1),
                _ => None,
            })
            .collect();
        let mut pairs = [0; WAYS];
        for ((_, flow), way) in self.flows.iter().zip(&way_of) {
            if let Some(pairs) = way.and_then(|way| pairs.get_mut(way)) {
                *pairs += flow.matched;
            }
        }
        for (at, tap) in ["plain", "exit"].into_iter().enumerate() {
            let exit = at == 1;
            // Packets to the plain side passed the exit first, those to the exit the plain side.
            let known = Known {
                way: |flow: u32| way_of.get(flow as usize).copied().flatten(),
                passed: [!exit, exit],
                skipped: |_: i64, _: usize, _: u64| None,
                pairs,
            };
            let Some(own) = self.silences.get_mut(at) else { continue };
            own.settle();
            let judged = own.judge(&known);
            let waiting = own.take_waiting();
            let verdict = |from: i64, flow: u32| {
                let way = way_of.get(flow as usize).copied().flatten()?;
                judged.get(&from)?.verdicts.get(way).copied()
            };
            self.silent.extend(judged.values().map(|own| Silent::of(tap, own)));
            if exit {
                let is_loss = |from: i64, flow: u32| matches!(verdict(from, flow), None | Some(Verdict::Loss));
                let is_gone = |gone: &mut Gone| gone.silence.is_none_or(|from| is_loss(from, gone.flow));
                let open: Vec<Gone> = self.gone.extract_if(.., |gone| !is_gone(gone)).collect();
                open.iter().for_each(|gone| self.leave_untold(gone.pos));
            }
            for ((from, flow, bytes), count) in waiting {
                let verdict = verdict(from, flow).unwrap_or(Verdict::Loss);
                if verdict == Verdict::Loss {
                    self.size(flow, bytes, !exit, count);
                }
                let Some((_, ends)) = self.flows.get_mut(flow as usize) else { continue };
                match verdict {
                    Verdict::Loss if exit => ends.only_plain += count,
                    Verdict::Loss => ends.only_exit += count,
                    Verdict::Hole => self.uncovered += count,
                    Verdict::Open => ends.open += count,
                }
            }
        }
    }
}

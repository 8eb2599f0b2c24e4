//! SAs of which both routers send with the same SPI: inbound and outbound are exchanged on one of the two.
//!
//! Where the keys were exchanged together with the numbers, the key of each SPI is the same at both routers, and no key is wrong. So
//! keys are compared by SPI or by direction, whichever the lines have more in common by.

use super::pairs::{Direction, Directions, key_problem};
use crate::model::{Address, Protocol};
use crate::policy::facts::stated::Stated;
use crate::policy::lint::blame;
use crate::policy::{Problem, Secret, View, fix};

/// Protocol, both ends, both routers.
pub(super) type Name = (Protocol, [Address; 2], [usize; 2]);

/// The only SA of each direction at two routers: what one sends with and waits for, and what the other does.
#[derive(Clone, Copy)]
pub(super) struct Turned<'s> {
    /// From the router that comes first.
    direction: Direction,
    out: &'s Stated,
    inward: &'s Stated,
    back_out: &'s Stated,
    back_in: &'s Stated,
}

impl<'s> Turned<'s> {
    /// The four SAs, if each router sends with the number that the other one sends with.
    pub(super) fn of(
        directions: &Directions<'s>,
        (protocol, src, dst): Direction,
        out: &[&'s Stated],
        inward: &[&'s Stated],
    ) -> Option<Self> {
        let ([out], [inward]) = (out, inward) else { return None };
        let back = directions.get(&(protocol, dst, src))?;
        let only = |all: Option<&Vec<&'s Stated>>, like: &Stated| {
            let mut same = all?.iter().filter(|one| one.basis == like.basis).copied();
            same.next().filter(|_| same.next().is_none())
        };
        let back_out = only(back.sending.get(&inward.router), inward)?;
        let back_in = only(back.receiving.get(&out.router), out)?;
        let crossed = out.spi != inward.spi && out.spi == back_out.spi && inward.spi == back_in.spi;
        let direction = (protocol, src, dst);
        let found = Self { direction, out, inward, back_out, back_in };
        crossed.then(|| if out.router < inward.router { found } else { found.other_way() })
    }

    const fn other_way(self) -> Self {
        let Self { direction: (protocol, src, dst), out, inward, back_out, back_in } = self;
        Self { direction: (protocol, dst, src), out: back_out, inward: back_in, back_out: out, back_in: inward }
    }

    /// Key that keeps the finding from being reported twice: both ends, sorted, and the routers of the two lines, the sending one first.
    pub(super) fn name(&self) -> Name {
        let (protocol, src, dst) = self.direction;
        (protocol, [src.min(dst), src.max(dst)], [self.out.router, self.inward.router])
    }

    pub(super) fn problems(&self, view: &View<'_>) -> Vec<Problem> {
        let Self { direction, out, inward, back_out, back_in } = *self;
        let (protocol, src, dst) = direction;
        let (straight, by_spi) = (
            in_common(out, inward) + in_common(back_out, back_in),
            in_common(out, back_out) + in_common(inward, back_in),
        );
        let mut problems = vec![self.exchanged(view, by_spi > straight)];
        if by_spi > straight {
            problems.extend(key_problem(view, direction, out, back_out));
            problems.extend(key_problem(view, (protocol, dst, src), back_in, inward));
        } else if straight > by_spi {
            problems.extend(key_problem(view, direction, out, inward));
            problems.extend(key_problem(view, (protocol, dst, src), back_out, back_in));
        }
        // Lines for keys would give back the numbers that are exchanged.
        problems.iter_mut().skip(1).for_each(|problem| problem.fix.clear());
        problems
    }

    fn exchanged(&self, view: &View<'_>, with_keys: bool) -> Problem {
        let Self { out, inward, back_out, back_in, .. } = *self;
        let (a, b) = (view.name(out.router), view.name(inward.router));
        let keys = if with_keys {
            "; the keys were exchanged with the numbers: those of each SPI are the same at both (compared, not shown)"
        } else {
            ""
        };
        let evidence = format!(
            "{a} sends {} to {b} with SPI {} ({}), and so does {b} to {a}; each expects {} ({}). Inbound and outbound are exchanged on \
             one of the two{keys}.",
            out.protocol.title(),
            out.spi.0,
            out.spi,
            inward.spi.0,
            inward.spi
        );
        let problem = Problem::new("config-spi-mismatch", evidence)
            .about(format!("{a} < > {b}"))
            .lines(view.policies, out.router, out.cites.iter().take(1).chain(back_in.cites.iter().take(1)))
            .lines(view.policies, inward.router, inward.cites.iter().take(1).chain(back_out.cites.iter().take(1)));
        let own: Vec<String> = [(out, inward.spi), (back_in, out.spi)]
            .into_iter()
            .flat_map(|(one, spi)| fix::retyped(view, one, one.spi, spi))
            .collect();
        if own.is_empty() {
            let theirs = [(back_out, inward.spi), (inward, out.spi)]
                .into_iter()
                .flat_map(|(one, spi)| fix::retyped(view, one, one.spi, spi))
                .collect();
            return blame::open(problem, b, theirs, &format!("exchange the two SAs on {a}"));
        }
        blame::open(problem, a, own, &format!("exchange the two SAs on {b}"))
    }
}

/// How many keys two SAs have in common.
fn in_common(a: &Stated, b: &Stated) -> usize {
    let same = |a: &Option<Secret>, b: &Option<Secret>| {
        a.as_ref().zip(b.as_ref()).is_some_and(|(a, b)| a.comparable() && b.comparable() && a == b)
    };
    usize::from(same(&a.cipher, &b.cipher)) + usize::from(same(&a.authenticator, &b.authenticator))
}

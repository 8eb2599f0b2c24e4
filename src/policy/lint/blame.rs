//! At which of two routers a problem is laid, and how that is said.
//!
//! What decides, in this order: the wire and the counters (given to the lints that know them), a contradiction of a router with
//! itself, the agreement of the rest of the same router, the mirror of the peer's text. Where nothing decides, one side's lines are
//! printed and the other's are told as the alternative, so that never both are typed.

use super::super::Problem;

/// One of the two sides of a pair.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    /// The first one.
    A,
    /// The second one.
    B,
}

impl Side {
    pub(super) const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    pub(super) const fn of<T: Copy>(self, a: T, b: T) -> T {
        match self {
            Self::A => a,
            Self::B => b,
        }
    }

    /// The side for which less speaks; `None` where both have the same.
    pub(super) fn weaker(a: usize, b: usize) -> Option<Self> {
        match a.cmp(&b) {
            std::cmp::Ordering::Less => Some(Self::A),
            std::cmp::Ordering::Greater => Some(Self::B),
            std::cmp::Ordering::Equal => None,
        }
    }
}

/// Lays a problem at a host, for a reason, with what to type there.
pub(super) fn decided(mut problem: Problem, host: &str, because: &str, lines: Vec<String>) -> Problem {
    problem.evidence.push_str(&format!(" The fault is on {host}: {because}."));
    problem.cause = Some(format!("On {host}: {because}."));
    problem.fix(host, lines)
}

/// Says that nothing decides whose key is the meant one, and gives the lines that enter one key on both: of a key that is known to
/// neither text, no other lines are right whichever end was mistyped.
pub(super) fn one_key(mut problem: Problem, ends: [(&str, Vec<String>); 2]) -> Problem {
    let [(one, _), (other, _)] = &ends;
    problem.evidence.push_str(&format!(
        " Nothing given decides which key is the meant one: enter the same key for the SPI on {one} and on {other}."
    ));
    ends.into_iter().fold(problem, |problem, (host, lines)| problem.fix(host, lines))
}

/// Says that nothing decides, and gives one host's lines and the other's alternative in words.
pub(super) fn open(mut problem: Problem, host: &str, lines: Vec<String>, alternative: &str) -> Problem {
    problem.evidence.push_str(" Nothing given decides which of the two is the mistyped one.");
    problem.alternative = Some(format!(" Type the lines on {host}, or instead {alternative}; not both."));
    problem.fix(host, lines)
}

//! Manual entries that face each other: SPIs and keys of each direction.

use super::numbers::{Line, key_fault, spi_fault};
use super::session::{differ, doubled, key, keys_differ, keys_in_common, same_keys};
use crate::model::{Protocol, SaKey};
use crate::policy::facts::router::{Keying, SessionKey};
use crate::policy::facts::slip::slip;
use crate::policy::facts::stated::{ios_suite, sets, uses};
use crate::policy::lint::blame;
use crate::policy::lint::blame::Side;
use crate::policy::lint::{Facing, agree, fits, one_des_key};
use crate::policy::{MapEntry, Problem, Secret, View, fix};
use crate::transform::Suite;

/// A direction of a pair: what one entry sends with, and what the other waits for.
#[derive(Clone, Copy)]
struct Direction<'v> {
    sender: Side,
    out: &'v SessionKey,
    inward: &'v SessionKey,
}

/// A pair of manual entries.
struct Pair<'v> {
    view: &'v View<'v>,
    at: Facing,
    a: &'v MapEntry,
    b: &'v MapEntry,
    /// The side whose transform set is known to be the wrong one: nothing is measured by that set.
    wrong_set: Option<Side>,
}

pub(in crate::policy::lint) fn problems(view: &View<'_>, facing: &[Facing]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let wrong_sets = super::sets::accused(view, facing);
    for at in facing {
        let (Some(a), Some(b)) = (view.entry(at.a.0, at.a.1), view.entry(at.b.0, at.b.1)) else { continue };
        if a.keying == Keying::Manual && b.keying == Keying::Manual {
            let wrong_set = [Side::A, Side::B].into_iter().find(|side| wrong_sets.contains(&side.of(at.a, at.b)));
            let pair = Pair { view, at: *at, a, b, wrong_set };
            for protocol in [Protocol::Esp, Protocol::Ah] {
                pair.compare(protocol, &mut problems);
            }
        }
    }
    problems
}

impl Pair<'_> {
    /// The lines of a direction with their entries: the sender's and the receiver's.
    fn placed<'d>(&self, direction: Direction<'d>) -> (Line<'d>, Line<'d>) {
        let place = |side: Side| side.of(self.at.a, self.at.b);
        ((place(direction.sender), direction.out), (place(direction.sender.other()), direction.inward))
    }

    /// The side whose lines give a direction the SPI of the other end.
    fn retyping(&self, direction: Direction<'_>) -> Side {
        let (out, inward) = self.placed(direction);
        match spi_fault(self.view, out, inward) {
            Some((false, _)) => direction.sender.other(),
            _ => direction.sender,
        }
    }

    fn host(&self, side: Side) -> &str {
        self.view.name(side.of(self.at.a.0, self.at.b.0))
    }

    fn entry(&self, side: Side) -> &MapEntry {
        side.of(self.a, self.b)
    }

    fn router(&self, side: Side) -> usize {
        side.of(self.at.a.0, self.at.b.0)
    }

    /// The transforms of a side, as they are once a wrong set is the right one.
    fn suite(&self, side: Side) -> Option<Suite> {
        self.own_suite(if self.wrong_set == Some(side) { side.other() } else { side })
    }

    fn own_suite(&self, side: Side) -> Option<Suite> {
        let router = self.view.policies.routers.get(self.router(side))?;
        let set = *sets(router, self.entry(side)).first()?;
        ios_suite(&set.words)
    }

    fn uses(&self, side: Side, protocol: Protocol) -> bool {
        let Some(router) = self.view.policies.routers.get(self.router(side)) else { return false };
        let (entry, known) = (self.entry(side), sets(router, self.entry(side)));
        // What a set that was not given has is not known.
        let unknown = known.len() < entry.transform_sets.len() || known.is_empty();
        unknown || known.iter().any(|set| uses(&set.words, protocol))
    }

    fn compare(&self, protocol: Protocol, problems: &mut Vec<Problem>) {
        // Which of its two lines of one direction is which is not known before one of them is typed anew (`keys` has the lines).
        if doubled(self.a, protocol).is_some() || doubled(self.b, protocol).is_some() {
            return;
        }
        let [a_out, a_in, b_out, b_in] = [(self.a, false), (self.a, true), (self.b, false), (self.b, true)]
            .map(|(entry, inbound)| key(entry, protocol, inbound));
        let mut directions = Vec::new();
        if let (Some(out), Some(inward)) = (a_out, b_in) {
            directions.push(Direction { sender: Side::A, out, inward });
        }
        if let (Some(out), Some(inward)) = (b_out, a_in) {
            directions.push(Direction { sender: Side::B, out, inward });
        }
        if let (Some(a_out), Some(a_in), Some(b_out), Some(b_in)) = (a_out, a_in, b_out, b_in) {
            let crossed = (a_out.spi, a_in.spi) == (b_out.spi, b_in.spi) && a_out.spi != a_in.spi;
            if crossed {
                problems.push(self.exchanged(protocol, &directions));
                let turned = [
                    Direction { sender: Side::A, out: a_in, inward: b_in },
                    Direction { sender: Side::B, out: b_out, inward: a_out },
                ];
                problems.extend(self.keys_of_exchanged(&directions, &turned));
                return;
            }
            let same_spis = a_out.spi == b_in.spi && b_out.spi == a_in.spi;
            let keys_crossed = keys_differ(a_out, b_in) && same_keys(a_out, b_out) && same_keys(a_in, b_in);
            if same_spis && keys_crossed && keys_differ(b_out, a_in) {
                problems.push(self.keys_exchanged(&directions));
                return;
            }
        }
        for direction in directions {
            if direction.out.spi != direction.inward.spi {
                problems.push(self.spi_problem(direction));
            }
            problems.extend(self.key_problem(direction, self.retyping(direction)));
        }
    }

    /// Keys that differ beside SPIs that are exchanged. Only the numbers were exchanged, or the keys with them: what the lines have in
    /// common tells; where it does not, nothing is said of keys.
    fn keys_of_exchanged(&self, straight: &[Direction<'_>], turned: &[Direction<'_>]) -> Vec<Problem> {
        let common = |directions: &[Direction<'_>]| {
            directions.iter().map(|direction| keys_in_common(direction.out, direction.inward)).sum::<usize>()
        };
        let directions = match common(straight).cmp(&common(turned)) {
            std::cmp::Ordering::Greater => straight,
            std::cmp::Ordering::Less => turned,
            std::cmp::Ordering::Equal => return Vec::new(),
        };
        directions.iter().filter_map(|direction| self.key_problem(*direction, Side::A)).collect()
    }

    /// Whether the sets of both sides have a cipher of the DES family.
    fn is_des(&self) -> bool {
        let des = |side: Side| {
            let router = self.view.policies.routers.get(self.router(side));
            router.is_some_and(|router| sets(router, self.entry(side)).iter().any(|set| set.words.contains("des")))
        };
        des(Side::A) && des(Side::B)
    }

    fn sets_differ(&self) -> bool {
        let (a, b) = (self.own_suite(Side::A), self.own_suite(Side::B));
        a.zip(b).is_some_and(|(a, b)| !agree(&a, &b))
    }

    /// The line that enters a side's keys of a direction anew, with the number that the two ends have once the SPIs are mended.
    fn entered(&self, side: Side, direction: Direction<'_>, changed: Side) -> String {
        if side == changed {
            return self.retyped(side, direction);
        }
        let inbound = side != direction.sender;
        let own = if inbound { direction.inward } else { direction.out };
        fix::session_key(inbound, own.protocol, Some(own.spi), self.suite(side).as_ref())
    }

    /// The line that gives a side's end of a direction the number of the other end.
    fn retyped(&self, side: Side, direction: Direction<'_>) -> String {
        let inbound = side != direction.sender;
        let own = if inbound { direction.inward } else { direction.out };
        let other = if inbound { direction.out } else { direction.inward };
        fix::session_key(inbound, own.protocol, Some(other.spi), self.suite(side).as_ref())
    }

    fn cited(&self, mut problem: Problem, directions: &[Direction<'_>]) -> Problem {
        for direction in directions {
            let (from, to) = (self.router(direction.sender), self.router(direction.sender.other()));
            problem = problem.lines(self.view.policies, from, [&direction.out.cite]).lines(
                self.view.policies,
                to,
                [&direction.inward.cite],
            );
        }
        problem
    }

    fn exchanged(&self, protocol: Protocol, directions: &[Direction<'_>]) -> Problem {
        let (a, b) = (self.host(Side::A), self.host(Side::B));
        let listed: Vec<String> = directions
            .iter()
            .map(|direction| {
                let (from, to) = (self.host(direction.sender), self.host(direction.sender.other()));
                let (out, inward) = (direction.out.spi, direction.inward.spi);
                format!(
                    "{from} sends {} to {to} with SPI {} ({out}), and {to} expects {} ({inward})",
                    protocol.title(),
                    out.0,
                    inward.0
                )
            })
            .collect();
        let evidence = format!(
            "{}. Both routers send with the same number and wait for the same number: inbound and outbound are exchanged on one of the two.",
            listed.join("; ")
        );
        let problem = Problem::new("config-spi-mismatch", evidence).about(format!("{a} < > {b}"));
        let problem = self.cited(problem, directions);
        let lines = directions.iter().map(|direction| self.retyped(Side::A, *direction)).collect();
        let alternative = format!("exchange the SPIs of the two lines on {b}");
        blame::open(problem, a, fix::in_map(self.a, lines), &alternative)
    }

    fn keys_exchanged(&self, directions: &[Direction<'_>]) -> Problem {
        let (a, b) = (self.host(Side::A), self.host(Side::B));
        let evidence = format!(
            "The SPIs of {a} and {b} agree, and each router sends with the key that the other sends with: the keys of the two \
             directions are exchanged on one of the two (compared, not shown)."
        );
        let problem = Problem::new("config-key-mismatch", evidence).about(format!("{a} < > {b}"));
        let problem = self.cited(problem, directions);
        let typed = |side: Side| {
            let lines = directions.iter().map(|direction| self.retyped(side, *direction)).collect();
            (self.host(side), fix::in_map(self.entry(side), lines))
        };
        blame::one_key(problem, [typed(Side::A), typed(Side::B)])
    }

    fn spi_problem(&self, direction: Direction<'_>) -> Problem {
        let (from, to) = (self.host(direction.sender), self.host(direction.sender.other()));
        let (out, inward) = (direction.out, direction.inward);
        let title = out.protocol.title();
        let mut evidence = format!(
            "{from} sends {title} to {to} with SPI {} ({}), and {to} expects {} ({})",
            out.spi.0, out.spi, inward.spi.0, inward.spi
        );
        if let Some(slipped) = slip(inward.spi, out.spi) {
            evidence.push_str(&format!("; the first is {slipped}"));
        } else if let Some(slipped) = slip(out.spi, inward.spi) {
            evidence.push_str(&format!("; the second is {slipped}"));
        }
        evidence.push('.');
        if !self.uses(direction.sender, out.protocol) {
            evidence.push_str(&format!(" {from} does not use the key at all: its transform set has no {title}."));
        }
        let problem = Problem::new("config-spi-mismatch", evidence).about(format!("{from} > {to}"));
        let problem = self.cited(problem, &[direction]);
        let receiver = direction.sender.other();
        let (sent, expected) = self.placed(direction);
        match spi_fault(self.view, sent, expected) {
            Some((sending, because)) => {
                let side = if sending { direction.sender } else { receiver };
                let lines = fix::in_map(self.entry(side), vec![self.retyped(side, direction)]);
                blame::decided(problem, self.host(side), &because, lines)
            }
            None => {
                let lines = fix::in_map(self.entry(direction.sender), vec![self.retyped(direction.sender, direction)]);
                let alternative = format!("give {to} the inbound SPI {}", out.spi.0);
                blame::open(problem, from, lines, &alternative)
            }
        }
    }

    /// Keys of a direction that differ; `changed` is the side whose lines give it another SPI where the two differ.
    fn key_problem(&self, direction: Direction<'_>, changed: Side) -> Option<Problem> {
        let (out, inward) = (direction.out, direction.inward);
        let ciphers = differ(out.cipher.as_ref(), inward.cipher.as_ref())
            && !(self.is_des() && one_des_key(&out.cipher, &inward.cipher))
            && !self.of_other_sets(direction, true);
        let authenticators =
            differ(out.authenticator.as_ref(), inward.authenticator.as_ref()) && !self.of_other_sets(direction, false);
        let which = match (ciphers, authenticators) {
            (true, true) => "encryption keys and authentication keys",
            (true, false) => "encryption keys",
            (false, true) => "authentication keys",
            (false, false) => return None,
        };
        let (sender, receiver) = (direction.sender, direction.sender.other());
        let (from, to) = (self.host(sender), self.host(receiver));
        let title = out.protocol.title();
        let used = self.uses(sender, out.protocol) || self.uses(receiver, out.protocol);
        let what = if !used {
            format!("Neither end uses it, because the transform set has no {title}")
        } else if out.spi != inward.spi || self.sets_differ() {
            let first = if out.spi == inward.spi { "transform sets" } else { "SPIs" };
            format!("Once the {first} agree, {to} would still not get what {from} sends")
        } else if authenticators {
            format!(
                "{to} finds the SA and drops every packet, because its integrity check fails; on the wire everything looks right"
            )
        } else {
            format!(
                "The integrity check at {to} passes and every packet decrypts to rubbish; on the wire everything looks right"
            )
        };
        let evidence = format!(
            "{title} from {from} to {to}, SPI {}: the {which} of the two ends differ (compared, not shown). {what}.",
            out.spi.0
        );
        let subject = self.subject(direction);
        let problem = self.cited(Problem::new("config-key-mismatch", evidence).about(subject), &[direction]);
        let misfit = |side: Side, key: &SessionKey| self.misfits(side, key, ciphers, authenticators);
        let (wrong_out, wrong_in) = (misfit(sender, out), misfit(receiver, inward));
        let typed = |side| fix::in_map(self.entry(side), vec![self.entered(side, direction, changed)]);
        let (sent, expected) = self.placed(direction);
        let copied = key_fault(self.view, sent, expected).filter(|_| wrong_out.is_none() && wrong_in.is_none());
        let (wrong_out, wrong_in) = match copied {
            Some((true, why)) => (Some(why), None),
            Some((false, why)) => (None, Some(why)),
            None => (wrong_out, wrong_in),
        };
        Some(match (wrong_out, wrong_in) {
            (Some(why), None) => blame::decided(problem, from, &why, typed(sender)),
            (None, Some(why)) => blame::decided(problem, to, &why, typed(receiver)),
            // The lines of the SPIs enter keys again; of keys that nobody uses, no more.
            _ if out.spi != inward.spi && !used => problem,
            _ => blame::one_key(problem, [(from, typed(sender)), (to, typed(receiver))]),
        })
    }

    /// Whether two keys have the lengths that two transform sets ask for which differ: the sets are the fault, and whether it is one
    /// key cannot be told.
    fn of_other_sets(&self, direction: Direction<'_>, cipher: bool) -> bool {
        let Direction { sender, out, inward } = direction;
        let bits = |key: &SessionKey| {
            let secret = if cipher { &key.cipher } else { &key.authenticator };
            secret.as_ref().and_then(Secret::bits)
        };
        let (Some(mine), Some(theirs)) = (self.own_suite(sender), self.own_suite(sender.other())) else { return false };
        if !self.sets_differ() {
            return false;
        }
        let (Some(sent), Some(expected)) = (bits(out), bits(inward)) else { return false };
        let own = |suite: &Suite, bits: u32| fits(suite, out.protocol, cipher, bits) == Some(true);
        sent != expected && own(&mine, sent) && own(&theirs, expected)
    }

    /// Why the keys of a line cannot be what was meant: their length.
    fn misfits(&self, side: Side, key: &SessionKey, cipher: bool, authenticator: bool) -> Option<String> {
        // Of two sets that differ, the one that is right says which length is wrong; where that is open, nothing does.
        let suite = self.suite(side)?;
        let other = self.suite(side.other());
        if other.is_some_and(|other| !agree(&suite, &other)) {
            return None;
        }
        let bits = |key: &Option<Secret>| key.as_ref().and_then(Secret::bits);
        let wrong = |is_cipher: bool, key_bits: Option<u32>| {
            key_bits.filter(|bits| fits(&suite, key.protocol, is_cipher, *bits) == Some(false))
        };
        let of_cipher = wrong(true, bits(&key.cipher)).filter(|_| cipher);
        let of_authenticator = wrong(false, bits(&key.authenticator)).filter(|_| authenticator);
        let crossed = matches!((bits(&key.cipher), bits(&key.authenticator)), (Some(c), Some(a))
            if fits(&suite, key.protocol, true, a) == Some(true) && fits(&suite, key.protocol, false, c) == Some(true));
        match (of_cipher, of_authenticator) {
            (Some(_), Some(_)) if crossed => Some(
                "its cipher key has the length of an authenticator key and the reverse, so the two are exchanged in the line"
                    .to_owned(),
            ),
            (Some(bits), _) => Some(format!("its cipher key has {bits} bits, which the transform set does not take")),
            (None, Some(bits)) => {
                Some(format!("its authenticator key has {bits} bits, which the transform set does not take"))
            }
            (None, None) => None,
        }
    }

    fn subject(&self, direction: Direction<'_>) -> String {
        let (sender, receiver) = (direction.sender, direction.sender.other());
        let at = sender.of(self.at.a, self.at.b);
        let src = self.view.local(at.0, at.1);
        let dst = self.entry(sender).peers.first().map(|(peer, _)| *peer);
        let spi = direction.out.spi;
        match (src, dst) {
            (Some(src), Some(dst)) => SaKey { protocol: direction.out.protocol, src, dst, spi }.to_string(),
            _ => {
                format!("{} > {} {} {}", self.host(sender), self.host(receiver), direction.out.protocol.title(), spi.0)
            }
        }
    }
}

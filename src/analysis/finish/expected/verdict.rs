//! What the keys of one SA say of its packets: which key they have, and what differs from it.

mod failing;

use std::collections::BTreeSet;

use super::super::findings::plural;
use crate::analysis::state::sa::keyed::Keyed;
use crate::keys::{Fit, Holder, Lock, Locks};
use crate::model::SaKey;
use crate::model::report::{ConfigLine, Severity};
use crate::policy::{Numbering, Policies, config_line};
use crate::transform::algorithm::integrity::INTEGRITIES;

/// One finding about the keys of an SA.
pub(super) struct Verdict {
    pub(super) code: &'static str,
    /// Where it differs from the catalogue's.
    pub(super) severity: Option<Severity>,
    pub(super) evidence: String,
    pub(super) cause: Option<&'static str>,
    /// Packets it is about.
    pub(super) count: u64,
    /// Whether these are the packets that fail.
    pub(super) of_failed: bool,
}

impl Verdict {
    fn new(code: &'static str, evidence: String, count: u64) -> Self {
        Self { code, severity: None, evidence, cause: None, count, of_failed: false }
    }
}

/// One key of an SA, and what packets it has.
pub(super) struct Key<'l> {
    number: u16,
    lock: &'l Lock,
    pub(super) names: String,
    pub(super) verified: u64,
    unverified: u64,
    /// Whether the SA of the wire is certainly one that the key is stated for.
    certain: bool,
}

impl Key<'_> {
    /// Whether packets are made with it.
    const fn is_used(&self) -> bool {
        self.verified > 0 || self.unverified > 0
    }

    /// A list receives nothing, so that a mistake in it drops no packet.
    fn is_listed(&self) -> bool {
        self.lock.holders().iter().all(|holder| holder.listed)
    }
}

/// The SAs of the wire whose packets were tried with keys.
pub(super) struct Tried<'t> {
    pub(super) locks: &'t Locks,
    pub(super) sas: Vec<(SaKey, &'t Keyed)>,
}

/// One of them, with its keys in the order of their numbers.
pub(super) struct Judged<'t> {
    tried: &'t Tried<'t>,
    sa: SaKey,
    keyed: &'t Keyed,
    pub(super) keys: Vec<Key<'t>>,
    /// Its packets were found to be ESP-NULL.
    in_clear: bool,
}

impl<'t> Tried<'t> {
    pub(super) fn judged(&'t self, sa: &SaKey, keyed: &'t Keyed) -> Judged<'t> {
        let keys = (0..).zip(self.locks.of(sa)).map(|(number, candidate)| {
            let lock = candidate.lock;
            let certain = candidate.own && self.is_certain(sa, lock);
            let (verified, unverified) =
                (keyed.verified_by(number), keyed.unverified.get(&number).copied().unwrap_or(0));
            Key { number, lock, names: names(lock.holders()), verified, unverified, certain }
        });
        Judged { tried: self, sa: *sa, keyed, keys: keys.collect(), in_clear: false }
    }

    /// Whether a key is stated for this SA and no other. Where an end is not stated, that rests on the wire: no other SA there has the
    /// SPI, and the key is that of none.
    fn is_certain(&self, sa: &SaKey, lock: &Lock) -> bool {
        if lock.holders().iter().any(|holder| holder.ends.are(sa)) {
            return true;
        }
        let same = self.sas.iter().filter(|(other, _)| (other.protocol, other.spi) == (sa.protocol, sa.spi));
        let others = same.filter(|(other, _)| other != sa);
        others.count() == 0
    }
}

impl Judged<'_> {
    /// The same of an SA whose packets may have been found to be ESP-NULL.
    pub(super) fn in_clear(self, in_clear: bool) -> Self {
        Self { in_clear, ..self }
    }

    fn used(&self) -> impl Iterator<Item = &Key<'_>> {
        self.keys.iter().filter(|key| key.is_used())
    }

    /// The key that most packets have.
    fn best(&self) -> Option<&Key<'_>> {
        self.used().max_by_key(|key| (key.verified, key.unverified, std::cmp::Reverse(key.number)))
    }

    /// Keys that are stated for the SA and that no packet has.
    fn idle(&self) -> impl Iterator<Item = &Key<'_>> {
        self.keys.iter().filter(|key| !key.is_used() && key.certain)
    }

    pub(super) fn lines(&self, policies: &Policies) -> Vec<ConfigLine> {
        let holders = self.keys.iter().filter(|key| key.is_used() || key.certain).flat_map(|key| key.lock.holders());
        let cited = holders.filter_map(|holder| Some((holder.router, holder.cite.as_ref()?)));
        let mut lines: Vec<ConfigLine> = Vec::new();
        for (router, cite) in cited {
            let line = config_line(policies, router, cite);
            if lines.len() < super::CITED && !lines.iter().any(|old| (&old.file, old.line) == (&line.file, line.line)) {
                lines.push(line);
            }
        }
        lines
    }

    pub(super) fn verdicts(&self) -> Vec<Verdict> {
        let mut all = Vec::new();
        all.extend(self.numbering());
        all.extend(self.length());
        all.extend(self.rubbish());
        all.extend(self.differences());
        all.extend(self.failing());
        all
    }

    fn all(&self) -> String {
        plural(self.keyed.checked(), "packet")
    }

    /// Extended sequence numbers where one end says that they are not, or the reverse.
    fn numbering(&self) -> Option<Verdict> {
        let count = |fit| self.keyed.verified.iter().filter(|((_, of), _)| *of == fit).map(|(_, n)| n).sum::<u64>();
        let (plain, extended) = (count(Fit::Plain), count(Fit::Extended));
        let is_extended = extended > plain;
        let against = |holder: &&Holder| match holder.numbering {
            Numbering::Plain => is_extended,
            Numbering::Extended(_) => !is_extended,
            Numbering::Unsaid => false,
        };
        if plain + extended == 0 || self.keyed.failed.count > plain.max(extended) {
            return None;
        }
        let holders = self.used().flat_map(|key| key.lock.holders()).filter(|holder| holder.ends.fit(&self.sa));
        let wrong: Vec<Holder> = holders.filter(against).cloned().collect();
        if wrong.is_empty() {
            return None;
        }
        let count = plain.max(extended);
        let (on_the_wire, stated) = if is_extended {
            ("extended sequence numbers (ESN)", "sequence numbers of 32 bits without ESN")
        } else {
            (
                "sequence numbers of 32 bits, without the high half of extended ones (ESN)",
                "extended sequence numbers (ESN)",
            )
        };
        let evidence = format!(
            "{count} of {} verify with {on_the_wire}, and {} states {stated} for this SA. The keys are right. With ESN the ICV covers the \
             high half of the number, so that a receiver without the same setting drops every packet.",
            self.all(),
            names(&wrong)
        );
        let mut verdict = Verdict::new("esn-mismatch", evidence, count);
        if wrong.iter().all(|holder| holder.listed) {
            verdict.severity = Some(Severity::Warning);
        }
        Some(verdict)
    }

    /// An ICV of another length than the transform's.
    fn length(&self) -> Option<Verdict> {
        let of_length = |((key, fit), packets): (&(u16, Fit), &u64)| match fit {
            Fit::Length(at) => Some((*key, *at, *packets)),
            _ => None,
        };
        let (key, at, count) = self.keyed.verified.iter().filter_map(of_length).max_by_key(|(.., packets)| *packets)?;
        let key = self.keys.iter().find(|one| one.number == key)?;
        let algorithm = INTEGRITIES.get(usize::from(at))?;
        let (followed, severity, cause) = self.length_means(key, at);
        let evidence = format!(
            "{count} of {} verify under the key of {} with {}, that is with an ICV of {} B; stated is {}, with an ICV of {} B. The keys are \
             right, and {followed}.",
            self.all(),
            key.names,
            algorithm.name,
            algorithm.icv,
            key.lock.tool().transform(),
            key.lock.tool().icv_bytes()
        );
        let verdict = self.transform(evidence, count, key.is_listed());
        Some(Verdict { severity: severity.or(verdict.severity), cause: cause.or(verdict.cause), ..verdict })
    }

    /// What an ICV of another length than stated means. One end's text and the other's packets contradict each other only if the ends
    /// differ: with the same length in both directions they do not.
    fn length_means(&self, key: &Key<'_>, at: u16) -> (&'static str, Option<Severity>, Option<&'static str>) {
        let lengths =
            |keyed: &Keyed| keyed.verified.iter().max_by_key(|(_, packets)| **packets).map(|((_, fit), _)| *fit);
        let is_back =
            |other: &SaKey| (other.protocol, other.src, other.dst) == (self.sa.protocol, self.sa.dst, self.sa.src);
        let back: Vec<Fit> =
            self.tried.sas.iter().filter(|(other, _)| is_back(other)).filter_map(|(_, keyed)| lengths(keyed)).collect();
        let routers: BTreeSet<usize> = key.lock.holders().iter().map(|holder| holder.router).collect();
        if !back.is_empty() && back.iter().all(|fit| *fit == Fit::Length(at)) {
            let cause = "The release in use has another length by default (SHA2-256 had 96 bits before RFC 4868), or the texts are of \
                         another time.";
            return ("both directions have that length: the two ends agree on it", Some(Severity::Note), Some(cause));
        }
        if back.is_empty() && routers.len() > 1 {
            let followed = "the texts of the two ends agree: the sender truncates the ICV to another length than its text says. A receiver \
                            that keeps to its text drops every packet";
            return (followed, Some(Severity::Warning), None);
        }
        ("the two ends truncate the ICV differently: the receiver drops every packet", None, None)
    }

    fn transform(&self, evidence: String, count: u64, listed: bool) -> Verdict {
        let mut verdict = Verdict::new("transform-mismatch", evidence, count);
        // The ICV is proof, unlike lengths.
        verdict.severity = Some(if listed { Severity::Warning } else { Severity::Error });
        verdict.cause = Some("The transform was changed at one end only, or has another default there.");
        verdict
    }

    /// Packets whose ICV verifies and that decrypt to nothing: the key of the cipher is wrong, that of the integrity check is not.
    fn rubbish(&self) -> Option<Verdict> {
        let verified = self.keyed.verified();
        let encrypts =
            |key: &Key<'_>| key.lock.esp().is_some_and(|esp| esp.cipher.encrypts() && !esp.cipher.is_combined());
        // Of right packets hardly one is odd; of rubbish hardly one is not.
        if self.keyed.rubbish.saturating_mul(2) <= verified || !self.used().all(encrypts) {
            return None;
        }
        let whose: Vec<&str> = self.used().map(|key| key.names.as_str()).collect();
        if self.in_clear {
            let listed = self.used().all(Key::is_listed);
            let evidence = format!(
                "{verified} of {} verify under the authentication key of {}, and what they carry is in clear (ESP-NULL), which is to be \
                 encrypted. Nothing says that a key is wrong.",
                self.all(),
                whose.join(" and of ")
            );
            return Some(self.transform(evidence, verified, listed));
        }
        let evidence = format!(
            "{} of {verified} verify under the authentication key of {} and decrypt to nothing that holds together: the encryption key is \
             wrong.",
            plural(self.keyed.rubbish, "packet"),
            whose.join(" and of ")
        );
        Some(Verdict::new("config-key-mismatch", evidence, self.keyed.rubbish))
    }

    /// Keys that are stated for the SA and differ from the one that its packets have, each by what it differs in.
    fn differences(&self) -> Vec<Verdict> {
        let Some(best) = self.best() else { return Vec::new() };
        let mut verdicts = Vec::new();
        let mut wrong: Vec<&Key<'_>> = Vec::new();
        for key in self.idle() {
            let difference = best.lock.difference(key.lock);
            let same_secrets = !difference.cipher && !difference.authenticator;
            let unlike_checks = best.lock.checks() != key.lock.checks();
            let combined = key.lock.esp().is_some_and(|esp| esp.cipher.is_combined());
            if difference.transform
                && (same_secrets || unlike_checks || best.lock.tool().transform() != key.lock.tool().transform())
            {
                // A list may leave open which algorithm it is.
                if key.lock.checks() || best.lock.tool().icv_bytes() != key.lock.tool().icv_bytes() {
                    verdicts.push(self.other_transform(best, key));
                }
            } else if difference.cipher && !difference.authenticator && !combined && best.verified > 0 {
                verdicts.push(self.other_cipher_key(best, key));
            } else if let Some(verdict) = self.exchanged(best, key) {
                verdicts.push(verdict);
            } else if (difference.authenticator || combined && difference.cipher) && best.verified > 0 {
                wrong.push(key);
            } else if difference.cipher {
                verdicts.push(self.other_cipher_key(best, key));
            }
        }
        verdicts.extend(self.wrong(&wrong));
        verdicts
    }

    fn other_transform(&self, best: &Key<'_>, key: &Key<'_>) -> Verdict {
        let (count, how) =
            if best.verified > 0 { (best.verified, "verify") } else { (best.unverified, "carry no ICV and decrypt") };
        let drops = if key.is_listed() { "" } else { " A receiver with that transform drops every packet." };
        let evidence = format!(
            "{} {how} with {} as {} states it, and {} states {} for this SA: one of the two ends has the wrong transform.{drops}",
            plural(count, "packet"),
            best.lock.tool().transform(),
            best.names,
            key.names,
            key.lock.tool().transform()
        );
        self.transform(evidence, count, key.is_listed())
    }

    fn other_cipher_key(&self, best: &Key<'_>, key: &Key<'_>) -> Verdict {
        let count = best.verified.max(best.unverified);
        let same = if key.lock.checks() {
            "with the same authentication key, so that the ICV verifies at both"
        } else {
            "without an ICV"
        };
        let evidence = format!(
            "{} decrypt to IP packets under the encryption key of {}. {} has another encryption key for this SA, {same}, and a \
             receiver with it decrypts every packet to rubbish.",
            plural(count, "packet"),
            best.names,
            key.names
        );
        let mut verdict = Verdict::new("config-key-mismatch", evidence, count);
        verdict.cause = Some("A digit of the encryption key was mistyped on one of the two.");
        verdict
    }

    /// A router that states the key of the packets for another SA between the same ends.
    fn exchanged(&self, best: &Key<'_>, key: &Key<'_>) -> Option<Verdict> {
        let routers: BTreeSet<usize> = key.lock.holders().iter().map(|holder| holder.router).collect();
        let with = |lock: &&&Lock| lock.holders().iter().any(|holder| routers.contains(&holder.router));
        let others = self.tried.locks.others(&self.sa);
        let other = others.iter().filter(with).find(|lock| lock.shares_secrets(best.lock))?;
        let evidence = format!(
            "{} verify under the key of {}. {} states that key for SPI {} ({}) between the same ends, and another one here: the keys of \
             two SAs are exchanged on one of the two.",
            plural(best.verified, "packet"),
            best.names,
            key.names,
            other.spi().0,
            other.spi()
        );
        let mut verdict = Verdict::new("config-key-mismatch", evidence, best.verified);
        verdict.cause = Some("Inbound and outbound keys swapped on one side.");
        Some(verdict)
    }

    /// Keys of which nothing is known but that they are not those of the packets.
    fn wrong(&self, wrong: &[&Key<'_>]) -> Option<Verdict> {
        wrong.first()?;
        let evidence = format!("On the wire {}.{}", self.counts(), never(wrong));
        let mut verdict = Verdict::new("icv-invalid", evidence, self.keyed.verified());
        if wrong.iter().all(|key| key.is_listed()) && self.best().is_some_and(Key::is_listed) {
            verdict.severity = Some(Severity::Warning);
            verdict.cause =
                Some("The list holds several keys for the SA: those of both routers, or of before and after a change.");
        }
        Some(verdict)
    }

    /// `the key of R1 verifies 3 of 4 packets`, of each key that verifies any.
    fn counts(&self) -> String {
        let all = self.all();
        let whose = |key: &Key<'_>| format!("the key of {} verifies {} of {all}", key.names, key.verified);
        self.used().filter(|key| key.verified > 0).map(whose).collect::<Vec<_>>().join(", ")
    }
}

fn never(wrong: &[&Key<'_>]) -> String {
    // Packets show the key of their sender, never which of two keys was meant.
    let drops =
        if wrong.iter().all(|key| key.is_listed()) { "" } else { ", and whoever receives with it drops every packet" };
    format!(" None verifies under the key of {}: that is not the key of these packets{drops}.", of(wrong))
}

/// One list may state many keys of an SA.
fn of(keys: &[&Key<'_>]) -> String {
    let mut names: Vec<&str> = keys.iter().map(|key| key.names.as_str()).collect();
    names.dedup();
    names.join(" and of ")
}

fn names(holders: &[Holder]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for holder in holders {
        if !names.contains(&&*holder.name) {
            names.push(&holder.name);
        }
    }
    names.join(" and ")
}

//! Packets that fail under every key of their SA, and what else they fit.

use super::super::super::findings::{percent, plural};
use super::{Judged, Key, Verdict, of};
use crate::keys::{Hint, MAX_HIGH_HALVES};
use crate::model::Protocol;
use crate::transform::algorithm::integrity::INTEGRITIES;

impl Judged<'_> {
    /// Packets that fail under every key.
    pub(super) fn failing(&self) -> Option<Verdict> {
        let (verified, failed) = (self.keyed.verified(), self.keyed.failed.count);
        let hint = self.hint();
        if verified == 0
            && let Some(verdict) = hint.and_then(|(hint, packets)| self.hinted(hint, packets))
        {
            return Some(verdict);
        }
        // Keys without a check of their own say nothing of the others' ICV, and packets that come out without one have none.
        if failed == 0
            || self.keyed.unverified.values().sum::<u64>() > failed
            || self.keys.iter().all(|key| !key.certain) && verified == 0
        {
            return None;
        }
        let mut verdict = if verified == 0 { self.none(hint) } else { self.some(failed) };
        verdict.of_failed = true;
        Some(verdict)
    }

    /// None verifies, and nothing else suits.
    fn none(&self, hint: Option<(Hint, u64)>) -> Verdict {
        let idle: Vec<&Key<'_>> = self.idle().filter(|key| key.lock.checks()).collect();
        let decrypts = match hint {
            Some((Hint::Decrypts { key, .. }, packets)) => self.keys.iter().find(|one| one.number == key).map(|key| {
                format!(
                    " {} decrypt to IP packets under the encryption key of {}: that key is right, the authentication key is not.",
                    plural(packets, "packet"),
                    key.names
                )
            }),
            _ => None,
        };
        let other = if self.sa.protocol == Protocol::Ah {
            ", the integrity algorithm is another with an ICV of the same length, or something on the way changes the packets (NAT)"
        } else {
            ", or the integrity algorithm is another with an ICV of the same length"
        };
        // The high half is not on the wire, and not all are tried.
        let half = if idle.iter().any(|key| key.lock.is_extended()) {
            format!(
                ", or their numbers are further than those of the display ({MAX_HIGH_HALVES} high halves from 0 on were tried, too)"
            )
        } else {
            String::new()
        };
        let evidence = format!(
            "None of {} verifies under the key of {}. The lengths fit the transform: the key is wrong{other}{half}.{}",
            self.all(),
            of(&idle),
            decrypts.unwrap_or_default()
        );
        let mut verdict = Verdict::new("icv-invalid", evidence, self.keyed.failed.count);
        verdict.cause = Some("The key that is stated is not the one that the sender has.");
        verdict
    }

    /// Some verify, and some do not.
    fn some(&self, failed: u64) -> Verdict {
        let half = failed.saturating_mul(2) >= self.keyed.checked();
        let why = if half {
            "either they were changed between their sender and this TAP, or the SA had another key for a part of the capture"
        } else {
            "the key is that of the others, and these packets were changed between their sender and this TAP, forged, or made with another key"
        };
        let (fail, share) = (plural(failed, "packet"), percent(failed, self.keyed.checked()));
        let evidence = format!("{fail} of {} ({share}) fail: {why}; {}.", self.keyed.checked(), self.counts());
        let mut verdict = Verdict::new("icv-invalid", evidence, failed);
        if failed < self.keyed.verified() {
            verdict.cause = Some(
                "Something between the sender and this TAP changes packets (a faulty device, a rewritten field), somebody else sends with this \
                 SPI, or the key was changed during the capture.",
            );
        }
        verdict
    }

    /// What more than half of the packets that were tried with it would verify or decrypt with.
    fn hint(&self) -> Option<(Hint, u64)> {
        let (hint, packets) = self.keyed.hints.iter().max_by_key(|(_, packets)| **packets)?;
        (packets.saturating_mul(2) > self.keyed.probed).then_some((*hint, *packets))
    }

    fn hinted(&self, hint: Hint, packets: u64) -> Option<Verdict> {
        let tried = format!("{packets} of {}", plural(self.keyed.probed, "packet"));
        match hint {
            Hint::Algorithm { key, algorithm } => {
                let key = self.keys.iter().find(|one| one.number == key)?;
                let algorithm = INTEGRITIES.get(usize::from(algorithm))?;
                let evidence = format!(
                    "{tried} verify with {} under the authentication key of {}, which states {}. The key is right, and the integrity \
                     algorithm is another: the receiver drops every packet.",
                    algorithm.name,
                    key.names,
                    key.lock.tool().transform()
                );
                Some(self.transform(evidence, packets, key.is_listed()))
            }
            Hint::Other(number) => {
                let other = self.tried.locks.numbered(usize::try_from(number).ok()?)?;
                let holder = other.holders().first()?;
                let turned = other.holders().iter().any(|holder| holder.ends.are_reversed(&self.sa));
                let which = if turned { "of the other direction" } else { "between the same ends" };
                let evidence = format!(
                    "{tried} verify under the key that {} states for SPI {} ({}), {which}, and none under the key of {}, which is stated \
                     for their own SPI: the keys of two SAs are exchanged.",
                    holder.name,
                    other.spi().0,
                    other.spi(),
                    of(&self.idle().collect::<Vec<_>>())
                );
                let mut verdict = Verdict::new("config-key-mismatch", evidence, packets);
                verdict.cause = Some("Inbound and outbound keys swapped on one side.");
                Some(verdict)
            }
            Hint::Decrypts { key, icv } => {
                let key = self.keys.iter().find(|one| one.number == key)?;
                let stated = key.lock.esp().map_or(0, crate::transform::Esp::icv);
                if u32::from(icv) == stated {
                    return None;
                }
                let carried = if icv == 0 {
                    "carry no ICV: their sender does not authenticate".to_owned()
                } else {
                    format!("carry an ICV of {icv} B")
                };
                let wanted = if stated == 0 { "no ICV".to_owned() } else { format!("an ICV of {stated} B") };
                let evidence = format!(
                    "{tried} decrypt to IP packets under the encryption key of {} and {carried}. {} states {} with {wanted}: the receiver \
                     drops every packet. The encryption key is right.",
                    key.names,
                    key.names,
                    key.lock.tool().transform()
                );
                Some(self.transform(evidence, packets, key.is_listed()))
            }
        }
    }
}

//! The closed list of finding codes: what each means, what causes it and what to do about it.
//!
//! Codes are stable once released. The texts are what users read, so they speak to the engineer at the router, say
//! what to type, and never claim more than a passive observer can know: "lost" always means "not seen at this TAP".

mod capture;
mod config;
mod config_map;
mod ike;
mod linux;
mod padding;
mod pairing;
mod sequence;
mod size;
mod spi;
mod transform;
mod tunnel;

use crate::model::report::Severity;

/// One finding code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The code, as every output prints it.
    pub code: &'static str,
    /// How much it matters, unless the finding's own circumstances say otherwise (`severity_note`).
    pub severity: Severity,
    /// When a finding of this code has another severity; empty where it never has.
    pub severity_note: &'static str,
    /// One line, without a full stop.
    pub title: &'static str,
    /// What it means, in whole sentences.
    pub meaning: &'static str,
    /// What causes it, likeliest first, each a whole sentence.
    pub causes: &'static [&'static str],
    /// What to do, in order, each a whole sentence. Commands stand between backticks.
    pub remedy: &'static [&'static str],
    /// Lines to type or to compare with, as a router or shell takes them; words in capitals are to be filled in.
    pub lines: &'static [&'static str],
    /// Documents that say so.
    pub references: &'static [&'static str],
}

impl Entry {
    /// The likeliest cause, for the `cause` of a finding.
    #[must_use]
    pub fn cause(&self) -> &'static str {
        self.causes.first().copied().unwrap_or_default()
    }

    /// What to do in one paragraph, for the `remedy` of a finding.
    #[must_use]
    pub fn remedy_text(&self) -> String {
        self.remedy.join(" ")
    }
}

/// The entry of a code, `None` for a word that is not a finding code.
#[must_use]
pub fn lookup(code: &str) -> Option<&'static Entry> {
    all().iter().find(|entry| entry.code == code)
}

/// Every finding code, in the order of the documentation.
#[must_use]
pub fn all() -> &'static [Entry] {
    &ENTRIES
}

static ENTRIES: [Entry; 110] = [
    spi::ZERO,
    spi::RESERVED,
    spi::SHARED,
    spi::GROUP,
    spi::UNEXPECTED,
    spi::MISTYPED,
    tunnel::NEVER_SEEN,
    tunnel::WRONG_PROTOCOL,
    tunnel::WRONG_DIRECTION,
    tunnel::TRANSLATED,
    tunnel::FORWARDED,
    tunnel::ONE_WAY,
    tunnel::INNER_ONE_WAY,
    capture::ONE_DIRECTION,
    capture::ONE_MAC_PAIR,
    capture::NO_IPSEC,
    capture::NOT_ESP,
    tunnel::STREAM_UNREAD,
    tunnel::CONTINUATION,
    capture::LINK_UNREAD,
    capture::GATEWAY_VIEW,
    tunnel::CLEAR_TRAFFIC,
    sequence::GAP,
    sequence::DUPLICATE,
    sequence::LATE,
    sequence::RESTART,
    sequence::INTERLEAVED,
    sequence::JUMP,
    sequence::OUTLIER,
    sequence::WRAP,
    capture::TAP_COPIES,
    transform::MISMATCH,
    transform::MODE_MISMATCH,
    transform::ICV_INVALID,
    transform::ESN_MISMATCH,
    padding::ETHERNET_LEAK,
    padding::AH_LEAK,
    padding::ESP_IRREGULAR,
    size::AH_LENGTH,
    size::ESP_LENGTH,
    size::HEADER,
    padding::TFC,
    size::OUTER_FRAGMENTATION,
    size::PMTU_ICMP,
    capture::PAUSE_FRAMES,
    ike::INVALID_SPI,
    ike::DELETE,
    tunnel::PLAINTEXT_LEAK,
    config::UNUSED_KEY,
    config_map::KEY_MISSING,
    config_map::REFERENCE_MISSING,
    config_map::ENTRY_INCOMPLETE,
    config_map::MAP_NOT_APPLIED,
    config_map::KEYING_MISMATCH,
    config_map::ENTRY_SHADOWED,
    config_map::SPI_DUPLICATE,
    config_map::INTERFACE_DOWN,
    config_map::ACL_BLOCKS,
    config_map::ROUTE_MISSING,
    config_map::GRE_MISMATCH,
    config_map::NAT_TAKES,
    config_map::COUNTERS,
    config::SPI_MISMATCH,
    config::PEER_MISMATCH,
    config::ACL_MISMATCH,
    config::KEY_MISMATCH,
    config::KEY_LENGTH,
    config::KEY_REUSED,
    config::TRANSFORM_MISMATCH,
    config::IKE_MISMATCH,
    config::STALE,
    linux::POLICY_MISSING,
    linux::POLICY_SHADOWED,
    linux::STATE_MISSING,
    linux::STATE_DUPLICATE,
    linux::REQID_MISMATCH,
    linux::MARK_MISMATCH,
    linux::IF_ID_MISMATCH,
    linux::TEMPLATE_MISMATCH,
    linux::ESN_MISMATCH,
    linux::ENCAP_MISMATCH,
    linux::INTEGRITY_FAILED,
    linux::REPLAY,
    transform::WEAK,
    capture::CUT,
    capture::DAMAGED,
    capture::SNAPLEN,
    capture::SLICED,
    capture::FCS,
    capture::CLOCK_BACK,
    capture::ORDER,
    capture::CLOCK_SET,
    capture::UNTIMED,
    capture::DROPS,
    capture::HOLE,
    capture::FILE_MISSING,
    capture::LAYOUT,
    pairing::LOSS,
    pairing::LOSS_BEHIND,
    pairing::SWAPPED,
    pairing::NOTHING,
    pairing::UNDETERMINED,
    pairing::HOLE,
    pairing::trials::SWAPPED,
    pairing::trials::STALLED,
    pairing::trials::LOSSY,
    pairing::trials::NOT_MONOTONE,
    pairing::trials::SHORT,
    pairing::trials::CARRIED_IN,
    pairing::trials::NONE,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_words_with_hyphens() {
        let mut codes: Vec<_> = all().iter().map(|entry| entry.code).collect();
        assert!(codes.iter().all(|code| code.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')));
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), all().len());
    }

    #[test]
    fn every_text_is_whole_sentences_of_plain_ascii() {
        for entry in all() {
            let sentences = entry.causes.iter().chain(entry.remedy).chain([&entry.meaning]);
            for sentence in sentences.clone() {
                assert!(sentence.ends_with('.'), "{}: {sentence}", entry.code);
                assert_eq!(sentence.trim(), *sentence, "{}", entry.code);
                assert!(!sentence.contains("  "), "{}: {sentence}", entry.code);
                assert_eq!(sentence.matches('`').count() % 2, 0, "{}: {sentence}", entry.code);
            }
            assert!(!entry.causes.is_empty() && !entry.remedy.is_empty(), "{}", entry.code);
            assert!(!entry.title.ends_with('.') && entry.title.len() <= 72, "{}: {}", entry.code, entry.title);
            assert!(entry.lines.iter().all(|line| line.len() <= 74), "{}", entry.code);
            let texts =
                sentences.chain(entry.lines).chain(entry.references).chain([&entry.title, &entry.severity_note]);
            for text in texts {
                assert!(text.is_ascii(), "{}: {text}", entry.code);
            }
        }
    }

    #[test]
    fn a_zero_spi_names_its_cause_and_what_to_type() {
        let entry = lookup("spi-zero").unwrap();
        assert_eq!(entry.severity, Severity::Error);
        assert!(entry.cause().contains("transform set"));
        assert!(entry.remedy_text().contains("%CRYPTO-4-RECVD_PKT_INV_SPI"));
        assert!(entry.lines.iter().any(|line| line.contains("set session-key inbound esp")));
        assert_eq!(lookup("spi-nought"), None);
    }
}

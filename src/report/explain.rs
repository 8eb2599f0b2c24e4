//! `explain`: a finding code, an SPI, or a router's log line, in words.

mod code;
mod drops;
mod spi;
mod syslog;

pub use spi::parse_spi;

use super::text::TextOptions;
use super::text::page::{Page, Tone};
use crate::catalogue;
use crate::model::report::Severity;

/// What a word means. `Err` holds one sentence that says why it means nothing, with the nearest known word.
///
/// # Errors
/// Where the word is no finding code, no SPI and no log line about one.
pub fn explain(word: &str, options: &TextOptions) -> Result<String, String> {
    let word = word.trim();
    let mut page = Page::new(options);
    if let Some(entry) = catalogue::lookup(&word.to_ascii_lowercase()) {
        code::print(&mut page, entry);
    } else if let Some(drop) = drops::Drop::parse(word) {
        drops::print(&mut page, &drop);
    } else if let Some(line) = syslog::Line::parse(word) {
        syslog::print(&mut page, &line);
    } else if let Some(written) = spi::Written::parse(word) {
        spi::print(&mut page, &written);
    } else {
        return Err(unknown(word));
    }
    Ok(page.into_text())
}

/// All finding codes, by severity.
#[must_use]
pub fn list(options: &TextOptions) -> String {
    let mut page = Page::new(options);
    page.wrapped(0, 0, "`spiglass explain CODE` says what a finding means, what causes it and what to do.");
    let width = catalogue::all().iter().map(|entry| entry.code.len()).max().unwrap_or(0);
    for severity in [Severity::Error, Severity::Warning, Severity::Note] {
        page.heading(match severity {
            Severity::Error => "Errors",
            Severity::Warning => "Warnings",
            Severity::Note => "Notes",
        });
        for entry in catalogue::all().iter().filter(|entry| entry.severity == severity) {
            page.tagged_line(Tone::Finding(severity), 2, &format!("{:width$}", entry.code), entry.title);
        }
    }
    page.blank();
    page.wrapped(
        0,
        0,
        "It also explains an SPI (`spiglass explain 1002`) and pasted log lines of packets \
         that IOS, IOS-XE, ASA or Linux dropped.",
    );
    page.into_text()
}

fn unknown(word: &str) -> String {
    let shown = crate::report::words::escape::printable(word);
    match code::nearest(word) {
        Some(code) => format!("`{shown}` is no finding code; did you mean `{code}`? `spiglass explain` lists all."),
        None => format!(
            "`{shown}` is neither a finding code nor an SPI (decimal, or hex with 0x) nor a log line of a dropped packet; \
             `spiglass explain` lists the codes."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(word: &str) -> String {
        explain(word, &TextOptions { width: 80, ..TextOptions::default() })
            .unwrap_or_else(|why| panic!("{word}: {why}"))
    }

    #[test]
    fn every_code_is_explained_within_80_columns() {
        for entry in catalogue::all() {
            let text = text(entry.code);
            let words: Vec<&str> = text.split_whitespace().collect();
            assert!(words.join(" ").contains(entry.title), "{}", entry.code);
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        }
        let list = list(&TextOptions { width: 80, ..TextOptions::default() });
        assert!(catalogue::all().iter().all(|entry| list.contains(entry.code)));
        assert!(list.lines().all(|line| line.chars().count() <= 80), "{list}");
    }

    #[test]
    fn near_misses_are_suggested() {
        let why = |word: &str| explain(word, &TextOptions::default()).unwrap_err();
        assert!(why("spi-zerro").contains("`spi-zero`"));
        assert!(why("sequence_gap").contains("`sequence-gap`"));
        assert!(why("tapcopies").contains("`tap-copies`"));
        assert!(!why("banana").contains("did you mean"));
        assert!(why("\x1b[2J").contains("\\u{1b}"));
    }

    #[test]
    fn an_spi_is_shown_in_every_reading() {
        for word in ["1002", "0x3ea", "0x000003EA", "0x3EA(1002)"] {
            let text = text(word);
            assert!(text.contains("1002") && text.contains("0x000003ea"), "{text}");
        }
        let text = text("1002");
        assert!(text.contains("0xea030000") && text.contains("3926065152"), "byte-swapped: {text}");
        assert!(text.contains("0x00001002") && text.contains("4098"), "digits read as hex: {text}");
        // 0x1002 typed where 1002 was meant.
        assert!(self::text("0x1002").contains("1002"));
    }

    #[test]
    fn special_spis_are_named() {
        assert!(text("0").contains("must never be sent"));
        assert!(text("2").contains("WESP"));
        assert!(text("200").contains("reserved"));
        assert!(text("256").contains("ordinary"));
        assert!(explain("4294967296", &TextOptions::default()).is_err());
    }

    #[test]
    fn log_lines_of_all_makers_say_who_dropped_what() {
        for (line, says) in [
            (
                "%CRYPTO-4-RECVD_PKT_NOT_IPSEC: Rec'd packet not an IPSEC packet. (ip) vrf/dest_addr= /192.0.2.2, src_addr= 192.0.2.1, prot= 1",
                "in clear",
            ),
            (
                "%CRYPTO-4-PKT_REPLAY_ERR: decrypt: replay check failed connection id=529, sequence number=7",
                "sequence number 7",
            ),
            (
                "%IPSEC-3-REPLAY_ERROR: IPSec SA receives anti-replay error, DP Handle 3, src_addr 192.0.2.1, dest_addr 192.0.2.2, SPI 0x4b642c6f",
                "0x4b642c6f",
            ),
            (
                "%CRYPTO-4-RECVD_PKT_MAC_ERR: decrypt: mac verify failed for connection id=1 local=192.0.2.2 remote=192.0.2.1 spi=0x1001 seqno=5",
                "0x00001001",
            ),
            (
                "%IPSEC-3-HMAC_ERROR: IPSec SA receives HMAC error, DP Handle 1, src_addr 192.0.2.1, dest_addr 192.0.2.2, SPI 0x1001",
                "integrity",
            ),
            (
                "%ASA-4-402114: IPSEC: Received an ESP packet (SPI= 0x1001, sequence number= 0x5) from 192.0.2.1 to 192.0.2.2 with an invalid SPI.",
                "no SA with this SPI",
            ),
            (
                "%ASA-4-402115: IPSEC: Received a packet from 192.0.2.1 to 192.0.2.2 containing AH data instead of ESP data.",
                "transform sets",
            ),
            (
                "%ASA-4-402116: IPSEC: Received an ESP packet (SPI= 0x1001, sequence number= 0x5) from 192.0.2.1 (user= x) to 192.0.2.2. The decapsulated inner packet doesn't match the negotiated policy in the SA.",
                "access list",
            ),
            (
                "%ASA-4-402117: IPSEC: Received a non-IPsec packet (protocol= ICMP) from 192.0.2.1 to 192.0.2.2.",
                "in clear",
            ),
            (
                "%ASA-4-402118: IPSEC: Received an ESP packet (SPI= 0x1001, sequence number= 0x5) from 192.0.2.1 (user= x) to 192.0.2.2 containing an illegal IP fragment of length 5 with offset 6.",
                "fragment",
            ),
            (
                "%ASA-4-402119: IPSEC: Received an ESP packet (SPI= 0x1001, sequence number= 0x5) from 192.0.2.1 (user= x) to 192.0.2.2 that failed anti-replay checking.",
                "replay",
            ),
            (
                "type=MAC_IPSEC_EVENT msg=audit(1600000000.1:5): op=SA-notfound src=192.0.2.1 dst=192.0.2.2 spi=4097(0x1001) seqno=1 res=0",
                "no SA with this SPI",
            ),
            ("op=SA-icv-failure src=192.0.2.1 dst=192.0.2.2 spi=4097(0x1001) seqno=1", "integrity"),
            ("op=SA-replayed-pkt src=192.0.2.1 dst=192.0.2.2 spi=4097(0x1001) seqno=1", "replay"),
            ("op=SA-replay-overflow src=192.0.2.1 dst=192.0.2.2 spi=4097(0x1001) seqno=1", "ran out"),
        ] {
            let text = text(line);
            let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(flat.contains(says), "{line}: {text}");
            if line.contains("192.0.2.2") {
                assert!(flat.contains("192.0.2.2 dropped a packet of 192.0.2.1"), "{line}: {text}");
            }
            if line.contains("x1001") {
                assert!(flat.contains("4097") && flat.contains("0x00001001"), "{line}: {text}");
            }
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        }
    }

    #[test]
    fn bare_hex_words_are_spis() {
        assert!(text("deadbeef").contains("0xdeadbeef") && text("deadbeef").contains("3735928559"));
        assert!(explain("dead", &TextOptions::default()).is_err());
    }

    #[test]
    fn a_log_line_is_read_however_it_was_pasted() {
        let lines = [
            "*Sep 12 11:29:31.310: %CRYPTO-4-RECVD_PKT_INV_SPI: decaps: rec'd IPSEC packet has invalid spi for destaddr=192.168.1.2, \
             prot=50, spi=0x0(0), srcaddr=192.168.1.1, input interface=GigabitEthernet0",
            "%CRYPTO-4-RECV_PKT_INV_SPI: decaps: rec'd IPSEC packet has invalid spi for\ndestaddr=192.168.1.2, prot=50, \
             spi=0x0(0), srcaddr=192.168.1.1, input\ninterface=GigabitEthernet0",
        ];
        for line in lines {
            let text = text(line);
            assert!(text.contains("192.168.1.1") && text.contains("192.168.1.2"), "{text}");
            assert!(text.contains("session-key"), "a zero SPI names its cause: {text}");
        }
        let text = text("destaddr=192.168.1.1, prot=50, spi=0x6E1BD2D9(1847317209), srcaddr=192.168.1.2");
        assert!(text.contains("1847317209") && text.contains("0x6e1bd2d9"), "{text}");
        assert!(text.contains("clear crypto sa"), "{text}");
    }
}

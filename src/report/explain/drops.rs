//! Log lines of packets that a router dropped: replays, integrity checks that failed, packets that should have been protected.

use super::super::text::page::Page;
use super::spi::{self, Written};
use crate::report::words::escape::printable;

/// Why a packet was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Why {
    /// No SA has the SPI.
    UnknownSpi,
    /// It came in clear although its addresses are those of a tunnel.
    Clear,
    /// Its sequence number was seen, or lies left of the window.
    Replay,
    /// Its integrity check value is wrong.
    Integrity,
    /// It has another protocol than the SA.
    Protocol,
    /// What was inside it is not what the SA is for.
    Policy,
    /// It was a fragment that cannot be.
    Fragment,
    /// The numbers of the SA ran out.
    Overflow,
}

/// Marks of the lines, and what each says.
const MARKS: [(&str, Why); 21] = [
    ("NOT_IPSEC", Why::Clear),
    ("402117", Why::Clear),
    ("REPLAY_ERR", Why::Replay),
    ("402119", Why::Replay),
    ("SA-replayed-pkt", Why::Replay),
    ("SA-replay-overflow", Why::Overflow),
    ("MAC_ERR", Why::Integrity),
    ("HMAC_ERROR", Why::Integrity),
    ("402120", Why::Integrity),
    ("SA-icv-failure", Why::Integrity),
    ("402115", Why::Protocol),
    ("402116", Why::Policy),
    ("402118", Why::Fragment),
    ("402114", Why::UnknownSpi),
    ("SA-notfound", Why::UnknownSpi),
    ("IPSEC-3-INV_SPI", Why::UnknownSpi),
    ("SA-replay", Why::Replay),
    ("replay check failed", Why::Replay),
    ("failed anti-replay", Why::Replay),
    ("mac verify failed", Why::Integrity),
    ("failed authentication", Why::Integrity),
];

/// What a line says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Drop {
    why: Why,
    pub(super) spi: Option<Written>,
    receiver: Option<String>,
    sender: Option<String>,
    sequence: Option<String>,
}

impl Drop {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let lower = text.to_ascii_lowercase();
        // A number alone is an SPI, not a message of ASA.
        let message = |mark: &str| !mark.bytes().all(|b| b.is_ascii_digit()) || lower.contains(&format!("-{mark}"));
        let (_, why) =
            MARKS.iter().find(|(mark, _)| lower.contains(&mark.to_ascii_lowercase()) && message(mark)).copied()?;
        let of = |names: &[&str]| names.iter().find_map(|name| field(text, &lower, name));
        Some(Self {
            why,
            spi: of(&["spi"]).and_then(|word| Written::parse(&word)),
            receiver: of(&["dest_addr", "destaddr", "dst", "to", "local"]).filter(|word| is_address(word)),
            sender: of(&["src_addr", "srcaddr", "src", "from", "remote"]).filter(|word| is_address(word)),
            sequence: of(&["seqno", "sequence number", "seq"]),
        })
    }
}

/// The word behind a name, whatever stands between them: `spi=1`, `SPI: 1`, `src_addr 10.0.0.1`, `dest_addr= /10.0.0.1`.
fn field(text: &str, lower: &str, name: &str) -> Option<String> {
    lower.match_indices(name).find_map(|(at, _)| {
        let before = lower.get(..at)?.chars().next_back();
        let rest = text.get(at + name.len()..)?;
        let apart = |c: char| !c.is_ascii_alphanumeric() && c != '_';
        if before.is_some_and(|c| !apart(c)) || !rest.starts_with(['=', ':', ' ']) {
            return None;
        }
        let value = rest.trim_start_matches(['=', ':', ' ', '/']);
        let end = value.find(|c: char| matches!(c, ',' | ')' | ';') || c.is_whitespace()).unwrap_or(value.len());
        // `4097(0x1001)` ends with its bracket.
        let word = value.get(..end)?.trim_end_matches('.');
        (!word.is_empty()).then(|| word.to_owned())
    })
}

fn is_address(word: &str) -> bool {
    word.parse::<std::net::IpAddr>().is_ok()
}

pub(super) fn print(page: &mut Page<'_>, drop: &Drop) {
    let receiver = drop.receiver.as_deref().map_or_else(|| "the router that wrote the line".into(), printable);
    let sender = drop.sender.as_deref().map_or_else(|| "its peer".into(), printable);
    let number =
        drop.sequence.as_deref().map(|number| format!(", sequence number {}", printable(number))).unwrap_or_default();
    let spi = drop.spi.map(|written| format!(", SPI {} ({}){number}", written.spi, written.spi.0)).unwrap_or(number);
    let (what, why, steps) = said(drop.why, &receiver, &sender);
    page.wrapped(0, 2, &format!("{receiver} dropped a packet of {sender}{spi}: {what}"));
    page.wrapped(2, 2, &why);
    page.heading("What to do");
    for (n, step) in steps.iter().enumerate() {
        page.wrapped(2, 5, &format!("{}. {step}", n + 1));
    }
    if let Some(written) = &drop.spi {
        page.blank();
        spi::print(page, written);
    }
}

/// What was wrong with the packet, what that means, and what to do.
fn said(why: Why, receiver: &str, sender: &str) -> (&'static str, String, Vec<String>) {
    let compare = format!(
        "`spiglass check --config A --config B` compares the configurations of {sender} and {receiver}, keys included."
    );
    match why {
        Why::UnknownSpi => (
            "it has no SA with this SPI",
            format!("{receiver} received the packet and has no inbound SA with its SPI; it dropped it. {sender} sends on an SA that {receiver} does not have."),
            vec![
                format!("Compare the outbound SPI of {sender} with the inbound SPIs of {receiver}; with manual keys one of the two is mistyped."),
                format!("If {receiver} has lost an SA that IKE made (a reload, a missed delete): clear the SA with {receiver} on {sender}."),
                compare,
            ],
        ),
        Why::Clear => (
            "it came in clear",
            format!("The addresses of the packet are those of a tunnel, so {receiver} expects it inside ESP or AH; it came without. {sender}, or the router before it, does not put it into the tunnel."),
            vec![
                format!("On {sender}: is the crypto map on the interface that the packet leaves by, and does its access list select the packet?"),
                "The access lists of both ends must mirror each other; one that is wider at the receiver drops what the sender never protects.".to_owned(),
                compare,
            ],
        ),
        Why::Replay => (
            "its sequence number was seen before, or is left of the window",
            format!("{receiver} dropped it as a replay. The packet was copied on its way, or others overtook it by more than the replay window (queues with priorities, several paths), or {sender} began to count anew."),
            vec![
                "In a capture of the tunnel: `spiglass report CAPTURE` distinguishes copies, late packets and restarts, and names the window that would have accepted them.".to_owned(),
                format!("If packets come late: a larger window at {receiver} (IOS `crypto ipsec security-association replay window-size 1024`, Linux `replay-window`), or one SA for each class of service."),
                format!("With manual keys, after a restart of {sender}: {receiver} keeps the old number; build the SA at {receiver} anew."),
            ],
        ),
        Why::Integrity => (
            "its integrity check value is wrong",
            format!("{receiver} has the SA and dropped the packet because the integrity check failed: the authentication keys or algorithms of {sender} and {receiver} differ, or the packet was changed on its way."),
            vec![
                format!("With manual keys: compare the authentication key that {sender} sends with and the one that {receiver} expects, and whether cipher and authentication keys are exchanged."),
                "If only some packets fail, something on the way changes them: captures at both ends show which.".to_owned(),
                compare,
            ],
        ),
        Why::Protocol => (
            "it has another protocol than the SA",
            format!("{receiver} expects one of ESP and AH on this tunnel, and {sender} sends the other: the transform sets differ."),
            vec!["Compare the transform sets of both ends.".to_owned(), compare],
        ),
        Why::Policy => (
            "the packet inside is not what the SA is for",
            format!("{receiver} decrypted it well; then its inner addresses did not fit the access list of the tunnel. The access list of {sender} selects more than that of {receiver}."),
            vec!["The access lists of both ends must mirror each other.".to_owned(), compare],
        ),
        Why::Fragment => (
            "it was a fragment that cannot be",
            format!("A fragment of an ESP or AH packet from {sender} has an impossible place or length; it was damaged or made up on the way."),
            vec!["Find out what fragments packets after the tunnel; a smaller MTU or MSS inside it avoids fragments.".to_owned()],
        ),
        Why::Overflow => (
            "the numbers of the SA ran out",
            "An SA counts its packets with 32 bits unless extended sequence numbers are on; at the end no packet may follow (RFC 4303 section 3.3.3).".to_owned(),
            vec!["Build the SA anew, sooner the next time; with IKE, set a lifetime in bytes, or use extended sequence numbers.".to_owned()],
        ),
    }
}

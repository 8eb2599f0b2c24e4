//! A Cisco IOS log line about an unknown SPI.

use super::super::text::page::{Page, Tone};
use super::spi::{Written, kind};
use crate::catalogue;
use crate::model::Spi;
use crate::report::words::escape::printable;

/// What a `RECVD_PKT_INV_SPI` line says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Line {
    spi: Spi,
    receiver: Option<String>,
    sender: Option<String>,
    protocol: Option<u8>,
    interface: Option<String>,
}

impl Line {
    /// Reads a line that names an SPI as IOS does (`spi=0x...`); line breaks and missing parts do not matter.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let field = |name: &str| {
            let start = text.find(&format!("{name}="))? + name.len() + 1;
            let value = text.get(start..)?.trim_start();
            let end = value.find(|c: char| c == ',' || c.is_whitespace()).unwrap_or(value.len());
            value.get(..end).filter(|value| !value.is_empty()).map(str::to_owned)
        };
        let named = text.contains("INV_SPI") || text.contains("destaddr=") || text.contains("srcaddr=");
        let spi = field("spi").filter(|_| named)?;
        Some(Self {
            spi: Written::parse(&spi)?.spi,
            receiver: field("destaddr"),
            sender: field("srcaddr"),
            protocol: field("prot").and_then(|number| number.parse().ok()),
            interface: field("interface"),
        })
    }
}

pub(super) fn print(page: &mut Page<'_>, line: &Line) {
    let protocol = match line.protocol {
        Some(50) => "ESP".to_owned(),
        Some(51) => "AH".to_owned(),
        Some(108) => "IPComp".to_owned(),
        Some(17) => "ESP in UDP".to_owned(),
        Some(number) => format!("protocol {number}"),
        None => "IPsec".to_owned(),
    };
    let receiver = line.receiver.as_deref().map_or_else(|| "the router".into(), printable);
    let sender = line.sender.as_deref().map_or_else(|| "its peer".into(), printable);
    page.styled(Tone::Heading, 0, &format!("{receiver} has no SA for SPI {} ({}), {protocol}", line.spi, line.spi.0));
    let by = line.interface.as_deref().map(|name| format!(" on {}", printable(name))).unwrap_or_default();
    page.wrapped(
        2,
        2,
        &format!(
            "{receiver} received {protocol} packets from {sender}{by} with an SPI that none of its inbound SAs has, and dropped them. \
             IOS writes one such line a minute, so it represents all packets of that minute, however many."
        ),
    );
    page.wrapped(2, 2, kind(line.spi));
    if line.spi.is_zero() {
        if let Some(entry) = catalogue::lookup("spi-zero") {
            page.heading("Causes");
            for cause in entry.causes {
                page.wrapped(2, 4, &format!("- {cause}"));
            }
            page.heading(&format!("What to do on {sender}"));
            for (n, step) in entry.remedy.iter().enumerate() {
                page.wrapped(2, 5, &format!("{}. {step}", n + 1));
            }
            page.blank();
            for text in entry.lines {
                page.indented(6, text);
            }
        }
    } else {
        page.heading("What to do");
        let steps = [
            format!(
                "Compare `show crypto ipsec sa` on both: the outbound {protocol} SPI on {sender} must be an inbound SPI on {receiver}."
            ),
            format!("If {sender} sends on an SA that {receiver} has lost (a reload, a missed delete): `clear crypto sa peer {receiver}` on {sender}."),
            "With manual keys: correct `set session-key inbound` on the one or `outbound` on the other, then `clear crypto sa`.".to_owned(),
            format!(
                "If it comes and goes with rekeying, give both the same lifetimes and switch dead peer detection on. \
                 If it never stops and {sender} is unknown, the packets are scans or forgeries sent at random."
            ),
            format!("`spiglass explain {}` shows what the number becomes by a slip of typing.", line.spi.0),
        ];
        for (n, step) in steps.iter().enumerate() {
            page.wrapped(2, 5, &format!("{}. {step}", n + 1));
        }
    }
    page.blank();
    let peer = line.sender.as_deref().map(|sender| format!(" --peer {}", printable(sender))).unwrap_or_default();
    page.wrapped(2, 2, &format!("To see the packets: `spiglass report --spi {}{peer} CAPTURE`.", line.spi.0));
}

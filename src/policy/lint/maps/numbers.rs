//! Which of two lines for one direction has the wrong SPI, as far as the lines of the two routers tell.

use super::session::{keys_differ, same_keys};
use crate::policy::View;
use crate::policy::facts::router::SessionKey;

/// A line of an entry: router, entry, and the line.
pub(super) type Line<'v> = ((usize, usize), &'v SessionKey);

/// Whether the sender has the wrong number of two, and why; `None` where neither is worse than the other.
pub(super) fn spi_fault(view: &View<'_>, out: Line<'_>, inward: Line<'_>) -> Option<(bool, String)> {
    let ((_, sent), (_, expected)) = (out, inward);
    let low = |key: &SessionKey| key.spi.0 < 256;
    if low(sent) != low(expected) {
        return Some((low(sent), "SPIs below 256 are reserved".to_owned()));
    }
    if sent.spi.0.swap_bytes() == expected.spi.0 {
        let digits = |key: &SessionKey| key.spi.0.to_string().len();
        let longer = digits(sent).cmp(&digits(expected));
        let because =
            "its number is the other's with the bytes in reverse order, and the short number is the meant one"
                .to_owned();
        return (longer != std::cmp::Ordering::Equal).then_some((longer == std::cmp::Ordering::Greater, because));
    }
    let differ = keys_differ(sent, expected);
    match (copied(view, out, differ), copied(view, inward, differ)) {
        (Some(because), None) => Some((true, because)),
        (None, Some(because)) => Some((false, because)),
        _ => None,
    }
}

/// Whether the sender has a line that was copied, with its keys, where the other router's was not; and why.
pub(super) fn key_fault(view: &View<'_>, out: Line<'_>, inward: Line<'_>) -> Option<(bool, String)> {
    if out.1.spi == inward.1.spi {
        return None;
    }
    let of = |line: Line<'_>| twin(view, line).filter(|(same, _)| *same).map(|(_, because)| because);
    match (of(out), of(inward)) {
        (Some(because), None) => Some((true, because)),
        (None, Some(because)) => Some((false, because)),
        _ => None,
    }
}

/// Why a line is a copy of another one of its router. An inbound SPI names one SA (RFC 4301 section 4.1); other lines that state one SA
/// twice are copies only if the other end has another number and other keys: one SPI and key for several SAs may be meant.
fn copied(view: &View<'_>, line: Line<'_>, keys_differ: bool) -> Option<String> {
    let (same, because) = twin(view, line)?;
    let inbound_twice = line.1.inbound && because.starts_with("its inbound");
    (inbound_twice || same && keys_differ).then_some(because)
}

/// Another line of the router with the SPI of a line: whether it has the same keys, and what it is.
fn twin(view: &View<'_>, ((router, map), line): Line<'_>) -> Option<(bool, String)> {
    let entry = view.entry(router, map)?;
    let same = |other: &&SessionKey| (other.protocol, other.spi) == (line.protocol, line.spi);
    if let Some(back) = entry.keys.iter().filter(same).find(|other| other.inbound != line.inbound)
        && same_keys(back, line)
    {
        return Some((true, "its inbound and its outbound line are the same, SPI and keys".to_owned()));
    }
    let others = view.policies.routers.get(router)?.maps.iter().enumerate();
    let mut twins = others
        .filter(|(at, other)| {
            *at != map && !other.peers.iter().any(|(peer, _)| entry.peers.iter().any(|(own, _)| own == peer))
        })
        .flat_map(|(_, other)| other.keys.iter().map(move |key| (other, key)))
        .filter(|(_, key)| same(key) && key.inbound == line.inbound);
    let (other, key) = twins.next()?;
    let way = if line.inbound { "inbound" } else { "outbound" };
    Some((same_keys(key, line), format!("its {way} SPI is that of crypto map {} {}, too", other.name, other.number)))
}

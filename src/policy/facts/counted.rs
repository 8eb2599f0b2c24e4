//! Counters of one flow of `show crypto ipsec sa`, with what went wrong in it.

use serde::Serialize;

use crate::model::Address;
use crate::policy::{Cite, Selector};

/// What a router counted for the traffic with one peer between two networks.
#[derive(Clone, Debug, Serialize)]
pub struct Flow {
    /// The tunnel's own end, where known.
    pub local: Option<Address>,
    /// The tunnel's far end, where known.
    pub remote: Option<Address>,
    /// Its selector, where displayed: the SAs between two ends may carry several flows.
    pub selector: Option<Selector>,
    /// Packets encapsulated.
    pub encapsulated: u64,
    /// Packets decapsulated, once the line was read.
    pub decapsulated: Option<u64>,
    /// Of these, packets decrypted, and packets verified, where said.
    pub opened: Option<(u64, u64)>,
    /// Counters of errors that are not 0, by the names of the display.
    pub trouble: Vec<(String, u64)>,
    /// Its lines.
    pub cites: Vec<Cite>,
}

/// What a router counted for one flow.
#[derive(Clone, Debug, Serialize)]
pub struct Counters {
    /// Packets encapsulated.
    pub encapsulated: u64,
    /// Packets decapsulated.
    pub decapsulated: u64,
    /// Where both stand.
    pub cites: Vec<Cite>,
}

/// Words of counters that count what went wrong.
const TROUBLE: [&str; 6] = ["error", "errors", "failed", "invalid", "no sa", "replay"];

impl Flow {
    /// Packets that could not be sent.
    #[must_use]
    pub fn unsent(&self) -> u64 {
        let of = |name: &str| name.contains("send error");
        self.trouble.iter().filter(|(name, _)| of(name)).map(|(_, count)| *count).max().unwrap_or_default()
    }

    /// Packets of the router's SAs that arrived, where none of them was decrypted or verified; 0 where some were.
    #[must_use]
    pub fn unopened(&self) -> u64 {
        self.decapsulated.filter(|_| self.opened == Some((0, 0))).unwrap_or_default()
    }

    /// Packets that came with an SPI of the router and were dropped.
    #[must_use]
    pub fn refused(&self) -> u64 {
        let of = |name: &str| name.contains("recv error") || name.contains("verify") || name.contains("rcv");
        self.trouble.iter().filter(|(name, _)| of(name)).map(|(_, count)| *count).max().unwrap_or_default()
    }
}

/// Packets decrypted and packets verified of a line such as `#pkts decaps: 5, #pkts decrypt: 5, #pkts verify: 5`.
pub(in crate::policy) fn opened(text: &str) -> Option<(u64, u64)> {
    let of = |name: &str| {
        let (_, rest) = text.split_once(name)?;
        let count = rest.trim_start_matches(':').trim_start();
        count.split([',', ' ']).next()?.parse().ok()
    };
    Some((of("decrypt")?, of("verify")?))
}

/// The counters of errors in a line such as `#send errors 0, #recv errors 611`, those that are not 0.
pub(in crate::policy) fn trouble(text: &str) -> Vec<(String, u64)> {
    let one = |part: &str| {
        let words: Vec<&str> = part.split([' ', ':']).filter(|word| !word.is_empty()).collect();
        let (count, name) = words.split_last()?;
        let name = name.join(" ").trim_start_matches('#').trim_start_matches("pkts ").to_lowercase();
        let count: u64 = count.parse().ok()?;
        let known = TROUBLE.iter().any(|word| name.contains(word)) && name.len() < 40 && !name.contains("compr");
        (count > 0 && known).then_some((name, count))
    };
    text.split(',').filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_errors_are_read_in_every_way_of_writing() {
        let of = |text: &str| trouble(text).into_iter().map(|(name, n)| format!("{name}={n}")).collect::<Vec<_>>();
        assert_eq!(of("#send errors 0, #recv errors 611"), ["recv errors=611"]);
        assert_eq!(of("#send errors: 3, #recv errors: 0"), ["send errors=3"]);
        assert_eq!(of("#pkts invalid prot (recv) 0, #pkts verify failed: 12"), ["verify failed=12"]);
        assert_eq!(of("##pkts replay failed (rcv): 9"), ["replay failed (rcv)=9"]);
        assert!(of("#pkts not compressed: 0, #pkts compr. failed: 7").is_empty());
        assert!(of("#pkts decaps: 611, #pkts decrypt: 611, #pkts verify: 611").is_empty());
    }
}

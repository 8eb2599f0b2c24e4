//! What routers and peers say about the tunnel: ICMP, IKE, PAUSE.

use std::collections::BTreeMap;

use super::{Draft, Tap, filter, plural};
use crate::analysis::finish::rows::directions::direction_name;
use crate::analysis::state::base::listed::Listed;
use crate::analysis::state::traffic::notices::{IkeKind, TooBig};
use crate::model::report::Finding;

pub(crate) fn add(findings: &mut Vec<Finding>, tap: &Tap<'_>) {
    add_too_big(findings, tap);
    for (notice, seen) in &tap.stream.notices.ike {
        let spi = notice.spi.map_or_else(|| "an SPI it does not name".into(), |spi| format!("SPI {spi}"));
        let (code, says) = match notice.kind {
            IkeKind::InvalidSpi => ("ike-invalid-spi", format!("that it received {spi} and knows no such SA")),
            IkeKind::Delete => ("ike-delete", format!("that it deleted {spi}")),
        };
        let evidence = format!(
            "{} in clear from {} to {} say {says}.",
            plural(seen.count, "IKE notification"),
            notice.src,
            notice.dst
        );
        findings.push(
            Draft::new(code, evidence)
                .of(format!("{} > {}", notice.src, notice.dst))
                .listed(tap, seen, "IKE notification")
                .done(),
        );
    }
    for (&(direction, class), pauses) in &tap.stream.notices.pause {
        let direction = direction_name(tap, direction);
        let kind = class.map_or_else(|| "PAUSE frame".to_owned(), |class| format!("PFC frame for class {class}"));
        let evidence = format!(
            "{} from {direction}, {} quanta of 512 bit times in all. They take layer 1 time in their own direction and stop the other one.",
            plural(pauses.seen.count, &kind),
            pauses.quanta
        );
        findings.push(Draft::new("pause-frames", evidence).of(direction).listed(tap, &pauses.seen, "PAUSE").done());
    }
}

/// Errors of one router that quote one kind of packet: when, the MTUs stated, one of them.
type TooBigGroup<'n> = (Listed, Vec<u32>, &'n TooBig);

/// One finding for each router and kind of quoted packet.
fn add_too_big(findings: &mut Vec<Finding>, tap: &Tap<'_>) {
    let mut groups: BTreeMap<(String, Option<String>), TooBigGroup<'_>> = BTreeMap::new();
    for (notice, seen) in &tap.stream.notices.too_big {
        let sa = notice.sa.map(|(protocol, spi)| format!("{}/{}/{}/{spi}", protocol.name(), notice.src, notice.dst));
        let entry =
            groups.entry((notice.router.to_string(), sa)).or_insert_with(|| (Listed::default(), Vec::new(), notice));
        entry.0.join(seen);
        entry.1.push(notice.mtu);
    }
    for ((router, sa), (seen, mut mtus, notice)) in groups {
        mtus.sort_unstable();
        mtus.dedup();
        let mtu = match mtus.as_slice() {
            [0] => "without stating an MTU".to_owned(),
            list => {
                let words: Vec<String> = list.iter().map(u32::to_string).collect();
                format!("MTU {}", words.join(", "))
            }
        };
        let quotes = match &sa {
            Some(sa) => format!("they quote a tunnelled packet ({sa})"),
            None => format!("they quote a plaintext packet ({} > {})", notice.src, notice.dst),
        };
        let evidence = format!("{} from {router}, {mtu}; {quotes}.", plural(seen.count, "ICMP error"));
        let subject = sa.unwrap_or_else(|| format!("{} > {}", notice.src, notice.dst));
        findings.push(
            Draft::new("pmtu-icmp", evidence)
                .of(subject)
                .listed(tap, &seen, "too big, says ICMP")
                .filter(filter::of_too_big(notice.router))
                .done(),
        );
    }
}

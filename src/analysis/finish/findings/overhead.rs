//! Outer fragmentation and TFC padding.

use super::{Draft, Tap, filter, plural};
use crate::analysis::settings::Settings;
use crate::analysis::state::traffic::fragment_sums::FragmentSums;
use crate::model::report::Finding;

const fn was_or_were(packets: u64) -> &'static str {
    if packets == 1 { "was" } else { "were" }
}

/// Packets of which fragments are missing. Where packets share an identification, what one lacks may have been taken for another's.
fn incomplete(sums: &FragmentSums) -> String {
    let or_not = if sums.uncertain > 0 { ", or are counted with another packet of their identification" } else { "" };
    format!(" Of {} some fragments were not seen{or_not}.", plural(sums.incomplete, "packet"))
}

pub(crate) fn add(findings: &mut Vec<Finding>, tap: &Tap<'_>, settings: &Settings) {
    for sa in &tap.sas {
        if let Some(sums) = &sa.fragments {
            let packets = sums.packets();
            let copies = sa.left_out().frames;
            let all = sa.state.seen.count.saturating_sub(copies);
            // Of packets that are not whole it is not known which headers are theirs.
            let least = if sums.complete < packets { "at least " } else { "" };
            let mut evidence = format!(
                "{} of {} {} {} fragmented after encryption: {}, which cost {}IP headers and the layer 1 overhead of their frames.",
                packets,
                all,
                if all == 1 { "packet" } else { "packets" },
                was_or_were(packets),
                plural(sums.later, "fragment"),
                if sums.complete > 0 { format!("{least}{} B of ", sums.extra_header_bytes) } else { String::new() },
            );
            // Later fragments bear no SPI, so a filter by SPI leaves them out.
            if settings.spi.is_some() {
                evidence = format!(
                    "{packets} of {} {} fragmented. The later fragments bear no SPI: the filter --spi leaves them out.",
                    plural(all, "packet"),
                    was_or_were(packets)
                );
            } else if sums.incomplete > 0 {
                evidence.push_str(&incomplete(sums));
            }
            if sums.uncertain > 0 {
                evidence.push_str(&format!(
                    " The fragments of {} fit together in more than one way, because packets share an identification or fragments \
                     overlap: counted, without sizes.",
                    plural(sums.uncertain, "packet")
                ));
            }
            if sa.has_unsized_fragments() {
                evidence.push_str(" So goodput of this direction is not determined.");
            }
            findings.push(
                Draft::new("outer-fragmentation", evidence)
                    .of(sa.name.clone())
                    .seen(tap, &sums.seen.counting(packets))
                    .frames(tap, sums.frames.frames(), &sums.frames, "a fragment")
                    .filter(filter::of_fragments(&sa.key))
                    .done(),
            );
        }
        let of_null = sa.null.map(|(_, votes)| (&votes.trailers, votes.frames));
        let of_keyed = sa.state.keyed.as_deref().map(|keyed| (&keyed.trailers, keyed.opened));
        for (trailers, packets) in of_null.into_iter().chain(of_keyed) {
            let Some(listed) = trailers.tfc.as_deref() else { continue };
            let tfc = listed.count;
            let evidence = format!(
                "{} of {packets} carry padding after the inner packet (traffic flow confidentiality, TFC).",
                plural(tfc, "packet"),
            );
            let draft = Draft::new("tfc-padding", evidence).about(tap, sa);
            findings.push(draft.of_some(tap, sa, listed, "TFC padding").done());
        }
    }
}

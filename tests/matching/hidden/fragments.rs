//! Hosts that send fragments, and gateways that put them together.

use super::*;

/// What the plain tap shows of longer packets.
fn fragmented(frame: Vec<u8>) -> Vec<Vec<u8>> {
    if frame.len() > 500 { build::in_fragments(&frame, 240).into() } else { vec![frame] }
}

/// A gateway puts fragments together before it encrypts, and fragments what comes out: no fragment is lost, and no flow of them is outside the tunnel.
#[test]
fn fragments_that_a_gateway_puts_together_are_not_lost() {
    let mut noise = Noise(61);
    let mut sent = load(&mut noise, Shown::Clear);
    // A flow of fragments alone.
    for packet in 0..40 {
        let clear = build::udp(ELSEWHERE, FAR, (2_049, 900), packet, &noise.bytes(900));
        let ns = START + u64::from(packet) * 10 * GAP + GAP / 3;
        sent.push(Sent { there: true, ns, clear, shown: Shown::Clear, on_plain: true, lost: false, delay: WAY });
    }
    let all = [PACKETS + 40, PACKETS];
    for clock in [0, 7_000_000] {
        let (plain, tunnel) = captures_with("fragments", sent.clone(), |ns| ns + clock, fragmented);
        let report = json(&plain, &tunnel, if clock == 0 { &["--one-clock"] } else { &[] });
        for (there, all) in [true, false].into_iter().zip(all) {
            let own = direction(&report, there);
            assert_eq!((number(own, "matched"), own["loss_pct"].as_f64()), (all, Some(0.0)), "{own:#}");
        }
        assert!(items(&report, "outside").is_empty() && !has_loss(&report), "{report:#}");
    }
    // Lost fragments are of fewer packets: of how many is not known.
    sent.iter_mut()
        .filter(|own| own.there && own.clear.len() > 500)
        .skip(7)
        .step_by(20)
        .for_each(|own| own.lost = true);
    let (plain, tunnel) = captures_with("fragments-lost", sent, |ns| ns, fragmented);
    let report = json(&plain, &tunnel, &["--one-clock"]);
    let own = direction(&report, true);
    assert!(own["loss_pct"].is_null() && text(own, "undetermined.reason").contains("fragments"), "{own:#}");
    assert!(!has_loss(&report), "{:#}", report["findings"]);
}

/// Some of the fragments that a gateway made of what came out are missing: their packets are no pairs that were received.
#[test]
fn packets_that_lack_a_fragment_are_not_received() {
    let sent = load(&mut Noise(64), Shown::Clear);
    let (plain, tunnel) = captures_with(
        "fragments-missing",
        sent,
        |ns| ns,
        |frame| {
            let mut pieces = fragmented(frame);
            // The identification counts packets, those out of the tunnel come from the far host.
            if pieces.len() > 1 && pieces[0][26..30] == FAR.octets() && pieces[0][19].is_multiple_of(16) {
                pieces.pop();
            }
            pieces
        },
    );
    let report = json(&plain, &tunnel, &["--one-clock"]);
    let own = direction(&report, false);
    assert!(own["loss_pct"].is_null() && text(own, "undetermined.reason").contains("fragments"), "{own:#}");
    assert_eq!(direction(&report, true)["loss_pct"].as_f64(), Some(0.0));
}

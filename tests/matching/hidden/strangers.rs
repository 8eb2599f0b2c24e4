//! Flows that are not found in the tunnel, and may be in it.

use super::*;

const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 0, 1, 9);

/// What a gateway changes on its way (addresses in a protocol's content) is not outside the tunnel.
#[test]
fn flows_whose_content_is_changed_are_not_outside() {
    let changed = |frame: &[u8]| frame[26..30] == CLIENT.octets() || frame[30..34] == CLIENT.octets();
    let mut noise = Noise(71);
    let mut sent = load(&mut noise, Shown::Clear);
    for packet in 0..100 {
        let bytes = 40 + noise.below(900) as usize;
        let clear = build::udp(CLIENT, FAR, (5_060, 5_060), packet, &noise.bytes(bytes));
        let ns = START + u64::from(10 + packet) * 3 * GAP + GAP / 3;
        sent.push(Sent { there: true, ns, clear, shown: Shown::Clear, on_plain: true, lost: false, delay: WAY });
    }
    let shows = |mut frame: Vec<u8>| {
        if changed(&frame) {
            frame.last_mut().into_iter().for_each(|last| *last ^= 0x55);
        }
        vec![frame]
    };
    let (plain, tunnel) = captures_with("changed", sent.clone(), |ns| ns, shows);
    let report = json(&plain, &tunnel, &["--one-clock"]);
    assert!(items(&report, "outside").is_empty(), "{:#}", report["outside"]);
    assert_eq!(number(&report, "pairs.undetermined_plain"), 100, "{:#}", report["pairs"]);
    // Of the same flow, not in the tunnel at all.
    sent.iter_mut().filter(|own| changed(&own.clear)).for_each(|own| own.lost = true);
    let (plain, tunnel) = captures("beside", sent, |ns| ns);
    let report = json(&plain, &tunnel, &["--one-clock"]);
    assert_eq!(number(&items(&report, "outside")[0], "packets"), 100, "{:#}", report["outside"]);
}

/// Flows of one packet each, some of which a tunnel loses as it loses others: these are not outside.
#[test]
fn single_packets_that_were_lost_are_not_outside() {
    let singles = |lossy: bool, gone: u8| {
        let mut noise = Noise(72);
        let mut sent = load(&mut noise, Shown::Clear);
        sent.iter_mut().skip(8).step_by(20).for_each(|own| own.lost = lossy);
        for host in 0..100_u8 {
            let src = Ipv4Addr::new(10, 0, 1, 100 + host);
            let clear = build::udp(src, FAR, (5_140, 514), host.into(), &noise.bytes(120));
            let ns = START + u64::from(10 + host) * 3 * GAP + GAP / 3;
            let lost = host % (100 / gone) == 1;
            sent.push(Sent { there: true, ns, clear, shown: Shown::Clear, on_plain: true, lost, delay: WAY });
        }
        let (plain, tunnel) = captures("singles", sent, |ns| ns);
        json(&plain, &tunnel, &["--one-clock"])
    };
    let report = singles(true, 5);
    assert!(items(&report, "outside").is_empty(), "{:#}", report["outside"]);
    // A tunnel that loses nothing else does not lose these.
    assert_eq!(items(&singles(false, 5), "outside").len(), 5);
    // Nor does one lose half of them that loses one of a hundred others.
    assert_eq!(items(&singles(true, 50), "outside").len(), 50);
}

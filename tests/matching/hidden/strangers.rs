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

/// ESP of hosts behind the gateway is what a tunnel carries, like anything else: its SA is not the tunnel's.
#[test]
fn esp_of_customers_is_carried_and_carries_nothing() {
    let mut noise = Noise(73);
    let mut sent = load(&mut noise, Shown::Clear);
    for (number, own) in (1..).zip(&mut sent).filter(|(number, _)| number % 3 == 0) {
        let (src, dst, spi) = if own.there { (NEAR, FAR, 0x0dd0) } else { (FAR, NEAR, 0x0dd1) };
        own.clear = build::esp(src, dst, spi, number, &noise.bytes(own.clear.len().next_multiple_of(4)));
    }
    sent.iter_mut().skip(20).step_by(40).for_each(|own| own.lost = own.there);
    let lost = sent.iter().filter(|own| own.lost).count() as u64;
    let (plain, tunnel) = captures("customers", sent, |ns| ns);
    let report = json(&plain, &tunnel, &["--one-clock"]);
    assert_eq!(items(&report, "directions").len(), 2, "{:#}", report["directions"]);
    for there in [true, false] {
        let own = direction(&report, there);
        let (lost, place) = if there { (lost, "lost_before_tunnel") } else { (0, "lost_behind_tunnel") };
        assert_eq!((number(own, "matched"), number(own, place)), (PACKETS - lost, lost), "{own:#}");
    }
    for size in items(&report, "sizes").iter().filter(|size| number(size, "frames") > 0) {
        assert!(text(size, "sa").ends_with("1001") || text(size, "sa").ends_with("2001"), "{size:#}");
        assert_eq!(at(size, "parts.icv").as_f64(), Some(12.0), "{size:#}");
    }
}

/// Most of what the plain tap sees leaves past the tunnel, in flows of a few packets each, none of which is known for one outside.
#[test]
fn what_leaves_past_the_tunnel_may_be_most_of_all() {
    const PAST: u32 = 3_000;
    let mut noise = Noise(74);
    let mut sent = load(&mut noise, Shown::Opaque);
    for packet in 0..PAST {
        let src = Ipv4Addr::new(10, 0, 1, 10 + noise.below(20) as u8);
        let dst = Ipv4Addr::new(203, 0, 113, 1 + noise.below(200) as u8);
        let bytes = [60, 260, 560, 860][noise.below(4) as usize];
        let clear = build::udp(src, dst, (30_001, 4_433), packet as u16, &noise.bytes(bytes));
        let ns = START + noise.below(PACKETS * GAP);
        sent.push(Sent { there: true, ns, clear, shown: Shown::Opaque, on_plain: true, lost: true, delay: WAY });
    }
    let (plain, tunnel) = captures("past", sent, |ns| ns);
    let report = json(&plain, &tunnel, &[]);
    for there in [true, false] {
        let own = direction(&report, there);
        assert_eq!((number(own, "matched"), own["loss_pct"].as_f64()), (PACKETS, Some(0.0)), "{own:#}");
    }
}

/// The same both ways, of a few lengths: one packet in the place of another makes no loss of all others of its flow, and no latency.
#[test]
fn flows_past_the_tunnel_are_not_lost_for_one_wrong_pair() {
    const PAST: u32 = 4_000;
    const SLOWER: u64 = 8;
    for seed in 100..104 {
        let mut noise = Noise(seed);
        let mut sent = load(&mut noise, Shown::Opaque);
        for (packet, own) in sent.iter_mut().enumerate() {
            let (src, dst) = if own.there { (NEAR, FAR) } else { (FAR, NEAR) };
            let bytes = if noise.below(2) == 0 { 24 } else { 1_372 };
            let content = noise.bytes(bytes);
            own.clear = build::udp(src, dst, (20_001, 20_002), packet as u16, &content);
            own.ns = START + noise.below(PACKETS * GAP * SLOWER);
        }
        for packet in 0..PAST {
            let host = Ipv4Addr::new(10, 0, 1, 10 + noise.below(20) as u8);
            let other = Ipv4Addr::new(203, 0, 113, 1 + noise.below(200) as u8);
            let (src, dst) = if packet % 2 == 0 { (host, other) } else { (other, host) };
            let bytes = if noise.below(2) == 0 { 24 } else { 1_372 };
            let content = noise.bytes(bytes);
            let clear = build::udp(src, dst, (30_001, 4_433), packet as u16, &content);
            let ns = START + noise.below(PACKETS * GAP * SLOWER);
            sent.push(Sent { there: true, ns, clear, shown: Shown::Opaque, on_plain: true, lost: true, delay: WAY });
        }
        let (plain, tunnel) = captures("wrong-pair", sent, |ns| ns);
        let report = json(&plain, &tunnel, &[]);
        assert!(!has_loss(&report), "{seed}: {:#}", report["findings"]);
        for own in items(&report, "directions") {
            assert!(at(own, "latency_ns.max").as_u64().is_none_or(|most| most < 2 * WAY), "{seed}: {own:#}");
        }
    }
}

/// What hosts behind the gateways encrypted themselves is not compared by order: what the plain tap shows of it is not lost.
#[test]
fn esp_of_customers_in_an_opaque_tunnel_is_not_lost() {
    let mut noise = Noise(75);
    let mut sent = load(&mut noise, Shown::Opaque);
    let back = (1..).zip(&mut sent).filter(|(number, own)| number % 40 < 2 && !own.there);
    for (number, own) in back {
        own.clear = build::esp(FAR, NEAR, 0x0dd1, number, &noise.bytes(own.clear.len().next_multiple_of(4)));
    }
    sent.iter_mut().skip(25).step_by(8).for_each(|own| own.lost = !own.there);
    let lost = sent.iter().filter(|own| own.lost).count() as u64;
    assert!(lost > 90, "{lost}");
    let (plain, tunnel) = captures("customers-hidden", sent, |ns| ns);
    let report = json(&plain, &tunnel, &[]);
    let told = direction(&report, false)["lost_behind_tunnel"].as_u64();
    assert!(told.is_none_or(|told| told.abs_diff(lost) <= 2), "{told:?} for {lost}");
}

//! What gateways send on their own account, and what they carry no more.

use std::path::Path;

use super::*;

const LOOPBACK: Ipv4Addr = Ipv4Addr::new(10, 255, 0, 1);
const FAR_LOOPBACK: Ipv4Addr = Ipv4Addr::new(10, 255, 0, 2);

/// What gateways say to each other inside the tunnel (hellos, BFD) ends at the gateway, as much of it as goes the other way, however much traffic there is.
#[test]
fn what_gateways_send_each_other_is_not_lost() {
    // All traffic but theirs both ways, or out of the tunnel only.
    for (name, both) in [("both", true), ("out", false)] {
        let mut noise = Noise(41);
        let mut sent = load(&mut noise, Shown::Opaque);
        sent.retain(|own| if own.there { both } else { !both || noise.below(6) == 0 });
        for hello in 0..12 {
            for there in [true, false] {
                let (src, dst) = if there { (R1, R2) } else { (R2, R1) };
                let clear = build::ipv4(src, dst, 89, hello, &noise.bytes(44));
                let ns = START + u64::from(hello) * 60 * GAP + if there { 0 } else { GAP / 3 };
                sent.push(Sent { there, ns, clear, shown: Shown::Opaque, on_plain: false, lost: false, delay: WAY });
            }
        }
        let (plain, tunnel) = captures(&format!("hellos-{name}"), sent, |ns| ns);
        let report = json(&plain, &tunnel, &["--one-clock"]);
        let found = items(&report, "findings").iter().any(|own| text(own, "code") == "match-loss");
        assert!(!found, "{name}: {:#}", report["findings"]);
    }
}

/// A tunnel that carries nothing any more, and hosts that begin to send when it does not.
#[test]
fn flows_that_begin_when_the_tunnel_is_dead_are_not_outside() {
    let mut noise = Noise(51);
    let mut sent = load(&mut noise, Shown::Opaque);
    let dead = START + PACKETS / 2 * GAP;
    for host in 0..12_u8 {
        for packet in 0..8_u64 {
            let src = Ipv4Addr::new(10, 0, 1, if host < 2 { 200 + host } else { 2 + host });
            let from = if host < 2 { START } else { dead + 10 * GAP };
            let clear = build::udp(src, FAR, (5_000, 53), packet as u16, &noise.bytes(60 + 7 * host as usize));
            let ns = from + packet * 20 * GAP + noise.below(GAP);
            sent.push(Sent { there: true, ns, clear, shown: Shown::Opaque, on_plain: true, lost: false, delay: WAY });
        }
    }
    sent.iter_mut().for_each(|own| own.lost = own.ns > dead && own.there);
    let (plain, tunnel) = captures("dead", sent, |ns| ns);
    let report = json(&plain, &tunnel, &["--one-clock"]);
    assert!(items(&report, "outside").is_empty(), "{:#}", report["outside"]);
    assert_eq!(number(&report, "pairs.undetermined_plain"), 80, "{:#}", report["pairs"]);
    let there =
        items(&report, "directions").iter().find(|own| text(own, "way") == "encapsulated").expect("a direction");
    // What was known to go through the tunnel is lost for sure.
    assert_eq!(number(there, "lost_before_tunnel"), PACKETS / 2, "{there:#}");
}

/// Traps and logs for the gateway itself end there: none is lost, however one-sided they are.
#[test]
fn datagrams_for_the_gateway_are_not_lost() {
    let mut noise = Noise(62);
    let mut sent = load(&mut noise, Shown::Opaque);
    for trap in 0..20 {
        let clear = build::udp(FAR, R1, (5_000, 162), trap, &noise.bytes(1_200));
        let ns = START + u64::from(trap) * 30 * GAP + GAP / 3;
        sent.push(Sent { there: false, ns, clear, shown: Shown::Opaque, on_plain: false, lost: false, delay: WAY });
    }
    let (plain, tunnel) = captures("traps", sent, |ns| ns);
    let report = json(&plain, &tunnel, &["--one-clock"]);
    let own = direction(&report, false);
    assert!(own["loss_pct"].is_null() && number(own, "matched") == PACKETS, "{own:#}");
    assert!(text(own, "undetermined.reason").contains("gateway itself") && !has_loss(&report), "{own:#}");
    // Beside more packets that are lost, of lengths that the plain tap shows, they hide nothing.
    let mut sent = load(&mut Noise(62), Shown::Opaque);
    sent.iter_mut().filter(|own| !own.there).skip(7).step_by(10).for_each(|own| own.lost = true);
    for trap in 0..4 {
        let clear = build::udp(FAR, R1, (5_000, 162), trap, &noise.bytes(1_200));
        let ns = START + (10 + u64::from(trap)) * 30 * GAP + GAP / 3;
        sent.push(Sent { there: false, ns, clear, shown: Shown::Opaque, on_plain: false, lost: false, delay: WAY });
    }
    let (plain, tunnel) = captures("traps-and-losses", sent, |ns| ns);
    assert!(has_loss(&json(&plain, &tunnel, &["--one-clock"])));
}

/// A tunnel inside the SA that another router ends: the plain tap is behind that router, or before it.
#[test]
fn tunnels_inside_the_tunnel_are_looked_into() {
    let mut sent = load(&mut Noise(63), Shown::Clear);
    for own in &mut sent {
        let (src, dst) = if own.there { (LOOPBACK, FAR_LOOPBACK) } else { (FAR_LOOPBACK, LOOPBACK) };
        let gre = [&[0, 0, 8, 0], &own.clear[14..]].concat();
        own.clear = build::ipv4(src, dst, 47, 1, &gre);
    }
    let inside = |frame: Vec<u8>| vec![[&frame[..14], &frame[14 + 24..]].concat()];
    let whole = |frame: Vec<u8>| vec![frame];
    let least: Vec<u64> =
        [captures_with("inside", sent.clone(), |ns| ns, inside), captures_with("gre", sent, |ns| ns, whole)]
            .iter()
            .map(|(plain, tunnel)| {
                let report = json(plain, tunnel, &["--one-clock"]);
                for there in [true, false] {
                    let own = direction(&report, there);
                    assert_eq!((number(own, "matched"), own["loss_pct"].as_f64()), (PACKETS, Some(0.0)), "{own:#}");
                }
                items(&report, "sizes").iter().map(|size| number(size, "inner_bytes")).min().expect("sizes")
            })
            .collect();
    // The packet that is paired is the one that the plain tap shows.
    assert_eq!(least[0] + 24, least[1]);
}

/// Logs for the gateway itself have lengths that packets for others have, too, but few of them. What a queue drops is spread over all lengths.
#[test]
fn logs_for_the_gateway_are_not_lost_among_packets_of_their_lengths() {
    let mut noise = Noise(63);
    let mut sent = load(&mut noise, Shown::Opaque);
    for log in 0..14 {
        let clear = build::udp(FAR, R1, (5_000, 514), log, &noise.bytes(100 + usize::from(log % 4) * 9));
        let ns = START + u64::from(log) * 30 * GAP + GAP / 3;
        sent.push(Sent { there: false, ns, clear, shown: Shown::Opaque, on_plain: false, lost: false, delay: WAY });
    }
    let (plain, tunnel) = captures("logs", sent, |ns| ns);
    let report = json(&plain, &tunnel, &["--one-clock"]);
    let own = direction(&report, false);
    assert!(own["loss_pct"].is_null() && number(own, "matched") == PACKETS, "{own:#}");
    assert!(text(own, "undetermined.reason").contains("gateway itself") && !has_loss(&report), "{own:#}");
    let mut sent = load(&mut Noise(63), Shown::Opaque);
    sent.iter_mut().filter(|own| !own.there).skip(7).step_by(30).for_each(|own| own.lost = true);
    let lost = sent.iter().filter(|own| own.lost).count();
    let (plain, tunnel) = captures("no-logs", sent, |ns| ns);
    let report = json(&plain, &tunnel, &["--one-clock"]);
    assert_eq!(number(direction(&report, false), "lost_behind_tunnel"), lost as u64);
}

/// Captures that cannot be what they are given as are told.
#[test]
fn captures_of_the_wrong_side_are_told() {
    let (plain, tunnel) = captures("sides", load(&mut Noise(64), Shown::Opaque), |ns| ns);
    let told = |plain: &Path, tunnel: &Path, more: &[&str], code: &str| {
        let report = json(plain, tunnel, more);
        let own = items(&report, "findings").iter().find(|own| text(own, "code") == code);
        text(own.unwrap_or_else(|| panic!("{code}: {:#}", report["findings"])), "evidence").to_owned()
    };
    let other = captures("other", load(&mut Noise(65), Shown::Opaque), |ns| ns).0;
    assert!(
        told(&plain, &other, &[], "match-nothing")
            .contains("no packet of AH, ESP or an IP tunnel that can be read: 800 frames")
    );
    let exit = tunnel.to_str().expect("a path of text");
    assert!(told(&plain, &other, &["--exit", exit], "match-swapped").contains("--exit and --tunnel"));
    assert!(told(&tunnel, &tunnel, &[], "match-nothing").contains("nothing but the tunnel itself: 800 tunnelled"));
}

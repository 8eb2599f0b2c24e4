use super::rivals::sign_test;
use super::*;

/// AES-CBC with HMAC-SHA1-96.
fn makes(_: u8, inner: u32, esp: u32) -> bool {
    (inner + 2).next_multiple_of(16) + 36 == esp
}

/// Packets at these times, and their tunnelled ones 60 us later, give or take a few.
fn verdict(times: &[i64], bytes: impl Fn(usize) -> u32) -> Verdict {
    let plain: Vec<Plain> =
        times.iter().enumerate().map(|(at, ns)| Plain { ns: *ns, bytes: bytes(at), skip: 1.0 }).collect();
    let late = |at: usize| 60_000 + (at as i64 * 7_919) % 9_000;
    let tunnelled: Vec<Tunnelled> = plain
        .iter()
        .enumerate()
        .map(|(at, packet)| {
            let esp = Some((packet.bytes + 2).next_multiple_of(16) + 36);
            Tunnelled { ns: packet.ns + late(at), esp, mapping: 0, hole: false, skip: 1.0 }
        })
        .collect();
    let streams = Streams { plain: &plain, tunnelled: &tunnelled, makes, within: (i64::MIN, i64::MAX) };
    Search::new(streams).verdict().expect("packets fit")
}

fn scattered(at: i64) -> i64 {
    at * 1_000_000 + (at * at * 48_271 + at * 7_919) % 900_001
}

#[test]
fn equal_packets_at_an_even_pace_leave_alignments() {
    let times: Vec<i64> = (0..300).map(|at| at * 1_000_000).collect();
    let verdict = verdict(&times, |_| 512);
    assert!(!verdict.is_decisive() && verdict.rivals > 3, "{} rivals", verdict.rivals);
}

#[test]
fn uneven_gaps_decide() {
    let times: Vec<i64> = (0..300).map(scattered).collect();
    let verdict = verdict(&times, |_| 512);
    assert!(verdict.is_decisive(), "{} rivals", verdict.rivals);
    assert!((verdict.best.offset - 64_500).abs() < 6_000, "{}", verdict.best.offset);
}

#[test]
fn sizes_decide_at_an_even_pace() {
    let times: Vec<i64> = (0..300).map(|at| at * 1_000_000).collect();
    let verdict = verdict(&times, |at| 64 + 16 * (scattered(at as i64) % 13) as u32);
    assert!(verdict.is_decisive(), "{} rivals", verdict.rivals);
    assert!((verdict.best.offset - 64_500).abs() < 6_000, "{}", verdict.best.offset);
}

#[test]
fn a_hole_of_the_plain_side_is_no_evidence_for_a_shift_beside_it() {
    // Bursts of equal packets; the plain tap misses some bursts in the middle.
    let times: Vec<i64> = (0..320).map(|at| at / 8 * 5_000_000 + at % 8 * 12_000).collect();
    let whole: Vec<Plain> = times.iter().map(|ns| Plain { ns: *ns, bytes: 512, skip: 1.0 }).collect();
    let plain: Vec<Plain> = whole.iter().filter(|own| !(80_000_000..120_000_000).contains(&own.ns)).copied().collect();
    let late = |(at, own): (usize, &Plain)| Tunnelled {
        ns: own.ns + 60_000 + (at as i64 * 7_919) % 9_000,
        esp: Some(564),
        mapping: 0,
        hole: false,
        skip: 1.0,
    };
    // What was sent later lies beyond what was looked at.
    let tunnelled: Vec<Tunnelled> = whole.iter().enumerate().map(late).take(220).collect();
    let streams = Streams { plain: &plain, tunnelled: &tunnelled, makes, within: (-2_000_000_000, 2_000_000_000) };
    let verdict = Search::new(streams).verdict().expect("packets fit");
    assert!(!verdict.is_decisive(), "{} {} rivals", verdict.best.offset, verdict.rivals);
}

#[test]
fn packets_closer_than_delays_vary_are_no_evidence_for_a_shift_by_bursts() {
    // Bursts at an even pace, with less between their packets than what delays vary by, and a hole of eight bursts.
    let times: Vec<i64> = (0..427).map(|at| at / 8 * 160_084_000 + at % 8 * 12_000).collect();
    let missed = 30 * 160_084_000..37 * 160_084_000;
    let of = |ns: &i64| Plain { ns: *ns, bytes: 512, skip: 1.0 };
    let plain: Vec<Plain> = times.iter().filter(|ns| !missed.contains(*ns)).map(of).collect();
    let mut tunnelled: Vec<Tunnelled> = Vec::new();
    let mut state = 7_u64;
    for ns in &times {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // A queue keeps the order of what it delays.
        let before = tunnelled.last().map_or(0, |last| last.ns + 1_000);
        let ns = (ns + 20_000_000 + (state >> 33) as i64 % 30_000).max(before);
        tunnelled.push(Tunnelled { ns, esp: Some(564), mapping: 0, hole: false, skip: 1.0 });
    }
    let streams = Streams { plain: &plain, tunnelled: &tunnelled, makes, within: (-2_000, 2_000_000_000) };
    let search = Search::new(streams);
    let verdict = search.verdict().expect("packets fit");
    assert!(!verdict.is_decisive(), "{} {} rivals", verdict.best.offset, verdict.rivals);
    // Each packet in the tunnel has its own plaintext packet, but for those in the hole.
    let nearest = search.align(20_015_000, 64_000, 0, Choice::Nearest);
    let ordered = search.in_order(nearest.clone());
    assert!(nearest.found < nearest.seen, "the nearest packet is often that of a neighbour");
    assert!(
        ordered.found > nearest.found && ordered.found + 4 >= ordered.seen,
        "{} of {}",
        ordered.found,
        ordered.seen
    );
}

#[test]
fn rare_packets_show_alignments_that_are_a_long_period_apart() {
    // Streams at 5 and 20 ms, and three packets each second; the captures have least in common where they belong together.
    let stream = |gap: i64, bytes: u32| {
        (0..7_000_000_000 / gap).map(move |at| Plain { ns: at * gap + i64::from(bytes), bytes, skip: 1.0 })
    };
    let each_second = [500, 700, 900].into_iter().flat_map(|bytes| stream(1_000_000_000, bytes));
    let mut all: Vec<Plain> = stream(5_000_000, 128).chain(stream(20_000_000, 64)).chain(each_second).collect();
    all.sort_by_key(|own| own.ns);
    let plain: Vec<Plain> = all.iter().filter(|own| own.ns < 5_000_000_000).copied().collect();
    let late = |(at, own): (usize, &Plain)| Tunnelled {
        ns: own.ns + 60_000 + (at as i64 * 7_919) % 9_000,
        esp: Some((own.bytes + 2).next_multiple_of(16) + 36),
        mapping: 0,
        hole: false,
        skip: 1.0,
    };
    let tunnelled: Vec<Tunnelled> =
        all.iter().enumerate().filter(|(_, own)| own.ns >= 2_000_000_000).map(late).collect();
    let streams = Streams { plain: &plain, tunnelled: &tunnelled, makes, within: (i64::MIN, i64::MAX) };
    let verdict = Search::new(streams).verdict().expect("packets fit");
    assert!(!verdict.is_decisive(), "{} {} rivals", verdict.best.offset, verdict.rivals);
}

#[test]
fn few_packets_say_little() {
    let times: Vec<i64> = (0..4).map(scattered).collect();
    assert!(!verdict(&times, |_| 512).is_decisive());
}

#[test]
fn a_coin_says_nothing() {
    assert!(sign_test(160.0, 140.0) < 1.0 && sign_test(140.0, 160.0) < 0.0);
    assert!(sign_test(60.0, 0.0) > DECISIVE && sign_test(10.0, 0.0) < DECISIVE);
    assert!(sign_test(0.0, 0.0).abs() < 1e-9);
}

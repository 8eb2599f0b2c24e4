use super::*;

const MS: i64 = 1_000_000;

/// AES-CBC: padded to 16.
fn makes(_: u8, inner: u32, esp: u32) -> bool {
    (inner + 2).next_multiple_of(16) + 36 == esp
}

fn plain(at: i64, bytes: u32) -> Plain {
    Plain { ns: at * MS, bytes, skip: 12.0 }
}

fn tunnelled(at: i64, bytes: u32) -> Tunnelled {
    let esp = Some((bytes + 2).next_multiple_of(16) + 36);
    Tunnelled { ns: at * MS + 50_000 + at * 997 % 3_000, esp, mapping: 0, hole: false, skip: 14.0 }
}

const DELAY: Delay = Delay { base: None, spread: 5_000.0, jitter: 5_000.0, edge: None };

fn found(plain: &[Plain], tunnelled: &[Tunnelled]) -> Vec<Option<usize>> {
    let aligned = align(plain, tunnelled, BeforeFirst::unknown(0), DELAY, makes);
    aligned.into_iter().map(|found| found.map(|(at, _)| at)).collect()
}

#[test]
fn equal_packets_pair_in_order() {
    let near: Vec<Plain> = (0..40).map(|at| plain(at, 512)).collect();
    let far: Vec<Tunnelled> = (0..40).map(|at| tunnelled(at, 512)).collect();
    assert_eq!(found(&near, &far), (0..40).map(Some).collect::<Vec<_>>());
}

#[test]
fn a_hole_takes_the_packet_that_was_lost() {
    let near: Vec<Plain> = (0..40).map(|at| plain(at, 512)).collect();
    let far: Vec<Tunnelled> = (0..40)
        .map(|at| Tunnelled {
            hole: at == 17 || at == 18,
            skip: if at == 17 || at == 18 { 10.0 } else { 14.0 },
            ..tunnelled(at, 512)
        })
        .collect();
    assert_eq!(found(&near, &far), (0..40).map(Some).collect::<Vec<_>>());
}

#[test]
fn lengths_that_cannot_be_are_left_out() {
    let mut near: Vec<Plain> = (0..40).map(|at| plain(at, 512)).collect();
    // It does not go through the tunnel.
    near.insert(20, Plain { skip: 2.5, ..plain(20, 1_400) });
    let far: Vec<Tunnelled> = (0..40).map(|at| tunnelled(at, 512)).collect();
    let expected: Vec<Option<usize>> = (0..40).map(|at| Some(if at < 20 { at } else { at + 1 })).collect();
    assert_eq!(found(&near, &far), expected);
}

/// The lag grows beyond the narrow band, on either side; the wide one has room for it.
#[test]
fn a_lag_that_grows_past_the_narrow_band_is_followed() {
    let strangers = NARROW as i64 + 16;
    let (half, all) = (60, 120);
    // Packets that do not go through the tunnel, all of them before the second half.
    let mut near: Vec<Plain> = (0..all).map(|at| plain(if at < half { at } else { at + strangers }, 512)).collect();
    let beside = (0..strangers).map(|n| Plain { skip: 2.5, ..plain(half + n, 1_400) });
    near.splice(half as usize..half as usize, beside);
    let far: Vec<Tunnelled> = (0..all).map(|at| tunnelled(if at < half { at } else { at + strangers }, 512)).collect();
    let expected = |at: i64| Some((if at < half { at } else { at + strangers }) as usize);
    assert_eq!(found(&near, &far), (0..all).map(expected).collect::<Vec<_>>());
    // Tunnelled packets of somebody else, and the packets before them and behind them.
    let near: Vec<Plain> = (0..all).map(|at| plain(if at < half { at } else { at + strangers }, 512)).collect();
    let mut far: Vec<Tunnelled> =
        (0..all).map(|at| tunnelled(if at < half { at } else { at + strangers }, 512)).collect();
    let others = (0..strangers).map(|n| Tunnelled { skip: 2.5, ..tunnelled(half + n, 1_400) });
    far.splice(half as usize..half as usize, others);
    let mut expected: Vec<Option<usize>> = (0..all as usize).map(Some).collect();
    expected.splice(half as usize..half as usize, (0..strangers).map(|_| None));
    assert_eq!(found(&near, &far), expected);
}

#[test]
fn a_filling_queue_is_no_loss() {
    // One every millisecond in, one every two milliseconds out.
    let near: Vec<Plain> = (0..60).map(|at| plain(at, 512)).collect();
    let far: Vec<Tunnelled> = (0..60).map(|at| Tunnelled { ns: at * 2 * MS + 50_000, ..tunnelled(at, 512) }).collect();
    assert_eq!(found(&near, &far), (0..60).map(Some).collect::<Vec<_>>());
}

#[test]
fn what_one_side_lacks_at_its_ends_is_left_alone() {
    // Lengths in an order that does not repeat: shifted by a period, another alignment would be as good.
    let length = |at: i64| 64 + 16 * (at * 7_919 % 101 % 13) as u32;
    let near: Vec<Plain> = (100..130).map(|at| plain(at, length(at))).collect();
    let far: Vec<Tunnelled> = (0..300).map(|at| Tunnelled { skip: 5.0, ..tunnelled(at, length(at)) }).collect();
    let aligned = align(&near, &far, BeforeFirst::unknown(-100), DELAY, makes);
    for (at, found) in aligned.iter().enumerate() {
        let expected = at.checked_sub(100).filter(|at| *at < 30);
        assert_eq!(found.map(|(at, _)| at), expected, "{at}");
    }
    assert_eq!(align(&[], &far, BeforeFirst::unknown(0), DELAY, makes), vec![None; 300]);
    assert!(align(&near, &[], BeforeFirst::unknown(0), DELAY, makes).is_empty());
}

#[test]
fn neighbours_that_fit_as_well_make_a_pair_unsure() {
    // All at once: nothing but the order tells them apart, and one is missing.
    let near: Vec<Plain> = (0..10).map(|_| plain(1, 512)).collect();
    let far: Vec<Tunnelled> = (0..9).map(|_| Tunnelled { skip: 5.5, ..tunnelled(1, 512) }).collect();
    let aligned = align(&near, &far, BeforeFirst::unknown(0), DELAY, makes);
    assert!(aligned.iter().flatten().all(|(_, gap)| *gap < 1.0), "{aligned:?}");
}

#[test]
fn the_first_pair_is_as_late_as_those_before_it() {
    // Two packets of one length: one is usual in time, the other costs less to leave out.
    let stranger = Plain { ns: -20 * MS, bytes: 512, skip: 0.2 };
    let near = [stranger, Plain { ns: 0, bytes: 512, skip: 0.2 }];
    let far = [tunnelled(0, 512)];
    let pair = |base| {
        let before = BeforeFirst::usual(Delay { base, ..DELAY });
        align(&near, &far, before, DELAY, makes)[0].expect("a pair").0
    };
    assert_eq!(pair(Some(50_000.0)), 1);
    assert_eq!(pair(None), 0);
}

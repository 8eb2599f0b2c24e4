use super::*;
use crate::dissect::Costs;
use crate::matching::content::identity::Kin;
use crate::matching::packets::ledger::{Marks, Tunnelled};
use crate::model::{FramePos, Timestamp};

#[test]
fn holes_take_no_more_room_than_there_is() {
    let mut ledger = Ledger::default();
    let places = |step: u32, ledger: &mut Ledger| {
        let mut lane = Lane { encapsulated: true, ..Lane::default() };
        for at in 0..320 {
            lane.push(ledger, u64::from(at), i64::from(at), 0, at * step);
        }
        let places = lane.places(320);
        (places.len(), places.iter().filter(|place| place.hole).count())
    };
    assert_eq!(places(1, &mut ledger), (320, 0));
    assert_eq!(places(2, &mut ledger), (639, 319));
    // Nearly everything lost, or a counter that jumps: the first gaps are filled, the others are not.
    for step in [100, 1_000, 4_000, 1_000_000] {
        let (all, holes) = places(step, &mut ledger);
        assert_eq!(all, 320 + holes, "{step}");
        assert!(holes <= 1_024, "{step}: {holes}");
    }
}

/// What a packet of this number comes to, and how many were too late to say.
fn fate(lane: &mut Lane, raw: u32) -> (TunnelledFate, u64) {
    let mut ledger = Ledger::default();
    ledger.tunnel.push(packet());
    lane.push(&mut ledger, 0, 0, 0, raw);
    (ledger.tunnel.get(0).expect("it waits").fate, lane.late)
}

fn packet() -> Tunnelled {
    Tunnelled {
        pos: FramePos::new(0, 1),
        time: Timestamp::UNKNOWN,
        sa: 0,
        sequence: None,
        outer_bytes: 100,
        pieces: 1,
        complete: true,
        again: false,
        indexed: false,
        esp: Some(80),
        marks: Marks::default(),
        inner: None,
        identity: None,
        kin: Kin::Nothing,
        costs: Costs::default(),
        frame_bytes: 114,
        pad_bytes: 0,
        pattern: None,
        fate: TunnelledFate::Waiting,
    }
}

#[test]
fn a_packet_whose_hole_was_forgotten_is_said_to_be_late() {
    let mut lane = Lane { encapsulated: true, ..Lane::default() };
    lane.push(&mut Ledger::default(), 0, 0, 0, 100);
    let last = MAX_HOLES as i64 + 2;
    lane.counters.get_mut(0).expect("it has a counter").settled = Some((0, last));
    lane.counters.get_mut(0).expect("it has a counter").highest = last;
    for number in 1..=last {
        lane.remember((0, number), Hole { plain: None, confidence: 0.0 });
    }
    assert_eq!(lane.holes.len(), MAX_HOLES);
    // Numbers begin with 0 at the first packet, whose number was 100.
    assert!(matches!(fate(&mut lane, 103), (TunnelledFate::Alone, 0)), "its hole is remembered");
    assert!(matches!(fate(&mut lane, 103), (TunnelledFate::Repeated, 0)), "it was there before");
    assert!(matches!(fate(&mut lane, 102), (TunnelledFate::Repeated, 1)), "nobody knows");
}

#[test]
fn holes_make_room_in_the_order_in_which_they_were_settled() {
    let mut lane = Lane::default();
    let hole = Hole { plain: None, confidence: 0.0 };
    // Of two SAs, the one with the lower number goes on.
    (0..10).for_each(|number| lane.remember((1, number), hole));
    (0..MAX_HOLES as i64).for_each(|number| lane.remember((0, number), hole));
    assert_eq!(lane.holes.range((1, 0)..).count(), 0);
    assert_eq!(lane.holes.len(), MAX_HOLES);
}

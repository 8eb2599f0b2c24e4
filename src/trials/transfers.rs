//! Transfers over TCP (the OpenWrt document's way to measure): octets and times.

use super::read::flows::FlowKey;
use super::read::transfers::OneWay;
use super::read::ways::Ways;
use super::read::{Place, Taps};
use crate::model::report::Rfc3339;
use crate::model::trials::{Direction, Figure, OpenFigure, Reason, Transfer};

/// Data of a direction that are less than this share of the other direction's are answers, no transfer.
const ANSWERS: u64 = 20;

/// Transfers in order of time.
pub(super) fn transfers(taps: &Taps, ways: &Ways, places: &[Place]) -> Vec<Transfer> {
    let plain: Vec<Place> = places.iter().copied().filter(|place| !taps.is_tunnel(*place)).collect();
    let mut found: Vec<Transfer> =
        taps.connections.order.iter().filter_map(|key| one(taps, ways, &plain, key)).collect();
    found.sort_by_key(|transfer| transfer.first_data_ns);
    found
}

fn one(taps: &Taps, ways: &Ways, plain: &[Place], key: &FlowKey) -> Option<Transfer> {
    let number = taps.flows.all.iter().position(|flow| flow.key == *key)?;
    let direction = ways.of_flow(taps, u16::try_from(number).ok()?)?;
    let (first, last) = match direction {
        Direction::Fwd => (*plain.first()?, *plain.last()?),
        Direction::Rev => (*plain.last()?, *plain.first()?),
    };
    let back = FlowKey { src: key.dst, dst: key.src, ports: (key.ports.1, key.ports.0), ..*key };
    let at = |key: &FlowKey, place: Place| -> Option<&OneWay> { taps.connections.all.get(key)?.get(place as usize) };
    let own = at(key, first)?;
    let other = at(&back, first);
    let payload = own.payload();
    if payload == 0 || other.is_some_and(|other| other.payload() / ANSWERS > payload) {
        return None;
    }
    let begin = own.first_data?;
    let seconds = own.acknowledged().map(|end| (end - begin) as f64 / 1e9).filter(|s| *s > 0.0);
    let fin = [own.fin, other.and_then(|other| other.fin)].into_iter().flatten().max();
    let elapsed = own.syn.zip(fin).map(|(syn, fin)| (fin - syn) as f64 / 1e9).filter(|s| *s > 0.0);
    let rate = |seconds: Option<f64>| seconds.map(|seconds| 8.0 * payload as f64 / seconds);
    let received = (first != last).then(|| at(key, last).map_or(0, |far| far.segments));
    let mut undetermined = Vec::new();
    let mut because = |figure, reason| undetermined.push(OpenFigure { figure, reason });
    if seconds.is_none() {
        because(Figure::Seconds, Reason::NotAcknowledged);
    }
    if elapsed.is_none() {
        because(Figure::Elapsed, Reason::ConnectionCut);
    }
    if received.is_none() {
        because(Figure::Received, Reason::NoOutTap);
    }
    let raw = taps.place(first).raw(begin);
    Some(Transfer {
        direction,
        src: key.src.to_string(),
        dst: key.dst.to_string(),
        source_port: key.ports.0,
        destination_port: key.ports.1,
        payload_bytes: payload,
        segments: own.segments,
        received_segments: received,
        retransmitted_segments: own.repeated,
        first_data: Rfc3339(raw),
        first_data_ns: raw,
        seconds,
        elapsed_seconds: elapsed,
        goodput_l4_bps: rate(seconds),
        elapsed_l4_bps: rate(elapsed),
        undetermined,
    })
}

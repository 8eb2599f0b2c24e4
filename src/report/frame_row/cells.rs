//! The cells of the row of a frame, in the order of the columns, for any form of a table.

use crate::capture::Frame;
use crate::dissect::{Shape, Stack};
use crate::keys::transported;
use crate::model::{Address, Protocol};

use super::stop_text;

/// Takes the cells of a row, one after the other.
pub(in crate::report) trait FrameCells {
    fn absent(&mut self);

    fn number(&mut self, number: u64);

    fn signed(&mut self, number: i64);

    /// The name of the capture that the row is of.
    fn capture(&mut self);

    /// The name of a stack.
    fn stack(&mut self, shape: Shape);

    fn text(&mut self, text: &str);

    fn address(&mut self, address: Address);

    /// Text that needs neither quotes nor escapes.
    fn word(&mut self, word: &'static str);

    /// One number as it is, several joined; a missing one among several is empty.
    fn joined(&mut self, numbers: impl Iterator<Item = Option<u32>> + Clone);

    fn absents(&mut self, n: usize) {
        for _ in 0..n {
            self.absent();
        }
    }
}

/// What was made of the texts of recent addresses: captures have few.
#[derive(Debug)]
pub(in crate::report) struct AddressTexts<T> {
    places: Vec<Option<(Address, T)>>,
}

impl<T> AddressTexts<T> {
    /// Addresses that are kept; each has one place.
    const PLACES: usize = 256;

    pub(in crate::report) fn new() -> Self {
        Self { places: std::iter::repeat_with(|| None).take(Self::PLACES).collect() }
    }

    /// What is or was made of an address.
    pub(in crate::report) fn of(&mut self, address: Address, make: impl FnOnce(String) -> T) -> Option<&T> {
        let (high, low) = address.words();
        // The upper bits of a product depend on all of its factors' bits (Fibonacci hashing).
        let place = ((high ^ low).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize;
        let place = self.places.get_mut(place)?;
        if place.as_ref().is_none_or(|(known, _)| *known != address) {
            *place = Some((address, make(address.to_string())));
        }
        place.as_ref().map(|(_, text)| text)
    }
}

/// Hands the cells of a frame to `cells`.
pub(in crate::report) fn fill(cells: &mut impl FrameCells, frame: &Frame<'_>, stack: &Stack) {
    cells.capture();
    cells.number(frame.pos.number());
    match frame.time.ns() {
        Some(ns) => cells.signed(ns),
        None => cells.absent(),
    }
    cells.number(u64::from(frame.interface));
    cells.number(u64::from(frame.wire_bytes));
    cells.number(frame.data.len() as u64);
    cells.stack(stack.shape);
    addresses(cells, stack);
    security(cells, stack);
    inner(cells, stack);
    overhead(cells, stack);
    if stack.ips.is_empty() || stack.flags.not_ethernet {
        cells.absent();
    } else {
        cells.number(u64::from(stack.trailer_bytes));
    }
    match stack.null.and_then(|null| null.pad_bytes) {
        Some(octets) => cells.number(u64::from(octets)),
        None => cells.joined(stack.opened.iter().map(|opened| opened.pad_bytes.map(u32::from))),
    }
    match stack.ips.iter().find(|ip| ip.is_fragment()) {
        Some(ip) => cells.text(&format!("{}:{}", ip.fragment_offset, u8::from(ip.more_fragments))),
        None => cells.absent(),
    }
    match &stack.stop {
        Some(stop) => cells.text(&stop_text(stop)),
        None => cells.absent(),
    }
}

fn addresses(cells: &mut impl FrameCells, stack: &Stack) {
    match stack.outer() {
        Some(ip) => {
            cells.address(ip.src);
            cells.address(ip.dst);
            cells.number(u64::from(ip.total_bytes));
        }
        None => cells.absents(3),
    }
}

fn security(cells: &mut impl FrameCells, stack: &Stack) {
    let of = |protocol| stack.sas.iter().filter(move |sa| sa.protocol == protocol);
    let mut carried = of(Protocol::Ah).chain(of(Protocol::Esp)).map(|sa| sa.encapsulation);
    match carried.next() {
        None => cells.absent(),
        Some(first) if carried.all(|one| one == first) => cells.word(first.name()),
        Some(_) => {
            let in_order = stack.sas.iter().filter(|sa| sa.protocol != Protocol::IpComp);
            cells.text(&in_order.map(|sa| sa.encapsulation.name()).collect::<Vec<_>>().join(";"));
        }
    }
    cells.joined(of(Protocol::Ah).map(|sa| Some(sa.spi.0)));
    cells.joined(of(Protocol::Ah).map(|sa| sa.sequence_seen.then_some(sa.sequence)));
    cells.joined(of(Protocol::Ah).map(|sa| Some(sa.bytes)));
    cells.joined(of(Protocol::Esp).map(|sa| Some(sa.spi.0)));
    cells.joined(of(Protocol::Esp).map(|sa| sa.sequence_seen.then_some(sa.sequence)));
}

fn inner(cells: &mut impl FrameCells, stack: &Stack) {
    match stack.ips.get(1..).and_then(<[_]>::last) {
        Some(ip) => {
            cells.address(ip.src);
            cells.address(ip.dst);
            cells.number(u64::from(ip.total_bytes));
        }
        None => cells.absents(3),
    }
}

fn overhead(cells: &mut impl FrameCells, stack: &Stack) {
    let encapsulated = stack.encapsulated_bytes();
    let transported = || transported(stack).zip(stack.outer()).map(|(inside, ip)| inside.bytes(ip));
    match (stack.outer(), encapsulated.or_else(transported)) {
        (Some(outer), Some(inner)) if !outer.is_fragment() => {
            cells.signed(i64::from(outer.total_bytes) - i64::from(inner));
        }
        _ => cells.absent(),
    }
}

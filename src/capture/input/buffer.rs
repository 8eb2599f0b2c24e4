//! A read buffer whose large reads go to a page-aligned address.

use crate::capture::limits::{LARGE_CHUNK_BYTES, PAGE_BYTES};

/// Octets in front of the aligned address, for the head of a record that the previous chunk cut.
const HEAD_BYTES: usize = 16 * PAGE_BYTES;

/// A buffer that is filled from a page-aligned origin and may hold the head of a cut record in front of it.
#[derive(Debug, Default)]
pub(crate) struct ReadBuffer {
    bytes: Vec<u8>,
    origin: usize,
    /// Where reading ends: the same distance behind the origin wherever the allocator put the buffer, so that how much
    /// is read at once is the same in every run.
    end: usize,
}

impl ReadBuffer {
    /// Makes ready for a new chunk: `head` lies right before the aligned origin, at least `room` octets behind it.
    /// Answers where the head begins and where reading goes on.
    pub(crate) fn prepare(&mut self, head: &[u8], room: usize) -> (usize, usize) {
        let ordinary = head.len() <= HEAD_BYTES && room <= LARGE_CHUNK_BYTES;
        let fits = head.len() <= self.origin && room <= self.bytes.len().saturating_sub(self.origin);
        // One huge record must not leave every recycled buffer huge.
        let oversized = self.bytes.len() > 4 * LARGE_CHUNK_BYTES;
        if !fits || (ordinary && oversized) {
            self.allocate(head.len().max(HEAD_BYTES), room);
        }
        self.end = self.origin + room;
        let start = self.origin.saturating_sub(head.len());
        if let Some(place) = self.bytes.get_mut(start..self.origin) {
            place.copy_from_slice(head);
        }
        (start, self.origin)
    }

    /// Makes room for a record of `need` octets that begins at `start` and has been read up to `filled`.
    /// Answers where the record begins and where reading goes on.
    pub(crate) fn grow(&mut self, start: usize, filled: usize, need: usize) -> (usize, usize) {
        let old = std::mem::take(&mut self.bytes);
        let read = old.get(start..filled).unwrap_or_default();
        self.allocate(0, need.max(read.len()));
        self.end = self.origin + need.max(read.len());
        let end = self.origin + read.len();
        if let Some(place) = self.bytes.get_mut(self.origin..end) {
            place.copy_from_slice(read);
        }
        (self.origin, end)
    }

    fn allocate(&mut self, head: usize, room: usize) {
        // The old buffer goes first, so that two are never held at once.
        self.bytes = Vec::new();
        self.bytes = vec![0; head + PAGE_BYTES + room];
        let misaligned = self.bytes.get(head..).map_or(0, |tail| tail.as_ptr().align_offset(PAGE_BYTES));
        // `align_offset` may answer usize::MAX where it cannot tell; the price is speed alone.
        self.origin = head + if misaligned < PAGE_BYTES { misaligned } else { 0 };
    }

    /// The octets from `from` up to `to`.
    #[inline]
    pub(crate) fn span(&self, from: usize, to: usize) -> &[u8] {
        self.bytes.get(from..to).unwrap_or_default()
    }

    /// The octets from `from` up to `to`, to change them.
    pub(crate) fn span_mut(&mut self, from: usize, to: usize) -> &mut [u8] {
        self.bytes.get_mut(from..to).unwrap_or_default()
    }

    /// Octets up to where reading ends.
    pub(crate) fn len(&self) -> usize {
        self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::limits::CHUNK_BYTES;

    #[test]
    fn reads_go_to_a_page_and_the_head_lies_right_before_it() {
        let mut buffer = ReadBuffer::default();
        let (start, filled) = buffer.prepare(b"head", CHUNK_BYTES);
        assert_eq!(filled - start, 4);
        assert_eq!(buffer.span(start, filled), b"head");
        assert!(buffer.span(filled, buffer.len()).len() >= CHUNK_BYTES);
        assert_eq!(buffer.span(filled, buffer.len()).as_ptr().align_offset(PAGE_BYTES), 0);
    }

    #[test]
    fn a_buffer_is_kept_while_it_fits_and_given_back_after_a_huge_record() {
        let mut buffer = ReadBuffer::default();
        buffer.prepare(b"", CHUNK_BYTES);
        let ordinary = buffer.bytes.len();
        buffer.prepare(&[7; 300_000], 10 << 20);
        assert!(buffer.len() > 10 << 20);
        buffer.prepare(b"x", CHUNK_BYTES);
        assert!(buffer.bytes.len() <= ordinary + PAGE_BYTES);
    }

    #[test]
    fn growing_keeps_what_was_read() {
        let mut buffer = ReadBuffer::default();
        let (start, filled) = buffer.prepare(b"0123", CHUNK_BYTES);
        let (start, filled) = buffer.grow(start, filled, 5 << 20);
        assert_eq!(buffer.span(start, filled), b"0123");
        assert!(buffer.span(start, buffer.len()).len() >= 5 << 20);
    }
}

//! Options of blocks.

use crate::capture::byte_order::ByteOrder;
use crate::capture::pcapng::{TRAILER, padded};

/// Octets of an option without a value.
const LEAST_OPTION: usize = 4;
/// `opt_endofopt`.
const END: u16 = 0;
/// `opt_comment`.
pub(super) const COMMENT: u16 = 1;
/// Most octets of a comment: what the length field of an option holds, and its padding.
pub(super) const MAX_COMMENT: usize = 65_532;

/// A block with comments after the options that it has, which begin at octet `at`; `None` where its options contradict their lengths.
pub(super) fn with_comments(order: ByteOrder, block: &[u8], at: usize, comments: &[String]) -> Option<Vec<u8>> {
    let end = block.len().checked_sub(TRAILER)?;
    let mut last = at;
    while last < end {
        let (code, length) = (order.u16_at(block, last)?, order.u16_at(block, last + 2)?);
        if code == END {
            break;
        }
        last += LEAST_OPTION + padded(usize::from(length));
    }
    let mut new = block.get(..last).filter(|_| last <= end)?.to_vec();
    for comment in comments {
        add(&mut new, order, COMMENT, cut(comment, MAX_COMMENT).as_bytes());
    }
    close(&mut new, 0, order);
    Some(new)
}

/// The beginning of a text, at most `most` octets, ending between characters.
pub(super) fn cut(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// Adds an option, or a record of name resolution, which has the same form.
pub(super) fn add(block: &mut Vec<u8>, order: ByteOrder, code: u16, value: &[u8]) {
    let length = u16::try_from(value.len()).unwrap_or(u16::MAX);
    put_u16(block, order, code);
    put_u16(block, order, length);
    block.extend_from_slice(value.get(..usize::from(length)).unwrap_or_default());
    block.resize(padded(block.len()), 0);
}

/// Ends the options of the block that begins at `begin`, and states its length at both ends.
pub(super) fn close(bytes: &mut Vec<u8>, begin: usize, order: ByteOrder) {
    put_u32(bytes, order, u32::from(END));
    let length = (bytes.len() + TRAILER - begin) as u32;
    put_u32(bytes, order, length);
    let stated = match order {
        ByteOrder::Little => length.to_le_bytes(),
        ByteOrder::Big => length.to_be_bytes(),
    };
    if let Some(place) = bytes.get_mut(begin + 4..begin + 8) {
        place.copy_from_slice(&stated);
    }
}

pub(super) fn put_u16(to: &mut Vec<u8>, order: ByteOrder, value: u16) {
    to.extend(match order {
        ByteOrder::Little => value.to_le_bytes(),
        ByteOrder::Big => value.to_be_bytes(),
    });
}

pub(super) fn put_u32(to: &mut Vec<u8>, order: ByteOrder, value: u32) {
    to.extend(match order {
        ByteOrder::Little => value.to_le_bytes(),
        ByteOrder::Big => value.to_be_bytes(),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: [u8; 12] = [5, 0, 0, 0, 12, 0, 0, 0, 12, 0, 0, 0];

    #[test]
    fn a_comment_follows_the_options_that_are_there() {
        let once = with_comments(ByteOrder::Little, &BLOCK, 8, &["one".into()]).expect("sound options");
        assert_eq!(once.len(), 12 + 8 + 4);
        assert_eq!(once[4], 24);
        assert_eq!(&once[8..16], [1, 0, 3, 0, b'o', b'n', b'e', 0]);
        let twice = with_comments(ByteOrder::Little, &once, 8, &["more".into()]).expect("sound options");
        assert_eq!(&twice[8..24], [&once[8..16], &[1, 0, 4, 0], b"more"].concat());
        assert_eq!(twice[twice.len() - 4], twice.len() as u8);
    }

    #[test]
    fn options_that_contradict_their_length_are_left_alone() {
        let mut once = with_comments(ByteOrder::Little, &BLOCK, 8, &["one".into()]).expect("sound options");
        once[10] = 60;
        assert_eq!(with_comments(ByteOrder::Little, &once, 8, &["more".into()]), None);
    }

    #[test]
    fn a_long_comment_is_cut_between_characters() {
        assert_eq!(cut("aé", 2), "a");
        let long = "é".repeat(40_000);
        let new = with_comments(ByteOrder::Big, &BLOCK.map(|b| b), 8, &[long]);
        assert!(new.is_some_and(|new| new.len() < 65_560));
    }
}

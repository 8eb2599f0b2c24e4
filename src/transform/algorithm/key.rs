//! Key lengths that an algorithm takes.

/// Which key lengths an algorithm takes, in bits, without a salt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyLengths {
    /// It has no key.
    None,
    /// One of these.
    OneOf(&'static [u32]),
    /// Any multiple of eight from the first to the second.
    Between(u32, u32),
    /// Not known to us: nothing is said about keys.
    Unknown,
}

impl KeyLengths {
    /// Whether a key of this many bits is one the algorithm takes; `None` where nobody knows.
    #[must_use]
    pub fn accept(self, bits: u32) -> Option<bool> {
        match self {
            Self::None => Some(bits == 0),
            Self::OneOf(lengths) => Some(lengths.contains(&bits)),
            Self::Between(least, most) => Some(bits.is_multiple_of(8) && (least..=most).contains(&bits)),
            Self::Unknown => None,
        }
    }

    /// Whether there is a choice, so that a name without a length leaves something open.
    #[must_use]
    pub const fn has_choice(self) -> bool {
        match self {
            Self::OneOf(lengths) => lengths.len() > 1,
            Self::Between(..) => true,
            Self::None | Self::Unknown => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_accepted_or_not() {
        assert_eq!(KeyLengths::None.accept(0), Some(true));
        assert_eq!(KeyLengths::None.accept(8), Some(false));
        assert_eq!(KeyLengths::OneOf(&[128, 256]).accept(192), Some(false));
        assert_eq!(KeyLengths::Between(40, 448).accept(448), Some(true));
        assert_eq!(KeyLengths::Between(40, 448).accept(41), Some(false));
        assert_eq!(KeyLengths::Unknown.accept(1), None);
    }
}

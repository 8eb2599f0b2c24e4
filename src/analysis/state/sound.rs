//! Whether the figures of a state that was read from a file can be figures at all.
//!
//! A digest tells a damaged state, not one that somebody made up. Made-up figures cannot be told from others, but ones that no
//! capture makes can: with all counts below 2^56 and all sequence numbers within 2^48, sums of thousands of states
//! stay in their words. A field for which every value is one says so itself ([`crate::model::all_bits`]); a field that says nothing is a figure.

use serde::ser::{self, Serialize, Serializer};

use crate::model::ALL_BITS;

/// Counts from here on are none: 2^56 octets take a year on a link of 18 Tbit/s.
const MOST: u64 = 1 << 56;
/// Sequence numbers from here on are none, either way: 2^48 is 65,536 times around.
const FURTHEST: u64 = 1 << 48;

/// What is wrong with a state.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub(in crate::analysis) struct Unsound(String);

impl ser::Error for Unsound {
    fn custom<T: std::fmt::Display>(what: T) -> Self {
        Self(what.to_string())
    }
}

/// Walks over everything that a state is written as; no name of a type or field decides anything.
pub(in crate::analysis) fn check(state: &impl Serialize) -> Result<(), Unsound> {
    state.serialize(Figures)
}

/// The walk; it keeps nothing.
#[derive(Clone, Copy)]
struct Figures;

macro_rules! fine {
    ($($name:ident($kind:ty))*) => {
        $(fn $name(self, _: $kind) -> Result<(), Unsound> {
            Ok(())
        })*
    };
}

impl Serializer for Figures {
    type Ok = ();
    type Error = Unsound;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    fine! {
        serialize_bool(bool)
        serialize_i8(i8)
        serialize_i16(i16)
        serialize_i32(i32)
        serialize_i128(i128)
        serialize_u8(u8)
        serialize_u16(u16)
        serialize_u32(u32)
        serialize_u128(u128)
        serialize_f32(f32)
        serialize_f64(f64)
        serialize_char(char)
        serialize_str(&str)
        serialize_bytes(&[u8])
    }

    fn serialize_u64(self, figure: u64) -> Result<(), Unsound> {
        if figure < MOST {
            Ok(())
        } else {
            Err(Unsound(format!("{figure} is a count in it, and no capture makes that")))
        }
    }

    fn serialize_i64(self, figure: i64) -> Result<(), Unsound> {
        if figure.unsigned_abs() < FURTHEST {
            return Ok(());
        }
        Err(Unsound(format!("{figure} is a sequence number in it, and no capture makes that")))
    }

    fn serialize_none(self) -> Result<(), Unsound> {
        Ok(())
    }

    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> Result<(), Unsound> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Unsound> {
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Unsound> {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Result<(), Unsound> {
        Ok(())
    }

    fn serialize_newtype_struct<T: ?Sized + Serialize>(self, name: &'static str, value: &T) -> Result<(), Unsound> {
        if name == ALL_BITS { Ok(()) } else { value.serialize(self) }
    }

    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), Unsound> {
        value.serialize(self)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self, Unsound> {
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, Unsound> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Unsound> {
        Ok(self)
    }

    fn serialize_tuple_variant(self, _: &'static str, _: u32, _: &'static str, _: usize) -> Result<Self, Unsound> {
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self, Unsound> {
        Ok(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Unsound> {
        Ok(self)
    }

    fn serialize_struct_variant(self, _: &'static str, _: u32, _: &'static str, _: usize) -> Result<Self, Unsound> {
        Ok(self)
    }
}

macro_rules! elements {
    ($($kind:ident::$name:ident)*) => {
        $(impl ser::$kind for Figures {
            type Ok = ();
            type Error = Unsound;

            fn $name<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), Unsound> {
                value.serialize(*self)
            }

            fn end(self) -> Result<(), Unsound> {
                Ok(())
            }
        })*
    };
}

elements! {
    SerializeSeq::serialize_element
    SerializeTuple::serialize_element
    SerializeTupleStruct::serialize_field
    SerializeTupleVariant::serialize_field
}

impl ser::SerializeMap for Figures {
    type Ok = ();
    type Error = Unsound;

    /// Keys are names, and numbers of time bins.
    fn serialize_key<T: ?Sized + Serialize>(&mut self, _: &T) -> Result<(), Unsound> {
        Ok(())
    }

    fn serialize_value<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), Unsound> {
        value.serialize(*self)
    }

    fn end(self) -> Result<(), Unsound> {
        Ok(())
    }
}

macro_rules! members {
    ($($kind:ident)*) => {
        $(impl ser::$kind for Figures {
            type Ok = ();
            type Error = Unsound;

            fn serialize_field<T: ?Sized + Serialize>(&mut self, _: &'static str, value: &T) -> Result<(), Unsound> {
                value.serialize(*self)
            }

            fn end(self) -> Result<(), Unsound> {
                Ok(())
            }
        })*
    };
}

members! { SerializeStruct SerializeStructVariant }

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::model::{FramePos, Timestamp};

    #[test]
    fn what_no_capture_makes_is_refused() {
        assert_eq!(check(&(MOST - 1, -(1_i64 << 47), u32::MAX)), Ok(()));
        assert!(check(&vec![Some(MOST)]).unwrap_err().to_string().contains("72057594037927936 is a count"));
        assert!(check(&BTreeMap::from([(0, i64::MIN)])).unwrap_err().to_string().contains("sequence number"));
        assert_eq!(check(&(FramePos::new(u32::MAX, u64::MAX), Timestamp::UNKNOWN)), Ok(()));
    }
}

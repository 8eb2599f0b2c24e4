//! What a cell of a table holds.

use std::borrow::Cow;
use std::fmt::Write;

use serde::{Serialize, Serializer};

use crate::model::report::{FrameRef, Name, Rfc3339};
use crate::report::words::escape;

/// What a cell holds; a table that has none of it leaves the cell empty.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::report) enum Value<'r> {
    Absent,
    Text(Cow<'r, str>),
    Time(Rfc3339),
    List(Vec<Cow<'r, str>>),
    Integer(i128),
    Real(f64),
    /// A number that always has a fraction: `140.0`.
    Fraction(f64),
    Truth(bool),
}

impl<'r> Value<'r> {
    /// What is written in a word of a list, an address or a number in words.
    pub(super) fn shown(value: impl std::fmt::Display) -> Self {
        Self::Text(value.to_string().into())
    }

    /// Texts that were made for the cell.
    pub(super) fn made(texts: impl Iterator<Item = String>) -> Self {
        Self::List(texts.map(Cow::Owned).collect())
    }

    /// The texts of a list.
    pub(super) fn texts<S: AsRef<str>>(texts: &'r [S]) -> Self {
        Self::List(texts.iter().map(|text| Cow::Borrowed(text.as_ref())).collect())
    }

    /// The capture of a frame.
    pub(super) fn capture(frame: impl Into<Option<FrameRef>>) -> Self {
        frame.into().map(|frame| frame.capture).into()
    }

    /// The number of a frame.
    pub(super) fn frame(frame: impl Into<Option<FrameRef>>) -> Self {
        frame.into().map(|frame| frame.frame).into()
    }

    /// Writes it at the end of a cell of CSV.
    pub(super) fn show(&self, cell: &mut String) {
        match self {
            Self::Absent => {}
            Self::Text(text) => cell.push_str(&escape::cell(text)),
            Self::Time(time) => cell.push_str(&escape::cell(&time.to_string())),
            Self::List(texts) => {
                // Each is a cell of its own where a semicolon separates cells.
                let cells: Vec<_> = texts.iter().map(|text| escape::cell(text)).collect();
                cell.push_str(&escape::cell(&cells.join(";")));
            }
            Self::Integer(number) => cell.push_str(itoa::Buffer::new().format(*number)),
            // Writing to a String cannot fail.
            Self::Real(number) if number.is_finite() => drop(write!(cell, "{number}")),
            Self::Fraction(number) if number.is_finite() => drop(write!(cell, "{number:?}")),
            Self::Real(_) | Self::Fraction(_) => {}
            Self::Truth(yes) => cell.push_str(if *yes { "true" } else { "false" }),
        }
    }
}

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Absent => serializer.serialize_none(),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Time(time) => time.serialize(serializer),
            Self::List(texts) => texts.serialize(serializer),
            Self::Integer(number) => number.serialize(serializer),
            Self::Real(number) | Self::Fraction(number) => serializer.serialize_f64(*number),
            Self::Truth(yes) => serializer.serialize_bool(*yes),
        }
    }
}

impl<'r> From<&'r str> for Value<'r> {
    fn from(text: &'r str) -> Self {
        Self::Text(text.into())
    }
}

impl<'r> From<&'r String> for Value<'r> {
    fn from(text: &'r String) -> Self {
        Self::Text(text.into())
    }
}

impl<'r> From<&'r Name> for Value<'r> {
    fn from(name: &'r Name) -> Self {
        Self::Text(Cow::Borrowed(name))
    }
}

impl From<Rfc3339> for Value<'_> {
    fn from(time: Rfc3339) -> Self {
        Self::Time(time)
    }
}

impl From<f64> for Value<'_> {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}

impl From<bool> for Value<'_> {
    fn from(yes: bool) -> Self {
        Self::Truth(yes)
    }
}

macro_rules! integers {
    ($($integer:ty)*) => {
        $(impl From<$integer> for Value<'_> {
            fn from(number: $integer) -> Self {
                Self::Integer(number.into())
            }
        })*
    };
}

integers! { u8 u16 u32 u64 i64 }

impl<'r, T: Into<Value<'r>>> From<Option<T>> for Value<'r> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Absent, Into::into)
    }
}

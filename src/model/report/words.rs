//! Values of a report that are written in words.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::de::{self, Deserializer};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

use crate::model::Timestamp;

/// The name of a tap or a transform, the id of an SA: many rows share one.
pub type Name = Arc<str>;

/// Something small that is written in words, made when they are needed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shown<T>(pub T);

impl<T: fmt::Display> fmt::Display for Shown<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: fmt::Display> Serialize for Shown<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de, T: FromStr<Err: fmt::Display>> Deserialize<'de> for Shown<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let words = Cow::<'de, str>::deserialize(deserializer)?;
        words.parse().map(Self).map_err(|error| de::Error::custom(format_args!("{words:?}: {error}")))
    }
}

/// A moment in nanoseconds since the Unix epoch, written as RFC 3339 in UTC with nine digits.
///
/// A report of many SAs has many of them, and the words are five times as long as the number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Rfc3339(pub i64);

impl fmt::Display for Rfc3339 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Every 64-bit count of nanoseconds lies within the years that jiff knows.
        match jiff::Timestamp::from_nanosecond(i128::from(self.0)) {
            Ok(moment) => write!(f, "{moment:.9}"),
            Err(_) => write!(f, "{} ns", self.0),
        }
    }
}

impl Serialize for Rfc3339 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Rfc3339 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let words = Cow::<'de, str>::deserialize(deserializer)?;
        let moment: jiff::Timestamp =
            words.parse().map_err(|error| de::Error::custom(format_args!("{words:?}: {error}")))?;
        i64::try_from(moment.as_nanosecond()).map(Self).map_err(de::Error::custom)
    }
}

/// A moment that is written twice, as `time` in words and as `time_ns`; both null where it is unknown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct When(pub Timestamp);

impl Serialize for When {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("When", 2)?;
        fields.serialize_field("time", &self.0.ns().map(Rfc3339))?;
        fields.serialize_field("time_ns", &self.0.ns())?;
        fields.end()
    }
}

impl<'de> Deserialize<'de> for When {
    /// The integer alone counts: `time` says the same in words.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Written {
            time_ns: Option<i64>,
        }
        let Written { time_ns } = Written::deserialize(deserializer)?;
        Ok(Self(time_ns.map_or(Timestamp::UNKNOWN, Timestamp::from_ns)))
    }
}

//! Numbers that are no counts: every value of the word is one.

use serde::{Serialize, Serializer};

/// The name under which [`all_bits`] writes.
pub(crate) const ALL_BITS: &str = "all bits";

/// Writes a field of a state that uses all bits of its word, or holds a time: `#[serde(serialize_with = "all_bits")]`. Whoever reads a
/// state takes no such value for a count that no capture makes; all arithmetic with it saturates. The bytes are those of the value alone.
///
/// # Errors
/// Whatever the serializer fails with.
pub(crate) fn all_bits<T: Serialize + ?Sized, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_newtype_struct(ALL_BITS, value)
}

//! Session keys of two entries beside each other.

use crate::model::Protocol;
use crate::policy::facts::router::SessionKey;
use crate::policy::{MapEntry, Secret};

/// The session key of a direction.
pub(in crate::policy::lint) fn key(entry: &MapEntry, protocol: Protocol, inbound: bool) -> Option<&SessionKey> {
    entry.keys.iter().find(|key| key.protocol == protocol && key.inbound == inbound)
}

/// The session key that a later line of the same direction word replaced, where the other direction has none: one of the two words is
/// the wrong one.
pub(in crate::policy::lint) fn doubled(entry: &MapEntry, protocol: Protocol) -> Option<&SessionKey> {
    let (inbound, outbound) = (key(entry, protocol, true), key(entry, protocol, false));
    let one = inbound.is_some() != outbound.is_some();
    let same = |old: &&SessionKey| old.protocol == protocol && old.inbound == inbound.is_some();
    entry.replaced.iter().rev().find(|old| one && same(old))
}

/// Whether two keys can be compared and differ.
pub(super) fn differ(a: Option<&Secret>, b: Option<&Secret>) -> bool {
    a.zip(b).is_some_and(|(a, b)| a.differs(b))
}

pub(super) fn keys_differ(a: &SessionKey, b: &SessionKey) -> bool {
    differ(a.cipher.as_ref(), b.cipher.as_ref()) || differ(a.authenticator.as_ref(), b.authenticator.as_ref())
}

/// Whether two lines have the same keys, and can be compared in at least one.
pub(super) fn same_keys(a: &SessionKey, b: &SessionKey) -> bool {
    let readable = |key: &SessionKey| [&key.cipher, &key.authenticator].into_iter().flatten().any(Secret::comparable);
    readable(a) && readable(b) && !keys_differ(a, b)
}

/// How many keys two lines have in common.
pub(super) fn keys_in_common(a: &SessionKey, b: &SessionKey) -> usize {
    let same = |a: &Option<Secret>, b: &Option<Secret>| {
        a.as_ref().zip(b.as_ref()).is_some_and(|(a, b)| a.comparable() && b.comparable() && a == b)
    };
    usize::from(same(&a.cipher, &b.cipher)) + usize::from(same(&a.authenticator, &b.authenticator))
}

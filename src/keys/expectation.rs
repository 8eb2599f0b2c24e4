//! What should be on the wire, as a setting of an analysis.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::keys::Locks;
use crate::model::{Protocol, SaKey};
use crate::policy::{Policies, Stated, digest_of};

/// Policies to compare with, or none. They are used when a report is made; in a state only their keys show: the packets of SAs that have
/// one are checked and decrypted. A state file holds a digest of them, into which no key enters (but which keys there are, and
/// which statements agree), and never the policies themselves: merging asks for them again.
#[derive(Clone, Debug, Default)]
pub struct Expectation {
    policies: Option<Arc<Policies>>,
    locks: Arc<Locks>,
    /// The SAs that they state with both ends, where there are policies.
    stated: Option<Arc<BTreeSet<SaKey>>>,
    digest: u128,
}

impl Expectation {
    /// The policies to compare with; `None` where none were given, or only their digest is known.
    #[must_use]
    pub fn policies(&self) -> Option<&Policies> {
        self.policies.as_deref()
    }

    /// What of the policies was left out by a limit of their readers.
    pub(crate) fn left_out(&self) -> Vec<String> {
        self.policies().map(Policies::left_out).unwrap_or_default()
    }

    /// The keys that the policies state.
    pub(crate) const fn locks(&self) -> &Arc<Locks> {
        &self.locks
    }

    /// Whether an SA is wrong as such, or may be: its SPI is none that may be sent, or the policies do not state it.
    pub(crate) fn is_suspect(&self, sa: &SaKey) -> bool {
        let unsendable = sa.spi.is_zero() || sa.spi.is_reserved();
        sa.protocol != Protocol::IpComp
            && (unsendable || self.stated.as_ref().is_some_and(|stated| !stated.contains(sa)))
    }

    /// Whether policies were given when the state was made that are not here now.
    #[must_use]
    pub const fn is_absent(&self) -> bool {
        self.policies.is_none() && self.digest != 0
    }
}

impl From<Arc<Policies>> for Expectation {
    fn from(policies: Arc<Policies>) -> Self {
        let locks = Arc::new(Locks::of_policies(&policies));
        let digest = digest_of(&(policies.digest(), locks.outline()));
        let stated = Arc::new(policies.view().stated.iter().filter_map(Stated::key).collect());
        Self { policies: Some(policies), locks, stated: Some(stated), digest }
    }
}

impl PartialEq for Expectation {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl Serialize for Expectation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.digest.to_le_bytes().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Expectation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let digest = u128::from_le_bytes(<[u8; 16]>::deserialize(deserializer)?);
        Ok(Self { digest, ..Self::default() })
    }
}

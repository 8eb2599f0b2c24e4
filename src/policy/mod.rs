//! What should be on the wire: SAs and configurations as routers, systems and people state them.
//!
//! [`Policies::read`] takes pasted text as it comes: spiglass's own list, Cisco IOS configurations and `show crypto ipsec sa`,
//! `ip xfrm state` and `ip xfrm policy`, `swanctl --list-sas`, Wireshark's `esp_sa`, several of them and several routers in one
//! text. Content decides. Every fact keeps its line, and every line that says something wrongly is told with its number.
//!
//! Keys are compared and measured, never shown ([`Secret`]).

#![expect(
    clippy::arithmetic_side_effects,
    reason = "counts of lines and words of inputs of at most 16 MiB; key lengths come from the catalogue"
)]

mod apart;
mod esp_sa;
mod facts;
mod fix;
mod form;
pub mod limits;
mod lint;
mod names;
mod problem;
mod read;
mod words;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;
use twox_hash::XxHash3_128;

pub use crate::policy::facts::cite::Cite;
pub use crate::policy::facts::counted::{Counters, Flow};
pub use crate::policy::facts::forwarding::{Forwarding, NatList, Port, Route};
pub use crate::policy::facts::router::{
    Acl, Denied, Display, IkeKey, IkePolicy, InForce, Installed, Interface, Keying, LinkSa, MapEntry, Mode, Numbering,
    Quoted, Router, SessionKey, TransformSet, Way,
};
pub use crate::policy::facts::secret::Secret;
pub use crate::policy::facts::selector::{Net, Selector};
pub use crate::policy::facts::slip::slip;
pub use crate::policy::facts::stated::{Basis, Stated, View};
pub use crate::policy::read::xfrm::{Direction, Drops, Encap, KernelState, Mark, Template, XfrmPolicy};
pub use esp_sa::{EspSaTable, esp_sa};
pub use fix::retyped;
pub use lint::lint;
pub use problem::{Problem, config_line};

use crate::policy::facts::builder::Builder;

/// What was read of all inputs.
#[derive(Clone, Debug, Default)]
pub struct Policies {
    /// The routers, in order of first mention.
    pub routers: Vec<Router>,
    /// What was understood and skipped, input by input.
    pub files: Vec<Understood>,
    digest: u128,
}

/// A digest of statements as postcard writes them: the same for equal ones, whatever types and members are called.
///
/// Keys write nothing, so nothing of them is in it. Statements in memory cannot fail to be written.
pub(crate) fn digest_of(statements: &impl Serialize) -> u128 {
    XxHash3_128::oneshot(&postcard::to_stdvec(statements).unwrap_or_default())
}

/// What the inputs tell. Of hosts in `apart`, each input tells of one of its own.
fn gathered(inputs: &[(String, Vec<u8>)], apart: BTreeSet<String>) -> Builder {
    let mut builder = Builder::reading_apart(apart);
    for (name, text) in inputs {
        builder.begin(name);
        let text = form::decode(text);
        let within = text.get(..limits::MAX_OCTETS).unwrap_or(&text);
        if crate::policy::read::list::is_one(within) {
            crate::policy::read::list::read(within, &mut builder);
        } else {
            crate::policy::form::paste::read(within, &mut builder);
        }
        if within.len() < text.len() {
            builder.beyond(&format!("the input is longer than {} bytes; the rest is left out", limits::MAX_OCTETS));
        }
    }
    builder
}

/// What was made of one input.
#[derive(Clone, Debug, Default)]
pub struct Understood {
    /// The input as it was named.
    pub name: Arc<str>,
    /// Its lines.
    pub lines: u32,
    /// Lines that were understood.
    pub understood: u32,
    /// Lines that were skipped.
    pub skipped_lines: u32,
    /// Where they are: first and last line of each stretch, the first thousand.
    pub skipped: Vec<(u32, u32)>,
    /// Whether it tells of an SA, a crypto map, a transform set or what goes into a tunnel.
    pub tells: bool,
    /// Lines that were skipped although they have words of IPsec in them.
    pub unread_lines: u32,
    /// Where they are: first and last line of each stretch, the first thousand.
    pub unread: Vec<(u32, u32)>,
    /// Lines that say something wrongly.
    pub remarks: Vec<Remark>,
    /// How many further remarks there are.
    pub more_remarks: u32,
    /// Limits of the readers that were reached, each a clause without a full stop.
    pub left_out: Vec<String>,
}

/// What is wrong with a line. It never quotes the line, which may hold a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remark {
    /// Line number, from 1.
    pub line: u32,
    /// What is wrong, a clause without a full stop.
    pub what: String,
}

impl Policies {
    /// Reads inputs, each with the name that messages call it. Nothing fails: what cannot be read is told in `files`.
    #[must_use]
    pub fn read(inputs: &[(String, Vec<u8>)]) -> Self {
        let mut builder = gathered(inputs, BTreeSet::new());
        let repeated = builder.repeated();
        if !repeated.is_empty() {
            let apart = apart::contradictory(&gathered(inputs, repeated));
            if !apart.is_empty() {
                builder = gathered(inputs, apart);
            }
        }
        apart::both_ends(&mut builder);
        let (mut routers, files) = builder.finish();
        routers.iter_mut().for_each(crate::policy::read::cisco::expand);
        routers.iter_mut().for_each(crate::policy::read::cisco::protected_tunnels);
        let digest = digest_of(&routers);
        Self { routers, files, digest }
    }

    /// What of the inputs was left out because a limit of the readers was reached, in words: what a report compares is then not all
    /// that should be on the wire.
    #[must_use]
    pub fn left_out(&self) -> Vec<String> {
        let of =
            |file: &Understood| file.left_out.iter().map(|what| format!("{}: {what}", file.name)).collect::<Vec<_>>();
        self.files.iter().flat_map(of).collect()
    }

    /// Tells two sets of policies apart, keys aside: of keys nothing enters it, so that nothing of them can be guessed from it.
    #[must_use]
    pub const fn digest(&self) -> u128 {
        self.digest
    }
}

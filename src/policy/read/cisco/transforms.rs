//! Transform sets and the profiles that name them.

use super::map;
use crate::policy::facts::builder::Builder;
use crate::policy::facts::redact;
use crate::policy::facts::router::{Mode, TransformSet};
use crate::policy::form::paste::Read;
use crate::transform::Suite;

/// `crypto ipsec transform-set NAME TRANSFORMS`.
pub(super) fn begin(name: &str, listed: &[&str], builder: &mut Builder) -> Read {
    // What stands behind the transforms may be another command, with a key.
    let known = redact::transforms(listed);
    let words = known.join(" ");
    let cite = builder.cite_made(format!("crypto ipsec transform-set {name} {words}").trim_end());
    if known.len() < listed.len() {
        builder.wrong("a transform set has words that are no transforms, so it is compared with none");
        if let Some(router) = builder.router() {
            router.forwarding.vague_sets.insert(name.to_owned());
            router.transform_sets.remove(name);
        }
        return Read::Understood;
    } else if let Err(error) = words.parse::<Suite>() {
        builder.wrong(&format!("the transform set is not understood: {error}"));
    }
    if let Some(router) = builder.router() {
        router.transform_sets.insert(name.to_owned(), TransformSet { words, mode: None, cite, cut: false });
    }
    Read::Understood
}

/// A line below a transform set.
pub(super) fn line(name: &str, words: &[&str], builder: &mut Builder) -> Read {
    let mode = match words {
        ["mode", "tunnel", ..] => Mode::Tunnel,
        ["mode", "transport", ..] => Mode::Transport,
        _ => return Read::Foreign,
    };
    let cite = builder.cite_made(&format!("mode {}", mode.name()));
    if let Some(set) = builder.router().and_then(|router| router.transform_sets.get_mut(name)) {
        set.mode = Some((mode, cite));
    }
    Read::Understood
}

/// A line below a profile.
pub(super) fn profile(name: &str, words: &[&str], builder: &mut Builder) -> Read {
    match words {
        ["set", "transform-set", sets @ ..] => {
            let cite = map::sets_cite(sets, builder);
            if let Some(profile) = builder.router().and_then(|router| router.profiles.get_mut(name)) {
                profile.extend(redact::names(sets).iter().map(|set| ((*set).to_owned(), cite.clone())));
            }
            Read::Understood
        }
        ["set", "ikev2-profile", named] => {
            let cite = builder.cite(&format!("set ikev2-profile {named}"));
            if let Some(router) = builder.router() {
                router.forwarding.ikev2_profiles.insert(name.to_owned(), cite);
            }
            Read::Understood
        }
        ["no", "set", "ikev2-profile", ..] => {
            if let Some(router) = builder.router() {
                router.forwarding.ikev2_profiles.remove(name);
            }
            Read::Understood
        }
        ["set", "isakmp-profile", ..] => {
            super::ike::keyrings(builder);
            Read::Understood
        }
        ["set", "pfs", ..] => {
            builder.wrong(map::PFS);
            Read::Understood
        }
        ["set", ..] => Read::Understood,
        _ => Read::Foreign,
    }
}

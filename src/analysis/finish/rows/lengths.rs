//! The lengths of transforms as numbers, beside their names.

use std::sync::Arc;

use crate::model::report::{Name, TransformReport};
use crate::transform::Suite;

/// Block, IV and ICV of ESP, in octets.
type Lengths = (Option<u32>, Option<u32>, Option<u32>);

/// Fills the lengths in. Transforms one after the other that share a name and candidates are looked up once.
pub(in crate::analysis) fn fill<'t>(transforms: impl IntoIterator<Item = &'t mut TransformReport>) {
    let mut last: Option<(Option<Name>, Arc<[Name]>, Lengths)> = None;
    for transform in transforms {
        let known = last
            .as_ref()
            .filter(|(name, candidates, _)| *name == transform.name && Arc::ptr_eq(candidates, &transform.candidates));
        let found = match known {
            Some((_, _, lengths)) => *lengths,
            None => lengths(transform),
        };
        (transform.block_bytes, transform.iv_bytes, transform.icv_bytes) = found;
        last = Some((transform.name.clone(), Arc::clone(&transform.candidates), found));
    }
}

/// Of the transform that the name names, else what all candidates have in common.
fn lengths(transform: &TransformReport) -> Lengths {
    if let Some(one) = transform.name.as_deref().and_then(of) {
        return (Some(one.0), Some(one.1), Some(one.2));
    }
    let all: Option<Vec<(u32, u32, u32)>> = transform.candidates.iter().map(|name| of(name)).collect();
    let common = |pick: fn(&(u32, u32, u32)) -> u32| {
        let (first, rest) = all.as_deref()?.split_first()?;
        rest.iter().all(|other| pick(other) == pick(first)).then(|| pick(first))
    };
    (common(|one| one.0), common(|one| one.1), common(|one| one.2))
}

/// Those of ESP by its name.
fn of(name: &str) -> Option<(u32, u32, u32)> {
    let suite: Suite = name.parse().ok()?;
    let esp = suite.esp.filter(|_| suite.ah.is_none())?;
    Some((esp.cipher.alignment, esp.cipher.iv, esp.icv()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(name: Option<&str>, candidates: &[&str]) -> Lengths {
        let candidates = candidates.iter().map(|name| Name::from(*name)).collect();
        let mut transform = TransformReport { name: name.map(Name::from), candidates, ..TransformReport::default() };
        fill([&mut transform]);
        (transform.block_bytes, transform.iv_bytes, transform.icv_bytes)
    }

    #[test]
    fn names_and_candidates_have_lengths() {
        assert_eq!(filled(Some("AES-128-CBC/HMAC-SHA1-96"), &[]), (Some(16), Some(16), Some(12)));
        let both = ["AES-CBC/HMAC-SHA1-96", "AES-CBC/HMAC-SHA-256-128"];
        assert_eq!(filled(Some("AES-CBC"), &both), (Some(16), Some(16), None));
        assert_eq!(filled(Some("a family"), &["no transform"]), (None, None, None));
        assert_eq!(filled(None, &[]), (None, None, None));
    }
}

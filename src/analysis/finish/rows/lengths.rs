//! The lengths of transforms as numbers, beside their names.

use std::sync::Arc;

use crate::model::report::{TransformBasis, TransformReport};
use crate::transform::Suite;

/// Block, IV and ICV of ESP, in octets.
type Lengths = (Option<u32>, Option<u32>, Option<u32>);

/// Fills the lengths in. Transforms one after the other that share a name and candidates are looked up once.
pub(crate) fn fill<'t>(transforms: impl IntoIterator<Item = &'t mut TransformReport>) {
    let mut last: Option<TransformReport> = None;
    for transform in transforms {
        let known = last.as_ref().filter(|last| {
            (last.basis, &last.name) == (transform.basis, &transform.name)
                && Arc::ptr_eq(&last.candidates, &transform.candidates)
        });
        (transform.block_bytes, transform.iv_bytes, transform.icv_bytes) = match known {
            Some(last) => (last.block_bytes, last.iv_bytes, last.icv_bytes),
            None => lengths(transform),
        };
        last = Some(transform.clone());
    }
}

/// Of a transform that is configured those of its name; else what all candidates have in common: the name of a family says less than it
/// would as the name of a transform.
fn lengths(transform: &TransformReport) -> Lengths {
    if transform.basis == TransformBasis::Expected || transform.candidates.is_empty() {
        let one = transform.name.as_deref().filter(|_| transform.basis == TransformBasis::Expected).and_then(of);
        return (one.map(|one| one.0), one.map(|one| one.1), one.map(|one| one.2));
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
    use crate::model::report::Name;

    fn filled(basis: TransformBasis, name: Option<&str>, candidates: &[&str]) -> Lengths {
        let candidates = candidates.iter().map(|name| Name::from(*name)).collect();
        let name = name.map(Name::from);
        let mut transform = TransformReport { basis, name, candidates, ..TransformReport::default() };
        fill([&mut transform]);
        (transform.block_bytes, transform.iv_bytes, transform.icv_bytes)
    }

    #[test]
    fn names_and_candidates_have_lengths() {
        use TransformBasis::{Expected, Inferred, Unknown};
        assert_eq!(filled(Expected, Some("AES-128-CBC/HMAC-SHA1-96"), &[]), (Some(16), Some(16), Some(12)));
        let both = ["AES-CBC/HMAC-SHA1-96", "AES-CBC/HMAC-SHA2-256-128"];
        assert_eq!(filled(Inferred, Some("AES-CBC"), &both), (Some(16), Some(16), None), "the ICV is open");
        assert_eq!(filled(Inferred, Some("AES-CBC"), &["no transform"]), (None, None, None));
        assert_eq!(filled(Inferred, Some("AES-CBC"), &[]), (None, None, None), "a family is no transform");
        assert_eq!(filled(Unknown, None, &[]), (None, None, None));
    }
}

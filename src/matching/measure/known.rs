//! What pairs say about the transform of an SA.

use std::sync::Arc;

use super::tally::SaTally;
use crate::matching::TunnelKey;
use crate::matching::packets::mapping::{Inside, consistent};
use crate::model::Protocol;
use crate::model::report::{Name, SaMode, TransformBasis, TransformReport};
use crate::transform::inference::{Catalogue, Family, family_name};
use crate::transform::iv::IvPattern;

/// What the pairs of an SA say about its transform.
pub(in crate::matching) struct Known {
    pub(in crate::matching) report: TransformReport,
    pub(in crate::matching) mode: SaMode,
    /// The family, where all that fit agree on IV and ICV.
    pub(in crate::matching) family: Option<Family>,
    pub(in crate::matching) inside: Option<Inside>,
}

impl Known {
    pub(in crate::matching) fn of(sa: &SaTally, catalogue: &Catalogue, iv: IvPattern) -> Self {
        let Some(mapping) = sa.mapping.filter(|_| sa.sizes.iter().any(|(_, size)| size.esp.is_some())) else {
            return Self::visible(sa);
        };
        let lengths: Vec<(u32, u32)> =
            sa.sizes.iter().filter_map(|(inner, size)| Some((inner, size.esp.filter(|(a, b)| a == b)?.0))).collect();
        let distinct: Vec<u32> = lengths.iter().map(|(_, esp)| *esp).collect();
        let families = catalogue.families(&distinct, iv);
        let fitting = consistent(&lengths, &families, mapping.inside, mapping.floor);
        let first = fitting.first().copied();
        let same_cipher = first.is_some_and(|first| fitting.iter().all(|f| (f.block, f.iv) == (first.block, first.iv)));
        let same_icv = first.is_some_and(|first| fitting.iter().all(|f| f.icv == first.icv));
        let candidates: Vec<Name> = catalogue.members(&fitting).map(|esp| Name::from(esp.to_string())).collect();
        let name =
            first.filter(|_| same_cipher).map(|first| Name::from(family_name(first, same_icv.then_some(first.icv))));
        let evidence = format!(
            "{} {}, {}.",
            if fitting.len() == 1 {
                "one combination of block, IV and ICV fits".to_owned()
            } else {
                format!("{} combinations of block, IV and ICV fit", fitting.len())
            },
            if lengths.len() == 1 {
                "the ESP length of the one packet size".to_owned()
            } else {
                format!("the ESP lengths of all {} packet sizes", lengths.len())
            },
            mapping.inside.name(),
        );
        Self {
            report: TransformReport {
                basis: if first.is_some() { TransformBasis::Inferred } else { TransformBasis::Unknown },
                name,
                candidates: Arc::from(candidates),
                evidence: Some(evidence.into()),
                ..TransformReport::default()
            },
            mode: match mapping.inside {
                Inside::Packet | Inside::Tunnel(..) => SaMode::Tunnel,
                Inside::Gre(_) | Inside::Payload(_) => SaMode::Transport,
            },
            family: first.filter(|_| fitting.len() == 1),
            inside: Some(mapping.inside),
        }
    }

    /// Of what is in clear, headers say what it is.
    fn visible(sa: &SaTally) -> Self {
        let name = match sa.key {
            TunnelKey::Sa(key) if key.protocol == Protocol::Ah => sa
                .ah_bytes
                .map(|bytes| format!("AH, {}-bit ICV or with padding", u32::from(bytes.saturating_sub(12)) * 8)),
            TunnelKey::Sa(_) => None,
            TunnelKey::Bare(47, ..) => Some("GRE".to_owned()),
            TunnelKey::Bare(4 | 41, ..) => Some("IP in IP".to_owned()),
            TunnelKey::Bare(..) => None,
        };
        let basis = if sa.matched > 0 { TransformBasis::Visible } else { TransformBasis::Unknown };
        let mode = match sa.transport {
            Some(true) => SaMode::Transport,
            Some(false) => SaMode::Tunnel,
            None => SaMode::Unknown,
        };
        let report = TransformReport { basis, name: name.map(Name::from), ..TransformReport::default() };
        Self { report, mode, family: None, inside: None }
    }
}

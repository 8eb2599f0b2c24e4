//! Transforms that should no longer be used, where lengths and IVs leave no doubt.

use super::{Draft, Tap};
use crate::model::report::{Finding, Severity};

pub(crate) fn add(findings: &mut Vec<Finding>, tap: &Tap<'_>) {
    for sa in &tap.sas {
        let Some(known) = sa.inferred.as_ref().map(|inferred| &inferred.known) else { continue };
        if let (Some(why), Some(name)) = (known.inference.weak, &known.name) {
            let evidence = format!("{} It is {name}: {why}.", known.evidence);
            findings.push(Draft::new("weak-transform", evidence).about(tap, sa).severity(Severity::Note).done());
        }
    }
}

//! What is kept of all traffic: rates, sizes on the wire, fragments, flows, copies.

pub(crate) mod copies;
pub(in crate::analysis) mod flows;
pub(in crate::analysis) mod fragment_sums;
pub(in crate::analysis) mod fragments;
pub(in crate::analysis) mod notices;
pub(crate) mod padding;
pub(in crate::analysis) mod rates;
pub(in crate::analysis) mod totals;
pub(in crate::analysis) mod trains;

//! Rates made by hand.

use super::{A, B, START, direction, sa_id};
use crate::model::Protocol;
use crate::model::report::{DirectionRate, GoodputRange, LengthBasis, Peak, TimeBasis};

pub(super) fn rate(from: &str, to: &str) -> DirectionRate {
    DirectionRate {
        tap: "tunnel".into(),
        direction: direction(from, to),
        from: from.into(),
        to: to.into(),
        seconds: Some(15.02),
        frames: 127_519,
        frames_per_s: Some(8490.0),
        l1_bps: Some(10.73e6),
        l1_with_control_bps: Some(68.9e6),
        l2_bps: Some(9.3e6),
        l3_bps: Some(8.15e6),
        goodput_bps: Some(4.35e6),
        goodput_min_bps: None,
        goodput_max_bps: None,
        if_no_tfc: Some(GoodputRange { goodput_min_bps: Some(4.1e6), goodput_max_bps: Some(4.5e6) }),
        clear_bps: Some(0.0),
        control_l1_bps: Some(58.2e6),
        utilisation_pct: Some(68.9),
        peak: Some(Peak { start_ns: START, l1_bps: 11.0e6, frames_per_s: 8700.0 }),
        l1_basis: LengthBasis::Measured,
        basis: TimeBasis::CaptureClock,
        sas: vec![sa_id(Protocol::Esp, 1001)],
        sas_total: Some(1),
        endpoints: vec![direction(A, B)],
    }
}

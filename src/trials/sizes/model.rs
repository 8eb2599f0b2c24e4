//! The device: time per packet = t_fix + 8 x octets / R_alg (Tisovsky, equations 1 to 3), or what can be said of it.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::trials::{Figure, Fix, Limit, Model, OpenFigure, Reason, Slope, Throughput};
use crate::trials::figures::fit::{Line, line, median};

/// What a share of the longest time the size's part must be: five times the error of a search that ends at 2 %.
const PART: f64 = 0.1;
/// Error of a time that one trial gives.
const ERROR: f64 = 0.02;

/// What a line through times per packet says.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct DeviceLine {
    pub(crate) rms: f64,
    pub(crate) r_alg: Option<f64>,
    pub(crate) r_alg_at_least: Option<f64>,
    pub(crate) t_fix: Option<f64>,
    pub(crate) t_fix_at_most: Option<f64>,
    pub(crate) residual_pct: Vec<f64>,
    pub(crate) too_close: bool,
}

/// The model of times per packet in seconds by size in octets, sizes rising. `None` for fewer than two sizes.
pub(crate) fn fit(points: &[(f64, f64)]) -> Option<DeviceLine> {
    let Line { slope, intercept, rms, .. } = line(points)?;
    let (low, high) = (points.first()?.0, points.last()?.0);
    let span = high - low;
    let (far, near) = (intercept + slope * high, intercept + slope * low);
    let n = points.len() as f64;
    let mean = points.iter().map(|(x, _)| x).sum::<f64>() / n;
    let sxx: f64 = points.iter().map(|(x, _)| (x - mean).powi(2)).sum();
    let cut_error = rms * (1.0 / n + mean * mean / sxx).sqrt();
    let grows = high >= 2.0 * low && slope > 0.0 && slope * span >= (PART * far).max(3.0 * rms);
    let residual = |of: &dyn Fn(f64) -> f64| points.iter().map(|(x, t)| 100.0 * (t / of(*x) - 1.0)).collect();
    if grows {
        let fixed = intercept >= (PART * near).max(3.0 * cut_error);
        let at_most = intercept.max(0.0) + 2.0 * cut_error.max(ERROR * near);
        Some(DeviceLine {
            rms,
            r_alg: Some(8.0 / slope),
            r_alg_at_least: None,
            t_fix: fixed.then_some(intercept),
            t_fix_at_most: (!fixed).then_some(at_most),
            residual_pct: residual(&|x| intercept + slope * x),
            too_close: false,
        })
    } else {
        let middle = median(points.iter().map(|(_, t)| *t))?;
        let at_least = 8.0 * span / (slope.max(0.0) * span + 2.0 * rms.max(ERROR * far));
        Some(DeviceLine {
            rms,
            r_alg: None,
            r_alg_at_least: Some(at_least),
            t_fix: Some(middle),
            t_fix_at_most: None,
            residual_pct: residual(&|_| middle),
            too_close: high < 2.0 * low,
        })
    }
}

/// The model of each direction, of single sizes that the device limits.
pub(crate) fn models(table: &[Throughput]) -> Vec<Model> {
    let keys: BTreeSet<_> = table.iter().map(|t| (t.direction, t.ways)).collect();
    let mut keys: Vec<_> = keys.into_iter().collect();
    keys.sort_by_key(|(direction, ways)| (direction.name(), ways.name()));
    let of = |(direction, ways)| {
        let mut by: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for row in table.iter().filter(|t| (t.direction, t.ways) == (direction, ways) && t.limit == Some(Limit::Device))
        {
            if let (Ok(size), Some(fps)) = (row.size_class.parse(), row.service_fps) {
                by.entry(size).or_default().push(fps);
            }
        }
        let points: Vec<(f64, f64)> =
            by.iter().filter_map(|(size, fps)| Some((*size as f64, 1.0 / median(fps.iter().copied())?))).collect();
        let DeviceLine { rms, r_alg, r_alg_at_least, t_fix, t_fix_at_most, residual_pct, too_close } = fit(&points)?;
        let mut undetermined = Vec::new();
        if r_alg.is_none() {
            let reason = if too_close { Reason::SizesTooClose } else { Reason::SizeMakesNoDifference };
            undetermined.push(OpenFigure { figure: Figure::RAlg, reason });
        }
        if t_fix.is_none() {
            undetermined.push(OpenFigure { figure: Figure::TFix, reason: Reason::ZeroFits });
        }
        Some(Model {
            direction,
            ways,
            sizes: by.keys().copied().collect(),
            service_ns: points.iter().map(|(_, t)| 1e9 * t).collect(),
            rms_ns: 1e9 * rms,
            r_alg_bps: r_alg,
            r_alg_basis: if r_alg.is_some() { Slope::Determined } else { Slope::Undetermined },
            r_alg_at_least_bps: r_alg_at_least,
            t_fix_ns: t_fix.map(|t| 1e9 * t),
            t_fix_basis: match (r_alg, t_fix) {
                (None, _) => Fix::PerPacket,
                (Some(_), Some(_)) => Fix::Determined,
                (Some(_), None) => Fix::Undetermined,
            },
            t_fix_at_most_ns: t_fix_at_most.map(|t| 1e9 * t),
            residual_pct,
            undetermined,
        })
    };
    keys.into_iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables 5 to 11 of the Cisco 892 document: sizes and packets per second of each test and interface. Table 10 prints 62.02 packets
    /// per second at 1,024 bytes; the L1 rate beside it, 52.7 Mbit/s, makes 6,202 of it.
    fn tables() -> BTreeMap<(u32, String), Vec<(f64, f64)>> {
        let mut tables: BTreeMap<(u32, String), Vec<(f64, f64)>> = BTreeMap::new();
        for line in include_str!("../../../fixtures/tables/cisco-892.csv").lines().skip(1) {
            let cells: Vec<&str> = line.split(',').collect();
            let (Ok(table), Ok(size), Ok(fps)) = (cells[0].parse(), cells[3].parse::<f64>(), cells[7].parse::<f64>())
            else {
                continue;
            };
            let fps = if fps < 100.0 { 100.0 * fps } else { fps };
            if (5..=11).contains(&table) {
                tables.entry((table, cells[2].to_owned())).or_default().push((size, 1.0 / fps));
            }
        }
        tables.values_mut().for_each(|points| points.sort_by(|a, b| a.0.total_cmp(&b.0)));
        tables
    }

    #[test]
    fn the_892_is_limited_by_packets_but_for_sha_512() {
        let tables = tables();
        assert_eq!(tables.len(), 14);
        for ((table, interface), points) in &tables {
            let model = fit(points).expect("a line");
            if *table < 11 {
                assert_eq!(model.r_alg, None, "table {table} {interface}: {model:?}");
                assert!(model.r_alg_at_least > Some(1e8) && model.t_fix > Some(1e-4), "{model:?}");
            } else {
                let (us, mbps) = if interface == "Fa8-Gi0" { (734.2, 11.31) } else { (761.1, 11.52) };
                let (fix, rate) = (1e6 * model.t_fix.unwrap_or(0.0), model.r_alg.unwrap_or(0.0) / 1e6);
                assert!((fix - us).abs() < 0.05 && (rate - mbps).abs() < 0.005, "{interface}: {fix} us, {rate} Mbit/s");
            }
        }
    }

    #[test]
    fn two_sizes_are_a_line_and_one_is_none() {
        assert!(fit(&[(64.0, 1e-3)]).is_none() && fit(&[]).is_none());
        let model = fit(&[(64.0, 0.5e-3), (1024.0, 1.5e-3)]).expect("a line");
        assert!((model.r_alg.unwrap_or(0.0) - 8.0 * 960.0 / 1e-3).abs() < 1.0 && model.t_fix > Some(4e-4));
    }
}

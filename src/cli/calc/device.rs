//! `spiglass calc --model`: what a device with a time per packet and a rate per octet forwards, and whether it or the link is the limit.

use super::super::values;
use crate::model::trials::{Device, DeviceAtSize, Limit};
use crate::model::vocabulary::DeviceSchema;
use crate::report::document::table::Cell;
use crate::report::document::{self, Document};
use crate::transform::calculation::Costs;
use crate::transform::size::ethernet::{frames_per_s, l1_of_packet};

/// A device: time per packet = `t_fix` + 8 x octets / `r_alg`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct DeviceModel {
    /// Nanoseconds per packet.
    t_fix_ns: u64,
    /// Bits per second; `None` where size makes no difference.
    r_alg_bps: Option<u64>,
}

/// `t_fix=734us,r_alg=11.31M`.
pub(super) fn given(text: &str) -> Result<DeviceModel, String> {
    let mut found = DeviceModel { t_fix_ns: 0, r_alg_bps: None };
    for part in text.split(',') {
        match part.split_once('=').map(|(name, value)| (name.trim(), value.trim())) {
            Some(("t_fix", value)) => found.t_fix_ns = values::duration(value)?,
            Some(("r_alg", value)) => found.r_alg_bps = Some(values::rate(value)?),
            _ => return Err("expected t_fix=TIME,r_alg=RATE, such as t_fix=734us,r_alg=11.31M".into()),
        }
    }
    if found.t_fix_ns == 0 && found.r_alg_bps.is_none() {
        return Err("a device takes time: give t_fix above 0, r_alg, or both".into());
    }
    Ok(found)
}

/// The device at each size. `costs`: how packets of these sizes are carried on the link, none in clear.
pub(super) fn device(
    device: DeviceModel,
    costs: Option<&Costs>,
    sizes: &[u64],
    mix: &[(u64, u64)],
    link: u64,
) -> Device {
    let seconds = |size: u64| {
        let per_octet = device.r_alg_bps.map_or(0.0, |rate| 8.0 * size as f64 / rate as f64);
        device.t_fix_ns as f64 / 1e9 + per_octet
    };
    let l1 = |size: u64| {
        let known = costs.and_then(|costs| costs.sizes.iter().find(|cost| cost.inner_bytes == size));
        known.map_or_else(|| l1_of_packet(size), |cost| cost.l1_tunnel_bytes) as f64
    };
    let at = |inner: f64, l1: f64, seconds: f64| {
        let (device_fps, link_fps) = (1.0 / seconds, frames_per_s(link, l1));
        let fps = device_fps.min(link_fps);
        DeviceAtSize {
            inner_bytes: inner,
            l1_bytes: l1,
            device_fps,
            link_fps,
            limit: if device_fps < link_fps { Limit::Device } else { Limit::Link },
            fps,
            l1_bps: 8.0 * fps * l1,
            l3_bps: 8.0 * fps * inner,
        }
    };
    let weights: u64 = mix.iter().map(|(_, weight)| weight).sum();
    let mean = |of: &dyn Fn(u64) -> f64| {
        mix.iter().map(|(size, weight)| of(*size) * *weight as f64).sum::<f64>() / weights.max(1) as f64
    };
    Device {
        schema: DeviceSchema::V1,
        t_fix_ns: device.t_fix_ns,
        r_alg_bps: device.r_alg_bps,
        link_rate_bps: link,
        transform: costs.map(|costs| costs.transform.clone()),
        sizes: sizes.iter().map(|size| at(*size as f64, l1(*size), seconds(*size))).collect(),
        imix: (!mix.is_empty()).then(|| at(mean(&|size| size as f64), mean(&l1), mean(&seconds))),
    }
}

/// The sizes, then the mix.
fn rows(device: &Device) -> impl Iterator<Item = (String, &DeviceAtSize)> {
    let mix = device.imix.iter().map(|at| ("IMIX".to_owned(), at));
    device.sizes.iter().map(|at| (at.inner_bytes.to_string(), at)).chain(mix)
}

/// For people.
pub(super) fn document(device: &Device) -> Document {
    let binds =
        |limit: Limit| rows(device).filter(|(_, at)| at.limit == limit).map(|(size, _)| size).collect::<Vec<_>>();
    let (own, link) = (binds(Limit::Device), binds(Limit::Link));
    let part = |what: &str, sizes: &[String]| {
        if sizes.is_empty() { format!("{what} at no size") } else { format!("{what} at {}", sizes.join(", ")) }
    };
    let answer = format!("{}; {}.", part("The device is the limit", &own), part("the link", &link));
    let rows = rows(device).map(|(size, at)| {
        vec![
            Cell::Text(size),
            Cell::Decimal(at.device_fps, 1),
            Cell::Decimal(at.link_fps, 1),
            Cell::Text(at.limit.name().to_owned()),
            Cell::Decimal(at.l1_bps / 1e6, 3),
            Cell::Decimal(at.l3_bps / 1e6, 3),
        ]
    });
    let columns =
        [("size", "B"), ("device", "/s"), ("link", "/s"), ("limit", ""), ("circuit", "Mbit/s"), ("packets", "Mbit/s")];
    document::figures(&answer, &columns, rows.collect())
}

/// One row for each size; the mix is the last.
pub(super) fn csv(device: &Device) -> String {
    let row = |(_, at): (String, &DeviceAtSize)| {
        let DeviceAtSize { inner_bytes, l1_bytes, device_fps, link_fps, limit, fps, l1_bps, l3_bps } = at;
        format!("{inner_bytes},{l1_bytes},{device_fps},{link_fps},{},{fps},{l1_bps},{l3_bps}\n", limit.name())
    };
    let header = "inner_bytes,l1_bytes,device_fps,link_fps,limit,fps,l1_bps,l3_bps\n";
    header.to_owned() + &rows(device).map(row).collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_packets_meet_the_device_and_large_ones_the_link() {
        let given = given("t_fix=100us,r_alg=100M").unwrap();
        let answer = device(given, None, &[64, 1500], &[(40, 7), (576, 4), (1500, 1)], 10_000_000);
        let [small, large] = answer.sizes.as_slice() else { panic!("two sizes") };
        assert_eq!((small.limit, large.limit), (Limit::Device, Limit::Link));
        assert!((small.device_fps - 1.0 / (100e-6 + 8.0 * 64.0 / 100e6)).abs() < 1e-6);
        assert!((large.fps - 10e6 / (8.0 * 1538.0)).abs() < 1e-6);
        assert!(answer.imix.is_some_and(|mix| (mix.inner_bytes - 4084.0 / 12.0).abs() < 1e-9));
        for wrong in ["", "t_fix=1", "r_alg=0", "t=1us", "t_fix=0s"] {
            assert!(super::given(wrong).is_err(), "{wrong}");
        }
    }
}

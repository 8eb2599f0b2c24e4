//! Overhead by inner packet size, and outer sizes where the inner packet is hidden.

mod overhead;

use std::collections::BTreeMap;

pub(crate) use self::overhead::{OverheadSum, overheads};
use super::padding;
use crate::analysis::finish::tap::{SaView, Tap};
use crate::analysis::finish::time::{bits_per_second, per_second};
use crate::analysis::state::base::intern::NONE;
use crate::analysis::state::base::seen::Seen;
use crate::analysis::state::base::tables::PathKey;
use crate::analysis::state::sa::sizes::{Cell, DecryptedKey, NullKey, VisibleKey};
use crate::dissect::{Costs, Shape, stack_name};
use crate::model::Protocol;
use crate::model::report::{Name, OuterSize, OverheadBasis, Parts, Report, Size};
use crate::transform::size::ethernet::l1_of_packet;

/// Octets of the ESP header: SPI and sequence number (RFC 4303 section 2).
const ESP_HEADER: i64 = 8;
/// Pad length and next header (RFC 4303 sections 2.5 and 2.6).
const ESP_TRAILER: i64 = 2;

/// A row of the sizes table before it is printed.
#[derive(Clone, Debug, Default)]
struct Row {
    frames: u64,
    l1_bytes: u64,
    outer_sum: u64,
    outer: Option<(u64, u64)>,
    seen: Seen,
    parts: IntegerParts,
    decrypted: bool,
    /// The interfaces that its directions were seen on, one bit each.
    interfaces: u64,
}

/// Sums of the parts of the overhead, in octets.
#[derive(Clone, Copy, Debug, Default)]
struct IntegerParts {
    outer_ip: i64,
    udp: i64,
    tcp: i64,
    gre: i64,
    link: i64,
    ah: i64,
    esp_header: i64,
    iv: i64,
    esp_pad: i64,
    esp_trailer: i64,
    icv: i64,
    fragmentation: i64,
}

/// What tells rows apart: direction, SA, encapsulation, inner length.
type RowKey = (String, Option<Name>, String, u64);

/// Cells of the layouts that the evidence decided for. Dummy packets have no inner packet to size.
pub(crate) fn null_cells<'t>(tap: &'t Tap<'_>) -> impl Iterator<Item = (&'t NullKey, &'t Cell)> {
    tap.sizes
        .null
        .iter()
        .filter(|(key, _)| {
            tap.sa(key.sa).and_then(|sa| sa.null).is_some_and(|(candidate, _)| candidate == key.candidate)
        })
        .map(|(key, cell)| (key, cell))
}

pub(crate) fn add(report: &mut Report, tap: &Tap<'_>) {
    let mut rows: BTreeMap<RowKey, Row> = BTreeMap::new();
    for (key, cell) in tap.sizes.visible.iter() {
        if let Some((row_key, parts)) = visible_row(tap, key) {
            let way = (path_direction(tap, key.path), key.fragments);
            rows.entry(row_key).or_default().add(tap, (path_sa(tap, key.path), cell), key.outer_bytes, way, parts);
        }
    }
    for (key, cell) in tap.sizes.decrypted.iter() {
        if let Some((row_key, parts)) = decrypted_row(tap, key) {
            let row = rows.entry(row_key).or_default();
            let way = (path_direction(tap, key.path), 1);
            row.add(tap, (path_sa(tap, key.path), cell), key.outer_bytes, way, parts);
            row.decrypted = true;
        }
    }
    for (key, cell) in null_cells(tap) {
        if let Some((row_key, parts)) = null_row(tap, key) {
            let way = (key.direction, key.fragments);
            rows.entry(row_key).or_default().add(tap, (key.sa, cell), key.outer_bytes, way, parts);
        }
    }
    let mut paces: BTreeMap<(String, Option<Name>, String), (u64, Seen)> = BTreeMap::new();
    for ((direction, sa, encapsulation, _), row) in &rows {
        let (frames, seen) = paces.entry((direction.clone(), sa.clone(), encapsulation.clone())).or_default();
        *frames += row.frames;
        seen.join(&row.seen);
    }
    for (key, row) in rows.into_iter().filter(|(_, row)| row.frames > 0) {
        let (direction, sa, encapsulation, _) = &key;
        let pace = paces.get(&(direction.clone(), sa.clone(), encapsulation.clone()));
        let ns = pace.and_then(|(frames, seen)| rated(tap, &row, *frames, seen));
        report.sizes.push(row.finish(key, ns, tap));
    }
    let mut outer: BTreeMap<(usize, u64), u64> = BTreeMap::new();
    let sized = overheads(tap);
    // An AH around ESP-NULL hides nothing.
    let hides = |sa: &SaView<'_>| {
        let packets = sized.get(&sa.id).map_or(0, |sum| sum.packets);
        sa.null.is_none()
            && (sa.key.protocol != Protocol::Ah || packets < sa.state.seen.count.saturating_sub(sa.left_out().frames))
    };
    for (key, cell) in tap.sizes.opaque.iter() {
        let own = tap.place(key.sa).and_then(|at| Some((at, tap.sas.get(at)?)));
        if let Some((at, sa)) = own.filter(|(_, sa)| hides(sa)) {
            *outer.entry((at, u64::from(key.outer_bytes))).or_default() += sa.counted(cell).0;
        }
    }
    for (at, sa) in tap.sas.iter().enumerate() {
        for (key, cell) in sa.flow_sizes.iter().flat_map(|cells| cells.iter()) {
            *outer.entry((at, u64::from(key.outer_bytes))).or_default() += sa.counted(cell).0;
        }
    }
    report.outer_sizes.extend(outer.into_iter().filter(|(_, frames)| *frames > 0).filter_map(
        |((at, outer_bytes), frames)| {
            let sa = tap.sas.get(at)?.name.clone();
            Some(OuterSize { tap: tap.name.clone(), sa, outer_bytes, frames })
        },
    ));
}

/// The outermost SA of the packets of a path, or [`NONE`].
fn path_sa(tap: &Tap<'_>, path: u32) -> u32 {
    tap.stream.tables.paths.get(path).map_or(NONE, |path| path.sa)
}

/// The direction of the packets of a path.
fn path_direction(tap: &Tap<'_>, path: u32) -> u32 {
    tap.stream.tables.paths.get(path).map_or(NONE, |path| path.direction)
}

/// Packets of one size, and periods between packets of all sizes, that a rate needs.
const RATED: u64 = 10;

/// Nanoseconds over which the rate of one size holds: `None` where it has too few packets, or they came in one burst of the stream of
/// `frames` packets that was `seen`.
fn rated(tap: &Tap<'_>, row: &Row, frames: u64, seen: &Seen) -> Option<i64> {
    let (own, all) = (tap.clock.duration_ns(&row.seen, row.interfaces)?, tap.clock.duration_ns(seen, row.interfaces)?);
    let periods = i64::try_from(frames.saturating_sub(1)).ok().filter(|&periods| periods > 0)?;
    let enough = row.frames >= RATED && i128::from(own) * i128::from(periods) >= i128::from(all) * i128::from(RATED);
    enough.then_some(own)
}

fn visible_row(tap: &Tap<'_>, key: &VisibleKey) -> Option<(RowKey, IntegerParts)> {
    let path = tap.stream.tables.paths.get(key.path)?;
    let (src, _) = tap.stream.tables.pair_of(path)?;
    let header = if src.is_v4() { 20 } else { 48 };
    let parts = IntegerParts { fragmentation: header * (i64::from(key.fragments) - 1), ..IntegerParts::default() };
    path_row(tap, path, key.inner_bytes, key.outer_bytes, parts)
}

fn decrypted_row(tap: &Tap<'_>, key: &DecryptedKey) -> Option<(RowKey, IntegerParts)> {
    let headers = i64::from(key.added.headers);
    let parts = IntegerParts {
        esp_header: ESP_HEADER * headers,
        iv: i64::from(key.added.iv),
        esp_pad: i64::from(key.added.padding),
        esp_trailer: ESP_TRAILER * headers,
        icv: i64::from(key.added.icv),
        ..IntegerParts::default()
    };
    path_row(tap, tap.stream.tables.paths.get(key.path)?, key.inner_bytes, key.outer_bytes, parts)
}

/// The row of packets on a path: besides the parts that are known, those of the path's headers, and what is left is IP.
fn path_row(
    tap: &Tap<'_>,
    path: &PathKey,
    inner_bytes: u32,
    outer_bytes: u32,
    known: IntegerParts,
) -> Option<(RowKey, IntegerParts)> {
    let tables = &tap.stream.tables;
    let (src, dst) = tables.pair_of(path)?;
    let sa = tap.sa(path.sa).map(|sa| sa.name.clone());
    let encapsulation = encapsulation(*tables.stacks.get(path.stack)?, path.encapsulated);
    let overhead = i64::from(outer_bytes) - i64::from(inner_bytes);
    let costs = &path.costs;
    let mut parts = IntegerParts {
        udp: i64::from(costs.udp),
        tcp: i64::from(costs.tcp),
        gre: i64::from(costs.gre),
        ah: i64::from(costs.ah),
        ..known
    };
    if costs.link > 0 {
        // An inner frame's header, tags and padding are no part of the outer IP header: they belong to what carries frames.
        parts.outer_ip = i64::from(costs.outer_ip);
        let frame = overhead - parts.sum();
        let carrier = match costs {
            Costs { gre: 1.., .. } => &mut parts.gre,
            Costs { udp: 1.., .. } => &mut parts.udp,
            // EtherIP, and L2TP directly in IP.
            _ => &mut parts.link,
        };
        *carrier += frame;
    } else {
        parts.outer_ip = overhead - parts.sum();
    }
    Some(((format!("{src} > {dst}"), sa, encapsulation, u64::from(inner_bytes)), parts))
}

fn null_row(tap: &Tap<'_>, key: &NullKey) -> Option<(RowKey, IntegerParts)> {
    let sa = tap.sa(key.sa)?;
    let tables = &tap.stream.tables;
    let encapsulation = up_to_esp(*tables.stacks.get(key.stack)?);
    let owner = tap.sa(key.owner)?;
    let overhead = i64::from(key.outer_bytes) - i64::from(key.inner_bytes);
    let (iv, icv) = (i64::from(key.candidate.iv_bytes), i64::from(key.candidate.icv_bytes));
    // In tunnel mode the inner length tells the padding even where the trailer was cut off.
    let esp_pad = if key.tunnel && key.pad_bytes == u16::MAX {
        i64::from(key.esp_bytes) - ESP_HEADER - iv - i64::from(key.inner_bytes) - ESP_TRAILER - icv
    } else {
        i64::from(key.pad_bytes)
    };
    let mut parts = IntegerParts {
        udp: i64::from(key.costs.udp),
        tcp: i64::from(key.costs.tcp),
        gre: i64::from(key.costs.gre),
        ah: i64::from(key.costs.ah),
        esp_header: ESP_HEADER,
        iv,
        esp_pad,
        esp_trailer: ESP_TRAILER,
        icv,
        fragmentation: if sa.key.src.is_v4() { 20 } else { 48 } * (i64::from(key.fragments) - 1),
        ..IntegerParts::default()
    };
    parts.outer_ip = overhead - parts.sum();
    let direction = format!("{} > {}", sa.key.src, sa.key.dst);
    Some(((direction, Some(owner.name.clone()), encapsulation, u64::from(key.inner_bytes)), parts))
}

/// Layers from the outermost IP header on, up to the encapsulated packet: `ipv4/ah`.
fn encapsulation(stack: Shape, encapsulated: u8) -> String {
    let name = stack_name(Shape { shell: 0, ..stack });
    let layers: Vec<&str> = name.split('/').collect();
    let is_ip = |layer: &&str| matches!(*layer, "ipv4" | "ipv6");
    let start = layers.iter().position(is_ip).unwrap_or(0);
    let end = if encapsulated == 0 {
        // Transport mode: up to the last IPsec header in front of the payload.
        layers.iter().rposition(|l| matches!(*l, "ah" | "esp" | "ipcomp")).map_or(layers.len(), |at| at + 1)
    } else {
        let mut ips = layers.iter().enumerate().filter(|(_, l)| is_ip(l)).map(|(at, _)| at);
        ips.nth(usize::from(encapsulated)).unwrap_or(layers.len())
    };
    layers.get(start..end).unwrap_or_default().join("/")
}

/// Layers from the outermost IP header on, ESP included, with what it protects of the tunnel: GRE, or AH.
fn up_to_esp(stack: Shape) -> String {
    let name = stack_name(Shape { shell: 0, ..stack });
    let layers: Vec<&str> = name.split('/').collect();
    let start = layers.iter().position(|l| matches!(*l, "ipv4" | "ipv6")).unwrap_or(0);
    let esp = layers.iter().position(|l| *l == "esp").map_or(layers.len(), |at| at + 1);
    let further = layers.get(esp..).unwrap_or_default().iter().take_while(|l| matches!(**l, "gre" | "ah"));
    let end = esp + further.count();
    layers.get(start..end).unwrap_or_default().join("/")
}

impl IntegerParts {
    fn sum(&self) -> i64 {
        let Self { outer_ip, udp, tcp, gre, link, ah, esp_header, iv, esp_pad, esp_trailer, icv, fragmentation } =
            *self;
        outer_ip + udp + tcp + gre + link + ah + esp_header + iv + esp_pad + esp_trailer + icv + fragmentation
    }

    fn add_times(&mut self, other: &Self, n: i64) {
        let Self { outer_ip, udp, tcp, gre, link, ah, esp_header, iv, esp_pad, esp_trailer, icv, fragmentation } =
            *other;
        let add = |own: &mut i64, other: i64| *own = own.saturating_add(other.saturating_mul(n));
        add(&mut self.outer_ip, outer_ip);
        add(&mut self.udp, udp);
        add(&mut self.tcp, tcp);
        add(&mut self.gre, gre);
        add(&mut self.link, link);
        add(&mut self.ah, ah);
        add(&mut self.esp_header, esp_header);
        add(&mut self.iv, iv);
        add(&mut self.esp_pad, esp_pad);
        add(&mut self.esp_trailer, esp_trailer);
        add(&mut self.icv, icv);
        add(&mut self.fragmentation, fragmentation);
    }
}

impl Row {
    /// Adds packets of one size of an SA. The last two numbers: their direction, and the frames (fragments) of each packet.
    fn add(
        &mut self,
        tap: &Tap<'_>,
        (sa, cell): (u32, &Cell),
        outer_bytes: u32,
        (way, frames): (u32, u32),
        parts: IntegerParts,
    ) {
        let trailer = padding::trailer(tap, way) * u64::from(frames);
        let (frames, l1_bytes) = tap.counted_of(sa, cell);
        self.interfaces |= tap.stream.interfaces.seen_on([way]);
        let l1_bytes = l1_bytes.saturating_sub(trailer.saturating_mul(frames));
        let outer = u64::from(outer_bytes);
        self.frames += frames;
        self.l1_bytes += l1_bytes;
        self.outer_sum = self.outer_sum.saturating_add(outer.saturating_mul(frames));
        self.outer = Some(self.outer.map_or((outer, outer), |(low, high)| (low.min(outer), high.max(outer))));
        self.seen.join(&cell.seen);
        self.parts.add_times(&parts, i64::try_from(frames).unwrap_or(i64::MAX));
    }

    fn finish(self, (direction, sa, encapsulation, inner_bytes): RowKey, duration: Option<i64>, tap: &Tap<'_>) -> Size {
        let frames = self.frames as f64;
        let (low, high) = self.outer.unwrap_or_default();
        let outer_mean = self.outer_sum as f64 / frames;
        let overhead = |outer: u64| i64::try_from(outer).unwrap_or(i64::MAX) - i64::try_from(inner_bytes).unwrap_or(0);
        let overhead_mean = outer_mean - inner_bytes as f64;
        let l1_plain = l1_of_packet(inner_bytes);
        let l1_tunnel = self.l1_bytes as f64 / frames;
        let mean = |sum: i64| sum as f64 / frames;
        let p = &self.parts;
        Size {
            tap: tap.name.clone(),
            direction,
            sa,
            encapsulation,
            inner_bytes,
            outer_bytes_min: low,
            outer_bytes_max: high,
            outer_bytes_mean: outer_mean,
            frames: self.frames,
            frames_per_s: per_second(self.frames, duration),
            overhead_min_bytes: overhead(low),
            overhead_max_bytes: overhead(high),
            overhead_mean_bytes: overhead_mean,
            overhead_of_inner_pct: if inner_bytes == 0 { 0.0 } else { 100.0 * overhead_mean / inner_bytes as f64 },
            overhead_of_l1_pct: if l1_tunnel == 0.0 { 0.0 } else { 100.0 * overhead_mean / l1_tunnel },
            circuit_share_pct: if l1_tunnel == 0.0 { 0.0 } else { 100.0 * l1_plain as f64 / l1_tunnel },
            l1_plain_bytes: l1_plain,
            l1_tunnel_bytes: l1_tunnel,
            l1_plain_bps: bits_per_second(l1_plain.saturating_mul(self.frames), duration),
            l1_tunnel_bps: bits_per_second(self.l1_bytes, duration),
            parts: Parts {
                outer_ip: mean(p.outer_ip),
                udp: mean(p.udp),
                tcp: mean(p.tcp),
                gre: mean(p.gre),
                link: mean(p.link),
                ah: mean(p.ah),
                esp_header: mean(p.esp_header),
                iv: mean(p.iv),
                esp_pad: mean(p.esp_pad),
                esp_trailer: mean(p.esp_trailer),
                icv: mean(p.icv),
                fragmentation: mean(p.fragmentation),
            },
            basis: if self.decrypted { OverheadBasis::Decrypted } else { OverheadBasis::Visible },
        }
    }
}

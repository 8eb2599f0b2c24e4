//! Expected transforms and modes: what follows from them, and lengths that contradict them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::findings::{Draft, plural};
use super::super::tap::{SaView, Tap};
use super::Expected;
use crate::analysis::finish::rows::inferred;
use crate::analysis::finish::rows::sas::icv_bytes;
use crate::analysis::state::sa::null::{NullCandidate, NullVotes};
use crate::model::report::{
    Finding, MinMax, Overhead, OverheadBasis, Report, SaMode, Severity, TransformBasis, TransformReport,
};
use crate::model::{Encapsulation, Protocol};
use crate::policy::{Basis, Mode, Stated};
use crate::transform::inference::{Family, is_unlike};
use crate::transform::iv::IvPattern;
use crate::transform::{Esp, Suite};

/// SPI and sequence number (RFC 4303 section 2).
const ESP_HEADER: u32 = 8;
/// Pad length and next header (RFC 4303 sections 2.5 and 2.6).
const ESP_TRAILER: u32 = 2;
/// Header of UDP around ESP (RFC 3948).
const UDP: u32 = 8;
/// AH in front of its ICV field (RFC 4302 section 2).
const AH_FIXED: u32 = 12;

/// Packets that must have been checked before it is said that they cannot be read.
const CHECKED: u64 = 8;
/// Of this many packets one that does not fit is a stray one, not what the sender makes.
const STRAY: u64 = 20;

/// Outer lengths of each SA number's unfragmented packets that hide what is in them, with how many have them.
pub(super) type Lengths = BTreeMap<u32, BTreeMap<u32, u64>>;

pub(super) fn lengths(tap: &Tap<'_>) -> Lengths {
    let mut lengths = Lengths::new();
    for (key, cell) in tap.sizes.opaque.iter() {
        let packets = tap.counted_of(key.sa, cell).0;
        if key.fragments == 1 && packets > 0 {
            *lengths.entry(key.sa).or_default().entry(key.outer_bytes).or_default() += packets;
        }
    }
    lengths
}

/// Whether lengths contradict the transform that is expected of an SA.
pub(super) fn is_contradicted(sa: &SaView<'_>, expected: &Expected<'_>, lengths: &Lengths) -> bool {
    let suite = expected.transforms_of(&sa.key).iter().find_map(|one| one.suite);
    suite.is_some_and(|suite| contradiction(sa, &suite, lengths).is_some())
}

/// Whether packets verify under a key: the transform is what it is said to be, whatever single packets look like.
fn is_proved(sa: &SaView<'_>) -> bool {
    sa.state.keyed.as_deref().is_some_and(|keyed| keyed.verified() > 0 || keyed.opened > 0)
}

/// What contradicts an expected transform, or nothing.
fn contradiction(sa: &SaView<'_>, suite: &Suite, lengths: &Lengths) -> Option<String> {
    if is_proved(sa) {
        return encrypted_all_the_same(sa, &suite.esp.filter(|_| sa.key.protocol == Protocol::Esp)?);
    }
    match sa.key.protocol {
        Protocol::Ah => ah_contradiction(sa, suite),
        Protocol::Esp => esp_contradiction(sa, &suite.esp?, lengths.get(&sa.id)),
        Protocol::IpComp => None,
    }
}

fn ah_contradiction(sa: &SaView<'_>, suite: &Suite) -> Option<String> {
    let ah = suite.ah?;
    let field = ah.iv + ah.icv;
    // To 4 octets by RFC 4302 for IPv4, to 8 for IPv6 and by Linux for both.
    let fits = |header: u32| [4u32, 8].iter().any(|to| (AH_FIXED + field).next_multiple_of(*to) == header);
    let header = misfit(sa.state.ah_lengths.iter().map(|(header, count)| (*header, *count)), |header| !fits(header))?;
    Some(format!(
        "{} has an ICV of {field} bytes, and the AH on the wire has {header} bytes, {} of them ICV",
        ah.name,
        header.saturating_sub(AH_FIXED)
    ))
}

/// The shortest length that does not fit, where more packets than a few stray ones do not.
fn misfit(lengths: impl Iterator<Item = (u32, u64)>, is_misfit: impl Fn(u32) -> bool) -> Option<u32> {
    let (mut all, mut misfits, mut shortest) = (0_u64, 0_u64, None::<u32>);
    for (length, packets) in lengths {
        all = all.saturating_add(packets);
        if packets > 0 && is_misfit(length) {
            misfits = misfits.saturating_add(packets);
            shortest = Some(shortest.map_or(length, |shortest| shortest.min(length)));
        }
    }
    shortest.filter(|_| misfits.saturating_mul(STRAY) >= all)
}

fn esp_contradiction(sa: &SaView<'_>, esp: &Esp, lengths: Option<&BTreeMap<u32, u64>>) -> Option<String> {
    if let Some((candidate, _)) = sa.null {
        if esp.cipher.encrypts() {
            return Some(format!(
                "{} encrypts, and the packets on the wire are in clear (ESP-NULL)",
                esp.cipher.keyed(esp.key_bits)
            ));
        }
        let icv = u32::from(candidate.icv_bytes);
        return (icv != esp.icv())
            .then(|| format!("{esp} has an ICV of {} bytes, and the packets have {icv}", esp.icv()));
    }
    if let Some(why) = unreadable_as_null(sa, esp) {
        return Some(why);
    }
    let around = around(sa)?;
    let block = esp.cipher.alignment.max(4);
    let least = ESP_HEADER + esp.cipher.iv + esp.icv() + block;
    let is_misfit = |outer: u32| {
        let protected = outer.checked_sub(around);
        protected.is_none_or(|octets| octets < least || !(octets - least).is_multiple_of(block))
    };
    let lengths = lengths?.iter().map(|(outer, packets)| (*outer, *packets));
    let protected = misfit(lengths, is_misfit)?.saturating_sub(around);
    Some(format!(
        "{esp} gives ESP of {least} bytes and multiples of {block} above, and there are packets of {protected} bytes from SPI to ICV"
    ))
}

/// Packets that verify under a key of a transform that does not encrypt, and carry nothing that holds together, nor one protocol that is not known here: the
/// sender encrypts them.
fn encrypted_all_the_same(sa: &SaView<'_>, esp: &Esp) -> Option<String> {
    let keyed = sa.state.keyed.as_deref()?;
    let verified = keyed.verified();
    let hidden = !esp.cipher.encrypts() && keyed.rubbish.saturating_mul(2) > verified;
    let encrypted = hidden && sa.state.evidence.is_next_header_random(esp.icv()) == Some(true);
    encrypted.then(|| {
        format!(
            "{esp} does not encrypt, and {} of {} that verify under its authentication key carry nothing that holds together: they are encrypted",
            keyed.rubbish,
            plural(verified, "packet")
        )
    })
}

/// Opaque packets where nothing should be hidden: of a fair number of them hardly one can be read as ESP-NULL with the expected
/// ICV, and where the next header would be they have nearly every one another octet. Packets with one next header in common are in
/// clear, of a protocol that is not known here.
fn unreadable_as_null(sa: &SaView<'_>, esp: &Esp) -> Option<String> {
    let fits = |(candidate, _): &(&NullCandidate, &NullVotes)| u32::from(candidate.icv_bytes) == esp.icv();
    let readable: u64 = sa.state.null.iter().filter(fits).map(|(_, votes)| votes.frames).sum();
    let checked = sa.state.null_checked;
    // Ciphertext looks like a trailer now and then.
    let hidden = !esp.cipher.encrypts() && sa.is_opaque() && checked >= CHECKED && readable * 10 < checked;
    let encrypted = hidden && sa.state.evidence.is_next_header_random(esp.icv()) == Some(true);
    encrypted.then(|| {
        let checked = plural(checked, "checked packet");
        format!("{esp} does not encrypt, and of {checked} {readable} can be read as ESP-NULL, no more than chance")
    })
}

/// What IVs say against an expected transform that lengths do not contradict. Lengths alone, which a larger block makes too, say nothing:
/// sizes in steps look like that.
fn doubt(sa: &SaView<'_>, esp: &Esp) -> Option<String> {
    let known = &sa.inferred.as_ref().filter(|_| !is_proved(sa))?.known;
    let (seen, stated) = (known.inference.family, Family::of(esp));
    let differs = known.inference.decided && (seen.block, seen.iv) != (stated.block, stated.iv);
    let unlike = is_unlike(esp, IvPattern::of(&sa.state.evidence.ivs()));
    let looks = known.name.as_ref().filter(|_| differs && unlike)?;
    Some(format!("{esp} is expected, and the packets look like {looks}. {}", known.evidence))
}

/// What a stated transform adds; where the packets look like another one, or what that adds.
fn or_as_inferred(sa: &SaView<'_>, esp: &Esp, (least, most): (u64, u64)) -> (u64, u64) {
    let doubted = sa.inferred.as_ref().filter(|_| doubt(sa, esp).is_some());
    let (low, high) = doubted.map_or((least, most), |inferred| inferred.known.inference.protection);
    (least.min(low), most.max(high))
}

/// Octets in front of the ESP header, where they are the same in all packets: IP with its options, AH and UDP, as the packets have
/// them. Packets that were all seen in fragments show none, and have those of plain headers.
fn around(sa: &SaView<'_>) -> Option<u32> {
    let ip = if sa.key.src.is_v4() { 20 } else { 40 };
    let udp = match crate::analysis::finish::rows::sas::encapsulation(sa) {
        Encapsulation::Native => 0,
        Encapsulation::Udp => UDP,
        Encapsulation::Tcp | Encapsulation::Wesp => return None,
    };
    let mixed = sa.state.encapsulations.iter().filter(|count| **count > 0).count() > 1;
    let evidence = &sa.state.evidence;
    if mixed || evidence.is_around_mixed() { None } else { Some(evidence.around().unwrap_or(ip + udp)) }
}

pub(super) fn add(findings: &mut Vec<Finding>, taps: &[Tap<'_>], expected: &Expected<'_>, report: &Report) {
    let rows: BTreeMap<(&str, &str), SaMode> = report.sas.iter().map(|row| ((&*row.tap, &*row.id), row.mode)).collect();
    let lengths: Vec<Lengths> = taps.iter().map(lengths).collect();
    for ((tap, sa), lengths) in
        taps.iter().zip(&lengths).flat_map(|(tap, lengths)| tap.sas.iter().map(move |sa| ((tap, sa), lengths)))
    {
        let stated = expected.transforms_of(&sa.key);
        let suite = stated.iter().find_map(|one| one.suite);
        if let Some(why) = suite.and_then(|suite| contradiction(sa, &suite, lengths)) {
            let evidence = format!("{why} ({} in all).", plural(sa.state.seen.count, "frame"));
            let draft = Draft::new("transform-mismatch", evidence).about(tap, sa).count(sa.state.seen.count);
            findings.push(draft.caused_by(all_lines(expected, stated), Vec::new()).done());
        } else if let Some(why) = suite.and_then(|suite| suite.esp).and_then(|esp| doubt(sa, &esp)) {
            let draft = Draft::new("transform-mismatch", why).about(tap, sa).severity(Severity::Note);
            findings.push(draft.caused_by(all_lines(expected, stated), Vec::new()).done());
        }
        let seen = rows.get(&(&*tap.name, &*sa.name)).copied().unwrap_or(SaMode::Unknown);
        findings.extend(mode_finding(tap, sa, seen, expected, stated));
    }
}

/// The lines of the SA with those of its transforms.
fn all_lines(expected: &Expected<'_>, stated: &[&Stated]) -> Vec<crate::model::report::ConfigLine> {
    let cites = stated.iter().flat_map(|one| one.cites.iter().map(|cite| (one.router, cite)));
    cites
        .take(super::CITED)
        .map(|(router, cite)| crate::policy::config_line(expected.view.policies, router, cite))
        .collect()
}

fn mode_finding(
    tap: &Tap<'_>,
    sa: &SaView<'_>,
    seen: SaMode,
    expected: &Expected<'_>,
    stated: &[&Stated],
) -> Option<Finding> {
    let one = stated
        .iter()
        .find(|one| one.mode.is_some_and(|mode| mode.name() != seen.name()))
        .filter(|_| seen != SaMode::Unknown)?;
    // The mode of AH in front of ESP cannot be seen, because ESP hides the packet, whether AH and ESP are stated together or apart.
    if sa.key.protocol == Protocol::Ah && (sa.is_opaque() || one.suite.is_some_and(|suite| suite.esp.is_some())) {
        return None;
    }
    let mode = one.mode?;
    // A whole packet inside ESP is tunnel mode or IP in IP in transport mode: the same octets.
    let decrypted = sa.state.keyed.as_deref().is_some_and(|keyed| keyed.opened > 0);
    let whole_inside = mode == Mode::Transport;
    if decrypted && whole_inside && one.basis != Basis::Manual {
        return None;
    }
    let why = match (whole_inside, one.basis) {
        (true, Basis::Manual) => ", as IOS does by itself with traffic that it only forwards",
        (true, _) => ", or carry IP in IP in transport mode, which looks the same",
        _ => "",
    };
    let evidence = format!(
        "{} expects {} mode, and the packets are in {seen} mode{why}.",
        expected.view.name(one.router),
        mode.name()
    );
    let draft = Draft::new("mode-mismatch", evidence)
        .about(tap, sa)
        .count(sa.state.seen.count)
        .caused_by(all_lines(expected, stated), Vec::new());
    Some(if whole_inside { draft.severity(Severity::Note) } else { draft }.done())
}

pub(super) fn fill(report: &mut Report, taps: &[Tap<'_>], expected: &Expected<'_>) {
    let lengths: Vec<Lengths> = taps.iter().map(lengths).collect();
    let mut views: BTreeMap<(&str, &str), (&Tap<'_>, &SaView<'_>, &Lengths)> = BTreeMap::new();
    for (tap, lengths) in taps.iter().zip(&lengths) {
        views.extend(tap.sas.iter().map(|sa| ((&*tap.name, &*sa.name), (tap, sa, lengths))));
    }
    for row in &mut report.sas {
        let Some(&(tap, sa, lengths)) = views.get(&(&*row.tap, &*row.id)) else { continue };
        let stated = expected.transforms_of(&sa.key);
        let Some(suite) = stated.iter().find_map(|one| one.suite) else { continue };
        let name = match sa.key.protocol {
            Protocol::Ah => suite.ah.map(|ah| ah.name.to_owned()),
            Protocol::Esp => suite.esp.map(|esp| esp.to_string()),
            Protocol::IpComp => None,
        };
        // What is configured stands unless a length is impossible for it; a doubt is told and widens the ranges.
        let believed = contradiction(sa, &suite, lengths).is_none();
        let Some(name) = name.filter(|_| believed) else { continue };
        row.transform = TransformReport {
            basis: TransformBasis::Expected,
            name: Some(name.into()),
            candidates: Arc::new([]),
            ..TransformReport::default()
        };
        if row.overhead.basis == OverheadBasis::Unknown
            && let Some((least, most)) = bundle(sa, &suite, stated)
        {
            row.overhead = modelled(least, most);
        }
        if let Some(esp) = suite.esp.filter(|_| sa.key.protocol == Protocol::Esp) {
            row.icv_bytes = icv_bytes(sa).or(Some(esp.icv()));
            let least = ESP_HEADER + esp.cipher.iv + ESP_TRAILER + esp.icv();
            let most = least + esp.cipher.alignment.max(4) - 1 + tfc(sa, stated);
            let doubted = doubt(sa, &esp).is_some();
            if sa.is_opaque() {
                let (min, max) = or_as_inferred(sa, &esp, (u64::from(least), u64::from(most)));
                row.protection_bytes = Some(MinMax { min, max });
            }
            if row.overhead.basis == OverheadBasis::Unknown
                && sa.is_opaque()
                && !doubted
                && let Some(outside) = outside(tap, sa, stated)
            {
                row.overhead = modelled(outside + least, outside + most);
            }
        }
    }
}

/// Narrows the goodput of opaque SAs to what their expected transforms leave.
pub(super) fn narrow(tap: &mut Tap<'_>, expected: &Expected<'_>) {
    let lengths = lengths(tap);
    let known = |sa: &SaView<'_>| {
        let stated = expected.transforms_of(&sa.key);
        let suite = stated.iter().find_map(|one| one.suite)?;
        let esp = suite.esp.filter(|_| sa.key.protocol == Protocol::Esp && sa.is_opaque())?;
        if contradiction(sa, &suite, &lengths).is_some() {
            return None;
        }
        let least = u64::from(ESP_HEADER + esp.cipher.iv + ESP_TRAILER + esp.icv());
        let most = least + u64::from(esp.cipher.alignment.max(4) - 1 + tfc(sa, stated));
        let mode = stated.iter().find(|one| one.mode.is_some());
        let transport = mode.and_then(|one| match (one.mode?, one.basis) {
            (Mode::Tunnel, _) => Some(false),
            // IOS takes tunnel mode for traffic that it only forwards, whatever is configured.
            (Mode::Transport, Basis::Manual) => None,
            (Mode::Transport, _) => Some(true),
        });
        // A list of SAs says nothing about TFC padding; a router's own configuration or display does.
        let padding = stated.iter().any(|one| one.basis != Basis::Listed);
        Some(inferred::Stated { protection: or_as_inferred(sa, &esp, (least, most)), transport, padding })
    };
    let stated = tap.sas.iter().enumerate().filter_map(|(at, sa)| Some((at, known(sa)?))).collect();
    inferred::narrow(tap, &stated);
}

/// The most octets of TFC padding that a short inner packet gets: up to the length that the SA's state names, if it names one.
fn tfc(sa: &SaView<'_>, stated: &[&Stated]) -> u32 {
    let longest = stated.iter().map(|one| one.tfc).max().unwrap_or(0);
    longest.saturating_sub(if sa.key.src.is_v4() { 20 } else { 40 })
}

fn modelled(least: u32, most: u32) -> Overhead {
    Overhead {
        basis: OverheadBasis::Modelled,
        min_bytes: Some(i64::from(least)),
        max_bytes: Some(i64::from(most)),
        mean_bytes: None,
    }
}

/// Overhead of AH around opaque ESP in tunnel mode, all headers of both: what the bundle's packets pay.
fn bundle(sa: &SaView<'_>, suite: &Suite, stated: &[&Stated]) -> Option<(u32, u32)> {
    let esp = suite.esp.filter(|_| sa.key.protocol == Protocol::Ah && suite.ah.is_some())?;
    let tunnel = stated.iter().all(|one| one.mode == Some(Mode::Tunnel));
    let mut lengths = sa.state.ah_lengths.keys();
    let (Some(&ah), None, true) = (lengths.next(), lengths.next(), tunnel) else { return None };
    let ip = if sa.key.src.is_v4() { 20 } else { 40 };
    let least = ip + ah + ESP_HEADER + esp.cipher.iv + ESP_TRAILER + esp.icv();
    Some((least, least + esp.cipher.alignment.max(4) - 1 + tfc(sa, stated)))
}

/// What the mode adds to the protection: the outer IP header in tunnel mode, UDP where there is one. `None` where the mode is not
/// known for sure, or where an AH around it is what the packet pays for.
fn outside(tap: &Tap<'_>, sa: &SaView<'_>, stated: &[&Stated]) -> Option<u32> {
    // In transport mode a tunnel may stand inside, GRE or IP in IP: what the whole costs, the SA does not say.
    if !stated.iter().all(|one| one.mode == Some(Mode::Tunnel)) || stated.is_empty() {
        return None;
    }
    let ah_key = crate::model::SaKey { protocol: Protocol::Ah, ..sa.key };
    if tap.sas_between(ah_key).next().is_some() {
        return None;
    }
    around(sa)
}

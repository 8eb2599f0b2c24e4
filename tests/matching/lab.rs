//! Every scenario of the laboratory, without keys: pairs, transforms, overhead and losses against what was configured and injected.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Checks, at, items, number, read_json, scratch, shared, text, without_keys, write_file};
use crate::truth::{self, Ids, Score};
use crate::{json, pairs, run, word};

/// Nothing to pair: no traffic, no tunnel, no plaintext tap, fragments as inner packets, or a stack whose inner AH hides in ESP.
const LEFT_OUT: &[&str] = &["idle", "clear", "transport-host-aes-sha1", "frag-inner", "esp-over-ah"];

/// Several lengths become one, so pairs among them may be said to be ambiguous.
const AMBIGUOUS: &[&str] = &["esp-tfc-gcm"];

/// On the far side: packets of one length were lost or overtook each other between the two taps, and no number behind the far gateway says
/// which. Nothing in the captures decides, so the pairs must be unsure, never wrong and sure.
const UNDECIDED: &[&str] = &["reorder-after-tap", "steps-512-after-tap"];

/// Packets of one length whose time between the taps varies by more than their distance, or a few at an even pace: no alignment is proved,
/// so nothing is paired.
const UNPROVED: &[&str] = &["tcp-transfer", "reorder-esn128", "seqwrap-noesn-stops", "seqwrap-noesn-maywrap"];

struct Scenario {
    name: String,
    dir: PathBuf,
    truth: Value,
    observed: Value,
}

impl Scenario {
    fn tunnel(&self) -> PathBuf {
        self.dir.join("tunnel.pcap")
    }

    fn transport(&self) -> bool {
        self.name.starts_with("transport-")
    }

    /// `test` keeps what is written for one test apart from that of others.
    fn tunnelled(&self, test: &str) -> Ids {
        let keys = self.dir.join("sa.txt");
        let keys = keys.is_file().then_some(keys.as_path());
        truth::tunnelled(&self.tunnel(), keys, self.transport(), &format!("{}-{test}", self.name))
    }
}

fn scenarios(lab: &Path) -> Vec<Scenario> {
    let mut names: Vec<String> = std::fs::read_dir(lab)
        .expect("the laboratory can be listed")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| !LEFT_OUT.contains(&name.as_str()))
        .filter(|name| {
            ["plain-a.pcap", "tunnel.pcap", "observed.json"].iter().all(|file| lab.join(name).join(file).is_file())
        })
        .collect();
    names.sort_unstable();
    assert!(names.len() > 50, "{} scenarios", names.len());
    names
        .into_iter()
        .map(|name| {
            let dir = lab.join(&name);
            let (truth, observed) = (read_json(&dir.join("truth.json")), read_json(&dir.join("observed.json")));
            Scenario { name, dir, truth, observed }
        })
        .collect()
}

/// What a run is told of the SAs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stated {
    Nothing,
    /// What somebody without privileges sees of them.
    Transforms,
    Keys,
}

/// At least 99 of 100 pairs are right, and no wrong one is claimed to be sure.
fn check_pairs(tap: &str, stated: Stated, least: f64) {
    let Some(lab) = shared("lab") else { return };
    let mut checks = Checks::new("pairs");
    for scenario in scenarios(&lab) {
        let (capture, keys) = (scenario.dir.join(format!("{tap}.pcap")), scenario.dir.join("sa.txt"));
        let fields = ["enc_key", "auth_key", "aead_key"];
        let has_keys = items(&scenario.truth, "sas").iter().any(|sa| fields.iter().any(|key| sa.get(key).is_some()));
        let keyed = stated == Stated::Keys;
        if !capture.is_file() || (stated != Stated::Nothing && !has_keys) {
            continue;
        }
        let (test, config) = match stated {
            Stated::Nothing => (tap, None),
            Stated::Transforms => {
                let shown = without_keys(&std::fs::read_to_string(&keys).expect("states"));
                let file = write_file(&scratch("pairing-stated"), &format!("{}.txt", scenario.name), shown.as_bytes());
                ("stated", Some(file))
            }
            Stated::Keys => ("keyed", Some(keys)),
        };
        let tunnelled = scenario.tunnelled(test);
        let plain = truth::plain(&capture, scenario.transport());
        let config: Vec<&str> = config.iter().flat_map(|file| ["--config", word(file)]).collect();
        let score = Score::of(&pairs(&capture, &scenario.tunnel(), &config), &plain, &tunnelled);
        checks.about(format!("{} {tap}", scenario.name));
        let sure: Vec<_> = score.wrong.iter().filter(|(.., confidence)| *confidence > 0.9).collect();
        checks.ok(sure.is_empty(), || format!("{} wrong pairs are sure: {:?}", sure.len(), &sure[..sure.len().min(8)]));
        let enough = score.right as f64 >= least * score.needed as f64;
        let few = score.wrong.len() as f64 <= (1.0 - least) * score.needed as f64;
        let named = |names: &[&str]| names.contains(&scenario.name.as_str());
        let undecided = named(AMBIGUOUS) || named(UNPROVED) || (tap == "plain-b" && named(UNDECIDED));
        let admitted = undecided && sure.is_empty() && !keyed;
        checks.ok((enough && few) || admitted, || {
            let some = &score.wrong[..score.wrong.len().min(8)];
            let (right, needed, wrong, unknown) = (score.right, score.needed, score.wrong.len(), score.unknown);
            format!("{right} of {needed} right, {wrong} wrong, {unknown} unknown (tunnel, plain, confidence): {some:?}")
        });
    }
    checks.finish();
}

#[test]
fn without_keys_pairs_are_right_or_said_to_be_unsure() {
    check_pairs("plain-a", Stated::Nothing, 0.99);
}

/// Behind the far gateway: what happened on the way between the tunnel's tap and there is in between too.
#[test]
fn without_keys_pairs_of_the_far_side_are_right_or_said_to_be_unsure() {
    check_pairs("plain-b", Stated::Nothing, 0.99);
}

/// Transforms and modes as they are configured, without keys: nothing is the worse for being told.
#[test]
fn with_transforms_alone_pairs_are_right_or_said_to_be_unsure() {
    check_pairs("plain-a", Stated::Transforms, 0.99);
}

/// With the keys every pair is right, also among packets of one length.
#[test]
fn with_keys_all_pairs_are_right() {
    check_pairs("plain-a", Stated::Keys, 1.0);
    check_pairs("plain-b", Stated::Keys, 1.0);
}

/// What was configured, in the words of the catalogue; `None` where lengths say nothing about it.
fn configured(sa: &Value) -> Option<String> {
    let word = |key: &str| sa.get(key).and_then(Value::as_str);
    let integrity = || {
        let auth = word("auth")?;
        let bits = number(sa, "icv_bits");
        Some(match auth {
            "hmac(md5)" => format!("HMAC-MD5-{bits}"),
            "hmac(sha1)" => format!("HMAC-SHA1-{bits}"),
            "hmac(sha256)" => format!("HMAC-SHA2-256-{bits}"),
            "hmac(sha512)" => format!("HMAC-SHA2-512-{bits}"),
            other => panic!("{other}"),
        })
    };
    if word("aead").is_some() {
        return Some("AES-GCM-16".to_owned());
    }
    let cipher = match word("enc")? {
        "cbc(aes)" => "AES-CBC",
        "cbc(des3_ede)" => "3DES-CBC",
        "cbc(des)" => "DES-CBC",
        "rfc3686(ctr(aes))" => "AES-CTR",
        // In clear: nothing is inferred.
        "ecb(cipher_null)" => return None,
        other => panic!("{other}"),
    };
    Some(integrity().map_or_else(|| cipher.to_owned(), |integrity| format!("{cipher}/{integrity}")))
}

/// The transform that was configured is among those that are inferred.
#[test]
fn candidates_hold_the_transform_that_was_configured() {
    let Some(lab) = shared("lab") else { return };
    let mut checks = Checks::new("transforms");
    for scenario in scenarios(&lab) {
        let report = json(&scenario.dir.join("plain-a.pcap"), &scenario.tunnel(), &[]);
        let stated: BTreeMap<String, String> = items(&scenario.truth, "sas")
            .iter()
            .filter(|sa| text(sa, "proto") == "esp")
            .filter_map(|sa| {
                let id = format!("esp/{}/{}/{}", text(sa, "src"), text(sa, "dst"), text(sa, "spi"));
                Some((id, configured(sa)?))
            })
            .collect();
        for direction in items(&report, "directions").iter().filter(|direction| direction["basis"] == "order") {
            checks.about(format!("{} {}", scenario.name, text(direction, "sa")));
            let Some(want) = stated.get(text(direction, "sa")) else { continue };
            // A length alone says little: ten pairs must be there.
            if number(direction, "matched") < 10 {
                continue;
            }
            let transform = &direction["transform"];
            let named = transform["name"].as_str().into_iter();
            let all: Vec<&str> = named.chain(items(transform, "candidates").iter().filter_map(Value::as_str)).collect();
            checks.ok(all.iter().any(|name| name == want), || format!("{want} is not among {all:?}"));
        }
    }
    checks.finish();
}

/// What the fragments of an outer packet add on a link that takes 1,500 octets: a header for each but the first. The others counted
/// packets as they are put together again.
fn fragmentation(outer: u64) -> u64 {
    (outer.saturating_sub(20)).div_ceil(1_480).saturating_sub(1) * 20
}

/// Inner and outer lengths as they were counted by others, where nothing was lost.
#[test]
fn overhead_per_size_is_exact() {
    let Some(lab) = shared("lab") else { return };
    let mut checks = Checks::new("sizes");
    for scenario in scenarios(&lab) {
        let Some(listed) = scenario.observed.get("order_match").and_then(Value::as_object) else { continue };
        if listed.is_empty() || UNPROVED.contains(&scenario.name.as_str()) {
            continue;
        }
        checks.about(scenario.name.clone());
        // In transport mode for forwarded packets, each plaintext tap sees one direction in clear, and the other as ESP.
        let taps: &[&str] = if scenario.transport() { &["plain-a.pcap", "plain-b.pcap"] } else { &["plain-a.pcap"] };
        let reports = taps.iter().map(|tap| json(&scenario.dir.join(tap), &scenario.tunnel(), &[]));
        let fragmented = scenario.name == "frag-outer-1500";
        // Over all SAs: frames, least and greatest outer length of each inner one.
        let mut got: BTreeMap<u64, (u64, u64, u64)> = BTreeMap::new();
        for size in reports.flat_map(|report| items(&report, "sizes").to_vec()) {
            let size = &size;
            let (min, max) = (number(size, "outer_bytes_min"), number(size, "outer_bytes_max"));
            let row = got.entry(number(size, "inner_bytes")).or_insert((0, min, max));
            *row = (row.0 + number(size, "frames"), row.1.min(min), row.2.max(max));
        }
        let outers = |outer: &Value| -> Vec<(u64, u64)> {
            let outer = outer.as_object().expect("outer lengths");
            outer
                .iter()
                .map(|(bytes, n)| (bytes.parse().expect("a length"), n.as_u64().expect("a count")))
                .map(|(bytes, n): (u64, u64)| (bytes + if fragmented { fragmentation(bytes) } else { 0 }, n))
                .collect()
        };
        // Where a direction lost packets the others counted the other one alone.
        let whole = scenario.observed.get("order_match_note").is_none();
        for (inner, outer) in listed {
            let outer = outers(outer);
            let least = outer.iter().map(|(bytes, _)| *bytes).min().unwrap_or(0);
            let most = outer.iter().map(|(bytes, _)| *bytes).max().unwrap_or(0);
            let frames: u64 = outer.iter().map(|(_, n)| n).sum();
            let row = got.get(&inner.parse().expect("a length")).copied();
            let (n, min, max) = row.unwrap_or_default();
            checks.eq(&format!("outer lengths of {inner}"), (min, max), (least, most));
            // Of pairs, 99 in 100 are asked for; where packets were lost, the others left out the packets of that direction.
            let enough = n as f64 >= 0.99 * frames as f64;
            checks.ok(enough && (n <= frames || !whole), || format!("{n} packets of {inner}, want {frames}"));
        }
        if whole {
            let inner: BTreeSet<u64> = listed.keys().map(|inner| inner.parse().expect("a length")).collect();
            checks.eq("inner lengths", got.keys().copied().collect::<BTreeSet<_>>(), inner);
        }
    }
    checks.finish();
}

/// What was dropped on the way to the tap is what is listed as lost.
#[test]
fn the_lost_packets_are_those_that_were_dropped() {
    let Some(lab) = shared("lab") else { return };
    let mut checks = Checks::new("losses");
    for name in ["loss-before-tap", "equal-size-loss", "steps-512-before-tap"] {
        let dir = lab.join(name);
        let plain = dir.join("plain-a.pcap");
        let rows = run(&plain, &dir.join("tunnel.pcap"), &["--format", "csv", "--table", "lost"]).expect(0);
        let ids = truth::plain(&plain, false);
        let lost: BTreeSet<u64> = rows
            .csv("plain_capture,plain_frame,time,inner_bytes,sa,sequence,confidence,verdict")
            .iter()
            .map(|row| u64::from(ids[&row.get("plain_frame").parse().expect("a frame")].2))
            .collect();
        let observed = read_json(&dir.join("observed.json"));
        let missing: BTreeSet<u64> =
            items(&observed, "delivery.fwd.missing_ids").iter().filter_map(Value::as_u64).collect();
        checks.about(name);
        checks.ok(lost.is_subset(&missing), || format!("{:?} were not lost", lost.difference(&missing)));
        checks.eq("lost the other way", number(&observed, "delivery.rev.missing"), 0);
        let report = json(&plain, &dir.join("tunnel.pcap"), &[]);
        checks.eq("counted", at(&report, "pairs.unmatched_plain").as_u64(), Some(lost.len() as u64));
        // The last may have been on its way when the tunnel's capture ended: where packets wait half a second, nobody can tell.
        let uncovered = number(&report, "pairs.uncovered_plain");
        checks.eq("lost or not covered", lost.len() as u64 + uncovered, missing.len() as u64);
        checks.ok(uncovered <= 1, || format!("{uncovered} are not covered"));
    }
    checks.finish();
}

/// Where packets are in clear or decrypted, also those that were put together of outer fragments, every octet of overhead is some header's.
#[test]
fn overhead_is_the_sum_of_its_parts() {
    let Some(lab) = shared("lab") else { return };
    let mut checks = Checks::new("parts");
    for scenario in scenarios(&lab) {
        let keys = scenario.dir.join("sa.txt");
        let stated = !items(&scenario.truth, "sas").is_empty();
        let config = if stated { vec!["--config", word(&keys)] } else { Vec::new() };
        let report = json(&scenario.dir.join("plain-a.pcap"), &scenario.tunnel(), &config);
        checks.about(scenario.name.clone());
        if scenario.name == "frag-outer-1500" {
            checks.eq("decrypted", number(&report, "pairs.by_basis.decrypted"), number(&report, "pairs.matched"));
        }
        // Compression makes packets shorter, by what no header says; and of some sizes not every packet is in clear.
        let known = |size: &&Value| !size["predicted_bytes"].is_null() && !size["parts"].is_null();
        for size in items(&report, "sizes").iter().filter(|size| size["basis"] != "order").filter(known) {
            let (min, max) = (number(size, "overhead_min_bytes"), number(size, "overhead_max_bytes"));
            let parts = at(size, "parts").as_object().expect("parts").values();
            let sum: f64 = parts.map(|part| part.as_f64().expect("bytes")).sum();
            let what = format!("{} of {}", number(size, "inner_bytes"), text(size, "sa"));
            checks.ok((min as f64 - 1e-6..=max as f64 + 1e-6).contains(&sum), || format!("{what}: {sum}: {size:#}"));
            let why = size["difference_why"].as_str();
            let shorter = why.is_some_and(|why| why.starts_with("shorter"));
            checks.ok(!shorter, || format!("{what}: {why:?}, and nothing is compressed"));
        }
    }
    checks.finish();
}

/// A kernel's own capture of its outer link: of the 41 packets that came out of the tunnel each is there as ESP and in clear.
#[test]
fn what_a_gateway_shows_twice_is_not_beside_the_tunnel() {
    let Some(lab) = shared("lab") else { return };
    let of = |name: &str| lab.join("gateway-tap").join(name);
    let (plain, own, keys) = (of("plain-a.pcap"), of("gw-r1w.pcap"), of("sa.txt"));
    let closed = json(&plain, &own, &["--one-clock"]);
    assert_eq!(items(&closed, "outside").len(), 0, "{:#}", closed["outside"]);
    assert!(items(&closed, "directions").iter().all(|own| own["loss_pct"].as_f64().is_none_or(|loss| loss == 0.0)));
    let opened = json(&plain, &own, &["--one-clock", "--config", word(&keys)]);
    let matched: Vec<u64> = items(&opened, "directions").iter().map(|own| number(own, "matched")).collect();
    assert_eq!((matched, items(&opened, "outside").len()), (vec![64, 41], 0));
}

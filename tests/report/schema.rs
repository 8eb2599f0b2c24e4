//! Every JSON output is what its schema says, holds no member that the schema does not name, and can be read back.

use std::path::Path;

use serde_json::Value;
use spiglass::model::pairs::MatchReport;
use spiglass::model::report::Report;
use spiglass::model::trials::TrialsReport;
use spiglass::report::{calc, json};
use spiglass::transform::calculation::Calculation;

use crate::support::{fixture, shared, spiglass};

/// The schemas that the program prints.
fn schema(name: &str) -> Value {
    spiglass(&["schema", name]).expect(0).json()
}

/// What of `value` is not as `schema` says, with the path to it. Knows the words of JSON Schema that these schemas use.
fn check(root: &Value, schema: &Value, value: &Value, path: &str, wrong: &mut Vec<String>) {
    if let Some(reference) = schema["$ref"].as_str() {
        let pointer = reference.strip_prefix('#').expect("a reference within the schema");
        let target = root.pointer(pointer).unwrap_or_else(|| panic!("{reference} leads nowhere"));
        check(root, target, value, path, wrong);
    }
    for word in ["anyOf", "oneOf"] {
        if let Some(options) = schema[word].as_array() {
            let fits = options.iter().any(|option| {
                let mut own = Vec::new();
                check(root, option, value, path, &mut own);
                own.is_empty()
            });
            if !fits {
                wrong.push(format!("{path}: {value} is none of {word}"));
            }
        }
    }
    if let Some(values) = schema["enum"].as_array()
        && !values.contains(value)
    {
        wrong.push(format!("{path}: {value} is not in the list"));
    }
    if schema.get("const").is_some_and(|only| only != value) {
        wrong.push(format!("{path}: {value} is not {}", schema["const"]));
    }
    let is = |kind: &str| match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{path}: type {other} of the schema is unknown"),
    };
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !kinds.is_empty() && !kinds.iter().any(|kind| is(kind)) {
        wrong.push(format!("{path}: {value} is not of type {kinds:?}"));
        return;
    }
    if let (Some(items), Some(values)) = (value.as_array(), schema.get("items")) {
        items.iter().enumerate().for_each(|(n, item)| check(root, values, item, &format!("{path}/{n}"), wrong));
    }
    let Some(members) = value.as_object() else { return };
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !members.contains_key(name) {
            wrong.push(format!("{path}: {name} is missing"));
        }
    }
    let Some(properties) = schema["properties"].as_object() else {
        if let Some(values) = schema.get("additionalProperties").filter(|values| values.is_object()) {
            members.iter().for_each(|(name, own)| check(root, values, own, &format!("{path}/{name}"), wrong));
        }
        return;
    };
    for (name, own) in members {
        match properties.get(name) {
            Some(property) => check(root, property, own, &format!("{path}/{name}"), wrong),
            None => wrong.push(format!("{path}: {name} is not in the schema")),
        }
    }
}

/// Reads an output and writes it again.
type Again = fn(&[u8]) -> serde_json::Result<Vec<u8>>;

fn report(json: &[u8]) -> serde_json::Result<Vec<u8>> {
    let report: Report = serde_json::from_slice(json)?;
    let mut out = Vec::new();
    json::write(&report, &mut out).expect("memory");
    Ok(out)
}

fn pairs(json: &[u8]) -> serde_json::Result<Vec<u8>> {
    let report: MatchReport = serde_json::from_slice(json)?;
    let mut out = Vec::new();
    json::write_pairs(&report, &mut out).expect("memory");
    Ok(out)
}

fn bench(json: &[u8]) -> serde_json::Result<Vec<u8>> {
    let report: TrialsReport = serde_json::from_slice(json)?;
    let mut out = Vec::new();
    json::write_trials(&report, &mut out).expect("memory");
    Ok(out)
}

fn answer(json: &[u8]) -> serde_json::Result<Vec<u8>> {
    let answer: Calculation = serde_json::from_slice(json)?;
    let mut out = Vec::new();
    calc::json(&answer, &mut out).expect("memory");
    Ok(out)
}

/// The output of `args` is as `schema` says, and is the same when it is read and written again.
fn fits(schema: &Value, again: Again, args: &[&str]) {
    let run = spiglass(args);
    let value = run.json();
    let rewritten = again(&run.stdout).unwrap_or_else(|error| panic!("{args:?} is not read back: {error}"));
    assert!(rewritten == run.stdout, "{args:?}: read and written, it is another");
    let mut wrong = Vec::new();
    check(schema, schema, &value, "", &mut wrong);
    assert!(wrong.is_empty(), "{args:?}: {} members:\n  {}", wrong.len(), wrong.join("\n  "));
}

/// The output of `args` is as `schema` says.
fn fits_once(schema: &Value, args: &[&str]) {
    let value = spiglass(args).json();
    let mut wrong = Vec::new();
    check(schema, schema, &value, "", &mut wrong);
    assert!(wrong.is_empty(), "{args:?}: {} members:\n  {}", wrong.len(), wrong.join("\n  "));
}

#[test]
fn every_report_fits_its_schema() {
    let schema = schema("report");
    for name in ["lab", "seeds", "crashes"] {
        for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name))
            .expect("fixtures can be listed")
        {
            let capture = entry.expect("an entry").path();
            let is_capture = |end: &str| capture.extension().is_some_and(|extension| extension == end);
            if ["pcap", "pcapng", "gz", "zst"].into_iter().any(is_capture) {
                fits(&schema, report, &["report", "--format", "json", capture.to_str().expect("UTF-8")]);
            }
        }
    }
    let capture = fixture("seeds/test06-esp-null-broken.pcap");
    let config = fixture("policy/test06-broken-pair.txt");
    let (capture, config) = (capture.to_str().expect("UTF-8"), config.to_str().expect("UTF-8"));
    fits(&schema, report, &["check", "--format", "json", "--link-rate", "1G", "--config", config, capture]);
}

#[test]
fn every_report_of_pairs_fits_its_schema() {
    let schema = schema("match");
    for name in ["ah-sha256", "loss-before-tap", "wrong-auth-key"] {
        let side = |side: &str| fixture(&format!("lab/{name}-{side}.pcap")).to_str().expect("UTF-8").to_owned();
        let (plain, tunnel) = (side("plain-a"), side("tunnel"));
        fits(&schema, pairs, &["match", "--format", "json", "--plain", &plain, "--tunnel", &tunnel]);
    }
}

#[test]
fn every_report_of_the_lab_fits_its_schema() {
    let Some(lab) = shared("lab") else { return };
    let (reports, matches, trials) = (schema("report"), schema("match"), schema("trials"));
    let mut seen = 0;
    for entry in std::fs::read_dir(lab).expect("the lab can be listed") {
        let folder = entry.expect("an entry").path();
        let of = |name: &str| folder.join(name).to_str().expect("UTF-8").to_owned();
        if !folder.join("tunnel.pcap").exists() || !folder.join("plain-a.pcap").exists() {
            continue;
        }
        fits(&reports, report, &["report", "--format", "json", &of("tunnel.pcap")]);
        fits(
            &matches,
            pairs,
            &["match", "--format", "json", "--plain", &of("plain-a.pcap"), "--tunnel", &of("tunnel.pcap")],
        );
        let (plain, tunnel) = (of("plain-a.pcap"), of("tunnel.pcap"));
        fits(
            &trials,
            bench,
            &["trials", "--format", "json", "--link-rate", "1G", "--plain", &plain, "--tunnel", &tunnel],
        );
        seen += 1;
    }
    assert!(seen > 50, "{seen} scenarios");
}

#[test]
fn every_calculation_fits_its_schema() {
    let schema = schema("calc");
    fits(
        &schema,
        answer,
        &[
            "calc",
            "--format",
            "json",
            "--transform",
            "esp-3des esp-sha-hmac",
            "--transform",
            "aes128gcm16",
            "--sizes",
            "imix",
        ],
    );
}

#[test]
fn what_is_calculated_of_a_bench_fits_its_schema() {
    let model = schema("calc-model");
    fits_once(&model, &["calc", "--format", "json", "--model", "t_fix=734us,r_alg=11.31M", "--link-rate", "100M"]);
    let carried = ["--transform", "esp-aes esp-sha-hmac", "--sizes", "imix"];
    fits_once(
        &model,
        &[&["calc", "--format", "json", "--model", "t_fix=100us", "--link-rate", "10M"], &carried[..]].concat(),
    );
    let search = schema("calc-search");
    for actual in ["10M", "1"] {
        let asked = ["calc", "--format", "json", "--search", "--start", "50M", "--step", "25M", "--actual", actual];
        fits_once(&search, &asked);
    }
}

#[test]
fn what_is_not_in_the_schema_is_seen() {
    let schema = schema("report");
    let capture = fixture("lab/loss-before-tap-tunnel.pcap");
    let whole = spiglass(&["report", "--format", "json", capture.to_str().expect("UTF-8")]).json();
    let wrong_of = |value: &Value| {
        let mut wrong = Vec::new();
        check(&schema, &schema, value, "", &mut wrong);
        wrong.len()
    };
    assert_eq!(wrong_of(&whole), 0);
    let mut other = whole.clone();
    other["sas"][0]["frames"] = "many".into();
    assert_eq!(wrong_of(&other), 1);
    let mut other = whole.clone();
    other["sas"][0]["surprise"] = 1.into();
    assert_eq!(wrong_of(&other), 1);
    let mut other = whole.clone();
    other["sas"][0]["mode"] = "tunel".into();
    assert_eq!(wrong_of(&other), 1);
    let mut other = whole;
    other["sas"][0].as_object_mut().expect("an object").remove("spi");
    assert_eq!(wrong_of(&other), 1);
}

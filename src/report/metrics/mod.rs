//! A report as gauges for Prometheus: its text format, version 0.0.4, without time stamps of samples. What is not determined has no sample.

pub(super) mod tunnels;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::model::report::{Exactness, Report};

/// Gauges of the run, of each code of findings, of each tunnel and direction; of each SA only where that is asked for, because SAs of
/// IKE have new SPIs with every rekeying, and each would be a time series of its own.
#[must_use]
pub fn metrics(report: &Report, per_sa: bool) -> String {
    let mut text = String::new();
    of_run(&mut text, report);
    of_findings(&mut text, report);
    of_tunnels(&mut text, report);
    of_directions(&mut text, report);
    if per_sa {
        of_sas(&mut text, report);
    }
    text
}

/// A gauge with its samples; one without samples is left out.
fn gauge<'s>(text: &mut String, name: &str, help: &str, samples: impl IntoIterator<Item = (Labels<'s>, f64)>) {
    let mut samples = samples.into_iter().peekable();
    if samples.peek().is_none() {
        return;
    }
    // Writing to memory does not fail.
    let _ = writeln!(text, "# HELP spiglass_{name} {help}\n# TYPE spiglass_{name} gauge");
    for (labels, value) in samples {
        let labels: Vec<String> = labels.iter().map(|(label, of)| format!("{label}=\"{}\"", escaped(of))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(text, "spiglass_{name}{labels} {value}");
    }
}

type Labels<'s> = Vec<(&'static str, &'s str)>;

/// As the text format wants values of labels.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn of_run(text: &mut String, report: &Report) {
    let run = &report.run;
    let kinds = [("read", run.read), ("cut", run.cut), ("damaged", run.damaged), ("unreadable", run.unreadable)];
    let inputs = kinds.map(|(kind, n)| (vec![("outcome", kind)], n as f64));
    gauge(text, "inputs", "Captures of the run, by how they were read.", inputs);
    let exact = f64::from(u8::from(report.exactness == Exactness::Exact));
    gauge(text, "report_exact", "1 where all figures are exact, 0 where the report is degraded.", [(vec![], exact)]);
    gauge(text, "exit_status", "The exit status of the run.", [(vec![], report.exit_status.into())]);
    gauge(text, "frames", "Frames read.", [(vec![], report.totals.frames as f64)]);
    gauge(text, "ipsec_frames", "Frames with AH, ESP or IPComp.", [(vec![], report.totals.ipsec_frames as f64)]);
    let times = |ns: Option<i64>| ns.map(|ns| (vec![], ns as f64 / 1e9));
    let first = report.captures.iter().filter_map(|capture| capture.first_ns).min();
    let last = report.captures.iter().filter_map(|capture| capture.last_ns).max();
    gauge(text, "first_frame_timestamp_seconds", "Time of the earliest frame.", times(first));
    gauge(text, "last_frame_timestamp_seconds", "Time of the latest frame.", times(last));
}

fn of_findings(text: &mut String, report: &Report) {
    let mut codes = BTreeMap::<(&str, &str, bool), u64>::new();
    for finding in &report.findings {
        let key = (&*finding.code, finding.severity.name(), finding.accepted.is_some());
        let n = codes.entry(key).or_default();
        *n = n.saturating_add(1);
    }
    let samples = codes.into_iter().map(|((code, severity, accepted), n)| {
        let accepted = if accepted { "true" } else { "false" };
        (vec![("code", code), ("severity", severity), ("accepted", accepted)], n as f64)
    });
    gauge(text, "findings", "Findings, by code; accepted by a baseline, a threshold or --ignore or not.", samples);
}

fn of_tunnels(text: &mut String, report: &Report) {
    let all = tunnels::carried(report);
    let mut each = |name: &str, help: &str, value: &dyn Fn(&tunnels::TunnelSums) -> Option<f64>| {
        let samples = all.iter().filter_map(|((tap, src, dst), sum)| {
            Some((vec![("tap", tap.as_str()), ("src", src.as_str()), ("dst", dst.as_str())], value(sum)?))
        });
        gauge(text, name, help, samples);
    };
    each("tunnel_frames", "Frames of all SAs from one address to another.", &|sum| Some(sum.frames as f64));
    each("tunnel_lost_packets", "Sequence numbers that this tap never saw.", &|sum| sum.lost.map(|lost| lost as f64));
    each("tunnel_loss_ratio", "The same of all numbers, from 0 to 1.", &tunnels::TunnelSums::loss);
    let help = "Mean overhead of a packet, where it is known of all.";
    each("tunnel_overhead_mean_bytes", help, &tunnels::TunnelSums::overhead_bytes);
}

fn of_directions(text: &mut String, report: &Report) {
    let mut each = |name: &str, help: &str, value: &dyn Fn(&crate::model::report::DirectionRate) -> Option<f64>| {
        let samples = report.rates.directions.iter().filter_map(|rate| {
            Some((vec![("tap", &*rate.tap), ("from", rate.from.as_str()), ("to", rate.to.as_str())], value(rate)?))
        });
        gauge(text, name, help, samples);
    };
    each("direction_frames_per_second", "Mean rate of frames.", &|rate| rate.frames_per_s);
    // The base unit of Prometheus is the byte: `promtool check metrics` refuses bits.
    let help = "Mean rate at layer 1, control frames left out.";
    each("direction_l1_bytes_per_second", help, &|rate| rate.l1_bps.map(|bps| bps / 8.0));
    let help = "Mean rate of what the tunnels carry.";
    each("direction_goodput_bytes_per_second", help, &|rate| rate.goodput_bps.map(|bps| bps / 8.0));
}

fn of_sas(text: &mut String, report: &Report) {
    let mut each = |name: &str, help: &str, value: &dyn Fn(&crate::model::report::Sa) -> Option<f64>| {
        let samples = report.sas.iter().filter_map(|sa| Some((vec![("tap", &*sa.tap), ("sa", &*sa.id)], value(sa)?)));
        gauge(text, name, help, samples);
    };
    each("sa_frames", "Frames of the SA.", &|sa| Some(sa.frames as f64));
    let lost = |sa: &crate::model::report::Sa| sa.sequence.as_ref().map(|sequence| sequence.lost as f64);
    each("sa_lost_packets", "Sequence numbers of the SA that this tap never saw.", &lost);
    let last = |sa: &crate::model::report::Sa| sa.last_ns.map(|ns| ns as f64 / 1e9);
    each("sa_last_frame_timestamp_seconds", "Time of the latest frame of the SA.", &last);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    /// Every line is a comment or a sample, every sample has its gauge before it, and no name is there twice.
    #[test]
    fn the_text_is_in_the_format_of_prometheus() {
        for report in [sample::report(), sample::two_taps(), sample::hostile(), sample::empty()] {
            let text = metrics(&report, true);
            let (mut known, mut samples) = (std::collections::BTreeSet::new(), std::collections::BTreeSet::new());
            for line in text.lines() {
                if let Some(rest) = line.strip_prefix("# TYPE ") {
                    let (name, kind) = rest.split_once(' ').unwrap();
                    assert!(kind == "gauge" && known.insert(name.to_owned()), "{line}");
                } else if !line.starts_with("# HELP ") {
                    let (name, value) = line.rsplit_once(' ').unwrap();
                    let gauge = name.split('{').next().unwrap();
                    assert!(known.contains(gauge) && value.parse::<f64>().is_ok(), "{line}");
                    assert!(samples.insert(name.to_owned()), "{line}");
                }
            }
        }
        let rate = sample::report().rates.directions[0].l1_bps.unwrap() / 8.0;
        let line = |line: &&str| line.starts_with("spiglass_direction_l1_bytes_per_second{");
        assert!(metrics(&sample::report(), false).lines().find(line).unwrap().ends_with(&format!(" {rate}")));
        let (alone, with) = (metrics(&sample::report(), false), metrics(&sample::report(), true));
        assert!(!alone.contains("spiglass_sa_") && with.contains("spiglass_sa_frames{"));
    }

    #[test]
    fn labels_are_escaped() {
        assert_eq!(escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}

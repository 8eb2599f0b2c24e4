//! The tables of the benchmark documents, recomputed to the printed digit where they can be.

use crate::support::fixture;

fn rows(name: &str) -> Vec<std::collections::HashMap<String, String>> {
    let mut reader = csv::Reader::from_path(fixture(&format!("tables/{name}.csv"))).expect("a table");
    reader.deserialize().map(|row| row.expect("a row")).collect()
}

fn number(row: &std::collections::HashMap<String, String>, column: &str) -> Option<f64> {
    row.get(column)?.parse().ok()
}

/// Layer 1 octets of an untagged packet.
fn l1(packet: f64) -> f64 {
    (packet + 14.0).max(60.0) + 24.0
}

/// Rows of the Cisco documents whose packets per second and L1 rate disagree by more than the digits that are printed.
fn disagree(name: &str) -> Vec<(String, String, String)> {
    let wrong = |row: &std::collections::HashMap<String, String>| {
        let (size, mbps, fps) =
            (number(row, "packet_len_bytes")?, number(row, "l1_mbps")?, number(row, "packets_per_s")?);
        let made = fps * 8.0 * l1(size) / 1e6;
        // One decimal is printed, two of some rates; the last may be cut off.
        ((made - mbps).abs() > 0.11 + 0.002 * mbps).then(|| {
            let cell = |column: &str| row.get(column).cloned().unwrap_or_default();
            (cell("table"), cell("variant"), cell("packet_len_bytes"))
        })
    };
    rows(name).iter().filter_map(wrong).collect()
}

#[test]
fn frames_per_second_and_l1_of_the_cisco_documents() {
    let said = |rows: &[(&str, &str, &str)]| -> Vec<(String, String, String)> {
        rows.iter().map(|(a, b, c)| ((*a).to_owned(), (*b).to_owned(), (*c).to_owned())).collect()
    };
    // Vlan1-Gi0 at 128 bytes: 99.00 Mbit/s are 74,548 packets/s. Table 10 at 1,024: 62.02 stands for 6,202.
    assert_eq!(disagree("cisco-892"), said(&[("2", "Vlan1-Gi0", "128"), ("10", "Fa8-Gi0", "1024")]));
    // Table 1 was measured with flow control: PAUSE frames are in its L1 rates.
    let wrong = disagree("cisco-1921");
    assert!(wrong.iter().all(|(table, _, _)| matches!(table.as_str(), "1" | "4" | "5")), "{wrong:?}");
}

#[test]
fn frames_held_in_tisovsky_table_ii() {
    let held = |row: &std::collections::HashMap<String, String>| {
        let (rfc, mfrzl) = (number(row, "rfc1242_mbps")?, number(row, "mfrzl_mbps")?);
        Some((number(row, "duration_s")?, (rfc - mfrzl) * 1e6 * number(row, "duration_s")? / 4_000.0))
    };
    let held: Vec<(f64, f64)> = rows("tisovsky-table2-software").iter().filter_map(held).collect();
    let at = |seconds: f64| held.iter().find(|(s, _)| *s == seconds).map_or(0.0, |(_, frames)| *frames);
    assert!((at(2.0) - 404.5).abs() < 0.6 && (at(30.0) - 817.5).abs() < 0.6, "{held:?}");
}

#[test]
fn increases_of_the_rit_tables() {
    for row in rows("rit-ethernet-and-ipsec") {
        let of = |column: &str| number(&row, column).expect("a figure");
        // Table 6 prints a share and calls it an increase.
        let share = 100.0 * of("table6_ipsec_latency_ns") / of("table6_baseline_latency_ns");
        assert!((share - of("table6_pct_increase")).abs() < 1.0, "{row:?}: {share}");
        // Table 4 prints an increase, of bypass or encryption.
        let base = of("table4_baseline_latency_us");
        let increase = |column: &str| 100.0 * (of(column) - base) / base;
        let printed = of("table4_pct_increase");
        let made = [increase("table4_see_encryption_us"), increase("table4_see_bypass_us")];
        assert!(made.iter().any(|made| (made - printed).abs() < 0.13), "{row:?}: {made:?}");
    }
}

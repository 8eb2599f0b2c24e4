//! `spiglass calc` as scripts and people see it.

use std::collections::BTreeMap;

use crate::support::rit::RIT;
use crate::support::{Row, at, items, number, spiglass, text};

const HEADER: &str = "transform,inner_bytes,outer_bytes,overhead_bytes,overhead_of_inner_pct,l1_plain_bytes,l1_tunnel_bytes,\
                      max_plain_frames_per_s,max_plain_mbps,max_tunnel_frames_per_s,max_tunnel_mbps";

fn csv(options: &[&str]) -> Vec<Row> {
    let mut args = vec!["calc", "--format", "csv"];
    args.extend(options);
    spiglass(&args).expect(0).csv(HEADER)
}

fn integer(row: &Row, column: &str) -> i64 {
    row.get(column).parse().unwrap_or_else(|_| panic!("{column} is {}", row.get(column)))
}

fn rounded(row: &Row, column: &str) -> i64 {
    #[allow(clippy::cast_possible_truncation)] // frames per second of a link
    let whole = row.get(column).parse::<f64>().expect("a number").round() as i64;
    whole
}

#[test]
fn the_documents_overheads() {
    for (transform, size, expected) in [
        ("ah-md5-hmac", "64", 44),
        ("esp-null esp-md5-hmac", "64", 44),
        ("esp-des esp-md5-hmac", "64", 56),
        ("ah-md5-hmac esp-des", "64", 68),
        ("ah-md5-hmac esp-des esp-md5-hmac", "64", 80),
        ("ah-md5-hmac esp-3des esp-md5-hmac", "64", 80),
        ("ah-sha512-hmac esp-aes esp-sha512-hmac", "64", 136),
        ("ah-sha512-hmac esp-aes esp-sha512-hmac", "1000", 128),
    ] {
        let rows = csv(&["--transform", transform, "--sizes", size]);
        assert_eq!(rows.len(), 1);
        assert_eq!(integer(&rows[0], "overhead_bytes"), expected, "{transform} at {size}");
        assert_eq!(integer(&rows[0], "outer_bytes") - integer(&rows[0], "inner_bytes"), expected);
    }
}

/// Tables 1 and 3 of the RIT study: frame, Mbit/s and frames/s of Ethernet, the same with 57 octets of IPsec.
#[test]
fn the_studys_tables_through_a_constant_overhead() {
    let rows = csv(&["--overhead-bytes", "57", "--frame-sizes", "64,128,256,512,1024,1280,1420", "--link-rate", "1G"]);
    assert_eq!(rows.len(), RIT.len());
    for (row, expected) in rows.iter().zip(RIT) {
        let frame = i64::from(expected.0);
        assert_eq!(integer(row, "inner_bytes"), frame - 18);
        let found = ["max_plain_mbps", "max_plain_frames_per_s", "max_tunnel_mbps", "max_tunnel_frames_per_s"]
            .map(|column| rounded(row, column));
        assert_eq!(found, [expected.1, expected.2, expected.3, expected.4].map(i64::from), "frames of {frame}");
    }
}

#[test]
fn linux_pads_ah_to_eight() {
    let of = |options: &[&str]| integer(&csv(options)[0], "overhead_bytes");
    assert_eq!(of(&["-t", "ah-sha256-hmac", "--sizes", "64"]), 48);
    assert_eq!(of(&["-t", "ah-sha256-hmac", "--sizes", "64", "--ah-align", "8"]), 52);
    assert_eq!(of(&["-t", "ah-sha512-hmac", "--sizes", "64", "--ah-align", "8"]), 68);
    assert_eq!(of(&["-t", "ah-sha-hmac", "--sizes", "64", "--inner", "ipv6", "--outer", "ipv6"]), 64);
}

#[test]
fn every_option_has_its_octets() {
    let row = |options: &[&str]| {
        let all: Vec<&str> = ["-t", "aes128-sha1", "--sizes", "64"].iter().chain(options).copied().collect();
        let rows = csv(&all);
        (integer(&rows[0], "overhead_bytes"), integer(&rows[0], "l1_tunnel_bytes"))
    };
    assert_eq!(row(&[]), (72, 174));
    assert_eq!(row(&["--udp-encap"]), (80, 182));
    assert_eq!(row(&["--outer", "ipv6"]), (92, 194));
    assert_eq!(row(&["--vlan", "2"]), (72, 182));
    // The lab's `transport-host` and `gre-over-esp-transport`, and GRE in tunnel mode with a header of its own.
    assert_eq!(row(&["--mode", "transport"]), (40, 142));
    assert_eq!(row(&["--mode", "transport", "--gre"]), (72, 174));
    assert_eq!(row(&["--gre"]), (88, 190));
}

#[test]
fn several_transforms_stand_side_by_side() {
    let run =
        spiglass(&["calc", "-t", "esp-aes esp-sha-hmac", "-t", "aes128gcm16", "-t", "wireguard", "--sizes", "64,1500"])
            .expect(0);
    let page = run.text();
    for line in [
        "  [2] ESP AES-128-GCM-16, tunnel mode, IPv4 in IPv4",
        "  inner B  [1]  [2]  [3]",
        "       64   72   56   60",
        "    1 500   60   56   64",
        "  overhead 58 to 73 B: outer ip 20, esp header 8, iv 16, esp pad 0 to 15, esp trailer 2, icv 12",
    ] {
        assert!(page.lines().any(|found| found == line), "{line}\n{page}");
    }
    assert!(
        page.contains("largest packet without fragments: 1 438 B (1 496 B outside, MTU 1 500); TCP MSS 1 398 in IPv4")
    );
}

#[test]
fn one_object_tells_everything() {
    let answer =
        spiglass(&["calc", "-t", "ah-md5-hmac esp-des", "--sizes", "imix", "--format", "json", "--mtu", "1400"])
            .expect(0)
            .json();
    assert_eq!(text(&answer, "schema"), "spiglass.calc/1");
    let costs = &items(&answer, "transforms")[0];
    assert_eq!(text(costs, "transform"), "AH HMAC-MD5-96 + ESP DES-CBC");
    let parts: BTreeMap<&str, (u64, u64)> = items(costs, "parts")
        .iter()
        .map(|part| (text(part, "part"), (number(part, "min_bytes"), number(part, "max_bytes"))))
        .collect();
    let expected = [("outer_ip", 20), ("ah", 24), ("esp_header", 8), ("iv", 8), ("esp_trailer", 2)];
    let mut expected: BTreeMap<&str, (u64, u64)> = expected.map(|(part, n)| (part, (n, n))).into();
    expected.insert("esp_pad", (0, 7));
    assert_eq!(parts, expected);
    assert_eq!(number(costs, "largest_outer_bytes"), 1396);
    assert_eq!(number(costs, "largest_inner_bytes"), 1334);
    assert_eq!((number(costs, "tcp_mss_ipv4"), number(costs, "tcp_mss_ipv6")), (1294, 1274));
    let weak: Vec<&str> = items(costs, "weak").iter().filter_map(|weak| weak.as_str()?.split(':').next()).collect();
    assert_eq!(weak, ["HMAC-MD5-96", "DES-CBC"]);
    let fragments: Vec<u64> = items(costs, "sizes").iter().map(|size| number(size, "fragments")).collect();
    assert_eq!(fragments, [1, 1, 2]);
    // (7 x 40 + 4 x 576 + 1 x 1500) / 12, and so on.
    // Packets of 108, 644 and 1564: 4084 and 812 octets; with Ethernet, preamble and gap 4582 octets of plaintext and 5352 of the tunnel.
    let imix = [
        ("inner_bytes_mean", 340.333),
        ("outer_bytes_mean", 408.0),
        ("overhead_of_inner_pct", 19.882),
        ("max_plain_frames_per_s", 327_367.962),
        ("max_tunnel_frames_per_s", 280_269.058),
        ("tunnel_of_plain_pct", 85.613),
    ];
    for (figure, want) in imix {
        assert_eq!(at(costs, &format!("imix.{figure}")).as_f64(), Some(want), "{figure}");
    }
}

#[test]
fn forms_agree_with_each_other() {
    let options = ["-t", "3des-md5", "-t", "none"];
    let rows = csv(&options);
    assert_eq!(
        rows.iter().map(|row| integer(row, "inner_bytes")).collect::<Vec<_>>(),
        [46, 110, 238, 494, 1006, 1262, 1500].repeat(2)
    );
    let lines = spiglass(&[&["calc", "--format", "ndjson"], &options[..]].concat()).expect(0);
    let lines: Vec<serde_json::Value> =
        lines.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), rows.len());
    for (line, row) in lines.iter().zip(&rows) {
        assert_eq!(number(line, "outer_bytes").to_string(), row.get("outer_bytes"));
        assert_eq!(text(line, "transform"), row.get("transform"));
    }
    let markdown = spiglass(&[&["calc", "--format", "markdown"], &options[..]].concat()).expect(0);
    assert!(markdown.text().contains("\n| 46 | 96 | 50 | 108.7 | 84 | 134 |"), "{}", markdown.text());
    let transforms =
        spiglass(&[&["calc", "--format", "csv", "--table", "transforms"], &options[..]].concat()).expect(0);
    let transforms = transforms.csv(
        "transform,mode,overhead_min_bytes,overhead_max_bytes,largest_inner_bytes,tcp_mss_ipv4,tcp_mss_ipv6,parts",
    );
    assert_eq!(transforms[0].get("parts"), "outer_ip 20;esp_header 8;iv 8;esp_pad 0..7;esp_trailer 2;icv 12");
    assert_eq!((transforms[1].get("mode"), transforms[1].get("largest_inner_bytes")), ("", "1500"));
}

#[test]
fn mistakes_are_told_and_keys_are_not_repeated() {
    for (options, expected) in [
        (&["-t", "esp-aesx"][..], "did you mean esp-aes?"),
        (&["-t", "ah-md5-hmac", "--udp-encap"], "AH does not go into UDP"),
        (&["-t", "esp-aes", "--mode", "transport", "--inner", "ipv4", "--outer", "ipv6"], "cannot differ"),
        (&["-t", "esp-aes", "--inner", "ipv6", "--sizes", "39"], "39: a packet of IPv6 has 40 to 65535 bytes"),
        (&["-t", "esp-aes", "--sizes", "65536"], "65535"),
        (&["-t", "esp-aes", "--sizes", "1,x"], "imix"),
        (&["-t", "esp-aes", "--frame-sizes", "63"], "64 bytes"),
        (&["-t", "esp-aes", "--overhead-bytes", "57"], "cannot be used with"),
        (&["-t", "esp-aes", "--table", "sizes"], "--format csv"),
        (&[], "--transform"),
    ] {
        let run = spiglass(&[&["calc"], options].concat()).expect(2);
        assert!(run.stderr.contains(expected), "{options:?}: {run}");
        assert!(run.stdout.is_empty());
    }
    let run = spiglass(&["calc", "-t", "esp-aes 00112233445566778899aabbccddeeff"]).expect(2);
    assert!(!run.stderr.contains("00112233"), "{run}");
}

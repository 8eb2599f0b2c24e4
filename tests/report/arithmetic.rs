//! The size arithmetic against what documents print and what a kernel sent.

use crate::support;
use std::collections::BTreeMap;

use serde_json::Value;
use spiglass::transform::algorithm::{cipher, integrity};
use spiglass::transform::size::ah::Alignment;
use spiglass::transform::size::ethernet;
use spiglass::transform::size::fit::{fragments, largest_inner, tcp_mss};
use spiglass::transform::size::layers::{Carried, IpVersion, Layer, Layers};
use spiglass::transform::size::path::{Mode, Path, Protection};
use spiglass::transform::{Esp, Part, Suite};

use crate::support::rit::RIT;
use crate::support::{items, text};

fn path(transform: &str) -> Path {
    Path::new(transform.parse::<Protection>().unwrap_or_else(|error| panic!("{transform}: {error}")))
}

fn layers(transform: &str) -> Layers {
    path(transform).layers().expect("a path")
}

fn overhead(transform: &str, inner: u64) -> i64 {
    layers(transform).lengths(inner).expect("a length").overhead()
}

/// Cisco 892: the overhead of tests #5 to #11 and frames 9 to 20. Test #7 prints 44 where its own frame has 56.
#[test]
fn every_overhead_of_the_routers_document() {
    for (transform, inner, expected) in [
        ("ah-md5-hmac", 64, 44),
        ("esp-null esp-md5-hmac", 64, 44),
        ("esp-des esp-md5-hmac", 64, 56),
        ("ah-md5-hmac esp-des", 64, 68),
        ("ah-md5-hmac esp-des esp-md5-hmac", 64, 80),
        ("ah-md5-hmac esp-3des esp-md5-hmac", 64, 80),
        ("ah-sha512-hmac esp-aes esp-sha512-hmac", 64, 136),
        ("ah-sha512-hmac esp-aes esp-sha512-hmac", 1000, 128),
    ] {
        assert_eq!(overhead(transform, inner), expected, "{transform} at {inner}");
    }
}

/// Figure 20: AH 44, ESP 136, one outer header, of 64 octets inside.
#[test]
fn the_parts_of_figure_20() {
    let lengths = layers("ah-sha512-hmac esp-aes esp-sha512-hmac").lengths(64).expect("a length");
    let parts: Vec<_> = lengths.parts.present().map(|(part, octets)| (part.name(), octets)).collect();
    assert_eq!(
        parts,
        [("outer_ip", 20), ("ah", 44), ("esp_header", 8), ("iv", 16), ("esp_pad", 14), ("esp_trailer", 2), ("icv", 32)]
    );
    assert_eq!((lengths.outer, lengths.outer + u64::from(ethernet::HEADER)), (200, 214));
}

/// Table 2 of the RIT study: the parts of its 57 octets are those of 3DES with a 96-bit ICV at the most padding.
#[test]
fn the_57_octets_of_the_study_are_3des_at_its_worst() {
    let (least, most) = layers("esp-3des esp-md5-hmac").extremes().expect("extremes");
    assert_eq!((least.overhead(), most.overhead()), (50, 57));
    let parts: BTreeMap<_, _> = most.parts.present().map(|(part, octets)| (part.name(), octets)).collect();
    let expected =
        [("outer_ip", 20), ("esp_header", 4 + 4), ("iv", 8), ("esp_trailer", 1 + 1), ("esp_pad", 7), ("icv", 12)];
    assert_eq!(parts, BTreeMap::from(expected));
    let Some(tables) = support::shared("seeds/tables") else { return };
    let table = tables.join("rit-esp-tunnel-overhead-57.csv");
    let printed = rows(&table);
    let of = |field: &str| {
        printed.iter().find(|row| row["field"] == field).expect(field)["bytes"].parse::<i64>().expect("bytes")
    };
    assert_eq!(of("total"), most.overhead());
    assert_eq!(of("padding"), most.parts.of(Part::EspPad));
    assert_eq!(of("initialization_vector"), most.parts.of(Part::Iv));
    assert_eq!(of("authenticator"), most.parts.of(Part::Icv));
    assert_eq!(of("spi") + of("sequence_number"), most.parts.of(Part::EspHeader));
    assert_eq!(of("pad_size") + of("next_protocol"), most.parts.of(Part::EspTrailer));
    assert_eq!(of("ip_header_encapsulation"), most.parts.of(Part::OuterIp));
}

#[test]
#[allow(clippy::float_cmp)] // both sides are rounded to whole numbers
fn maxima_of_the_study_to_the_printed_digit() {
    let constant = Path::new(Protection::Constant(57)).layers().expect("a path");
    for row in RIT {
        let frame = u64::from(row.0);
        let [plain_mbps, plain_fps, ipsec_mbps, ipsec_fps] = [row.1, row.2, row.3, row.4].map(f64::from);
        let inner = frame - 18;
        let lengths = constant.lengths(inner).expect("a length");
        #[allow(clippy::cast_precision_loss)]
        let maxima = |ip: u64| {
            let fps = ethernet::frames_per_s(1_000_000_000, ethernet::l1_of_packet(ip) as f64);
            ((fps * frame as f64 * 8.0 / 1e6).round(), fps.round())
        };
        assert_eq!(maxima(inner), (plain_mbps, plain_fps), "table 1 at {frame}");
        assert_eq!(maxima(lengths.outer), (ipsec_mbps, ipsec_fps), "table 3 at {frame}");
    }
    let Some(tables) = support::shared("seeds/tables") else { return };
    let table = tables.join("rit-ethernet-and-ipsec.csv");
    for (row, expected) in rows(&table).iter().zip(RIT) {
        let figures =
            ["table1_max_ethernet_mbps", "table1_max_ethernet_fps", "table3_max_ipsec_mbps", "table3_max_ipsec_fps"]
                .map(|column| row[column].parse::<f64>().expect("a figure"));
        assert_eq!(
            figures,
            [expected.1, expected.2, expected.3, expected.4].map(f64::from),
            "the table in this test is the study's"
        );
    }
}

/// One row of a reference table: transform, least and most overhead, largest inner packet, the same in UDP, outer lengths.
type Reference = (&'static str, i64, i64, u64, u64, [u64; 7]);

const INNER: [u64; 7] = [46, 110, 238, 494, 1006, 1262, 1500];

/// IPv4 in IPv4, tunnel mode, on a link with an MTU of 1500.
const REFERENCE: [Reference; 11] = [
    ("esp-aes esp-sha-hmac", 58, 73, 1438, 1422, [104, 168, 296, 552, 1064, 1320, 1560]),
    ("esp-aes esp-sha256-hmac", 62, 77, 1438, 1422, [108, 172, 300, 556, 1068, 1324, 1564]),
    ("esp-aes esp-sha512-hmac", 78, 93, 1422, 1406, [124, 188, 316, 572, 1084, 1340, 1580]),
    ("esp-3des esp-md5-hmac", 50, 57, 1446, 1438, [96, 160, 288, 544, 1056, 1312, 1552]),
    ("esp-3des esp-sha-hmac", 50, 57, 1446, 1438, [96, 160, 288, 544, 1056, 1312, 1552]),
    ("aes128gcm16", 54, 57, 1446, 1438, [100, 164, 292, 548, 1060, 1316, 1556]),
    ("chacha20poly1305", 54, 57, 1446, 1438, [100, 164, 292, 548, 1060, 1316, 1556]),
    ("esp-gmac", 54, 57, 1446, 1438, [100, 164, 292, 548, 1060, 1316, 1556]),
    ("aes128gcm8", 46, 49, 1454, 1446, [92, 156, 284, 540, 1052, 1308, 1548]),
    ("esp-null esp-sha-hmac", 42, 45, 1458, 1450, [88, 152, 280, 536, 1048, 1304, 1544]),
    ("null-md5", 42, 45, 1458, 1450, [88, 152, 280, 536, 1048, 1304, 1544]),
];

#[test]
fn every_cell_of_the_reference_table() {
    for (transform, least, most, fits, fits_in_udp, outer) in REFERENCE {
        let tunnel = layers(transform);
        let extremes = tunnel.extremes().expect("extremes");
        assert_eq!((extremes.0.overhead(), extremes.1.overhead()), (least, most), "{transform}");
        assert_eq!(largest_inner(&tunnel, 1500), Some(fits), "{transform}");
        let in_udp = Path { udp: true, ..path(transform) }.layers().expect("a path");
        assert_eq!(largest_inner(&in_udp, 1500), Some(fits_in_udp), "{transform} in UDP");
        let over_ipv6 = Path { outer: IpVersion::V6, ..path(transform) }.layers().expect("a path");
        let transport = Path { mode: Mode::Transport, ..path(transform) }.layers().expect("a path");
        let (transport_least, transport_most) = transport.extremes().expect("extremes");
        // A transport payload is a header shorter than the packet, which moves the padding, not its range.
        assert_eq!((transport_least.overhead(), transport_most.overhead()), (least - 20, most - 20), "{transform}");
        for (inner, outer) in INNER.into_iter().zip(outer) {
            let length = |layers: &Layers| layers.lengths(inner).expect("a length").outer;
            assert_eq!(length(&tunnel), outer, "{transform} at {inner}");
            assert_eq!(length(&in_udp), outer + 8, "{transform} in UDP at {inner}");
            assert_eq!(length(&over_ipv6), outer + 20, "{transform} over IPv6 at {inner}");
        }
    }
    // The check vector of a vendor's calculator.
    assert_eq!(layers("esp-aes esp-sha-hmac").lengths(100).map(|lengths| lengths.outer), Some(168));
}

#[test]
fn what_ipsec_is_compared_with() {
    assert_eq!(overhead("wireguard", 48), 60);
    assert_eq!(
        Path { outer: IpVersion::V6, ..path("wireguard") }.layers().map(|l| l.lengths(48).map(|l| l.overhead())),
        Ok(Some(80))
    );
    assert_eq!(overhead("wireguard", 49), 75);
    assert_eq!((overhead("macsec", 100), overhead("macsec-sci", 100)), (24, 32));
    assert_eq!(layers("macsec").lengths(100).map(|lengths| (lengths.outer, lengths.link)), Some((100, 24)));
    assert_eq!((overhead("ipip", 100), overhead("none", 100)), (20, 0));
    let gre = Path { gre: true, ..path("none") };
    assert_eq!(gre.layers().expect("a path").lengths(100).map(|lengths| lengths.overhead()), Some(24));
    // GRE in tunnel mode has a delivery header of its own inside ESP.
    let both = Path { gre: true, ..path("esp-aes esp-sha-hmac") };
    let outer = |mode| Path { mode, ..both }.layers().expect("a path").lengths(100).expect("a length");
    assert_eq!(outer(Mode::Transport).parts.of(Part::OuterIp), 20);
    assert_eq!(outer(Mode::Tunnel).parts.of(Part::OuterIp), 40);
}

#[test]
fn impossible_paths_say_why() {
    let ah = Path { udp: true, ..path("ah-md5-hmac esp-des") }.layers().expect_err("AH in UDP").to_string();
    assert!(ah.contains("NAT"), "{ah}");
    let only_ah = Path { udp: true, ..path("ah-md5-hmac") }.layers();
    assert!(only_ah.is_err());
    let mixed = Path { mode: Mode::Transport, outer: IpVersion::V6, ..path("esp-null esp-md5-hmac") }.layers();
    assert!(mixed.expect_err("two versions").to_string().contains("transport mode"));
    // A packet shorter than its own header has no length in transport mode.
    let transport = Path { mode: Mode::Transport, ..path("esp-null esp-md5-hmac") }.layers().expect("a path");
    assert_eq!(transport.lengths(19), None);
    assert_eq!(layers("esp-aes esp-sha-hmac").lengths(u64::MAX), None);
}

#[test]
fn segments_and_fragments() {
    assert_eq!((tcp_mss(1438, IpVersion::V4), tcp_mss(1438, IpVersion::V6)), (Some(1398), Some(1378)));
    assert_eq!(tcp_mss(30, IpVersion::V4), None);
    // Lab `frag-outer-1500`: 1439 octets inside AES-CBC-SHA1 become 1500 and 32.
    let cut = fragments(1512, IpVersion::V4, 1500).expect("fragments");
    assert_eq!((cut.count, cut.total), (2, 1532));
    assert_eq!(fragments(1500, IpVersion::V4, 1500).map(|cut| cut.count), Some(1));
    assert_eq!(fragments(1560, IpVersion::V6, 1500).map(|cut| (cut.count, cut.total)), Some((2, 1520 + 96)));
    assert_eq!(fragments(1500, IpVersion::V4, 24), None);
    assert_eq!(fragments(1500, IpVersion::V4, 10), None);
    assert_eq!(largest_inner(&layers("esp-aes esp-sha-hmac"), 60), None);
}

/// Every transform and every size that the lab's kernel sent.
#[test]
fn computed_lengths_are_the_captured_ones() {
    let Some(lab) = support::shared("lab") else { return };
    let mut compared = 0_u64;
    let mut scenarios = 0;
    for entry in std::fs::read_dir(&lab).expect("the lab can be listed") {
        let scenario = entry.expect("an entry").path();
        let (truth, observed) = (scenario.join("truth.json"), scenario.join("observed.json"));
        if !truth.exists() || !observed.exists() {
            continue;
        }
        let name = scenario.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        let (truth, observed) = (support::read_json(&truth), support::read_json(&observed));
        let sizes = observed.get("order_match").and_then(Value::as_object).expect("order_match");
        let possible = configured(&name, &truth);
        scenarios += 1;
        for (inner, outers) in sizes {
            let inner: u64 = inner.parse().expect("a length");
            let computed: Vec<u64> =
                possible.iter().map(|layers| layers.lengths(inner).expect("a length").outer).collect();
            // What compression makes of a packet depends on its content; Linux leaves what is shorter than 90 octets alone.
            if name == "ipcomp" && inner > 90 {
                continue;
            }
            for (outer, count) in outers.as_object().expect("outer lengths") {
                let outer: u64 = outer.parse().expect("a length");
                assert!(computed.contains(&outer), "{name}: {inner} inside, {outer} captured, {computed:?} computed");
                compared += count.as_u64().expect("a count");
            }
        }
    }
    assert!(scenarios > 50 && compared > 15_000, "{scenarios} scenarios, {compared} packets");
}

/// The layers that a scenario configured; several where it has several tunnels.
fn configured(name: &str, truth: &Value) -> Vec<Layers> {
    let version =
        |field: &str| if truth.get(field).and_then(Value::as_u64) == Some(6) { IpVersion::V6 } else { IpVersion::V4 };
    let outer = version("outer_family");
    let layers: Vec<&Value> = items(truth, "layers").iter().collect();
    if name == "random-two-tunnels" {
        return layers.into_iter().map(|layer| stack(&[layer], outer)).collect();
    }
    vec![stack(&layers, outer)]
}

/// The lab names its layers from the inside out.
fn stack(layers: &[&Value], outer: IpVersion) -> Layers {
    // Transport mode around a tunnel protects what the tunnel's outer header carries: there is one outer header.
    let (mut around, carried) = match layers {
        [] => (vec![], Carried::Packet),
        [only] if text(only, "mode") == "transport" => (vec![], Carried::Payload(outer)),
        _ => (vec![Layer::Ip(outer)], Carried::Packet),
    };
    for layer in layers.iter().rev() {
        let has = |field: &str| layer.get(field).and_then(Value::as_bool) == Some(true);
        let proto = text(layer, "proto");
        match proto {
            "ah" => {
                let alignment = if has("align4") { Alignment::Rfc } else { Alignment::Eight };
                around.push(Layer::Ah(integrity_of(text(layer, "auth")).expect("an algorithm"), alignment));
            }
            "esp" => {
                if has("udp") {
                    around.push(Layer::Udp);
                }
                let tfc = layer.get("tfcpad").and_then(Value::as_u64).unwrap_or(0);
                let tfc = u32::try_from(tfc).expect("bytes");
                around.push(Layer::Esp { esp: esp(layer), tfc });
            }
            "gre" => around.push(Layer::Gre(4)),
            "ip6tnl" if !text(layer, "options").contains("encaplimit none") => around.push(Layer::IpOptions(8)),
            // Short packets are not compressed and travel as IP in IP.
            "ip6tnl" | "ipip" | "sit" | "comp" => {}
            other => panic!("the lab has a layer that this test does not know: {other}"),
        }
    }
    Layers { carried, around }
}

fn esp(layer: &Value) -> Esp {
    let field = |name: &str| layer.get(name).and_then(Value::as_str);
    let cipher = match (field("aead"), field("enc")) {
        (Some("gcm128" | "gcm256"), _) => "AES-GCM-16",
        (_, Some("aes128")) => "AES-CBC",
        (_, Some("aesctr")) => "AES-CTR",
        (_, Some("3des")) => "3DES-CBC",
        (_, Some("des")) => "DES-CBC",
        (_, Some("null")) => "NULL",
        other => panic!("the lab has a cipher that this test does not know: {other:?}"),
    };
    let cipher = cipher::named(cipher).expect("in the catalogue");
    Esp { cipher, key_bits: None, integrity: field("auth").and_then(integrity_of) }
}

fn integrity_of(name: &str) -> Option<&'static spiglass::transform::Integrity> {
    integrity::named(match name {
        "md5" => "HMAC-MD5-96",
        "sha1" => "HMAC-SHA1-96",
        "sha256" => "HMAC-SHA2-256-128",
        "sha512" => "HMAC-SHA2-512-256",
        other => panic!("the lab has an algorithm that this test does not know: {other}"),
    })
}

/// Rows of the routers' tables: packet length, packets per second, printed Mbit/s of layer 1.
const L1: [(u64, f64, f64); 6] = [
    (40, 111_933.0, 75.2),
    (64, 93_053.0, 75.9),
    (40, 101_930.0, 68.5),
    (256, 6_101.0, 14.4),
    (1024, 6_202.0, 52.7),
    (64, 111_551.0, 91.0),
];

/// Layer 1 Mbit/s, as the documents print it after they rounded it to two digits.
fn l1_mbps(packet: u64, per_second: f64) -> f64 {
    #[allow(clippy::cast_precision_loss)]
    let mbps = per_second * ethernet::l1_of_packet(packet) as f64 * 8.0 / 1e6;
    (mbps * 100.0).round() / 100.0
}

#[test]
fn layer_1_rates_of_both_routers_tables() {
    for (packet, per_second, printed) in L1 {
        assert!((l1_mbps(packet, per_second) - printed).abs() < 0.0501, "{packet} bytes, {per_second} packets/s");
    }
    // What the documents print wrongly: table 1 of the 1921 counts PAUSE frames, one row lost a factor of a hundred, and
    // three rows are off.
    let exceptions = [
        ("1921", "1", "CEF", 5),
        ("1921", "4", "CEF", 1),
        ("1921", "5", "CEF", 1),
        ("892", "2", "Vlan1-Gi0", 1),
        ("892", "10", "Fa8-Gi0", 1),
    ];
    let mut different: BTreeMap<(String, String, String), usize> = BTreeMap::new();
    let mut compared = 0;
    let Some(tables) = support::shared("seeds/tables") else { return };
    for router in ["1921", "892"] {
        for row in rows(&tables.join(format!("cisco-{router}.csv"))) {
            // The rows of random lengths have no packets per second.
            let (Ok(packet), Ok(per_second)) = (row["packet_len_bytes"].parse(), row["packets_per_s"].parse()) else {
                continue;
            };
            compared += 1;
            let printed: f64 = row["l1_mbps"].parse().expect("a rate");
            if (l1_mbps(packet, per_second) - printed).abs() > 0.0501 {
                *different.entry((router.to_owned(), row["table"].clone(), row["variant"].clone())).or_default() += 1;
            }
        }
    }
    let expected =
        exceptions.map(|(router, table, variant, n)| ((router.to_owned(), table.to_owned(), variant.to_owned()), n));
    assert_eq!(different, BTreeMap::from(expected));
    assert_eq!(compared, 189);
}

/// The rows of a CSV file by column name.
fn rows(path: &std::path::Path) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(path).expect("a table");
    reader.deserialize().map(|row| row.expect("a row")).collect()
}

/// Suites from text and by hand are the same.
#[test]
fn a_suite_by_hand() {
    let des = cipher::named("DES-CBC").expect("in the catalogue");
    assert_eq!("esp-des esp-md5-hmac".parse(), Ok(Suite::esp(des, integrity::named("HMAC-MD5-96"))));
}

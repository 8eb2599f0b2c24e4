//! Healthy pairs that are written in a way that a narrow reading would accuse, each beside the fault that it must not hide.

use crate::pairs::loud;
use crate::support::spiglass;
use serde_json::Value;

/// The codes of errors and warnings of two texts.
fn codes(name: &str, texts: [&str; 2]) -> Vec<String> {
    let mut words = vec!["check".to_owned(), "--format".to_owned(), "json".to_owned()];
    for (at, text) in texts.iter().enumerate() {
        let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("readings-{name}-{at}.txt"));
        std::fs::write(&path, text).expect("a file can be written");
        words.extend(["--config".to_owned(), path.to_str().expect("a path of text").to_owned()]);
    }
    let findings: Vec<Value> = spiglass(&words).json()["findings"].as_array().expect("findings").clone();
    let mut codes: Vec<String> = loud(&findings).into_iter().map(str::to_owned).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

const NONE: [&str; 0] = [];

/// A router with a map entry of IKE, and a filter on its interface.
fn filtered(host: &str, last: [u8; 2], lans: [u8; 2], filter: &str) -> String {
    let [own, peer] = last.map(|octet| format!("203.0.113.{octet}"));
    let [near, far] = lans.map(|lan| format!("10.41.{lan}.0"));
    format!(
        "version 15.4\nhostname {host}\n!\nip access-list extended OUTSIDE-IN\n{filter} permit esp any any\n!\n\
         crypto ipsec transform-set VPNSET esp-aes esp-sha-hmac\n mode tunnel\n!\ncrypto map VPN 10 ipsec-isakmp\n set peer {peer}\n \
         set transform-set VPNSET\n match address CRYPTO\n!\ninterface GigabitEthernet0/1\n ip address {own} 255.255.255.252\n \
         ip access-group OUTSIDE-IN in\n crypto map VPN\n!\ninterface GigabitEthernet0/2\n ip address 10.41.{}.1 255.255.255.0\n!\n\
         ip route {far} 255.255.255.0 {peer}\n!\nip access-list extended CRYPTO\n permit ip {near} 0.0.0.255 {far} 0.0.0.255\n!\nend\n",
        lans[0]
    )
}

#[test]
fn several_ports_in_a_line_of_a_filter_are_all_let_in() {
    let pair = |filter: &str| [filtered("Alder", [5, 6], [3, 9], filter), filtered("Birch", [6, 5], [9, 3], filter)];
    let codes_of = |name: &str, filter: &str| {
        let [a, b] = pair(filter);
        codes(name, [&a, &b])
    };
    for (name, filter) in [
        ("ports", " permit udp any any eq isakmp non500-isakmp\n"),
        ("numbers", " permit udp any any eq 4500 500\n"),
        ("range", " permit udp any any range 500 4500\n"),
    ] {
        assert_eq!(codes_of(name, filter), NONE, "{name}");
    }
    let denied = " deny udp any any eq non500-isakmp isakmp\n permit udp any any\n";
    assert_eq!(codes_of("denied", denied), ["config-acl-blocks"]);
}

const AES: [&str; 2] = ["1f0e2d3c4b5a69788796a5b4c3d2e1f0", "55aa55aa55aa55aa1234123412341234"];
const SHA: [&str; 4] = [
    "00112233445566778899aabbccddeeff01020304",
    "5566778855667788556677885566778855667788",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
];

/// A bundle of AH around ESP: on IOS one transform set, on Linux two states, of which that of AH is in transport mode.
fn bundle(authenticator: &str) -> [String; 2] {
    let [cin, cout] = AES;
    let [ain, aout, hin, hout] = SHA;
    let ios = format!(
        "version 15.4\nhostname Alder\n!\ncrypto ipsec transform-set VPNSET ah-sha-hmac esp-aes esp-sha-hmac\n mode tunnel\n!\n\
         crypto map VPN 10 ipsec-manual\n set peer 203.0.113.6\n set session-key inbound ah 8001 {hin}\n \
         set session-key outbound ah 8002 {hout}\n set session-key inbound esp 7001 cipher {cin} authenticator {authenticator}\n \
         set session-key outbound esp 7002 cipher {cout} authenticator {aout}\n set transform-set VPNSET\n match address CRYPTO\n!\n\
         interface GigabitEthernet0/1\n ip address 203.0.113.5 255.255.255.252\n crypto map VPN\n!\ninterface GigabitEthernet0/2\n \
         ip address 10.41.3.1 255.255.255.0\n!\nip route 10.41.9.0 255.255.255.0 203.0.113.6\n!\nip access-list extended CRYPTO\n \
         permit ip 10.41.3.0 0.0.0.255 10.41.9.0 0.0.0.255\n!\nend\n"
    );
    let state = |src: u8, dst: u8, spi: u32, kind: &str, mode: &str, keys: &str| {
        format!(
            "src 203.0.113.{src} dst 203.0.113.{dst}\n\tproto {kind} spi {spi} reqid 7 mode {mode}\n\treplay-window 32\n{keys}"
        )
    };
    let esp = |auth: &str, enc: &str| format!("\tauth-trunc hmac(sha1) 0x{auth} 96\n\tenc cbc(aes) 0x{enc}\n");
    let ah = |auth: &str| format!("\tauth-trunc hmac(sha1) 0x{auth} 96\n");
    let policy = |dir: &str| {
        let (from, to, src, dst) = if dir == "out" { (9, 3, 6, 5) } else { (3, 9, 5, 6) };
        let ends = format!("src 203.0.113.{src} dst 203.0.113.{dst}");
        format!(
            "src 10.41.{from}.0/24 dst 10.41.{to}.0/24 \n\tdir {dir} priority 0 \n\ttmpl {ends}\n\t\tproto esp reqid 7 mode tunnel\n\
             \ttmpl {ends}\n\t\tproto ah reqid 7 mode transport\n"
        )
    };
    let linux = [
        "root@birch:~# ip xfrm state\n".to_owned(),
        state(6, 5, 7001, "esp", "tunnel", &esp(ain, cin)),
        state(5, 6, 7002, "esp", "tunnel", &esp(aout, cout)),
        state(6, 5, 8001, "ah", "transport", &ah(hin)),
        state(5, 6, 8002, "ah", "transport", &ah(hout)),
        "root@birch:~# ip xfrm policy\n".to_owned(),
        ["out", "in", "fwd"].map(policy).concat(),
    ];
    [ios, linux.concat()]
}

#[test]
fn each_protocol_of_a_bundle_has_its_own_algorithms() {
    let [ios, linux] = bundle(SHA[0]);
    assert_eq!(codes("bundle", [&ios, &linux]), NONE);
    let [ios, linux] = bundle("00112233445566778899aabbccddeeff01020305");
    assert!(codes("bundle-key", [&ios, &linux]).contains(&"config-key-mismatch".to_owned()));
}

/// The kernel takes no ESP without a cipher: where no text shows one, a line of it is missing.
#[test]
fn a_state_of_which_a_line_is_missing_has_no_other_algorithms() {
    let host = |name: &str, dirs: [&str; 2], whole: bool| {
        let state = |src: u8, dst: u8, spi: &str, auth: &str, enc: &str| {
            let cipher = if whole { format!("\tenc cbc(aes) 0x{enc}\n") } else { String::new() };
            format!(
                "src 198.51.100.{src} dst 198.51.100.{dst}\n\tproto esp spi {spi} reqid 7 mode tunnel\n\treplay-window 32\n\
                 \tauth-trunc hmac(sha1) 0x{auth} 96\n{cipher}"
            )
        };
        let [there, back] = dirs;
        let policy = |from: u8, to: u8, src: u8, dst: u8, dir: &str| {
            format!(
                "src 10.20.{from}.0/24 dst 10.20.{to}.0/24 \n\tdir {dir} priority 0 \n\ttmpl src 198.51.100.{src} dst 198.51.100.{dst}\n\
                 \t\tproto esp reqid 7 mode tunnel\n"
            )
        };
        [
            format!("root@{name}:~# ip xfrm state\n"),
            state(21, 22, "0x5001", SHA[0], AES[0]),
            state(22, 21, "0x5002", SHA[1], AES[1]),
            format!("root@{name}:~# ip xfrm policy\n"),
            policy(1, 2, 21, 22, there),
            policy(2, 1, 22, 21, back),
            if there == "out" { policy(2, 1, 22, 21, "fwd") } else { policy(1, 2, 21, 22, "fwd") },
        ]
        .concat()
    };
    let east = host("east", ["out", "in"], true);
    assert_eq!(codes("whole", [&east, &host("west", ["in", "out"], true)]), NONE);
    assert_eq!(codes("part", [&east, &host("west", ["in", "out"], false)]), NONE);
}

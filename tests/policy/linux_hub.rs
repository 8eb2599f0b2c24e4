//! A Linux host with tunnels to two others: what belongs to one tunnel says nothing of the other.

use crate::pairs::{lint, loud, text, touched};
use serde_json::Value;

const KEYS: [(&str, &str); 4] = [
    ("6187cf7757a7cf4163291bed87499fdd9177bd65", "23437f7dc71f0d61bf4793eb0101eda7"),
    ("a16587617b978d7b6b0b71c7a585d3c9031171c9", "5b1fa3c58d5fb1714da52707876bdb79"),
    ("0f1e2d3c4b5a69788796a5b4c3d2e1f001122334", "2b7e151628aed2a6abf7158809cf4f3c"),
    ("99887766554433221100ffeeddccbbaa00112233", "603deb1015ca71be2b73aef0857d7781"),
];

/// The core and a leaf, 11 or 12: both hosts' states, and the policies of the host with the first address.
fn states(leaf: u32, from_leaf: u32) -> String {
    let (core, far) = ("192.0.2.1", format!("192.0.2.{leaf}"));
    let at = usize::try_from(leaf - 11).expect("small") * 2;
    let state = |src: &str, dst: &str, spi: u32, (auth, enc): (&str, &str)| {
        format!(
            "src {src} dst {dst}\n\tproto esp spi {spi:#010x} reqid {leaf} mode tunnel\n\treplay-window 32\n\tauth-trunc hmac(sha1) 0x{auth} 96\n\
             \tenc cbc(aes) 0x{enc}\n"
        )
    };
    state(core, &far, 0x1000 + leaf, KEYS[at]) + &state(&far, core, from_leaf, KEYS[at + 1])
}

fn policies(leaf: u32, at_core: bool) -> String {
    let (core, far) = ("192.0.2.1".to_owned(), format!("192.0.2.{leaf}"));
    let (lan, beyond) = ("10.0.0.0/16".to_owned(), format!("10.{leaf}.0.0/16"));
    let ([own, peer], [near, remote]) =
        if at_core { ([core, far], [lan, beyond]) } else { ([far, core], [beyond, lan]) };
    let policy = |src: &str, dst: &str, way: &str, from: &str, to: &str| {
        format!(
            "src {src} dst {dst}\n\tdir {way} priority 0\n\ttmpl src {from} dst {to}\n\t\tproto esp reqid {leaf} mode tunnel\n"
        )
    };
    policy(&near, &remote, "out", &own, &peer)
        + &policy(&remote, &near, "in", &peer, &own)
        + &policy(&remote, &near, "fwd", &peer, &own)
}

const SPIS: [u32; 2] = [0x2011, 0x2012];

/// The core with its leaves.
fn hosts() -> [String; 3] {
    let listed = |name: &str, states: &str, policies: &str| {
        format!("root@{name}:~# ip xfrm state\n{states}root@{name}:~# ip xfrm policy\n{policies}")
    };
    let (first, second) = (states(11, SPIS[0]), states(12, SPIS[1]));
    [
        listed("core", &(first.clone() + &second), &(policies(11, true) + &policies(12, true))),
        listed("leaf1", &first, &policies(11, false)),
        listed("leaf2", &second, &policies(12, false)),
    ]
}

fn found(name: &str, texts: &[String; 3]) -> Vec<Value> {
    lint(&format!("hub-{name}"), &[&texts[0], &texts[1], &texts[2]])
}

fn lines(findings: &[Value]) -> Vec<String> {
    let fixes = findings.iter().flat_map(|finding| finding["fix"].as_array().expect("fixes"));
    fixes
        .flat_map(|fix| fix["lines"].as_array().expect("lines"))
        .map(|line| line.as_str().expect("text").to_owned())
        .collect()
}

/// Replacements in the core's out policies only, by leaf.
fn out_policy(leaf: u32, from: &str, to: &str) -> [String; 3] {
    let mut texts = hosts();
    let head = format!("src 10.0.0.0/16 dst 10.{leaf}.0.0/16\n\tdir out");
    let at = texts[0].find(&head).expect("the policy");
    let (before, policy) = texts[0].split_at(at);
    assert!(policy.contains(from), "{from}");
    texts[0] = before.to_owned() + &policy.replacen(from, to, 1);
    texts
}

#[test]
fn a_policy_that_leads_into_another_tunnel_is_there_and_is_updated() {
    let sound = found("sound", &hosts());
    assert!(loud(&sound).is_empty() && touched(&sound).is_empty(), "{sound:#?}");
    // The whole template is that of the other leaf.
    let whole = out_policy(
        12,
        "tmpl src 192.0.2.1 dst 192.0.2.12\n\t\tproto esp reqid 12",
        "tmpl src 192.0.2.1 dst 192.0.2.11\n\t\tproto esp reqid 11",
    );
    let findings = found("whole", &whole);
    assert_eq!(loud(&findings), ["config-template-mismatch"], "{findings:#?}");
    assert!(lines(&findings)[0].starts_with(
        "ip xfrm policy update src 10.0.0.0/16 dst 10.12.0.0/16 dir out tmpl src 192.0.2.1 dst 192.0.2.12"
    ));
    // A template that was typed without addresses and mode: the policy is there, too.
    let bare = out_policy(
        11,
        "src 192.0.2.1 dst 192.0.2.11\n\t\tproto esp reqid 11 mode tunnel",
        "src 0.0.0.0 dst 0.0.0.0\n\t\tproto esp reqid 11 mode transport",
    );
    let findings = found("bare", &bare);
    assert!(!loud(&findings).contains(&"config-policy-missing"), "{findings:#?}");
    assert!(lines(&findings).iter().all(|line| line.starts_with("ip xfrm policy update")), "{findings:#?}");
    // The selectors of the two out policies are exchanged.
    let mut exchanged = hosts();
    let [first, second] = ["10.11.0.0/16\n\tdir out", "10.12.0.0/16\n\tdir out"];
    exchanged[0] = exchanged[0].replace(first, "FIRST").replace(second, first).replace("FIRST", second);
    let findings = found("exchanged", &exchanged);
    assert_eq!(touched(&findings), ["core"], "{findings:#?}");
    assert_eq!(lines(&findings).len(), 2, "{findings:#?}");
    assert!(lines(&findings).iter().all(|line| line.starts_with("ip xfrm policy update")), "{findings:#?}");
}

#[test]
fn an_spi_that_the_receiver_has_for_another_sa_is_wrong_at_the_sender() {
    let mut texts = hosts();
    texts[2] = texts[2].replace("0x00002012", "0x00002011");
    let findings = found("spi", &texts);
    assert_eq!(loud(&findings), ["config-spi-mismatch"], "{findings:#?}");
    assert_eq!(touched(&findings), ["leaf2"], "{findings:#?}");
    assert!(text(&findings[0], "evidence").contains("XfrmInStateProtoError"), "{findings:#?}");
}

#[test]
fn the_other_tunnel_speaks_for_no_template() {
    let cases = [
        (
            "address",
            out_policy(11, "dst 192.0.2.11\n\t\tproto", "dst 192.0.2.12\n\t\tproto"),
            "config-template-mismatch",
        ),
        ("reqid", out_policy(11, "reqid 11", "reqid 12"), "config-reqid-mismatch"),
    ];
    for (name, texts, code) in cases {
        for texts in [texts.clone(), [texts[0].clone(), texts[1].clone(), String::new()]] {
            let findings = found(name, &texts);
            assert_eq!(loud(&findings), [code], "{name}: {findings:#?}");
            assert_eq!(touched(&findings), ["core"], "{name}: {findings:#?}");
            assert!(text(&findings[0], "evidence").contains("of the template is at fault"), "{name}: {findings:#?}");
            assert!(
                lines(&findings).iter().all(|line| line.starts_with("ip xfrm policy update")),
                "{name}: {findings:#?}"
            );
        }
    }
    // All templates of a tunnel have one reqid and its states another: neither is the odd one, and a policy is changed without its keys.
    let mut texts = hosts();
    let at = texts[0].find("xfrm policy").expect("policies");
    let (states, policies) = texts[0].split_at(at);
    texts[0] = states.to_owned() + &policies.replace("reqid 11", "reqid 31");
    let findings = found("all", &texts);
    assert!(
        findings.iter().all(|one| text(one, "evidence").contains("is not determined by this text")),
        "{findings:#?}"
    );
    assert!(lines(&findings).iter().all(|line| line.starts_with("ip xfrm policy update")), "{findings:#?}");
}

/// Two tunnels for the same networks, by priority: what one of them lacks is missing, and the policies of the other one lead where they should.
#[test]
fn a_policy_of_the_tunnel_beside_is_not_astray() {
    let host = |name: &str, there: bool, without: &str| {
        let (near, far) = if there { ("10.10.0.0/16", "10.20.0.0/16") } else { ("10.20.0.0/16", "10.10.0.0/16") };
        let tunnels = [("192.0.2.1", "198.51.100.1", 11), ("203.0.113.1", "198.51.100.9", 22)];
        let lines = tunnels.into_iter().flat_map(|(a, b, reqid)| {
            let state = |src: &str, dst: &str, spi: u32| {
                let key = format!("{spi:040x}");
                format!(
                    "ip xfrm state add src {src} dst {dst} proto esp spi {spi:#x} reqid {reqid} mode tunnel auth-trunc 'hmac(sha1)' 0x{key} 96 \
                     enc 'cbc(aes)' 0x{}",
                    &key[8..]
                )
            };
            let (own, peer) = if there { (a, b) } else { (b, a) };
            let policy = |dir: &str| {
                let (from, to, src, dst) = if dir == "out" { (near, far, own, peer) } else { (far, near, peer, own) };
                format!(
                    "ip xfrm policy add src {from} dst {to} dir {dir} priority {reqid} tmpl src {src} dst {dst} proto esp reqid {reqid} mode tunnel"
                )
            };
            let base = reqid * 0x1000;
            [state(a, b, base + 1), state(b, a, base + 2), policy("out"), policy("in"), policy("fwd")]
        });
        let kept: Vec<String> = lines.filter(|line| without.is_empty() || !line.contains(without)).collect();
        format!("hostname {name}\n{}\n", kept.join("\n"))
    };
    let bravo = host("bravo", false, "");
    for (name, without) in [("fwd", "dir fwd priority 22"), ("out", "dir out priority 11"), ("none", "")] {
        let findings = lint(&format!("beside-{name}"), &[&host("alpha", true, without), &bravo]);
        let wanted: &[&str] = if without.is_empty() { &[] } else { &["config-policy-missing"] };
        assert_eq!(loud(&findings), wanted, "{name}: {findings:#?}");
        assert!(lines(&findings).iter().all(|line| line.contains("policy add")), "{name}: {findings:#?}");
    }
}

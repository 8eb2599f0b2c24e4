//! Lines of a policy.

use super::facts::{Direction, Mark, Template, XfrmPolicy, number};
use super::{Part, Xfrm, state};
use crate::model::{Address, Protocol};
use crate::policy::facts::builder::Builder;
use crate::policy::facts::redact::redacted;
use crate::policy::facts::router::{InForce, Way};
use crate::policy::facts::selector::{Net, Selector};
use crate::policy::words::{address, spi};

/// IP protocols by number, in the words of `ip xfrm`.
const NAMES: [(&str, &str); 9] = [
    ("1", "icmp"),
    ("4", "ipencap"),
    ("6", "tcp"),
    ("17", "udp"),
    ("41", "ipv6"),
    ("47", "gre"),
    ("58", "ipv6-icmp"),
    ("89", "ospf"),
    ("132", "sctp"),
];

/// What narrows a policy's selector besides its addresses.
#[derive(Clone, Default)]
pub(super) struct Narrower {
    protocol: Option<String>,
    src_port: String,
    dst_port: String,
    /// Something that a selector cannot hold, such as `dev eth0`.
    more: Option<String>,
}

impl Narrower {
    pub(super) fn read(words: &[&str]) -> Self {
        let mut read = Self::default();
        let short =
            |word: &str| word.len() <= 16 && word.bytes().all(|b| b.is_ascii_graphic()) && redacted(word) == word;
        for pair in words.chunks(2) {
            match pair {
                ["proto", "0" | "any" | "ip"] => {}
                ["proto", protocol] if short(protocol) => {
                    let named = NAMES.iter().find(|(number, _)| number == protocol).map(|(_, name)| *name);
                    read.protocol = Some(named.unwrap_or(protocol).to_owned());
                }
                ["sport", port] if short(port) => read.src_port = format!("eq {port}"),
                ["dport", port] if short(port) => read.dst_port = format!("eq {port}"),
                // ICMP's type and code stand where ports do.
                ["type" | "code", value] if short(value) => {
                    let kind = pair.first().copied().unwrap_or_default();
                    read.dst_port = format!("{} {kind} {value}", read.dst_port).trim().to_owned();
                }
                ["uid", "0"] => {}
                [name, value] if short(name) && short(value) => read.more = Some(format!("{name} {value}")),
                _ => read.more = Some(String::new()),
            }
        }
        read
    }
}

impl Xfrm {
    /// `dir out action block index 1 priority 0 ptype main`.
    pub(super) fn dir(&mut self, way: &str, rest: &[&str], builder: &mut Builder) {
        self.template = None;
        let (Some((src, dst)), Some(direction)) = (self.ends.clone(), Direction::read(way)) else {
            self.part = Part::OtherPolicy;
            return;
        };
        self.part = Part::Policy;
        let Narrower { protocol, src_port, dst_port, more } = self.narrower.clone();
        let mut words = format!("src {src} dst {dst}");
        for (name, value) in [("proto", protocol.as_deref().unwrap_or_default()), ("sport", port(&src_port))] {
            if !value.is_empty() {
                words.push_str(&format!(" {name} {value}"));
            }
        }
        match (port(&dst_port), dst_port.as_str()) {
            ("", "") => {}
            ("", other) => words.push_str(&format!(" {other}")),
            (port, _) => words.push_str(&format!(" dport {port}")),
        }
        if let Some(more) = &more {
            words.push_str(&format!(" {more}"));
        }
        let with = protocol.as_ref().map_or_else(String::new, |protocol| format!(" proto {protocol}"));
        let cite = builder.cite(&format!("src {src} dst {dst}{with} dir {way}"));
        let after = |name: &str| rest.iter().position(|word| *word == name).and_then(|at| rest.get(at + 1)).copied();
        let protocol = protocol.unwrap_or_else(|| "ip".to_owned());
        let nets = net(&src).zip(net(&dst)).filter(|_| more.is_none());
        let policy = XfrmPolicy {
            selector: nets.map(|(src, dst)| Selector { protocol, src, src_port, dst, dst_port }),
            words,
            direction,
            block: after("action") == Some("block") || rest.first() == Some(&"block"),
            priority: after("priority").and_then(number).unwrap_or(0),
            mark: Mark::default(),
            if_id: 0,
            main: after("ptype") != Some("sub"),
            templates: Vec::new(),
            cite,
        };
        if let Some(router) = builder.router() {
            router.xfrm_policies.push(policy);
        }
    }

    /// `proto esp reqid 100 mode tunnel` of a template.
    pub(super) fn asked(&mut self, protocol: &str, rest: &[&str], builder: &mut Builder) {
        let Some((src, dst, cite)) = self.template.take() else { return };
        let after = |name: &str| rest.iter().position(|word| *word == name).and_then(|at| rest.get(at + 1)).copied();
        let any = |word: &str| address(word).filter(|address| !unspecified(*address));
        let template = Template {
            src: any(&src),
            dst: any(&dst),
            protocol: match protocol {
                "esp" | "50" => Some(Protocol::Esp),
                "ah" | "51" => Some(Protocol::Ah),
                "comp" | "108" => Some(Protocol::IpComp),
                _ => None,
            },
            reqid: after("reqid").and_then(number).unwrap_or(0),
            spi: after("spi").and_then(spi).filter(|spi| !spi.is_zero()),
            mode: state::mode(after("mode")),
            optional: after("level") == Some("use"),
            cite,
        };
        self.policy(builder, |policy| policy.templates.push(template));
        let (src, dst) = (address(&src), address(&dst));
        let Some(router) = builder.router() else { return };
        let Some(policy) = router.xfrm_policies.last().filter(|policy| policy.templates.len() == 1) else { return };
        let way = match policy.direction {
            Direction::Out => Way::Out,
            Direction::In => Way::In,
            Direction::Fwd => return,
        };
        let (local, remote) = if way == Way::In { (dst, src) } else { (src, dst) };
        if let Some(selector) = &policy.selector {
            let selector = if way == Way::In { selector.mirrored() } else { selector.clone() };
            router.selectors.push(InForce { selector, way: Some(way), local, remote, cite: policy.cite.clone() });
        }
    }

    /// `level use` below a template.
    pub(super) fn optional(&self, builder: &mut Builder) {
        self.policy(builder, |policy| {
            if let Some(template) = policy.templates.last_mut() {
                template.optional = true;
            }
        });
    }
}

fn port(text: &str) -> &str {
    text.strip_prefix("eq ").unwrap_or_default()
}

/// `0.0.0.0` and `::`.
fn unspecified(address: Address) -> bool {
    address.to_ip().is_unspecified()
}

fn net(word: &str) -> Option<Net> {
    match word.split_once('/') {
        Some((base, prefix)) => Net::prefix(address(base)?, prefix.parse().ok()?),
        None => Some(Net::host(address(word)?)),
    }
}

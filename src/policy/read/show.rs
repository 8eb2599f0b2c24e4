//! `show crypto ipsec sa` of Cisco IOS, IOS-XE and ASA: the SAs in force.

use crate::model::{Address, Protocol};
use crate::policy::facts::builder::Builder;
use crate::policy::facts::counted;
use crate::policy::facts::counted::{Counters, Flow};
use crate::policy::facts::redact;
use crate::policy::facts::router::{Display, InForce, Installed, Mode, Way};
use crate::policy::facts::selector::{Net, Selector};
use crate::policy::form::paste::Read;
use crate::policy::words::{address, endpoint, spi};

/// Beginnings of lines that are known and say nothing here.
const NOISE: [&str; 36] = [
    "icmp",
    "access-list",
    "#pmtus",
    "#tfc",
    "#valid",
    "#post-frag",
    "#pre-frag",
    "#recv",
    "anti",
    "pmtu",
    "dynamic",
    "username:",
    "bytes",
    "protected",
    "permit,",
    "#pkts",
    "##pkts",
    "#send",
    "path",
    "current",
    "pfs",
    "conn",
    "sa",
    "iv",
    "replay",
    "status:",
    "kilobyte",
    "crypto",
    "flow_id",
    "slot:",
    "outbound",
    "inbound",
    "plaintext",
    "ip",
    "ike",
    "in",
];

/// Reads the display.
#[derive(Default)]
pub(in crate::policy) struct Show {
    map: Option<String>,
    local: Option<Address>,
    remote: Option<Address>,
    local_net: Option<Net>,
    /// Whether the last selector of the router is of this flow.
    selects: bool,
    /// What the SAs below a heading are.
    group: Option<(Way, Protocol)>,
    encapsulated: Option<(u64, crate::policy::Cite)>,
}

impl Show {
    /// A line that only this display has.
    pub(in crate::policy) fn open(&mut self, text: &str, words: &[&str], builder: &mut Builder) -> Read {
        let mine =
            matches!(words, ["interface:", ..] | ["Crypto", "map", "tag:", ..] | ["#pkts", "encaps:" | "decaps:", ..])
                || matches!(words, ["inbound" | "outbound", "esp" | "ah" | "pcp", "sas:"])
                || text.starts_with("current_peer")
                || text.starts_with("local crypto endpt")
                || text.starts_with("local ident (");
        if !mine {
            return Read::Foreign;
        }
        *self = Self::default();
        self.go_on(text, words, builder)
    }

    /// A line of the display.
    pub(in crate::policy) fn go_on(&mut self, text: &str, words: &[&str], builder: &mut Builder) -> Read {
        match words {
            ["interface:", ..] => *self = Self::default(),
            ["Crypto", "map", "tag:", tag, rest @ ..] => {
                *self = Self { map: Some(tag.trim_end_matches(',').to_owned()), ..Self::default() };
                self.local = rest.last().and_then(|word| endpoint(word));
            }
            ["local", "ident", _, value] | ["local", "ident", value] => self.local_net = ident(value),
            ["remote", "ident", _, value] | ["remote", "ident", value] => self.selector(text, value, builder),
            ["current_peer" | "current_peer:", peer, ..] => self.place(None, endpoint(peer), builder),
            ["local", "crypto", "endpt.:" | "endpt:", local, "remote", "crypto", _, remote] => {
                self.place(endpoint(local), endpoint(remote).or(self.remote), builder);
            }
            ["#pkts", "encaps:", count, ..] => {
                self.encapsulated = number(count).map(|count| (count, builder.cite(&counts(text))));
                self.flow(text, number(count), builder);
            }
            ["#send" | "#recv", ..] => errors(text, builder),
            ["#pkts", "decaps:", count, ..] => self.counters(text, count, builder),
            [way @ ("inbound" | "outbound"), protocol, "sas:", ..] => {
                let way = if *way == "inbound" { Way::In } else { Way::Out };
                self.group = match *protocol {
                    "esp" => Some((way, Protocol::Esp)),
                    "ah" => Some((way, Protocol::Ah)),
                    _ => None,
                };
            }
            ["spi:", value, ..] => self.sa(value, builder),
            ["transform:", transforms @ ..] => transform(transforms, builder),
            ["no", "sa", "timing"] => {}
            ["sa", "timing:", ..] => edit(builder, |sa| sa.negotiated = true),
            ["in", "use", "settings", ..] => {
                let mode = if text.contains("Transport") { Mode::Transport } else { Mode::Tunnel };
                let udp = text.contains("UDP");
                let negotiated = text.contains("IKEv");
                edit(builder, |sa| {
                    sa.mode = Some(mode);
                    sa.udp = udp;
                    sa.negotiated |= negotiated;
                });
            }
            // The bitmap of the anti-replay window of ASA.
            [first, ..] if first.starts_with("0x") => {}
            [first, ..]
                if NOISE.contains(&first.to_ascii_lowercase().as_str()) && *first != "crypto" && *first != "ip" =>
            {
                if first.starts_with('#') {
                    errors(text, builder);
                }
            }
            _ => return Read::Foreign,
        }
        Read::Understood
    }

    fn selector(&mut self, text: &str, value: &str, builder: &mut Builder) {
        self.selects = false;
        let (Some(src), Some(dst)) = (self.local_net, ident(value)) else { return };
        let protocol = match value.trim_matches(['(', ')']).split('/').nth(2) {
            Some("0") | None => "ip".to_owned(),
            Some(number) => number.to_owned(),
        };
        let selector = Selector { protocol, src, src_port: String::new(), dst, dst_port: String::new() };
        let cite = builder.cite(text);
        let (local, remote) = (self.local, self.remote);
        if let Some(router) = builder.router() {
            router.selectors.push(InForce { selector, way: None, local, remote, cite });
            self.selects = true;
        }
    }

    /// The ends of the tunnel stand below what it selects.
    fn place(&mut self, local: Option<Address>, remote: Option<Address>, builder: &mut Builder) {
        (self.local, self.remote) = (local.or(self.local), remote);
        let last = builder.continues().and_then(|router| router.selectors.last_mut());
        if let Some(one) = last.filter(|_| self.selects) {
            (one.local, one.remote) = (one.local.or(self.local), one.remote.or(self.remote));
        }
    }

    /// A flow begins with what was encapsulated.
    fn flow(&self, text: &str, count: Option<u64>, builder: &mut Builder) {
        let cite = builder.cite(&counts(text));
        let (local, remote) = (self.local, self.remote);
        if let (Some(encapsulated), Some(router)) = (count, builder.router()) {
            let (decapsulated, opened, trouble) = (None, None, Vec::new());
            let selector = router.selectors.last().filter(|_| self.selects).map(|one| one.selector.clone());
            let cites = vec![cite];
            router.flows.push(Flow { local, remote, selector, encapsulated, decapsulated, opened, trouble, cites });
        }
    }

    fn counters(&mut self, text: &str, count: &str, builder: &mut Builder) {
        let cite = builder.cite(&counts(text));
        let flow = builder.router().and_then(|router| router.flows.last_mut());
        if let Some(flow) = flow.filter(|flow| flow.decapsulated.is_none()) {
            flow.decapsulated = number(count);
            flow.opened = counted::opened(text);
            flow.cites.push(cite.clone());
        }
        if let (Some((encapsulated, first)), Some(decapsulated)) = (self.encapsulated.take(), number(count))
            && let Some(router) = builder.router()
        {
            router.counters.push(Counters { encapsulated, decapsulated, cites: vec![first, cite] });
        }
    }

    fn sa(&mut self, value: &str, builder: &mut Builder) {
        let Some((way, protocol)) = self.group else { return };
        let Some(spi) = spi(value) else {
            builder.wrong("an SPI that is no number up to 0xffffffff");
            return;
        };
        let (src, dst) = if way == Way::In { (self.remote, self.local) } else { (self.local, self.remote) };
        let cite = builder.cite(&format!("spi: {value}"));
        let map = self.map.clone();
        if let Some(router) = builder.router() {
            let listed = Installed::listed(Display::Cisco, protocol, spi, cite);
            router.installed.push(Installed { way: Some(way), src, dst, map, ..listed });
        }
    }
}

/// Notes counters of errors with the flow they stand under.
fn errors(text: &str, builder: &mut Builder) {
    let trouble = counted::trouble(text);
    let cite = builder.cite(text);
    if let Some(flow) = builder.router().and_then(|router| router.flows.last_mut()).filter(|_| !trouble.is_empty()) {
        flow.trouble.extend(trouble);
        flow.cites.push(cite);
    }
}

/// The transform of an SA, as it is displayed.
fn transform(words: &[&str], builder: &mut Builder) {
    let listed: Vec<&str> = words.iter().map(|word| word.trim_end_matches(',')).collect();
    let listed = redact::transforms(&listed).join(" ");
    let cite = builder.cite(&format!("transform: {listed}"));
    edit(builder, |sa| {
        sa.words = listed.trim().to_owned();
        sa.cites.push(cite);
    });
}

fn edit(builder: &mut Builder, change: impl FnOnce(&mut Installed)) {
    if let Some(sa) = builder.router().and_then(|router| router.installed.last_mut()) {
        change(sa);
    }
}

/// The names and numbers of a line of counters, and nothing behind them.
fn counts(text: &str) -> String {
    let read = |word: &&str| *word == "#pkts" || word.ends_with(':') || number(word).is_some_and(|_| word.len() < 22);
    text.split(' ').take_while(read).collect::<Vec<_>>().join(" ")
}

fn number(word: &str) -> Option<u64> {
    word.trim_end_matches(',').parse().ok()
}

/// `(192.168.2.2/255.255.255.255/0/0)`.
fn ident(value: &str) -> Option<Net> {
    let mut parts = value.trim_matches(['(', ')']).split('/');
    let base = address(parts.next()?)?;
    let mask = parts.next()?;
    match mask.parse::<std::net::Ipv4Addr>() {
        Ok(mask) => Some(Net::masked(base, u128::from(mask.to_bits()))),
        Err(_) => Net::prefix(base, mask.parse().ok()?),
    }
}

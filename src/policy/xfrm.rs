//! `ip xfrm state` and `ip xfrm policy` of Linux, with or without `-s` and `-d`.

use super::builder::Builder;
use super::paste::Read;
use super::router::{Display, InForce, Installed, Mode, Numbering, Way};
use super::secret::Secret;
use super::selector::{Net, Selector};
use super::words::{address, spi};
use crate::model::{Address, Protocol, Spi};

/// Beginnings of lines that are known and say nothing here.
const NOISE: [&str; 27] = [
    "replay-window",
    "anti-replay",
    "lifetime",
    "limit:",
    "expire",
    "stats:",
    "coaddr",
    "lastused",
    "output-mark",
    "offload",
    "crypto",
    "if_id",
    "mark",
    "security",
    "level",
    "ptype",
    "seq",
    "enc-mask",
    "socket",
    "share",
    "oseq",
    "replay_window",
    "bitmap",
    "failed",
    "replay",
    "dir",
    "add",
];

/// What the present lines are about.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Part {
    #[default]
    Nothing,
    /// `src A dst B` was read; the next line says of what.
    Ends,
    /// A state that is not kept (a protocol that is none of ours).
    OtherState,
    State,
    Policy,
}

/// What narrows a policy's selector besides its addresses.
#[derive(Clone, Default)]
struct Narrower {
    protocol: Option<String>,
    src_port: String,
    dst_port: String,
    /// Something that a selector cannot hold, such as `dev eth0`.
    more: bool,
}

impl Narrower {
    fn read(words: &[&str]) -> Self {
        let mut read = Self::default();
        for pair in words.chunks(2) {
            match pair {
                ["proto", protocol] => read.protocol = Some((*protocol).to_owned()),
                ["sport", port] => read.src_port = format!("eq {port}"),
                ["dport", port] => read.dst_port = format!("eq {port}"),
                // ICMP's type and code stand where ports do.
                ["type" | "code", value] => {
                    read.dst_port =
                        format!("{} {} {value}", read.dst_port, pair.first().unwrap_or(&"")).trim().to_owned();
                }
                ["uid", "0"] => {}
                _ => read.more = true,
            }
        }
        read
    }
}

/// Reads both displays.
#[derive(Default)]
pub(super) struct Xfrm {
    part: Part,
    ends: Option<(String, String)>,
    /// What else the line of a policy's selector says.
    narrower: Narrower,
    selector: Option<(Selector, super::Cite)>,
    way: Option<Way>,
    template: Option<(Option<Address>, Option<Address>)>,
}

impl Xfrm {
    /// `src A dst B`.
    pub(super) fn open(&mut self, words: &[&str], builder: &mut Builder) -> Read {
        let ["src", src, "dst", dst, rest @ ..] = words else { return Read::Foreign };
        let known = |word: &str| address(word.split_once('/').map_or(word, |(base, _)| base)).is_some();
        if !known(src) || !known(dst) {
            builder.wrong("a source or destination that is no address");
            return Read::Understood;
        }
        self.part = Part::Ends;
        self.ends = Some(((*src).to_owned(), (*dst).to_owned()));
        self.narrower = Narrower::read(rest);
        self.selector = None;
        self.way = None;
        Read::Understood
    }

    /// A line below it.
    pub(super) fn go_on(&mut self, text: &str, words: &[&str], builder: &mut Builder) -> Read {
        match words {
            ["src", ..] => return self.open(words, builder),
            ["proto", protocol, rest @ ..] => return self.proto(protocol, rest, builder),
            // Newer kernels say of a state, too, which way it goes.
            ["dir", way] if self.part == Part::State => {
                let way = way_of(way);
                self.edit(builder, |sa| sa.way = way);
            }
            ["dir", way, ..] => self.dir(way, builder),
            ["tmpl", "src", src, "dst", dst, ..] => self.template = Some((address(src), address(dst))),
            ["auth", name, key, ..] => self.auth(name, key, None, builder),
            ["auth-trunc", name, key, rest @ ..] => {
                let bits = rest.last().filter(|last| last.bytes().all(|b| b.is_ascii_digit())).copied();
                self.auth(name, key, bits, builder);
            }
            ["enc", name, rest @ ..] => self.algorithm(name, rest.first().copied(), None, builder),
            ["aead", name, key, rest @ ..] => {
                let bits = rest.last().filter(|last| last.bytes().all(|b| b.is_ascii_digit())).copied();
                self.algorithm(name, Some(key), bits, builder);
            }
            ["comp", name, ..] => self.algorithm(name, None, None, builder),
            ["encap", ..] => self.edit(builder, |sa| sa.udp = true),
            ["tfcpad", octets] => {
                let octets = octets.parse().unwrap_or(0);
                self.edit(builder, |sa| sa.tfc = octets);
            }
            ["seq-hi", rest @ ..] => self.high_halves(rest, builder),
            ["replay-window" | "flag", rest @ ..] if rest.contains(&"esn") => {
                self.edit(builder, |sa| sa.numbering = Numbering::Extended(0));
            }
            ["sel", ..] | ["flag", ..] => {}
            [first, ..]
                if NOISE.contains(first)
                    || text.starts_with("0x")
                    || first.contains("(bytes)")
                    || first.contains("(packets)") => {}
            [first, rest @ ..]
                if self.part != Part::Nothing
                    && (bitmap(first) || *first == "uid" || first.ends_with("(sec)"))
                    && rest.len() < 12 => {}
            _ => return Read::Foreign,
        }
        Read::Understood
    }

    fn proto(&mut self, protocol: &str, rest: &[&str], builder: &mut Builder) -> Read {
        let after = |name: &str| rest.iter().position(|word| *word == name).and_then(|at| rest.get(at + 1)).copied();
        if self.part == Part::Policy {
            return self.in_force(builder);
        }
        let Some((src, dst)) = &self.ends else { return Read::Foreign };
        let (src, dst) = (address(src), address(dst));
        let protocol = match protocol {
            "esp" | "50" => Protocol::Esp,
            "ah" | "51" => Protocol::Ah,
            "comp" | "108" => Protocol::IpComp,
            _ => {
                self.part = Part::OtherState;
                return Read::Understood;
            }
        };
        let Some(spi) = after("spi").and_then(spi) else {
            builder.wrong("a state whose SPI is no number up to 0xffffffff");
            self.part = Part::OtherState;
            return Read::Understood;
        };
        let mode = match after("mode") {
            Some("tunnel") => Some(Mode::Tunnel),
            Some("transport") => Some(Mode::Transport),
            _ => None,
        };
        self.part = Part::State;
        let reqid = after("reqid").filter(|reqid| reqid.len() <= 22).map(|reqid| format!(" reqid {reqid}"));
        let mode_shown = mode.map(|mode| format!(" mode {}", mode.name()));
        let index = after("spi").unwrap_or_default();
        let cite = builder.cite(&format!(
            "proto {} spi {index}{}{}",
            protocol.name(),
            reqid.unwrap_or_default(),
            mode_shown.unwrap_or_default()
        ));
        if let Some(router) = builder.router() {
            // An SPI of 0 in a policy's template stands for any; a state has one.
            router.installed.push(state(protocol, spi, mode, src, dst, cite));
        }
        Read::Understood
    }

    fn in_force(&mut self, builder: &mut Builder) -> Read {
        let Some((src, dst)) = self.template.take() else { return Read::Understood };
        let (local, remote) = if self.way == Some(Way::In) { (dst, src) } else { (src, dst) };
        if let (Some((selector, cite)), Some(way)) = (&self.selector, self.way)
            && let Some(router) = builder.router()
        {
            let selector = if way == Way::In { selector.mirrored() } else { selector.clone() };
            router.selectors.push(InForce { selector, way: self.way, local, remote, cite: cite.clone() });
        }
        Read::Understood
    }

    fn dir(&mut self, way: &str, builder: &mut Builder) {
        self.part = Part::Policy;
        self.template = None;
        self.way = way_of(way);
        let Some((src, dst)) = &self.ends else { return };
        let Narrower { protocol, src_port, dst_port, more } = self.narrower.clone();
        let with = protocol.as_ref().map_or_else(String::new, |protocol| format!(" proto {protocol}"));
        let cite = builder.cite(&format!("src {src} dst {dst}{with} dir {way}"));
        let protocol = protocol.unwrap_or_else(|| "ip".to_owned());
        self.selector = net(src)
            .zip(net(dst))
            .filter(|_| !more)
            .map(|(src, dst)| (Selector { protocol, src, src_port, dst, dst_port }, cite));
    }

    fn auth(&mut self, name: &str, key: &str, bits: Option<&str>, builder: &mut Builder) {
        let (name, bits) = (algorithm_name(name), bits.filter(|bits| bits.len() <= 4));
        let words = bits.map_or_else(|| name.to_owned(), |bits| format!("{name} {bits}"));
        let key = key_of(key, builder);
        self.edit(builder, |sa| {
            sa.words = joined(&words, &sa.words);
            sa.authenticator = key;
        });
    }

    fn algorithm(&mut self, name: &str, key: Option<&str>, bits: Option<&str>, builder: &mut Builder) {
        let (name, bits) = (algorithm_name(name), bits.filter(|bits| bits.len() <= 4));
        let words = bits.map_or_else(|| name.to_owned(), |bits| format!("{name} {bits}"));
        let key = key.filter(|key| !key.starts_with('(')).and_then(|key| key_of(key, builder));
        self.edit(builder, |sa| {
            sa.words = joined(&sa.words, &words);
            sa.cipher = key;
        });
    }

    /// `seq-hi 0x7, seq 0x1f, oseq-hi 0x7, oseq 0x10`: a state that sends counts in the second pair, one that receives in the first.
    fn high_halves(&self, words: &[&str], builder: &mut Builder) {
        let number = |word: &&str| {
            let digits = word.trim_end_matches(',').strip_prefix("0x")?;
            u32::from_str_radix(digits, 16).ok()
        };
        let after = words.iter().position(|word| *word == "oseq-hi").and_then(|at| words.get(at + 1));
        let high = words.first().into_iter().chain(after).filter_map(number).max().unwrap_or(0);
        self.edit(builder, |sa| {
            if sa.numbering != Numbering::Plain {
                sa.numbering = Numbering::Extended(high);
            }
        });
    }

    fn edit(&self, builder: &mut Builder, change: impl FnOnce(&mut Installed)) {
        if self.part == Part::State
            && let Some(sa) = builder.router().and_then(|router| router.installed.last_mut())
        {
            change(sa);
        }
    }
}

fn state(
    protocol: Protocol,
    spi: Spi,
    mode: Option<Mode>,
    src: Option<Address>,
    dst: Option<Address>,
    cite: super::Cite,
) -> Installed {
    // Extended numbers are a flag of the state.
    Installed { src, dst, mode, numbering: Numbering::Plain, ..Installed::listed(Display::Xfrm, protocol, spi, cite) }
}

/// A name of an algorithm as the kernel has it, such as `rfc4106(gcm(aes))`; a key that took its place is not shown.
fn algorithm_name(word: &str) -> &str {
    let letters = word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"()_-,".contains(&b));
    let named = word.contains('(') || word.contains('_') || word.len() <= 10;
    if letters && named && !word.starts_with("0x") { word } else { "unknown" }
}

fn way_of(word: &str) -> Option<Way> {
    match word {
        "in" => Some(Way::In),
        "out" => Some(Way::Out),
        _ => None,
    }
}

/// `-` and nothing stand for no key; `ip -d` and unprivileged users see none.
fn key_of(word: &str, builder: &mut Builder) -> Option<Secret> {
    if matches!(word, "" | "-" | "0x") {
        return None;
    }
    let key = Secret::new(word);
    if key.bits().is_none() {
        builder.wrong("a key that is not in hex digits");
        return None;
    }
    Some(key)
}

fn joined(a: &str, b: &str) -> String {
    if a.is_empty() || b.is_empty() { format!("{a}{b}") } else { format!("{b} {a}") }
}

fn bitmap(word: &str) -> bool {
    word.len() == 8 && word.bytes().all(|b| b.is_ascii_hexdigit())
}

fn net(word: &str) -> Option<Net> {
    match word.split_once('/') {
        Some((base, prefix)) => Net::prefix(address(base)?, prefix.parse().ok()?),
        None => Some(Net::host(address(word)?)),
    }
}

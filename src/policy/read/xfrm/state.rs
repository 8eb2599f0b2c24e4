//! Lines of a state.

use super::algorithm::{default_bits, hidden, key, name};
use super::facts::{Drops, Encap, KernelState, number};
use super::{Part, Xfrm};
use crate::model::Protocol;
use crate::policy::facts::builder::Builder;
use crate::policy::facts::redact::redacted;
use crate::policy::facts::router::{Display, Installed, Mode, Numbering};
use crate::policy::words::{address, spi};

/// Flags of a state that `ip xfrm` knows (`ip/ipxfrm.c`).
const FLAGS: [&str; 9] =
    ["noecn", "decap-dscp", "nopmtudisc", "wildrecv", "icmp", "af-unspec", "align4", "esn", "oseq-may-wrap"];

/// `proto esp spi 0x3ea reqid 1 mode tunnel`: a state begins.
pub(super) fn begin(ends: &(String, String), protocol: &str, rest: &[&str], builder: &mut Builder) -> Part {
    let after = |name: &str| rest.iter().position(|word| *word == name).and_then(|at| rest.get(at + 1)).copied();
    let protocol = match protocol {
        "esp" | "50" => Protocol::Esp,
        "ah" | "51" => Protocol::Ah,
        "comp" | "108" => Protocol::IpComp,
        _ => return Part::OtherState,
    };
    let Some(spi) = after("spi").and_then(spi) else {
        builder.wrong("a state whose SPI is no number up to 0xffffffff");
        return Part::OtherState;
    };
    let mode = mode(after("mode"));
    let reqid = after("reqid").and_then(number).unwrap_or(0);
    let reqid_shown = after("reqid").filter(|word| word.len() <= 22).map(|word| format!(" reqid {word}"));
    let mode_shown = mode.map(|mode| format!(" mode {}", mode.name()));
    let cite = builder.cite(&format!(
        "proto {} spi {}{}{}",
        protocol.name(),
        after("spi").unwrap_or_default(),
        reqid_shown.unwrap_or_default(),
        mode_shown.unwrap_or_default()
    ));
    if let Some(router) = builder.router() {
        router.installed.push(Installed {
            src: address(&ends.0),
            dst: address(&ends.1),
            mode,
            // Extended numbers are a flag of the state.
            numbering: Numbering::Plain,
            kernel: Some(Box::new(KernelState { reqid, ..KernelState::default() })),
            ..Installed::listed(Display::Xfrm, protocol, spi, cite)
        });
    }
    Part::State
}

/// Tunnel or transport; other modes are not told apart.
pub(super) fn mode(word: Option<&str>) -> Option<Mode> {
    match word {
        Some("tunnel") => Some(Mode::Tunnel),
        Some("transport") => Some(Mode::Transport),
        _ => None,
    }
}

/// A further line of it; `false` for a line that is none of these.
pub(super) fn line(xfrm: &Xfrm, words: &[&str], builder: &mut Builder) -> bool {
    let digits = |rest: &[&str]| {
        let last = rest.last().filter(|last| !last.is_empty() && last.bytes().all(|b| b.is_ascii_digit()));
        last.map(|last| (*last).to_owned())
    };
    match words {
        ["auth", named, key, ..] => {
            let bits = default_bits(name(named)).map(str::to_owned);
            auth(xfrm, named, key, bits, builder);
        }
        ["auth-trunc", named, key, rest @ ..] => auth(xfrm, named, key, digits(rest), builder),
        ["enc", named, rest @ ..] => algorithm(xfrm, named, rest.first().copied(), None, builder),
        ["aead", named, key, rest @ ..] => algorithm(xfrm, named, Some(key), digits(rest), builder),
        ["comp", named, ..] => algorithm(xfrm, named, None, None, builder),
        ["encap", rest @ ..] => encap(xfrm, rest, builder),
        ["tfcpad", octets, ..] => {
            let octets = octets.parse().unwrap_or(0);
            xfrm.edit(builder, |sa| sa.tfc = octets);
        }
        ["replay-window", window, "replay", replayed, "failed", failed, ..] => {
            let count = |word: &str| word.parse().unwrap_or(0);
            let drops = Drops { outside_window: count(window), replayed: count(replayed), failed: count(failed) };
            let cite = builder.cite(&words.join(" "));
            xfrm.kernel(builder, |kernel| {
                kernel.drops = Some(drops);
                kernel.lines.push(("stats", cite));
            });
        }
        ["replay-window" | "flag", ..] => flags(xfrm, words, builder),
        ["extra_flag" | "extra-flag", rest @ ..] => {
            let rest: Vec<String> = flag_words(rest);
            xfrm.kernel(builder, |kernel| kernel.extra_flags.extend(rest));
        }
        ["replay_window", window, ..] => {
            let window = window.trim_end_matches(',').parse().unwrap_or(0);
            xfrm.kernel(builder, |kernel| kernel.window = window);
        }
        ["anti-replay", "context:", rest @ ..] => counted(xfrm, rest, builder),
        ["seq-hi", ..] => {
            high_halves(xfrm, words.get(1..).unwrap_or_default(), builder);
            counted(xfrm, words, builder);
        }
        ["sel", rest @ ..] => selector(xfrm, rest, builder),
        ["output-mark", value, rest @ ..] => {
            let mask = rest.iter().position(|word| *word == "mask").and_then(|at| rest.get(at + 1));
            let joined = match (value.split_once('/'), mask) {
                (Some((value, mask)), _) => format!("{value} mask {mask}"),
                (None, Some(mask)) => format!("{value} mask {mask}"),
                (None, None) => (*value).to_owned(),
            };
            if joined.split(" mask ").all(|value| number(value).is_some()) {
                xfrm.kernel(builder, |kernel| kernel.output_mark = Some(joined));
            }
        }
        ["crypto", "offload", "parameters:", rest @ ..] | ["offload", rest @ ..] => offload(xfrm, rest, builder),
        [_, packets, ..] if packets.ends_with("(packets)") => {
            let packets = packets.trim_end_matches("(packets)").parse().ok();
            xfrm.kernel(builder, |kernel| kernel.packets = packets);
        }
        _ => return false,
    }
    true
}

fn auth(xfrm: &Xfrm, named: &str, word: &str, bits: Option<String>, builder: &mut Builder) {
    let words = with_bits(name(named), bits);
    let (unseen, key) = (hidden(word), key(word, builder));
    let cite = builder.cite(&format!("auth {words}"));
    xfrm.edit(builder, |sa| {
        sa.words = joined(&words, &sa.words);
        sa.authenticator = key;
        if let Some(kernel) = sa.kernel.as_deref_mut() {
            kernel.keys_hidden |= unseen;
            kernel.lines.push(("auth", cite));
        }
    });
}

fn algorithm(xfrm: &Xfrm, named: &str, word: Option<&str>, bits: Option<String>, builder: &mut Builder) {
    let words = with_bits(name(named), bits);
    let unseen = word.is_some_and(hidden);
    let key = word.filter(|key| !key.starts_with('(')).and_then(|word| key(word, builder));
    let cite = builder.cite(&format!("algorithm {words}"));
    xfrm.edit(builder, |sa| {
        sa.words = joined(&sa.words, &words);
        sa.cipher = key;
        if let Some(kernel) = sa.kernel.as_deref_mut() {
            kernel.keys_hidden |= unseen;
            kernel.lines.push(("enc", cite));
        }
    });
}

fn with_bits(name: &str, bits: Option<String>) -> String {
    bits.filter(|bits| bits.len() <= 4).map_or_else(|| name.to_owned(), |bits| format!("{name} {bits}"))
}

fn joined(a: &str, b: &str) -> String {
    if a.is_empty() || b.is_empty() { format!("{a}{b}") } else { format!("{b} {a}") }
}

/// `type espinudp sport 4500 dport 4500 addr 0.0.0.0`; commands have `espinudp 4500 4500 0.0.0.0`.
fn encap(xfrm: &Xfrm, rest: &[&str], builder: &mut Builder) {
    let (kind, sport, dport, original) = match rest {
        ["type", kind, "sport", sport, "dport", dport, "addr", original, ..] => (kind, sport, dport, original),
        [kind, sport, dport, original, ..] => (kind, sport, dport, original),
        _ => return builder.wrong("an encapsulation that is not understood"),
    };
    let (Ok(sport), Ok(dport), Some(original)) = (sport.parse(), dport.parse(), address(original)) else {
        return builder.wrong("an encapsulation whose ports or address are none");
    };
    if !["espinudp", "espinudp-nonike", "espintcp"].contains(kind) {
        return builder.wrong("an encapsulation that is none of UDP or TCP");
    }
    let cite = builder.cite(&format!("encap type {kind} sport {sport} dport {dport}"));
    let encap = Encap { kind: (*kind).to_owned(), sport, dport, original: original.to_string() };
    xfrm.edit(builder, |sa| {
        sa.udp = encap.kind.starts_with("espinudp");
        if let Some(kernel) = sa.kernel.as_deref_mut() {
            kernel.encap = Some(encap);
            kernel.lines.push(("encap", cite));
        }
    });
}

/// `replay-window 32 seq 0x00000000 flag af-unspec esn (0x00000000)`, `replay-window 0 flag esn`, `flag noecn`.
fn flags(xfrm: &Xfrm, words: &[&str], builder: &mut Builder) {
    let window: Option<u32> = match words {
        ["replay-window", window, ..] => window.parse().ok(),
        _ => None,
    };
    let at = words.iter().position(|word| *word == "flag");
    let flags = at.and_then(|at| words.get(at + 1..)).map(flag_words).unwrap_or_default();
    let extra = words.iter().position(|word| matches!(*word, "extra_flag" | "extra-flag"));
    let extra = extra.and_then(|at| words.get(at + 1..)).map(flag_words).unwrap_or_default();
    let cite = builder.cite(&words.join(" "));
    xfrm.edit(builder, |sa| {
        let Some(kernel) = sa.kernel.as_deref_mut() else { return };
        if let Some(window) = window {
            kernel.window = window;
        }
        if flags.iter().any(|flag| flag == "esn") && sa.numbering == Numbering::Plain {
            sa.numbering = Numbering::Extended(0);
        }
        kernel.flags.extend(flags);
        kernel.extra_flags.extend(extra);
        kernel.lines.push(("flag", cite));
    });
}

fn flag_words(words: &[&str]) -> Vec<String> {
    let known = |word: &&&str| FLAGS.contains(word) || **word == "dont-encap-dscp";
    words.iter().take_while(known).map(|word| (*word).to_owned()).collect()
}

/// `seq 0x31, oseq 0x0`: packets were received, or sent, with the state.
fn counted(xfrm: &Xfrm, words: &[&str], builder: &mut Builder) {
    let above_zero = |name: &str| {
        let at = words.iter().position(|word| *word == name);
        at.and_then(|at| words.get(at + 1))
            .is_some_and(|word| word.bytes().any(|b| matches!(b, b'1'..=b'9' | b'a'..=b'f')))
    };
    let counted = (above_zero("seq"), above_zero("oseq"));
    xfrm.kernel(builder, |kernel| kernel.counted = counted);
}

/// `seq-hi 0x7, seq 0x1f, oseq-hi 0x7, oseq 0x10`: a state that sends counts in the second pair, one that receives in the first.
fn high_halves(xfrm: &Xfrm, words: &[&str], builder: &mut Builder) {
    let number = |word: &&str| {
        let digits = word.trim_end_matches(',').strip_prefix("0x")?;
        u32::from_str_radix(digits, 16).ok()
    };
    let after = words.iter().position(|word| *word == "oseq-hi").and_then(|at| words.get(at + 1));
    let high = words.first().into_iter().chain(after).filter_map(number).max().unwrap_or(0);
    xfrm.edit(builder, |sa| {
        if sa.numbering != Numbering::Plain {
            sa.numbering = Numbering::Extended(high);
        }
    });
}

/// A selector that takes everything is what the kernel shows of a state without one.
fn selector(xfrm: &Xfrm, words: &[&str], builder: &mut Builder) {
    let wide = matches!(words, ["src", "0.0.0.0/0" | "::/0", "dst", "0.0.0.0/0" | "::/0"])
        || matches!(words, ["src", "0.0.0.0/0" | "::/0", "dst", "0.0.0.0/0" | "::/0", "uid", "0"]);
    let words: Vec<&str> = words.iter().copied().take_while(|word| *word != "uid").collect();
    let plain =
        |word: &&str| word.len() <= 43 && word.bytes().all(|b| b.is_ascii_alphanumeric() || b".:/-_@".contains(&b));
    let text = words.join(" ");
    if !wide && words.iter().all(plain) && redacted(&text) == text {
        xfrm.kernel(builder, |kernel| kernel.selector = Some(text));
    }
}

/// `dev eth0 dir out mode packet`.
fn offload(xfrm: &Xfrm, words: &[&str], builder: &mut Builder) {
    let after = |name: &str| {
        let word = words.iter().position(|word| *word == name).and_then(|at| words.get(at + 1)).copied();
        word.filter(|word| word.len() <= 16 && word.bytes().all(|b| b.is_ascii_alphanumeric() || b".-_@".contains(&b)))
    };
    let (Some(dev), Some(dir)) = (after("dev"), after("dir")) else { return };
    let packet = words.first() == Some(&"packet") || after("mode") == Some("packet");
    let text = format!("{}dev {dev} dir {dir}", if packet { "packet " } else { "" });
    let way = super::way_of(dir);
    xfrm.edit(builder, |sa| {
        sa.way = sa.way.or(way);
        if let Some(kernel) = sa.kernel.as_deref_mut() {
            kernel.offload = Some(text);
        }
    });
}

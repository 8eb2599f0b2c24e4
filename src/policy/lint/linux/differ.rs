//! One SA at its two ends: algorithms, keys, mode, extended sequence numbers, UDP encapsulation.

use super::super::super::{Cite, Problem, View};
use super::model::{Entry, Host, Target, Verdict, behind_nat, is_translated_between, kernel, suite_of, with_own_ports};
use crate::model::report::Severity;
use crate::model::{Protocol, SaKey};
use crate::policy::facts::router::{Installed, Mode, Numbering};
use crate::policy::facts::secret::Secret;
use crate::policy::lint::{agree, one_des_key};

/// A state: host, and number among the host's.
pub(super) type Place = (usize, usize);

/// What two ends differ in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Aspect {
    Algorithms,
    Mode,
    Keys,
    Esn,
    Encap,
    /// UDP destination ports.
    Port,
}

/// The two ends of one SA; where known, the sender first.
pub(super) fn judge(view: &View<'_>, hosts: &mut [Host<'_>], out: Place, inward: Place) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for aspect in [Aspect::Algorithms, Aspect::Mode, Aspect::Keys, Aspect::Esn, Aspect::Encap, Aspect::Port] {
        let (Some(x), Some(y)) = (at(hosts, out).cloned(), at(hosts, inward).cloned()) else { continue };
        // A NAT between the two makes another port of the one that either has.
        if aspect == Aspect::Port && is_translated_between(hosts, out, inward) {
            continue;
        }
        let Some(said) = difference(aspect, &x, &y) else { continue };
        verdicts.push(verdict(view, hosts, (out, inward), (&x, &y), aspect, &said));
    }
    verdicts
}

pub(super) fn at<'h>(hosts: &'h [Host<'_>], place: Place) -> Option<&'h Installed> {
    hosts.get(place.0)?.states.get(place.1).map(|state| &state.now)
}

/// What each end has, and what follows; `None` where they agree.
fn difference(aspect: Aspect, x: &Installed, y: &Installed) -> Option<(String, String, String)> {
    let (kx, ky) = (kernel(x)?, kernel(y)?);
    match aspect {
        Aspect::Algorithms => {
            let (Some(a), Some(b)) = (suite_of(x), suite_of(y)) else { return in_words(x, y) };
            if agree(&a, &b) {
                return None;
            }
            let effect = if !x.words.contains("(gcm") && a.esp.map(|esp| esp.icv()) != b.esp.map(|esp| esp.icv()) {
                "the receiver takes other bytes for the ICV and drops every packet; keys are not compared"
            } else {
                "the receiver cannot verify or decrypt any packet; keys are not compared"
            };
            Some((a.to_string(), b.to_string(), effect.to_owned()))
        }
        Aspect::Mode => {
            let (a, b) = (x.mode?, y.mode?);
            (a != b).then(|| {
                let effect = "the receiver drops what it decrypts (XfrmInStateModeError)";
                (format!("{} mode", a.name()), format!("{} mode", b.name()), effect.to_owned())
            })
        }
        Aspect::Keys => {
            let which = differing_keys(x, y);
            if which.is_empty() || difference(Aspect::Algorithms, x, y).is_some() {
                return None;
            }
            let what = which.join(" and ");
            let effect = key_effect(x, y, &which);
            let length = |key: &Option<Secret>| key.as_ref().and_then(Secret::bits);
            let of = |sa: &Installed| {
                let bits =
                    if which.contains(&"authentication key") { length(&sa.authenticator) } else { length(&sa.cipher) };
                format!("one {what} ({} bits)", bits.unwrap_or(0))
            };
            Some((
                of(x),
                format!("another {} (compared, not shown)", of(y).trim_start_matches("one ")),
                effect.to_owned(),
            ))
        }
        Aspect::Esn => {
            let said =
                |on: bool| if on { "extended sequence numbers (flag esn)" } else { "no extended sequence numbers" };
            (kx.esn() != ky.esn()).then(|| {
                let effect = "the ICV of an ESN SA covers the high half of the number too, so that the receiver drops every packet \
                              although SPI and keys are right (RFC 4303 section 2.2.1)";
                (said(kx.esn()).to_owned(), said(ky.esn()).to_owned(), effect.to_owned())
            })
        }
        Aspect::Encap => {
            let said = |sa: &super::super::super::KernelState| {
                sa.encap.as_ref().map_or_else(|| "no encap".to_owned(), |encap| format!("encap {}", encap.kind))
            };
            let kind = |sa: &super::super::super::KernelState| sa.encap.as_ref().map(|encap| encap.kind.clone());
            (kind(kx) != kind(ky)).then(|| {
                let effect =
                    "a state takes ESP in UDP only with encap, and plain ESP only without (XfrmInStateMismatch)";
                (said(kx), said(ky), effect.to_owned())
            })
        }
        Aspect::Port => {
            let (a, b) = (kx.encap.as_ref()?, ky.encap.as_ref()?);
            let differ = a.kind == b.kind && a.dport != b.dport && x.src == y.src && x.dst == y.dst;
            differ.then(|| {
                let effect = "the datagrams arrive at a UDP port where the receiver may have no socket for ESP";
                let port = |port| format!("UDP destination port {port}");
                (port(a.dport), port(b.dport), effect.to_owned())
            })
        }
    }
}

/// What keys that differ do to the packets.
fn key_effect(x: &Installed, y: &Installed, which: &[&str]) -> &'static str {
    let refused = |sa: &&Installed| readable(&sa.cipher).is_some_and(|key| fits(sa, key, "encryption") == Some(false));
    let aead = suite_of(x).and_then(|suite| suite.esp).is_some_and(|esp| esp.cipher.icv > 0);
    if which.contains(&"authentication key") || aead {
        "the receiver finds the SA and drops every packet, because its integrity check fails (XfrmInStateProtoError)"
    } else if [x, y].iter().any(refused) {
        "the kernel takes no key of a length that the cipher does not have (Invalid argument), so that the state is not there, or the text \
         is not what the host has"
    } else {
        "the integrity check passes and the packets decrypt to rubbish"
    }
}

/// Algorithms that are not in the catalogue, or have an ICV of another length than there: what the kernel says of them is compared.
fn in_words(x: &Installed, y: &Installed) -> Option<(String, String, String)> {
    // The kernel takes no ESP without a cipher: a line of the text is missing.
    let is_part = |sa: &Installed| sa.protocol == Protocol::Esp && sa.cipher.is_none();
    let unknown = |sa: &Installed| sa.words.is_empty() || sa.words.contains("unknown") || is_part(sa);
    // Where one text leaves a length out, it is the kernel's, which is not known of all algorithms.
    let lengths = |sa: &Installed| sa.words.split(' ').filter(|word| word.bytes().all(|b| b.is_ascii_digit())).count();
    let sorted = |sa: &Installed| {
        let mut words: Vec<String> = sa.words.split(' ').map(str::to_owned).collect();
        words.sort_unstable();
        words
    };
    if unknown(x) || unknown(y) || lengths(x) != lengths(y) || sorted(x) == sorted(y) {
        return None;
    }
    let effect = "the receiver takes other bytes for the ICV, or cannot verify what it receives, and drops every packet; keys are not \
                  compared";
    Some((x.words.clone(), y.words.clone(), effect.to_owned()))
}

fn readable(key: &Option<Secret>) -> Option<&Secret> {
    key.as_ref().filter(|key| key.bits().is_some())
}

fn differing_keys(x: &Installed, y: &Installed) -> Vec<&'static str> {
    let differ = |a: &Option<Secret>, b: &Option<Secret>| matches!((readable(a), readable(b)), (Some(a), Some(b)) if a.differs(b));
    let mut which = Vec::new();
    let des = [x, y].iter().all(|sa| sa.words.contains("des"));
    if differ(&x.cipher, &y.cipher) && !(des && one_des_key(&x.cipher, &y.cipher)) {
        which.push("encryption key");
    }
    if differ(&x.authenticator, &y.authenticator) {
        which.push("authentication key");
    }
    which
}

fn verdict(
    view: &View<'_>,
    hosts: &mut [Host<'_>],
    (out, inward): (Place, Place),
    (x, y): (&Installed, &Installed),
    aspect: Aspect,
    (one, other, effect): &(String, String, String),
) -> Verdict {
    let name = |place: Place| hosts.get(place.0).map_or("", |host| host.name);
    let router = |place: Place| hosts.get(place.0).map_or(0, |host| host.router);
    let (from, to) = (name(out), name(inward));
    let decided = wrong_side(hosts, (out, inward), (x, y), aspect);
    let first_wrong = decided.as_ref().map_or(out.0 < inward.0, |(first, _)| *first);
    let (wrong, right) = if first_wrong { (out, inward) } else { (inward, out) };
    let secret = matches!(aspect, Aspect::Keys | Aspect::Algorithms);
    let tail = match &decided {
        Some((_, why)) => format!("{}'s state is at fault: {why}.", name(wrong)),
        // Which key is right is not shown: only a key that is typed at both ends is sure to agree.
        None if secret => "Which of the two is wrong is not determined by these texts: type the same at both ends, or correct the one that \
                           you know to be wrong."
            .to_owned(),
        None => format!(
            "Which of the two is wrong is not determined by these texts: the lines change {0}; the alternative is {1}'s state with what {0} has.",
            name(wrong),
            name(right)
        ),
    };
    let ends = x.src.zip(x.dst).map_or_else(String::new, |(src, dst)| format!(" from {src} to {dst}"));
    let evidence = format!(
        "{} SPI {} ({}){ends}: {from} has {one}, {to} has {other}: {effect}. {tail}{}",
        x.protocol.title(),
        x.spi.0,
        x.spi,
        failures(&[(from, x), (to, y)])
    );
    let (code, keyword) = match aspect {
        Aspect::Algorithms => ("config-transform-mismatch", "auth"),
        Aspect::Mode => ("config-transform-mismatch", "mode"),
        Aspect::Keys => ("config-key-mismatch", "auth"),
        Aspect::Esn => ("config-esn-mismatch", "flag"),
        Aspect::Encap | Aspect::Port => ("config-encap-mismatch", "encap"),
    };
    let lines = |sa: &Installed| -> Vec<Cite> {
        let extra = kernel(sa).map(|extra| {
            [extra.line(keyword), extra.line(if keyword == "auth" { "enc" } else { "" }), extra.line("stats")]
        });
        let failed = |cite: &&Cite| !cite.text.contains("failed") || !cite.text.ends_with("failed 0");
        let extra = extra.filter(|_| aspect != Aspect::Keys);
        sa.cites.iter().take(1).chain(extra.into_iter().flatten().flatten().filter(failed)).cloned().collect()
    };
    let mut problem = Problem::new(code, evidence).lines(view.policies, router(out), &lines(x)).lines(
        view.policies,
        router(inward),
        &lines(y),
    );
    if aspect == Aspect::Port {
        problem = problem.severity(Severity::Warning);
    }
    problem.subject =
        x.src.zip(x.dst).map(|(src, dst)| SaKey { protocol: x.protocol, src, dst, spi: x.spi }.to_string());
    let mut source = if first_wrong { y.clone() } else { x.clone() };
    let portless = aspect == Aspect::Encap && !with_own_ports(hosts, wrong.0, &mut source);
    if let Some(state) = hosts.get_mut(wrong.0).and_then(|host| host.states.get_mut(wrong.1)) {
        take(state, &source, aspect);
    }
    let mut targets = vec![Target::State(wrong.0, wrong.1)];
    targets.retain(|_| !portless);
    if decided.is_none() && secret {
        targets.push(Target::State(right.0, right.1));
    }
    Verdict { problem, targets }
}

/// What the states' own counters say of the integrity check.
pub(super) fn failures(ends: &[(&str, &Installed)]) -> String {
    let failed = |sa: &Installed| kernel(sa).and_then(|extra| extra.drops).map_or(0, |drops| drops.failed);
    let said: Vec<String> = ends
        .iter()
        .filter(|(_, sa)| failed(sa) > 0)
        .map(|(name, sa)| format!(" {name} counts {} packets whose integrity check failed (`failed {0}`).", failed(sa)))
        .collect();
    said.concat()
}

/// Whether the first of the two is at fault, and why; `None` where nothing decides.
fn wrong_side(
    hosts: &[Host<'_>],
    (out, inward): (Place, Place),
    (x, y): (&Installed, &Installed),
    aspect: Aspect,
) -> Option<(bool, String)> {
    if matches!(aspect, Aspect::Keys | Aspect::Algorithms)
        && let Some(decided) = shortened(x, y, aspect)
    {
        return Some(decided);
    }
    if aspect == Aspect::Keys {
        return None;
    }
    if aspect == Aspect::Encap
        && let Some(decided) = behind_nat(hosts, (out, inward), (x, y))
    {
        return Some(decided);
    }
    let others = |place: Place| {
        hosts
            .get(place.0)
            .into_iter()
            .flat_map(move |host| host.states.iter().enumerate().filter(move |(at, _)| *at != place.1))
    };
    let same_tunnel = |sa: &Installed| [sa.src, sa.dst].iter().all(|end| [x.src, x.dst, y.src, y.dst].contains(end));
    let (mut with_first, mut with_second) = (0, 0);
    // What was read counts: a state that was corrected, perhaps at the wrong end, speaks for nobody.
    for (_, Entry { was, .. }) in others(out).chain(others(inward)) {
        let Some(now) = was else { continue };
        if !same_tunnel(now) || now.protocol != x.protocol || now.spi == x.spi && now.src == x.src {
            continue;
        }
        let (mut same_first, mut same_second) =
            (difference(aspect, x, now).is_none(), difference(aspect, y, now).is_none());
        if aspect == Aspect::Port {
            // The way back has the ports exchanged.
            let back = |sa: &Installed| {
                kernel(sa).and_then(|extra| extra.encap.clone()).map(|encap| [encap.sport, encap.dport])
            };
            let port = |sa: &Installed| back(sa).map_or(0, |[_, dport]| dport);
            same_first = back(now).is_some_and(|ports| ports.contains(&port(x)));
            same_second = back(now).is_some_and(|ports| ports.contains(&port(y)));
        }
        with_first += usize::from(same_first);
        with_second += usize::from(same_second);
    }
    let why = "the other states of the two hosts agree with the other end".to_owned();
    match with_first.cmp(&with_second) {
        std::cmp::Ordering::Less => Some((true, why)),
        std::cmp::Ordering::Greater => Some((false, why)),
        std::cmp::Ordering::Equal => None,
    }
}

/// A key that lost digits, or does not fit its algorithm while the other end's does.
fn shortened(x: &Installed, y: &Installed, aspect: Aspect) -> Option<(bool, String)> {
    for (a, b, named) in [(&x.authenticator, &y.authenticator, "authentication"), (&x.cipher, &y.cipher, "encryption")]
    {
        let (Some(a), Some(b)) = (readable(a), readable(b)) else { continue };
        if a == b {
            continue;
        }
        let takes = [fits(x, a, named), fits(y, b, named)];
        // A key that its algorithm does not take is the wrong one, also where it is the longer one.
        let (first, second) = (takes == [Some(false), Some(true)], takes == [Some(true), Some(false)]);
        let too_long = first && b.is_part_of(a) || second && a.is_part_of(b);
        if !too_long && (a.is_part_of(b) || b.is_part_of(a)) {
            let (short, long) = if a.is_part_of(b) { (a, b) } else { (b, a) };
            let lost = long.bits().unwrap_or(0).saturating_sub(short.bits().unwrap_or(0)) / 4;
            let what = match lost {
                1 => "one digit".to_owned(),
                more => format!("{more} digits"),
            };
            return Some((a.is_part_of(b), format!("its {named} key is the other end's with {what} missing")));
        }
        let [fits_a, fits_b] = takes;
        if (aspect == Aspect::Keys || too_long) && fits_a != fits_b {
            let short = if fits_a == Some(false) { a } else { b };
            return Some((
                fits_a == Some(false),
                format!("its {named} key has {} bits, which its algorithm does not take", short.bits().unwrap_or(0)),
            ));
        }
    }
    None
}

fn fits(sa: &Installed, key: &Secret, named: &str) -> Option<bool> {
    let (suite, bits) = (suite_of(sa)?, key.bits()?);
    if named == "authentication" {
        let integrity = if sa.protocol == Protocol::Ah { suite.ah } else { suite.esp.and_then(|esp| esp.integrity) };
        return integrity?.keys.accept(bits);
    }
    suite.esp?.cipher.accepts_key_material(bits)
}

/// Gives a state what the other end has.
fn take(state: &mut Entry<Installed>, from: &Installed, aspect: Aspect) {
    match aspect {
        Aspect::Algorithms | Aspect::Keys => {
            state.now.words.clone_from(&from.words);
            state.now.cipher.clone_from(&from.cipher);
            state.now.authenticator.clone_from(&from.authenticator);
        }
        Aspect::Mode => state.now.mode = from.mode.or(Some(Mode::Tunnel)),
        Aspect::Esn | Aspect::Encap | Aspect::Port => {}
    }
    let (Some(extra), Some(theirs)) = (state.now.kernel.as_deref_mut(), from.kernel.as_deref()) else { return };
    match aspect {
        Aspect::Esn => {
            extra.flags.retain(|flag| flag != "esn");
            if theirs.esn() {
                extra.flags.push("esn".to_owned());
                extra.window = extra.window.max(1);
                state.now.numbering = Numbering::Extended(0);
            } else {
                state.now.numbering = Numbering::Plain;
            }
        }
        Aspect::Encap => {
            extra.encap.clone_from(&theirs.encap);
            state.now.udp = from.udp;
        }
        Aspect::Port => {
            if let (Some(own), Some(encap)) = (&mut extra.encap, &theirs.encap) {
                own.dport = encap.dport;
            }
        }
        _ => {}
    }
}

//! SAs of OSPFv3: one SPI and one key for all routers of a link, in both directions (RFC 4552).

use crate::model::Protocol;
use crate::policy::facts::builder::Builder;
use crate::policy::facts::router::LinkSa;
use crate::policy::facts::secret::Secret;
use crate::policy::form::paste::Read;
use crate::policy::words::spi as number;

/// `ipv6 ospf authentication ipsec spi 500 sha1 KEY`, `ospfv3 encryption ipsec spi 501 esp aes-cbc 128 KEY sha1 KEY`,
/// `area 0 authentication ipsec spi ...` of IOS, and the same without the first words of IOS-XR.
pub(super) fn line(interface: Option<&str>, words: &[&str], builder: &mut Builder) -> Read {
    let Some(at) =
        words.windows(3).position(|three| matches!(three, ["authentication" | "encryption", "ipsec", "spi"]))
    else {
        // Other lines of OSPFv3 hold no SA.
        return Read::when(matches!(words, ["ospfv3", ..] | ["ipv6", "ospf", ..]));
    };
    let before = words.get(..at).unwrap_or_default();
    let Some(["authentication" | "encryption", _, _, spi, rest @ ..]) = words.get(at..) else {
        builder.wrong("an SA of OSPFv3 without an SPI");
        return Read::Understood;
    };
    let encrypts = words.get(at) == Some(&"encryption");
    let Some(spi) = number(spi) else {
        builder.wrong("the SPI of an SA of OSPFv3 is no number up to 4294967295");
        return Read::Understood;
    };
    let area = match before {
        ["area", area, ..] => Some(*area),
        _ => None,
    };
    let Some(place) = area.or(interface) else { return Read::Foreign };
    let read = if encrypts { encryption(rest) } else { authentication(rest) };
    let Some((cipher, authenticator, algorithms)) = read else {
        builder.wrong("an SA of OSPFv3 whose algorithms and keys are not understood");
        return Read::Understood;
    };
    let protocol = if encrypts { Protocol::Esp } else { Protocol::Ah };
    let what = if encrypts { "encryption" } else { "authentication" };
    let shown: Vec<&str> = before.iter().copied().filter(|word| word.len() < 20).collect();
    let text = format!("{} {what} ipsec spi {} {algorithms} <KEY>", shown.join(" "), spi.0);
    let cite = builder.cite_made(text.trim_start());
    let (place, area) = (place.to_owned(), area.is_some());
    if let Some(router) = builder.router() {
        router.links.push(LinkSa { place, area, protocol, spi, words: algorithms, cipher, authenticator, cite });
    }
    Read::Understood
}

/// `md5 KEY`, `sha1 7 KEY`, and the words of IOS-XR for the type of a key.
fn authentication(words: &[&str]) -> Option<(Option<Secret>, Option<Secret>, String)> {
    let [hash @ ("md5" | "sha1"), rest @ ..] = words else { return None };
    let (key, rest) = key(rest)?;
    rest.is_empty().then(|| (None, Some(key), (*hash).to_owned()))
}

/// `esp aes-cbc 128 KEY sha1 KEY`, `esp null sha1 KEY`; IOS-XR: `esp aes 256 password KEY authentication sha1 password KEY`.
fn encryption(words: &[&str]) -> Option<(Option<Secret>, Option<Secret>, String)> {
    let ["esp", rest @ ..] = words else { return None };
    let (name, rest) = match rest {
        [cipher @ ("aes-cbc" | "aes"), bits @ ("128" | "192" | "256"), rest @ ..] => (format!("{cipher} {bits}"), rest),
        [cipher @ ("aes-cbc" | "aes" | "3des" | "des" | "null"), rest @ ..] => ((*cipher).to_owned(), rest),
        _ => return None,
    };
    let (cipher, rest) = if name == "null" {
        (None, rest)
    } else {
        let (cipher, rest) = key(rest)?;
        (Some(cipher), rest)
    };
    let rest = match rest {
        ["authentication", rest @ ..] => rest,
        rest => rest,
    };
    if rest.is_empty() {
        return Some((cipher, None, format!("esp {name}")));
    }
    let (_, authenticator, hash) = authentication(rest)?;
    Some((cipher, authenticator, format!("esp {name} {hash}")))
}

/// A key with its type before it: `0`, `6`, `7`, or `clear` and `password` of IOS-XR.
fn key<'w>(words: &'w [&'w str]) -> Option<(Secret, &'w [&'w str])> {
    match words {
        ["password", key, rest @ ..] => Some((Secret::encrypted(key), rest)),
        ["clear", key, rest @ ..] => Some((Secret::new(key), rest)),
        words => super::map::key(words),
    }
}

//! spiglass's own list of expected SAs, in TOML.

use toml::de::{DeTable, DeValue};

use crate::model::{Protocol, Spi};
use crate::policy::facts::builder::Builder;
use crate::policy::facts::redact;
use crate::policy::facts::router::{Display, Installed, Mode};
use crate::policy::facts::secret::Secret;
use crate::policy::facts::stated::parse;
use crate::policy::words::{address, spi};

/// The names an entry may have.
const NAMES: [&str; 9] =
    ["name", "protocol", "src", "dst", "spi", "transform", "mode", "encryption_key", "authentication_key"];

/// Whether a text is such a list: a line says `[[sa]]`.
pub(in crate::policy) fn is_one(text: &[u8]) -> bool {
    text.split(|b| *b == b'\n').any(|line| {
        let line = line.trim_ascii();
        line.starts_with(b"[[") && line.get(2..).unwrap_or_default().trim_ascii_start().starts_with(b"sa")
    })
}

/// Reads the list.
pub(in crate::policy) fn read(text: &[u8], builder: &mut Builder) {
    let text = String::from_utf8_lossy(text);
    // Byte offsets of line ends, to tell lines by.
    let ends: Vec<usize> = text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(at, _)| at).collect();
    let line_of = |offset: usize| u32::try_from(ends.partition_point(|end| *end < offset) + 1).unwrap_or(u32::MAX);
    let all = u32::try_from(text.lines().count()).unwrap_or(u32::MAX);
    let table = match DeTable::parse(&text) {
        Ok(table) => table,
        Err(error) => {
            builder.at(error.span().map_or(1, |span| line_of(span.start)));
            // The message of a TOML error names what was expected, not what stood there.
            builder.wrong(&format!("the list is no TOML: {}", error.message().lines().next().unwrap_or_default()));
            builder.at(all);
            return;
        }
    };
    for (name, value) in table.into_inner() {
        builder.at(line_of(name.span().start));
        let DeValue::Array(entries) = value.get_ref() else {
            builder.wrong("only [[sa]] tables are read");
            continue;
        };
        if name.get_ref() != "sa" {
            builder.wrong("only [[sa]] tables are read");
            continue;
        }
        for entry in entries {
            builder.at(line_of(entry.span().start));
            match entry.get_ref() {
                DeValue::Table(table) => one(table, &line_of, builder),
                _ => builder.wrong("an entry of sa is no table"),
            }
        }
    }
    builder.at(all);
}

fn one(table: &DeTable<'_>, line_of: &dyn Fn(usize) -> u32, builder: &mut Builder) {
    let mut said: Vec<String> = Vec::new();
    let (mut protocol, mut src, mut dst, mut index, mut mode) = (None, None, None, None, None);
    let (mut words, mut cipher, mut authenticator) = (String::new(), None, None);
    let mut transform_line = 1;
    let first = table.iter().map(|(name, _)| name.span().start).min();
    for (name, value) in table {
        builder.at(line_of(name.span().start));
        builder.understood();
        let text = value.get_ref().as_str();
        match (name.get_ref().as_ref(), text) {
            ("name", Some(_)) => {}
            ("protocol", Some(word)) => {
                protocol = match word.to_ascii_lowercase().as_str() {
                    "esp" => Some(Protocol::Esp),
                    "ah" => Some(Protocol::Ah),
                    _ => None,
                };
                if protocol.is_none() {
                    builder.wrong("`protocol` is neither \"ah\" nor \"esp\"");
                }
            }
            ("src", Some(word)) => src = told(address(word), "`src` is no address", builder),
            ("dst", Some(word)) => dst = told(address(word), "`dst` is no address", builder),
            ("spi", _) => index = told(spi_of(value.get_ref()), "`spi` is no number up to 4294967295 (hex with 0x, in quotes or not)", builder),
            // TOML can name control characters; they have no place in a transform.
            ("transform", Some(word)) => {
                words = word.chars().filter(|c| !c.is_control()).collect();
                transform_line = line_of(name.span().start);
            }
            ("mode", Some(word)) => {
                mode = match word {
                    "tunnel" => Some(Mode::Tunnel),
                    "transport" => Some(Mode::Transport),
                    _ => None,
                };
                if mode.is_none() {
                    builder.wrong("`mode` is neither \"tunnel\" nor \"transport\"");
                }
            }
            ("encryption_key", Some(word)) => cipher = key(word, builder),
            ("authentication_key", Some(word)) => authenticator = key(word, builder),
            (known, _) if NAMES.contains(&known) => builder.wrong("a value that must be in quotes"),
            _ => builder.wrong("an unknown name; [[sa]] has name, protocol, src, dst, spi, transform, mode, encryption_key, authentication_key"),
        }
    }
    builder.at(first.map_or(1, line_of));
    let (Some(protocol), Some(index)) = (protocol, index) else {
        builder.wrong("an [[sa]] without a sound `protocol` and `spi` is left out");
        return;
    };
    if src.is_none() || dst.is_none() {
        builder.wrong("an [[sa]] without a sound `src` and `dst`: only its SPI is compared, not its ends or transform");
    }
    if let Some(error) = parse(&words, protocol).err().filter(|_| !words.is_empty()) {
        builder.at(transform_line);
        builder.wrong(&redact::redacted(&format!("`transform` is not understood: {error}")));
        builder.at(first.map_or(1, line_of));
        // Whatever stands there is not shown: it may be a key.
        words.clear();
    }
    let end = |name: &str, end: Option<crate::model::Address>| end.map(|end| format!("{name} = \"{end}\""));
    said.push(format!("protocol = \"{}\", spi = {}", protocol.name(), index.0));
    said.extend(end("src", src).into_iter().chain(end("dst", dst)));
    if !words.is_empty() {
        said.push(format!("transform = \"{words}\""));
    }
    let cite = builder.cite(&format!("[[sa]] {}", said.join(", ")));
    let sa = Installed {
        src,
        dst,
        words,
        mode,
        cipher,
        authenticator,
        ..Installed::listed(Display::List, protocol, index, cite)
    };
    if let Some(router) = builder.router() {
        router.installed.push(sa);
    }
}

fn told<T>(value: Option<T>, wrong: &str, builder: &mut Builder) -> Option<T> {
    if value.is_none() {
        builder.wrong(wrong);
    }
    value
}

fn spi_of(value: &DeValue<'_>) -> Option<Spi> {
    match value {
        DeValue::String(word) => spi(word),
        DeValue::Integer(number) => u32::from_str_radix(number.as_str(), number.radix()).ok().map(Spi),
        _ => None,
    }
}

fn key(word: &str, builder: &mut Builder) -> Option<Secret> {
    let key = Secret::new(word);
    told(key.bits().map(|_| key), "a key that is not in hex digits", builder)
}

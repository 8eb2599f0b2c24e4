//! A strict reader of the markup that pages may have: every element is known, closed where it must be, its attributes quoted and given
//! once, ids unique, and nothing leads out of the page.

use std::collections::{BTreeMap, BTreeSet};

/// Elements that have no end.
const VOID: [&str; 2] = ["meta", "br"];

/// Every element that a page may have.
const KNOWN: [&str; 51] = [
    "a",
    "b",
    "body",
    "br",
    "caption",
    "circle",
    "code",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "figcaption",
    "figure",
    "footer",
    "g",
    "h1",
    "h2",
    "h3",
    "head",
    "header",
    "html",
    "i",
    "li",
    "line",
    "main",
    "meta",
    "ol",
    "p",
    "path",
    "pre",
    "rect",
    "section",
    "small",
    "span",
    "style",
    "summary",
    "svg",
    "table",
    "tbody",
    "td",
    "text",
    "th",
    "thead",
    "title",
    "tr",
    "ul",
    "strong",
    "em",
    "nav",
    "aside",
];

/// What a page holds.
#[derive(Debug, Default)]
pub struct Page {
    /// The text of all elements but the style, in order, with a space between two.
    pub text: String,
    /// Elements by name, with their attributes.
    pub elements: Vec<(String, BTreeMap<String, String>)>,
    /// The text of each heading.
    pub headings: Vec<(u8, String)>,
    pub style: String,
}

impl Page {
    pub fn count(&self, name: &str) -> usize {
        self.elements.iter().filter(|(own, _)| own == name).count()
    }

    pub fn values(&self, attribute: &str) -> Vec<&str> {
        self.elements.iter().filter_map(|(_, own)| own.get(attribute)).map(String::as_str).collect()
    }

    pub fn title(&self) -> &str {
        self.headings.iter().find(|(level, _)| *level == 1).map_or("", |(_, text)| text.as_str())
    }
}

/// Reads a page; panics with what is wrong in it.
pub fn read(html: &str) -> Page {
    let mut page = Page::default();
    let mut open: Vec<String> = Vec::new();
    let mut rest = html.strip_prefix("<!doctype html>\n").expect("a page begins with its document type");
    while !rest.is_empty() {
        let Some(at) = rest.find('<') else {
            text(&mut page, &open, rest);
            break;
        };
        text(&mut page, &open, &rest[..at]);
        let end = rest[at..].find('>').unwrap_or_else(|| panic!("a tag without end: {:.80}", &rest[at..])) + at;
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "</{name}> closes another element");
            continue;
        }
        let (tag, closed) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, attributes) = element(tag);
        assert!(KNOWN.contains(&name.as_str()), "<{name}>");
        page.elements.push((name.clone(), attributes));
        if let Some(level) = name.strip_prefix('h').and_then(|level| level.parse().ok()) {
            page.headings.push((level, String::new()));
        }
        if !closed && !VOID.contains(&name.as_str()) {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "not closed: {open:?}");
    sound(&page);
    page
}

fn text(page: &mut Page, open: &[String], raw: &str) {
    if open.last().is_some_and(|name| name == "style") {
        page.style.push_str(raw);
        return;
    }
    assert!(!raw.contains('>'), "a naked > in {raw:?}");
    let text = unescaped(raw);
    if open.iter().any(|name| name.starts_with('h') && name.len() == 2 && name != "hr")
        && let Some((_, heading)) = page.headings.last_mut()
    {
        heading.push_str(&text);
    }
    page.text.push_str(&text);
    page.text.push(' ');
}

/// Name and attributes of a tag.
fn element(tag: &str) -> (String, BTreeMap<String, String>) {
    let (name, mut rest) = tag.split_once(' ').unwrap_or((tag, ""));
    let mut attributes = BTreeMap::new();
    while !rest.is_empty() {
        let (key, value) = rest.split_once("=\"").unwrap_or_else(|| panic!("an attribute without value in <{tag}>"));
        let (value, more) = value.split_once('"').unwrap_or_else(|| panic!("a value without end in <{tag}>"));
        assert!(key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "attribute {key:?}");
        assert!(!key.starts_with("on"), "a script: {key}");
        let old = attributes.insert(key.to_owned(), unescaped(value));
        assert_eq!(old, None, "{key} twice in <{tag}>");
        rest = more.strip_prefix(' ').unwrap_or(more);
    }
    (name.to_owned(), attributes)
}

fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let (name, more) = after.split_once(';').unwrap_or_else(|| panic!("a naked & in {text:?}"));
        out.push_str(match name {
            "amp" => "&",
            "lt" => "<",
            "gt" => ">",
            "quot" => "\"",
            "#39" => "'",
            "shy" => "",
            other => panic!("&{other};"),
        });
        rest = more;
    }
    out + rest
}

/// What must hold of every page.
fn sound(page: &Page) {
    let ids = page.values("id");
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "ids are unique: {ids:?}");
    for id in ids.iter() {
        assert!(id.chars().all(|c| c.is_ascii_alphanumeric()), "{id:?} is a word of ours");
    }
    for target in page.values("href") {
        assert!(target.strip_prefix('#').is_some_and(|id| ids.contains(&id)), "{target} is in the page");
    }
    for name in ["src", "srcset", "action", "data", "background", "poster", "cite", "ping"] {
        assert_eq!(page.values(name), Vec::<&str>::new(), "{name} leads out of the page");
    }
    for words in ["url(", "@import", "expression(", "//"] {
        assert!(!page.style.contains(words), "{words} in the style");
    }
    for style in page.values("style") {
        let value =
            style.strip_prefix("width:").or_else(|| style.strip_prefix("left:")).unwrap_or_else(|| panic!("{style}"));
        assert!(value.strip_suffix('%').is_some_and(|number| number.parse::<f64>().is_ok()), "{style}");
    }
    for reference in page.values("aria-labelledby") {
        assert!(ids.contains(&reference), "{reference} labels a part");
    }
    let policy = page.values("content").into_iter().find(|content| content.contains("default-src"));
    let policy = policy.expect("the page has a Content-Security-Policy");
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("script"), "{policy}");
    assert_eq!(page.headings.iter().filter(|(level, _)| *level == 1).count(), 1, "one first heading");
    for pair in page.headings.windows(2) {
        assert!(pair[1].0 <= pair[0].0 + 1, "a level is left out: {pair:?}");
    }
    for (_, text) in &page.headings {
        assert!(!text.trim().is_empty(), "an empty heading");
    }
    for landmark in ["header", "main", "footer"] {
        assert_eq!(page.count(landmark), 1, "{landmark}");
    }
    assert_eq!(page.count("table"), page.count("caption"), "every table has a caption");
    for (name, attributes) in &page.elements {
        match name.as_str() {
            "th" => {
                assert!(matches!(attributes.get("scope").map(String::as_str), Some("col" | "row")), "{attributes:?}")
            }
            "html" => assert_eq!(attributes.get("lang").map(String::as_str), Some("en")),
            _ => {}
        }
    }
    let labels: Vec<&String> = page
        .elements
        .iter()
        .filter(|(_, own)| own.get("role").is_some_and(|role| role == "region"))
        .map(|(_, own)| &own["aria-label"])
        .collect();
    assert_eq!(labels.iter().collect::<BTreeSet<_>>().len(), labels.len(), "regions are told apart: {labels:?}");
    let odd = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    assert_eq!(page.text.chars().find(|c| odd(*c)), None, "a control character");
    assert!(page.values("aria-label").iter().chain(&page.values("title")).all(|text| !text.chars().any(odd)));
    for word in ["NaN", "inf%", "Infinity"] {
        assert!(!page.text.contains(word), "{word}");
    }
}

#[test]
fn the_reader_finds_what_it_is_for() {
    let wrong = |body: &str| {
        let page = format!("<!doctype html>\n<html lang=\"en\">{body}</html>");
        std::panic::catch_unwind(|| read(&page)).is_err()
    };
    for body in
        ["<b>", "<b></i>", "<script></script>", "<a href=\"http://x\">x</a>", "<p onclick=\"x\"></p>", "&nbsp", "a > b"]
    {
        assert!(wrong(body), "{body}");
    }
}

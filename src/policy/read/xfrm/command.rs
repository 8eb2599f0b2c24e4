//! `ip xfrm state|policy add|update|delete|flush` as typed or in a script.

use super::{Part, Xfrm};
use crate::policy::facts::builder::Builder;
use crate::policy::facts::router::{Display, Installed};
use crate::policy::form::paste::Read;
use crate::policy::words::{address, spi};

/// Words that begin a clause of a state, and how many words follow at most.
const STATE: [(&str, usize); 31] = [
    ("src", 1),
    ("dst", 1),
    ("proto", 1),
    ("spi", 1),
    ("mode", 1),
    ("reqid", 1),
    ("seq", 1),
    ("replay-window", 1),
    ("replay-seq", 1),
    ("replay-oseq", 1),
    ("replay-seq-hi", 1),
    ("replay-oseq-hi", 1),
    ("flag", 16),
    ("extra-flag", 16),
    ("sel", 32),
    ("limit", 2),
    ("encap", 4),
    ("coa", 1),
    ("ctx", 1),
    ("output-mark", 3),
    ("mark", 3),
    ("if_id", 1),
    ("tfcpad", 1),
    ("offload", 6),
    ("auth-trunc", 3),
    ("auth", 2),
    ("enc", 2),
    ("aead", 3),
    ("comp", 1),
    ("dir", 1),
    ("pcpu-num", 1),
];

/// Words that begin a clause of a policy.
const POLICY: [(&str, usize); 19] = [
    ("src", 1),
    ("dst", 1),
    ("proto", 1),
    ("sport", 1),
    ("dport", 1),
    ("type", 1),
    ("code", 1),
    ("key", 1),
    ("dev", 1),
    ("dir", 1),
    ("ctx", 1),
    ("mark", 3),
    ("index", 1),
    ("ptype", 1),
    ("action", 1),
    ("priority", 1),
    ("if_id", 1),
    ("limit", 2),
    ("tmpl", 24),
];

/// What a command does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verb {
    Add,
    Update,
    Delete,
    Flush,
}

impl Xfrm {
    /// A command that changes states or policies; `None` for any other line.
    pub(in crate::policy) fn command(&mut self, text: &str, builder: &mut Builder) -> Option<Read> {
        let (state, verb, namespace, words) = parsed(text)?;
        if let Some(host) = namespace {
            builder.prompt(&host, false);
        }
        if words.iter().any(|word| word.contains('$') || word.contains('`')) {
            builder.wrong("a command with shell variables; only values are read");
            not_read(state, builder);
            return Some(Read::Foreign);
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let done =
            if state { self.state_command(verb, &words, builder) } else { self.policy_command(verb, &words, builder) };
        if done.is_none() {
            builder.wrong("an `ip xfrm` command that is not understood");
            not_read(state, builder);
        }
        self.part = Part::Nothing;
        Some(Read::when(done.is_some()))
    }

    fn state_command(&mut self, verb: Verb, words: &[&str], builder: &mut Builder) -> Option<()> {
        if verb == Verb::Flush {
            if let Some(router) = builder.continues() {
                router.installed.retain(|sa| sa.display != Display::Xfrm);
            }
            return Some(());
        }
        let clauses = clauses(words, &STATE)?;
        let one = |name: &str| {
            clauses.iter().find(|clause| clause.first() == Some(&name)).and_then(|clause| clause.get(1)).copied()
        };
        let dst = one("dst")?;
        let any = if dst.contains(':') { "::" } else { "0.0.0.0" };
        let (src, protocol, index) = (one("src").unwrap_or(any), one("proto")?, one("spi").unwrap_or("0"));
        if verb != Verb::Add {
            let is = |sa: &Installed| {
                sa.display == Display::Xfrm
                    && sa.dst == address(dst)
                    && Some(sa.spi) == spi(index)
                    && (one("src").is_none() || sa.src == address(src))
            };
            if let Some(router) = builder.continues() {
                router.installed.retain(|sa| !is(sa));
            }
            if verb == Verb::Delete {
                return Some(());
            }
        }
        self.open(&["src", src, "dst", dst], builder);
        let mut head = vec!["proto", protocol, "spi", index];
        head.extend(["reqid", one("reqid").unwrap_or("0"), "mode", one("mode").unwrap_or("transport")]);
        self.go_on(&head.join(" "), &head, builder);
        self.kernel(builder, |kernel| kernel.typed = true);
        for clause in &clauses {
            if !matches!(clause.first(), Some(&("src" | "dst" | "proto" | "spi" | "reqid" | "mode" | "limit"))) {
                self.go_on(&clause.join(" "), clause, builder);
            }
        }
        Some(())
    }

    fn policy_command(&mut self, verb: Verb, words: &[&str], builder: &mut Builder) -> Option<()> {
        if verb == Verb::Flush {
            if let Some(router) = builder.continues() {
                router.xfrm_policies.clear();
                router.selectors.clear();
            }
            return Some(());
        }
        let clauses = clauses(words, &POLICY)?;
        let one = |name: &str| {
            clauses.iter().find(|clause| clause.first() == Some(&name)).and_then(|clause| clause.get(1)).copied()
        };
        let dir = one("dir")?;
        let other = one("dst").or_else(|| one("src")).unwrap_or_default();
        let any = if other.contains(':') { "::/0" } else { "0.0.0.0/0" };
        let (src, dst) = (one("src").unwrap_or(any), one("dst").unwrap_or(any));
        let (src, dst) = (prefixed(src), prefixed(dst));
        let mut first = vec!["src", src.as_str(), "dst", dst.as_str()];
        for name in ["proto", "sport", "dport", "type", "code", "key", "dev"] {
            if let Some(value) = one(name) {
                first.extend([name, value]);
            }
        }
        self.open(&first, builder);
        let mut line = vec!["dir", dir];
        for name in ["action", "priority", "ptype"] {
            if let Some(value) = one(name) {
                line.extend([name, value]);
            }
        }
        self.go_on(&line.join(" "), &line, builder);
        if self.part == Part::Policy && verb != Verb::Add {
            replace(verb, builder);
        }
        if verb == Verb::Delete {
            return Some(());
        }
        for clause in &clauses {
            match clause.first() {
                Some(&"tmpl") => self.template_clause(clause.get(1..).unwrap_or_default(), builder)?,
                Some(&("mark" | "if_id")) => {
                    self.go_on(&clause.join(" "), clause, builder);
                }
                _ => {}
            }
        }
        Some(())
    }

    fn template_clause(&mut self, words: &[&str], builder: &mut Builder) -> Option<()> {
        let after = |name: &str| words.iter().position(|word| *word == name).and_then(|at| words.get(at + 1)).copied();
        let other = after("dst").or_else(|| after("src")).unwrap_or_default();
        let any = if other.contains(':') { "::" } else { "0.0.0.0" };
        let ends = ["tmpl", "src", after("src").unwrap_or(any), "dst", after("dst").unwrap_or(any)];
        self.go_on(&ends.join(" "), &ends, builder);
        let mut asked = vec!["proto", after("proto")?];
        for name in ["spi", "reqid", "mode", "level"] {
            if let Some(value) = after(name) {
                asked.extend([name, value]);
            } else if name == "mode" {
                asked.extend(["mode", "transport"]);
            }
        }
        self.go_on(&asked.join(" "), &asked, builder);
        Some(())
    }
}

/// The kernel shows host addresses of selectors with their prefix.
fn prefixed(word: &str) -> String {
    match (word.contains('/'), word.contains(':')) {
        (true, _) => word.to_owned(),
        (false, true) => format!("{word}/128"),
        (false, false) => format!("{word}/32"),
    }
}

/// A command is not read: the state or policy that it makes may be any.
fn not_read(state: bool, builder: &mut Builder) {
    let Some(router) = builder.router() else { return };
    router.unread_states |= state;
    router.forwarding.cut_policies |= !state;
}

/// A line that could not be read, such as a shell function. It may add states or policies, so none is reported as missing.
pub(in crate::policy) fn unread(text: &str, builder: &mut Builder) {
    if text.contains("xfrm") {
        for (word, state) in [("state", true), ("policy", false)] {
            if text.contains(word) {
                not_read(state, builder);
            }
        }
    }
}

/// The last policy read replaces, or removes, an earlier one with its selector and direction.
fn replace(verb: Verb, builder: &mut Builder) {
    let Some(router) = builder.continues() else { return };
    let Some(last) = router.xfrm_policies.pop() else { return };
    let same = |words: &str| words == last.words;
    router.xfrm_policies.retain(|old| !(same(&old.words) && old.direction == last.direction));
    let cited = router.xfrm_policies.iter().map(|policy| policy.cite.clone()).collect::<Vec<_>>();
    router.selectors.retain(|selector| cited.contains(&selector.cite));
    if verb == Verb::Update {
        router.xfrm_policies.push(last);
    }
}

/// Whether the command is about states, what it does, its namespace, and its words.
fn parsed(text: &str) -> Option<(bool, Verb, Option<String>, Vec<String>)> {
    let words = shell_words(text);
    let mut at = words.iter().position(|word| word == "ip" || word.ends_with("/ip"))?;
    let mut namespace = None;
    // `ip netns exec NAME ip xfrm ...` has a second `ip`.
    if let [first, exec, name, again, ..] = words.get(at + 1..)?
        && first == "netns"
        && exec == "exec"
        && (again == "ip" || again.ends_with("/ip"))
    {
        namespace = Some(name.clone());
        at += 4;
    }
    // Before it stand `sudo`, `&&` and the like, no sentence.
    if at > 6 {
        return None;
    }
    let mut rest = words.get(at + 1..)?.iter();
    let mut word = rest.next()?;
    while word.starts_with('-') {
        if matches!(word.as_str(), "-n" | "-netns") {
            namespace = Some(rest.next()?.clone());
        } else if matches!(word.as_str(), "-f" | "-family" | "-rc" | "-rcvbuf") {
            rest.next();
        }
        word = rest.next()?;
    }
    let begins = |word: &str, whole: &str| !word.is_empty() && whole.starts_with(word);
    if !begins(word, "xfrm") {
        return None;
    }
    let what = rest.next()?;
    let state = begins(what, "state") || what == "sa";
    if !state && !begins(what, "policy") {
        return None;
    }
    let verb = match rest.next()?.as_str() {
        "get" | "list" | "show" | "count" | "monitor" | "allocspi" | "lst" | "ls" => return None,
        word if begins(word, "add") => Verb::Add,
        word if begins(word, "update") => Verb::Update,
        word if word == "deleteall" || word == "delall" || begins(word, "flush") => Verb::Flush,
        word if begins(word, "delete") => Verb::Delete,
        _ => return None,
    };
    let joined = |word: &&String| !matches!(word.as_str(), "||" | "&&" | ";" | "|" | ">" | "2>");
    Some((state, verb, namespace, rest.take_while(joined).map(|word| word.trim_end_matches(';').to_owned()).collect()))
}

/// Words as a shell takes them; quotes keep blanks, and empty words.
fn shell_words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote, mut open) = (Vec::new(), String::new(), None, false);
    for c in text.chars() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (Some(_), c) => word.push(c),
            (None, '\'' | '"' | '\u{2018}' | '\u{2019}' | '\u{201c}' | '\u{201d}') => {
                // Word processors turn quotes into curly ones; both of a pair end here.
                quote = matches!(c, '\'' | '"').then_some(c);
                open = true;
            }
            (None, ' ' | '\t') => {
                if open || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                open = false;
            }
            // A bracket of an algorithm that the shell would want escaped.
            (None, '\\') => {}
            (None, '#') if word.is_empty() && !open => break,
            (None, c) => word.push(c),
        }
    }
    if open || !word.is_empty() {
        words.push(word);
    }
    words
}

/// The clauses of a command, each with its keyword first; `None` where a word begins none.
fn clauses<'w>(words: &[&'w str], known: &[(&'static str, usize)]) -> Option<Vec<Vec<&'w str>>> {
    let keyword = |word: &str| known.iter().find(|(name, _)| *name == word).copied();
    let mut clauses: Vec<Vec<&str>> = Vec::new();
    let mut words = words.iter().copied().peekable();
    // The protocol may stand where a keyword is expected, as in `ip xfrm state add src A dst B esp`: not accepted by the tool.
    while let Some(word) = words.next() {
        let (name, most) = keyword(word)?;
        let mut clause = vec![word];
        while clause.len() <= most {
            let Some(next) = words.peek().copied() else { break };
            let inner = match name {
                "sel" => matches!(next, "src" | "dst" | "proto" | "sport" | "dport" | "type" | "code" | "key" | "dev"),
                "tmpl" => matches!(next, "src" | "dst" | "proto" | "spi" | "mode" | "reqid" | "level"),
                "mark" | "output-mark" => next == "mask",
                "offload" => matches!(next, "dev" | "dir" | "packet" | "crypto"),
                _ => false,
            };
            if clause.len() > 1 && !inner && keyword(next).is_some() && !value_of_inner(name, &clause) {
                break;
            }
            clause.push(next);
            words.next();
        }
        // `enc NAME` of a cipher without a key is followed by another clause.
        clauses.push(clause);
    }
    Some(clauses)
}

/// Whether the last word of a clause with inner keywords waits for its value.
fn value_of_inner(name: &str, clause: &[&str]) -> bool {
    let pairs = match name {
        "sel" | "tmpl" => clause.len() - 1,
        _ => return false,
    };
    pairs % 2 == 1
}

//! One pasted line, rid of what pasting adds.

use std::borrow::Cow;

/// What stands before a line's own text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(in crate::policy) struct Prompt {
    /// The router.
    pub(in crate::policy) host: Option<String>,
    /// Whether it is a prompt of a configuration mode.
    pub(in crate::policy) configuring: bool,
}

/// Characters that mark the rest of a line as somebody's note.
const NOTES: [&str; 3] = ["<-", "\u{2190}", " < "];

/// The text of a line: blanks joined, notes cut off. `None` for lines that say nothing.
pub(in crate::policy) fn clean(text: &str) -> Option<String> {
    let blank = |c: char| c.is_control() || matches!(c, '\u{feff}' | '\u{a0}' | '\u{202f}' | '\u{2007}');
    let text: Cow<'_, str> = if text.chars().any(blank) {
        text.chars().map(|c| if blank(c) { ' ' } else { c }).collect::<String>().into()
    } else {
        text.into()
    };
    let end = NOTES.iter().filter_map(|note| text.find(note)).min().unwrap_or(text.len());
    let text = text.get(..end).unwrap_or_default();
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    let rule =
        line.starts_with("```") || line.bytes().all(|b| matches!(b, b'*' | b'-' | b'=' | b'!' | b'.' | b'>' | b'#'));
    (!line.is_empty() && !rule).then_some(line)
}

/// Takes a prompt off: `R1#`, `R2(config-crypto-map)#`, `root@r1:~#`, `[root@r1 ~]#`, `$`, and headings such as `## r1: ip xfrm state`.
pub(in crate::policy) fn prompt(line: &str) -> Option<(Prompt, &str)> {
    heading(line).or_else(|| view(line)).or_else(|| shell(line)).or_else(|| router(line))
}

/// `<Huawei>display ipsec sa` and `[Huawei-ipsec-policy-manual-M-10] sa spi ...`, whose view is no part of the name.
fn view(line: &str) -> Option<(Prompt, &str)> {
    if let Some((host, rest)) = line.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
        return is_name(host).then(|| (Prompt { host: Some(host.to_owned()), configuring: false }, rest.trim_start()));
    }
    let (view, rest) = line.strip_prefix('[')?.split_once(']')?;
    let rest = rest.trim_start();
    let mut parts = view.splitn(2, '-');
    let (host, more) = (parts.next()?, parts.next());
    let known =
        more.is_none_or(|more| ["ipsec", "acl", "Gig", "Eth", "Ten"].iter().any(|start| more.starts_with(start)));
    let command = rest.starts_with(|c: char| c.is_ascii_lowercase());
    (is_name(host) && known && command).then(|| (Prompt { host: Some(host.to_owned()), configuring: true }, rest))
}

fn heading(line: &str) -> Option<(Prompt, &str)> {
    let rest = line.strip_prefix('#')?.trim_start_matches('#').trim_start();
    let (host, command) = rest.split_once(':')?;
    let command = command.trim_start();
    let is_command = ["ip ", "swanctl", "show ", "sh ", "sudo "].iter().any(|start| command.starts_with(start));
    (is_command && is_name(host)).then(|| (Prompt { host: Some(host.to_owned()), configuring: false }, command))
}

fn shell(line: &str) -> Option<(Prompt, &str)> {
    if let Some(rest) = line.strip_prefix("$ ").or_else(|| line.strip_prefix("# ")) {
        let command = ["ip ", "swanctl", "sudo "].iter().any(|start| rest.starts_with(start));
        return command.then(|| (Prompt::default(), rest));
    }
    // `user@gw1> show ...` is Junos, `[admin@gw1] > /ip ...` RouterOS.
    let end = line.find(['#', '$', '>'])?;
    let (before, rest) = (line.get(..end)?, line.get(end + 1..)?.trim_start());
    let (_, place) = before.split_once('@')?;
    let host = place.split([':', ' ', ']']).next().filter(|host| is_name(host))?;
    Some((Prompt { host: Some(host.to_owned()), configuring: false }, rest))
}

fn router(line: &str) -> Option<(Prompt, &str)> {
    let end = line.find(['#', '>'])?;
    let (before, rest) = (line.get(..end)?, line.get(end + 1..)?);
    let (host, mode) = match before.split_once('(') {
        Some((host, mode)) => (
            host,
            Some(mode.strip_suffix(')').filter(|mode| ["config", "cfg-"].iter().any(|start| mode.starts_with(start)))?),
        ),
        None => (before, None),
    };
    // `#` and `>` stand in other text too; a prompt is one word from the beginning of the line.
    is_name(host).then(|| (Prompt { host: Some(host.to_owned()), configuring: mode.is_some() }, rest.trim_start()))
}

/// A host name (RFC 1123 section 2.1, and the underscore that routers allow).
fn is_name(word: &str) -> bool {
    (1..=63).contains(&word.len())
        && word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(line: &str) -> Option<(String, bool, String)> {
        let (prompt, rest) = prompt(line)?;
        Some((prompt.host.unwrap_or_default(), prompt.configuring, rest.to_owned()))
    }

    #[test]
    fn what_pasting_adds_is_taken_off() {
        let cleaned = clean;
        assert_eq!(cleaned("  spi: 0x3EA(1002)\t <- configured ID\r").as_deref(), Some("spi: 0x3EA(1002)"));
        assert_eq!(cleaned("inbound esp sas: \u{2190} no ESP").as_deref(), Some("inbound esp sas:"));
        assert_eq!(cleaned("permit ip any any < real IP addresses").as_deref(), Some("permit ip any any"));
        for nothing in ["", "***", "```", "```text", "!", "\u{feff}", "---"] {
            assert_eq!(cleaned(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn prompts_name_their_router() {
        let some = |host: &str, configuring, rest: &str| Some((host.to_owned(), configuring, rest.to_owned()));
        assert_eq!(host("R1#sh run | s crypto"), some("R1", false, "sh run | s crypto"));
        assert_eq!(host("R2(config-crypto-map)# set peer 10.0.0.1"), some("R2", true, "set peer 10.0.0.1"));
        assert_eq!(host("R2(cfg-crypto-trans)#mode tunnel"), some("R2", true, "mode tunnel"));
        assert_eq!(host("R1>"), some("R1", false, ""));
        assert_eq!(host("root@gw-1:~# ip xfrm state"), some("gw-1", false, "ip xfrm state"));
        assert_eq!(host("[root@gw1 ~]# ip xfrm state"), some("gw1", false, "ip xfrm state"));
        assert_eq!(host("##### r1: ip -s xfrm state"), some("r1", false, "ip -s xfrm state"));
        assert_eq!(host("$ ip xfrm state"), some("", false, "ip xfrm state"));
        for none in ["#pkts encaps: 1, #pkts encrypt: 1", "# a comment", "set peer 10.0.0.1", "10 #x", "a b#c"] {
            assert_eq!(host(none), None, "{none}");
        }
    }
}

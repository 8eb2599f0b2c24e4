//! An input, line by line: each line goes to the reader that understands it.

use super::builder::Builder;
use super::cisco::Cisco;
use super::esp_sa;
use super::limits::MAX_LINE;
use super::line;
use super::show::Show;
use super::swanctl::Swanctl;
use super::xfrm::{self, Xfrm};

/// What a reader made of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Read {
    /// A fact, or a line that is known to hold none.
    Understood,
    /// Not one of its lines.
    Foreign,
}

impl Read {
    pub(super) const fn when(understood: bool) -> Self {
        if understood { Self::Understood } else { Self::Foreign }
    }
}

/// Which reader the lines belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Active {
    Nobody,
    Cisco,
    Show,
    Xfrm,
    Swanctl,
}

/// Reads pasted text of any kind but TOML.
pub(super) fn read(text: &[u8], builder: &mut Builder) {
    let mut paste = Paste {
        cisco: Cisco::default(),
        show: Show::default(),
        xfrm: Xfrm::default(),
        swanctl: Swanctl::default(),
        active: Active::Nobody,
    };
    let lines = (1u32..).zip(text.split(|b| *b == b'\n'));
    for (number, raw) in xfrm::Lines::new(lines) {
        let raw = raw.as_ref();
        if raw.is_empty() {
            continue;
        }
        builder.at(number);
        if raw.len() > MAX_LINE {
            builder.beyond(&format!("a line of more than {MAX_LINE} octets is skipped"));
            builder.skipped();
            continue;
        }
        for raw in xfrm::one_line_form(raw).unwrap_or_else(|| vec![raw]) {
            let Some(text) = line::clean(raw) else { continue };
            match paste.line(&text, builder) {
                Read::Understood => builder.understood(),
                Read::Foreign => builder.skipped(),
            }
        }
    }
}

struct Paste {
    cisco: Cisco,
    show: Show,
    xfrm: Xfrm,
    swanctl: Swanctl,
    active: Active,
}

impl Paste {
    fn line(&mut self, text: &str, builder: &mut Builder) -> Read {
        let mut text = text;
        if let Some((prompt, rest)) = line::prompt(text) {
            if let Some(host) = &prompt.host {
                builder.prompt(host);
            }
            text = rest;
            if let Some(read) = self.xfrm.command(text, builder) {
                return read;
            }
            if !prompt.configuring {
                self.active = Active::Nobody;
                if let Some(command) = command(text) {
                    if let Some(host) = netns(text) {
                        builder.prompt(host);
                    }
                    if command == Command::Configuration {
                        builder.configuration();
                    }
                    return Read::Understood;
                }
            }
            if text.is_empty() {
                return Read::Understood;
            }
        } else if let Some(read) = self.xfrm.command(text, builder) {
            return read;
        } else if command(text).is_some() {
            return Read::Understood;
        }
        let words: Vec<&str> = text.split(' ').collect();
        if self.go_on(text, &words, builder) == Read::Understood {
            return Read::Understood;
        }
        // Displays have openings that nothing else has; a configuration is looked for last.
        let opened = if esp_sa::line(text, builder) == Read::Understood {
            Some(self.active)
        } else if self.xfrm.open(&words, builder) == Read::Understood {
            Some(Active::Xfrm)
        } else if self.show.open(text, &words, builder) == Read::Understood {
            Some(Active::Show)
        } else if self.swanctl.open(text, &words, builder) == Read::Understood {
            Some(Active::Swanctl)
        } else if self.cisco.open(text, &words, builder) == Read::Understood {
            Some(Active::Cisco)
        } else {
            None
        };
        match opened {
            Some(active) => {
                self.active = active;
                Read::Understood
            }
            None => self.cisco.quoted(text, builder),
        }
    }

    fn go_on(&mut self, text: &str, words: &[&str], builder: &mut Builder) -> Read {
        match self.active {
            Active::Nobody => Read::Foreign,
            Active::Cisco => self.cisco.go_on(text, words, builder),
            Active::Show => self.show.go_on(text, words, builder),
            Active::Xfrm => self.xfrm.go_on(text, words, builder),
            Active::Swanctl => self.swanctl.go_on(text, words, builder),
        }
    }
}

/// A command whose output follows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Command {
    Configuration,
    Other,
}

fn command(text: &str) -> Option<Command> {
    let mut words = text.split(' ').skip_while(|word| matches!(*word, "do" | "sudo"));
    let first = words.next()?;
    let second = words.next().unwrap_or_default();
    match first {
        "sh" | "sho" | "show" => {
            let configuration = second.starts_with("run") || second.starts_with("start");
            Some(if configuration { Command::Configuration } else { Command::Other })
        }
        "conf" | "configure" | "clear" | "end" | "exit" | "swanctl" | "enable" | "terminal" | "ping" | "wr"
        | "write" => Some(Command::Other),
        "ip" => (text.contains("xfrm")).then_some(Command::Other),
        _ => None,
    }
}

/// The namespace a command runs in: `ip netns exec r1 ip xfrm state`.
fn netns(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("netns exec ")?;
    rest.split(' ').next().filter(|name| !name.is_empty())
}

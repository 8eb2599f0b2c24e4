//! An input, line by line: each line goes to the reader that understands it.

use super::filter::Filter;
use super::order::Missing;
use super::parts::Parts;
use super::{Pasted, line};
use crate::policy::facts::builder::Builder;
use crate::policy::form;
use crate::policy::limits::MAX_LINE;
use crate::policy::read::cisco::Cisco;
use crate::policy::read::esp_sa;
use crate::policy::read::makers::fortigate::FortiGate;
use crate::policy::read::makers::huawei::Huawei;
use crate::policy::read::makers::junos::Junos;
use crate::policy::read::makers::openbsd::OpenBsd;
use crate::policy::read::makers::routeros::RouterOs;
use crate::policy::read::setkey::Setkey;
use crate::policy::read::show::Show;
use crate::policy::read::show_map::ShowMap;
use crate::policy::read::swanctl::Swanctl;
use crate::policy::read::xfrm::{self, Xfrm};

/// What a reader made of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::policy) enum Read {
    /// A fact, or a line that is known to hold none.
    Understood,
    /// Not one of its lines.
    Foreign,
}

impl Read {
    pub(in crate::policy) const fn when(understood: bool) -> Self {
        if understood { Self::Understood } else { Self::Foreign }
    }
}

/// A reader of one maker's configurations and displays.
pub(in crate::policy) trait Reader {
    /// A line that begins something it knows.
    fn open(&mut self, text: &str, words: &[&str], builder: &mut Builder) -> Read;

    /// A line below it.
    fn go_on(&mut self, text: &str, words: &[&str], builder: &mut Builder) -> Read;
}

/// Which reader the lines belong to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Active {
    Nobody,
    Cisco,
    Show,
    Xfrm,
    Swanctl,
    /// One of `others`.
    Other(usize),
}

/// Reads pasted text of any kind but TOML.
pub(in crate::policy) fn read(text: &[u8], builder: &mut Builder) {
    let mut paste = Paste {
        cisco: Cisco::default(),
        show: Show::default(),
        xfrm: Xfrm::default(),
        swanctl: Swanctl::default(),
        others: others(),
        active: Active::Nobody,
        indents: false,
        displayed: false,
        configured: false,
        part: None,
    };
    let text = form::pasted(text);
    let lines = &text.lines;
    // Where every line is, as in a quotation, it says nothing.
    paste.indents = lines.iter().any(|line| line.indented)
        && lines.iter().any(|line| !line.indented && line.text.as_deref() != Some(form::snip::MARK));
    let (parts, missing) = (Parts::of(lines), Missing::of(&text));
    for (at, line) in lines.iter().enumerate() {
        builder.at(line.number);
        if parts.begins(at) {
            paste.part_ends(builder);
            builder.another();
            paste.active = Active::Nobody;
        }
        if let Some(chapters) = missing.before(at) {
            builder.cut_out(chapters);
            paste.left_open(line.parted, builder);
        }
        builder.set_netmasks(parts.netmasks(at));
        if line.parted {
            paste.cisco.parted();
        }
        match &line.text {
            // The output of a command is no configuration.
            Some(text) if text == form::snip::MARK && paste.is_output(missing.is_output(at)) => {}
            Some(text) if text == form::snip::MARK => {
                builder.cut_out(missing.at(at));
                paste.cut_out(line.parted, builder);
            }
            Some(text) => match paste.line(text, builder) {
                Read::Understood => builder.understood(),
                Read::Foreign => {
                    paste.unread(text, line.indented, builder);
                    builder.skipped(paste.matters(text, line.indented));
                }
            },
            None => {
                builder.beyond(&format!("a line of more than {MAX_LINE} bytes is skipped"));
                builder.skipped(true);
            }
        }
        if paste.part.as_ref().is_some_and(|part| !part.whole_blocks) {
            paste.cisco.left_behind(builder);
        }
    }
    paste.end(&text, &missing, builder);
}

/// Words of lines that may matter for SAs.
const WORDS: [&str; 9] = ["crypto", "ipsec", "xfrm", "spi", "spis", "sa", "sas", "key", "keys"];

struct Paste {
    cisco: Cisco,
    show: Show,
    xfrm: Xfrm,
    swanctl: Swanctl,
    others: Vec<Box<dyn Reader>>,
    active: Active,
    /// Whether some line is indented, so that one that is not belongs to no block.
    indents: bool,
    /// Whether the last command of the session displays something else than a configuration.
    displayed: bool,
    /// Whether it displays a configuration.
    configured: bool,
    /// What of a configuration the last command displays, where that is a part.
    part: Option<Filter>,
}

impl Paste {
    /// A part of a configuration is displayed from here on.
    fn part(&mut self, filter: Filter, builder: &mut Builder) {
        self.cisco.ended();
        builder.part(&filter);
        self.part = Some(filter);
    }

    /// What follows belongs to no part of a configuration any more.
    fn part_ends(&mut self, builder: &mut Builder) {
        let Some(part) = self.part.take() else { return };
        self.cisco.ended();
        if !part.whole_blocks {
            self.cisco.left_behind(builder);
        }
        builder.part_ends();
    }

    /// The text ends here.
    fn end(&mut self, text: &Pasted, missing: &Missing, builder: &mut Builder) {
        let last = text.lines.last().and_then(|line| line.text.as_deref()).unwrap_or_default();
        let prompted = line::prompt(last);
        let rest = prompted.as_ref().map_or(last, |(_, rest)| rest);
        if self.active == Active::Xfrm {
            self.xfrm.end(text.broken, builder);
        }
        if let Some(tail) = missing.tail.as_deref().filter(|_| self.active == Active::Cisco) {
            builder.cut_out(tail);
            self.cisco.cut_out(text.parted, builder);
        } else if self.active == Active::Cisco && !text.parted && prompted.is_none() && command(rest).is_none() {
            self.cisco.left_open(builder);
        }
        self.part_ends(builder);
    }

    /// Whether what a line says that nobody reads may matter.
    fn matters(&self, text: &str, indented: bool) -> bool {
        let text = line::prompt(text).map_or(text, |(_, rest)| rest);
        let words: Vec<&str> = text.split(' ').collect();
        if crate::policy::read::cisco::irrelevant(&words) {
            return false;
        }
        let within = self.active == Active::Cisco && self.cisco.in_crypto() && (indented || !self.indents);
        let names = text
            .split(|c: char| !c.is_ascii_alphanumeric())
            .any(|word| WORDS.contains(&word.to_ascii_lowercase().as_str()));
        within || names
    }

    /// What a line that nobody reads may say is not known to be missing.
    fn unread(&mut self, text: &str, indented: bool, builder: &mut Builder) {
        let text = line::prompt(text).map_or(text, |(_, rest)| rest);
        let words: Vec<&str> = text.split(' ').collect();
        if crate::policy::read::cisco::irrelevant(&words) {
            return;
        }
        builder.mentions(text);
        xfrm::unread(text, builder);
        if self.active == Active::Cisco {
            self.cisco.unread(text, self.indents.then_some(indented), builder);
        }
    }

    /// Whether a cut mark here lies in the output of a command that displays no configuration. `follows`: whether the lines
    /// around it follow a prompt and are of no configuration.
    fn is_output(&self, follows: bool) -> bool {
        self.active == Active::Nobody && (self.displayed || follows && !self.configured)
    }

    /// Lines were cut out here.
    fn cut_out(&mut self, parted: bool, builder: &mut Builder) {
        match self.active {
            Active::Cisco => self.cisco.cut_out(parted, builder),
            Active::Xfrm => self.xfrm.cut_out(builder),
            Active::Show | Active::Other(_) => {
                if let Some(router) = builder.continues() {
                    router.forwarding.cut_display = true;
                }
            }
            Active::Nobody | Active::Swanctl => {}
        }
    }

    /// A configuration ends here although it is not at its end.
    fn left_open(&mut self, parted: bool, builder: &mut Builder) {
        if self.active == Active::Cisco && !parted {
            self.cisco.left_open(builder);
        }
    }

    /// What follows a prompt: a command, unless the prompt is one of the configuration mode.
    fn prompted(&mut self, prompt: &line::Prompt, text: &str, builder: &mut Builder) -> Option<Read> {
        self.part_ends(builder);
        if let Some(host) = &prompt.host {
            builder.prompt(host, prompt.configuring);
        }
        if let Some(read) = self.xfrm.command(text, builder) {
            return Some(read);
        }
        if !prompt.configuring {
            self.active = Active::Nobody;
            self.configured = false;
            if let Some(command) = command(text) {
                self.configured = command != Command::Other;
                if let Some(host) = netns(text) {
                    builder.prompt(host, false);
                }
                self.displayed = command == Command::Other;
                match command {
                    Command::Part(filter) => self.part(filter, builder),
                    Command::Configuration => builder.configuration(),
                    Command::Other => {}
                }
                return Some(Read::Understood);
            }
        }
        text.is_empty().then_some(Read::Understood)
    }

    fn line(&mut self, text: &str, builder: &mut Builder) -> Read {
        let mut text = text;
        if let Some((prompt, rest)) = line::prompt(text) {
            text = rest;
            if let Some(read) = self.prompted(&prompt, text, builder) {
                return read;
            }
        } else if let Some(read) = self.xfrm.command(text, builder) {
            return read;
        } else if matches!(self.active, Active::Other(_))
            && self.go_on(text, &text.split(' ').collect::<Vec<_>>(), builder) == Read::Understood
        {
            // `end`, `exit` and `set` are commands of other makers, too.
            return Read::Understood;
        } else if let Some(command) = command(text) {
            if text == "end" {
                self.cisco.ended();
            } else if let Command::Part(filter) = command {
                self.part_ends(builder);
                self.part(filter, builder);
            }
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
        } else if let Some(at) =
            self.others.iter_mut().position(|one| one.open(text, &words, builder) == Read::Understood)
        {
            Some(Active::Other(at))
        } else if self.show.open(text, &words, builder) == Read::Understood {
            Some(Active::Show)
        } else if self.swanctl.open(text, &words, builder) == Read::Understood {
            Some(Active::Swanctl)
        } else if self.cisco.open(&words, builder) == Read::Understood {
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
            Active::Cisco => self.cisco.go_on(words, builder),
            Active::Show => self.show.go_on(text, words, builder),
            Active::Xfrm => self.xfrm.go_on(text, words, builder),
            Active::Swanctl => self.swanctl.go_on(text, words, builder),
            Active::Other(at) => self.others.get_mut(at).map_or(Read::Foreign, |one| one.go_on(text, words, builder)),
        }
    }
}

/// Readers in the order in which they are asked whether a line is theirs.
fn others() -> Vec<Box<dyn Reader>> {
    vec![
        Box::new(ShowMap::default()),
        Box::new(FortiGate::default()),
        Box::new(Huawei::default()),
        Box::new(Junos::default()),
        Box::new(RouterOs::default()),
        Box::new(OpenBsd::default()),
        Box::new(Setkey::default()),
    ]
}

/// A command whose output follows.
#[derive(Clone, PartialEq, Eq)]
enum Command {
    Configuration,
    /// A part of one.
    Part(Filter),
    Other,
}

fn command(text: &str) -> Option<Command> {
    let mut words = text.split(' ').skip_while(|word| matches!(*word, "do" | "sudo"));
    let first = words.next()?;
    let second = words.next().unwrap_or_default();
    match first {
        "sh" | "sho" | "show" => {
            let configuration = second.starts_with("run") || second.starts_with("start");
            // `show run|s crypto`
            let behind = text.split_once(first).map_or("", |(_, behind)| behind.trim_start());
            let rest = behind.find(['|', ' ']).and_then(|at| behind.get(at..)).unwrap_or_default();
            Some(match configuration.then(|| Filter::of(rest)) {
                Some(Some(filter)) => Command::Part(filter),
                Some(None) => Command::Configuration,
                None => Command::Other,
            })
        }
        "conf" | "configure" | "clear" | "end" | "exit" | "swanctl" | "enable" | "terminal" | "ping" | "wr"
        | "write" => Some(Command::Other),
        "setkey" | "ipsecctl" | "display" | "system-view" | "diagnose" | "get"
            if words.next().is_none() || second.contains("ipsec") =>
        {
            Some(Command::Other)
        }
        "setkey" | "ipsecctl" if second.starts_with('-') => Some(Command::Other),
        "ip" => (text.contains("xfrm")).then_some(Command::Other),
        _ => None,
    }
}

/// The namespace a command runs in: `ip netns exec r1 ip xfrm state`.
fn netns(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("netns exec ")?;
    rest.split(' ').next().filter(|name| !name.is_empty())
}

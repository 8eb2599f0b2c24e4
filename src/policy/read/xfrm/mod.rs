//! `ip xfrm state` and `ip xfrm policy` of Linux, with or without `-s`, `-d` and `-o`, and the commands that make them.

mod algorithm;
mod command;
mod facts;
mod logical;
mod own;
mod policy;
mod state;
mod typed;

pub(in crate::policy) use command::unread;
pub(in crate::policy) use facts::selector_words;
pub use facts::{Direction, Drops, Encap, KernelState, Mark, Template, XfrmPolicy};
pub(in crate::policy) use logical::logical;
pub(in crate::policy) use own::own_addresses;
pub(in crate::policy) use typed::{add_state, delete_policy, delete_state, policy as policy_line};

use crate::policy::facts::builder::Builder;
use crate::policy::facts::router::{Installed, Way};
use crate::policy::form::paste::Read;
use crate::policy::words::address;
use policy::Narrower;

/// Beginnings of lines that are known and say nothing here.
const NOISE: [&str; 22] = [
    "anti-replay",
    "lifetime",
    "limit:",
    "expire",
    "stats:",
    "coaddr",
    "lastused",
    "security",
    "ptype",
    "seq",
    "enc-mask",
    "socket",
    "share",
    "oseq",
    "bitmap",
    "failed",
    "replay",
    "add",
    "current",
    "soft",
    "hard",
    "pcpu-num",
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
    /// A policy that is not kept (of a socket).
    OtherPolicy,
}

/// Reads displays and commands.
#[derive(Default)]
pub(in crate::policy) struct Xfrm {
    part: Part,
    ends: Option<(String, String)>,
    /// What else the line of a policy's selector says.
    narrower: Narrower,
    /// `tmpl src A dst B` was read; the next line says what it asks for.
    template: Option<(String, String, crate::policy::Cite)>,
}

impl Xfrm {
    /// `src A dst B`.
    pub(in crate::policy) fn open(&mut self, words: &[&str], builder: &mut Builder) -> Read {
        let ["src", src, "dst", dst, rest @ ..] = words else { return Read::Foreign };
        let known = |word: &str| address(word.split_once('/').map_or(word, |(base, _)| base)).is_some();
        if !known(src) || !known(dst) {
            builder.wrong("a source or destination that is no address");
            return Read::Understood;
        }
        self.part = Part::Ends;
        self.ends = Some(((*src).to_owned(), (*dst).to_owned()));
        self.narrower = Narrower::read(rest);
        self.template = None;
        Read::Understood
    }

    /// The text ends here. A listing that ends within a policy lacks the policies after it.
    pub(in crate::policy) fn end(&self, broken: bool, builder: &mut Builder) {
        let Some(router) = builder.continues() else { return };
        let bare =
            self.part == Part::Policy && router.xfrm_policies.last().is_some_and(|last| last.templates.is_empty());
        router.forwarding.cut_policies |= self.part == Part::Ends || self.template.is_some() || broken && bare;
    }

    /// Lines of a listing were cut out: what they are of is not known whole, nor is what follows up to the next `src`.
    pub(in crate::policy) fn cut_out(&mut self, builder: &mut Builder) {
        let part = std::mem::take(self).part;
        let Some(router) = builder.router() else { return };
        match part {
            Part::State => {
                router.installed.pop();
            }
            Part::Policy => {
                router.xfrm_policies.pop();
            }
            _ => {}
        }
        router.unread_states |= part != Part::Policy;
        router.forwarding.cut_display |= part != Part::Policy;
        router.forwarding.cut_policies |= part != Part::State;
    }

    /// A line below it.
    pub(in crate::policy) fn go_on(&mut self, text: &str, words: &[&str], builder: &mut Builder) -> Read {
        match words {
            ["src", ..] => return self.open(words, builder),
            ["proto", protocol, rest @ ..] => return self.proto(protocol, rest, builder),
            // Newer kernels show a direction on states too.
            ["dir", way] if self.part == Part::State => {
                let way = way_of(way);
                self.edit(builder, |sa| sa.way = way);
            }
            ["dir", way, rest @ ..] => self.dir(way, rest, builder),
            ["socket", ..] => self.part = Part::OtherPolicy,
            ["tmpl", "src", src, "dst", dst, ..] => {
                self.template = Some(((*src).to_owned(), (*dst).to_owned(), builder.cite(text)));
            }
            ["mark", value, rest @ ..] => self.mark(value, rest, builder),
            ["if_id", value, ..] => self.if_id(value, builder),
            ["level", "use", ..] if self.part == Part::Policy => self.optional(builder),
            ["level", ..] => {}
            _ if self.part == Part::State && state::line(self, words, builder) => {}
            [
                "auth" | "auth-trunc" | "enc" | "aead" | "comp" | "encap" | "sel" | "flag" | "replay-window"
                | "replay_window" | "crypto" | "offload" | "output-mark" | "extra_flag" | "seq-hi" | "tfcpad",
                ..,
            ] => {}
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
        match self.part {
            Part::Policy => {
                self.asked(protocol, rest, builder);
                Read::Understood
            }
            Part::OtherPolicy => Read::Understood,
            _ => {
                let Some(ends) = self.ends.clone() else { return Read::Foreign };
                self.part = state::begin(&ends, protocol, rest, builder);
                Read::Understood
            }
        }
    }

    fn mark(&mut self, value: &str, rest: &[&str], builder: &mut Builder) {
        // Commands have the mask as a word of its own.
        let text = match rest {
            ["mask", mask, ..] => format!("{value}/{mask}"),
            _ => value.to_owned(),
        };
        let Some(mark) = Mark::read(&text) else { return builder.wrong("a mark that is no number") };
        let cite = builder.cite(&format!("mark {text}"));
        match self.part {
            Part::State => self.kernel(builder, |kernel| {
                kernel.mark = mark;
                kernel.lines.push(("mark", cite));
            }),
            Part::Policy => self.policy(builder, |policy| policy.mark = mark),
            _ => {}
        }
    }

    fn if_id(&mut self, value: &str, builder: &mut Builder) {
        let Some(if_id) = facts::number(value) else { return builder.wrong("an interface id that is no number") };
        let cite = builder.cite(&format!("if_id {value}"));
        match self.part {
            Part::State => self.kernel(builder, |kernel| {
                kernel.if_id = if_id;
                kernel.lines.push(("if_id", cite));
            }),
            Part::Policy => self.policy(builder, |policy| policy.if_id = if_id),
            _ => {}
        }
    }

    fn edit(&self, builder: &mut Builder, change: impl FnOnce(&mut Installed)) {
        if self.part == Part::State
            && let Some(sa) = builder.router().and_then(|router| router.installed.last_mut())
        {
            change(sa);
        }
    }

    fn kernel(&self, builder: &mut Builder, change: impl FnOnce(&mut KernelState)) {
        self.edit(builder, |sa| {
            if let Some(kernel) = sa.kernel.as_deref_mut() {
                change(kernel);
            }
        });
    }

    fn policy(&self, builder: &mut Builder, change: impl FnOnce(&mut XfrmPolicy)) {
        if self.part == Part::Policy
            && let Some(policy) = builder.router().and_then(|router| router.xfrm_policies.last_mut())
        {
            change(policy);
        }
    }
}

fn way_of(word: &str) -> Option<Way> {
    match word {
        "in" => Some(Way::In),
        "out" => Some(Way::Out),
        _ => None,
    }
}

fn bitmap(word: &str) -> bool {
    word.len() == 8 && word.bytes().all(|b| b.is_ascii_hexdigit())
}

//! `ip xfrm` commands that make a state or a policy. Keys are a placeholder.

use std::fmt::Write as _;

use super::facts::{Mark, XfrmPolicy, protocol_word};
use crate::policy::Installed;

/// What stands for algorithms and keys.
const SECRETS: &str = "<ALGORITHMS AND KEYS>";
/// The largest window without extended sequence numbers, in packets: the bitmap of `struct xfrm_replay_state`.
const PLAIN_WINDOW: u32 = 32;

/// What names a state to the kernel; empty where an end is not known.
fn name(sa: &Installed) -> Option<String> {
    let (src, dst) = (sa.src?, sa.dst?);
    Some(format!("src {src} dst {dst} proto {} spi 0x{:x}", protocol_word(sa.protocol), sa.spi.0))
}

fn mark(mark: Mark) -> String {
    if mark.any() { String::new() } else { format!(" mark 0x{:x} mask 0x{:x}", mark.value, mark.mask) }
}

/// `ip xfrm state delete ...`.
pub(in crate::policy) fn delete_state(sa: &Installed) -> Option<String> {
    let kernel = sa.kernel.as_deref()?;
    Some(format!("ip xfrm state delete {}{}", name(sa)?, mark(kernel.mark)))
}

/// `ip xfrm state add ...` with everything but algorithms and keys.
pub(in crate::policy) fn add_state(sa: &Installed) -> Option<String> {
    let kernel = sa.kernel.as_deref()?;
    let mut line = format!("ip xfrm state add {}", name(sa)?);
    if kernel.reqid != 0 {
        let _ = write!(line, " reqid {}", kernel.reqid);
    }
    let _ = write!(line, " mode {} {SECRETS}", sa.mode?.name());
    let window = if kernel.esn() { kernel.window.max(1) } else { kernel.window.min(PLAIN_WINDOW) };
    if window != 0 {
        let _ = write!(line, " replay-window {window}");
    }
    if !kernel.flags.is_empty() {
        let _ = write!(line, " flag {}", kernel.flags.join(" "));
    }
    if !kernel.extra_flags.is_empty() {
        let _ = write!(line, " extra-flag {}", kernel.extra_flags.join(" "));
    }
    if let Some(encap) = &kernel.encap {
        let _ = write!(line, " encap {} {} {} {}", encap.kind, encap.sport, encap.dport, encap.original);
    }
    line.push_str(&mark(kernel.mark));
    if let Some(output) = &kernel.output_mark {
        let _ = write!(line, " output-mark {output}");
    }
    if kernel.if_id != 0 {
        let _ = write!(line, " if_id 0x{:x}", kernel.if_id);
    }
    if sa.tfc != 0 {
        let _ = write!(line, " tfcpad {}", sa.tfc);
    }
    if let Some(offload) = &kernel.offload {
        let _ = write!(line, " offload {offload}");
    }
    if let Some(selector) = &kernel.selector {
        let _ = write!(line, " sel {selector}");
    }
    Some(line)
}

/// `ip xfrm policy delete ...`.
pub(in crate::policy) fn delete_policy(policy: &XfrmPolicy) -> String {
    let if_id = if policy.if_id == 0 { String::new() } else { format!(" if_id 0x{:x}", policy.if_id) };
    format!("ip xfrm policy delete {} dir {}{}{if_id}", policy.words, policy.direction.name(), mark(policy.mark))
}

/// `ip xfrm policy add ...` or `update`, with its templates.
pub(in crate::policy) fn policy(verb: &str, policy: &XfrmPolicy) -> String {
    let mut line = format!("ip xfrm policy {verb} {} dir {}", policy.words, policy.direction.name());
    line.push_str(&mark(policy.mark));
    if !policy.main {
        line.push_str(" ptype sub");
    }
    if policy.block {
        line.push_str(" action block");
    }
    if policy.priority != 0 {
        let _ = write!(line, " priority {}", policy.priority);
    }
    if policy.if_id != 0 {
        let _ = write!(line, " if_id 0x{:x}", policy.if_id);
    }
    for template in &policy.templates {
        line.push_str(" tmpl");
        if let (Some(src), Some(dst)) = (template.src, template.dst) {
            let _ = write!(line, " src {src} dst {dst}");
        }
        if let Some(protocol) = template.protocol {
            let _ = write!(line, " proto {}", protocol_word(protocol));
        }
        if let Some(spi) = template.spi {
            let _ = write!(line, " spi 0x{:x}", spi.0);
        }
        if template.reqid != 0 {
            let _ = write!(line, " reqid {}", template.reqid);
        }
        if let Some(mode) = template.mode {
            let _ = write!(line, " mode {}", mode.name());
        }
        if template.optional {
            line.push_str(" level use");
        }
    }
    line
}

//! Policies that face the wrong way: templates with source and destination exchanged, or a wrong `dir`.

use super::super::super::{Problem, Selector, View, XfrmPolicy};
use super::model::{Host, Target, Verdict, main_template, title};
use crate::policy::read::xfrm::{Direction, selector_words};

pub(super) fn judge(view: &View<'_>, hosts: &mut [Host<'_>], verdicts: &mut Vec<Verdict>) {
    for (at, host) in hosts.iter_mut().enumerate() {
        for policy in 0..host.policies.len() {
            verdicts.extend(reversed(view, at, host, policy));
        }
    }
}

/// What is wrong with a policy whose template leaves from the far end (`out`), or arrives there (`in`, `fwd`).
fn reversed(view: &View<'_>, at: usize, host: &mut Host<'_>, number: usize) -> Option<Verdict> {
    let policy = host.policies.get(number)?.now.clone();
    let template = main_template(&policy)?;
    let (src, dst) = (template.src?, template.dst?);
    let (from, to) = (host.own.contains(&src), host.own.contains(&dst));
    let out = policy.direction == Direction::Out;
    if from == to || from == out {
        return None;
    }
    let selector = policy.selector.as_ref()?;
    let (mirror, others) = (selector.mirrored(), || host.policies.iter().map(|one| &one.now));
    let has = |out: bool, wanted: &Selector| {
        others().any(|one| {
            (one.direction == Direction::Out) == out && one.selector.as_ref() == Some(wanted) && *one != policy
        })
    };
    let mut now = policy.clone();
    let (what, done) = if has(!out, &mirror) {
        exchange(&mut now);
        ("source and destination of its template are exchanged".to_owned(), true)
    } else if has(out, &mirror) {
        let taken =
            |direction| others().any(|one| one.direction == direction && one.selector.as_ref() == Some(selector));
        now.direction = match out {
            false => Direction::Out,
            true if taken(Direction::In) => Direction::Fwd,
            true => Direction::In,
        };
        (format!("selector and template are those of a policy with `dir {}`", now.direction.name()), true)
    } else if has(!out, selector) {
        exchange(&mut now);
        now.words = selector_words(&mirror)?;
        now.selector = Some(mirror);
        ("source and destination are exchanged, in selector and template".to_owned(), true)
    } else {
        ("its template faces the other way".to_owned(), false)
    };
    let evidence = format!(
        "{}: the {} has a template from {src} to {dst}, and {} is {}'s own end: {what}.",
        host.name,
        title(&policy),
        if from { src } else { dst },
        host.name
    );
    let code = if now.direction == policy.direction { "config-template-mismatch" } else { "config-policy-missing" };
    let problem =
        Problem::new(code, evidence).about(host.name).lines(view.policies, host.router, [&policy.cite, &template.cite]);
    if !done {
        return Some(Verdict::told(problem));
    }
    host.policies.get_mut(number)?.now = now;
    Some(Verdict::corrected(problem, Target::Policy(at, number)))
}

fn exchange(policy: &mut XfrmPolicy) {
    for template in &mut policy.templates {
        std::mem::swap(&mut template.src, &mut template.dst);
    }
}

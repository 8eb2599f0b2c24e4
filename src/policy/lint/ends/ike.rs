//! IKE policies that cannot agree, and pre-shared keys that differ.

use std::collections::BTreeSet;

use crate::model::report::Severity;
use crate::policy::facts::router::{IkeKey, IkePolicy, Keying, MapEntry, Router, Unread};
use crate::policy::form::order::Chapter;
use crate::policy::lint::{Facing, blame};
use crate::policy::{Cite, Problem, View, fix};

pub(in crate::policy::lint) fn problems(view: &View<'_>, facing: &[Facing]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut pairs: Vec<((usize, usize), BTreeSet<u8>)> = Vec::new();
    let negotiate = |pair: &&Facing| {
        [pair.a, pair.b].iter().all(|at| view.entry(at.0, at.1).is_some_and(|entry| entry.keying == Keying::Ike))
    };
    for pair in facing.iter().filter(negotiate) {
        let routers = (pair.a.0, pair.b.0);
        if pairs.last().is_none_or(|(last, _)| *last != routers) {
            pairs.push((routers, BTreeSet::new()));
        }
        let Some((_, versions)) = pairs.last_mut() else { continue };
        match (version(view, pair.a), version(view, pair.b)) {
            (Some(x), Some(y)) if x != y => problems.extend(other_version(view, *pair)),
            (Some(version), _) | (None, Some(version)) => versions.extend([version]),
            (None, None) => versions.extend([1, 2]),
        }
    }
    for ((a, b), versions) in pairs {
        problems.extend([(a, b), (b, a)].into_iter().filter_map(|(at, other)| switched_off(view, at, other)));
        for version in versions.iter().copied() {
            problems.extend(policy_problem(view, a, b, version));
        }
        if versions.contains(&2) {
            problems.extend([a, b].into_iter().filter_map(|at| not_attached(view, at)));
        }
        if versions.contains(&1) {
            problems.extend(key_problem(view, a, b));
        }
    }
    problems
}

/// The version of IKE that an entry of IOS negotiates with: 2 where it names a profile of IKEv2 and 1 where it names none. `None` where
/// that is not known.
pub(in crate::policy::lint) fn version(view: &View<'_>, at: (usize, usize)) -> Option<u8> {
    let router = view.policies.routers.get(at.0).filter(|router| router.maker.is_none())?;
    let entry = view.entry(at.0, at.1)?;
    if entry.ikev2.is_some() {
        return Some(2);
    }
    let hidden = [Chapter::Maps, Chapter::Sets].iter().any(|chapter| router.forwarding.hidden.contains(chapter));
    let Unread { list, sets, profile, .. } = entry.unread;
    let named = router.interfaces.get(&entry.name).filter(|_| entry.number == 0);
    let profile_read = named.and_then(|one| one.protection.as_ref()).is_none_or(|(profile, _)| {
        profile != "default" && router.profiles.get(profile).is_some_and(|sets| !sets.is_empty())
    });
    let open = hidden || list || sets || profile || router.forwarding.mentions("ikev2-profile");
    (!open && profile_read).then_some(1)
}

/// Entries that face each other, of which one negotiates with IKEv2 and the other one with IKEv1.
fn other_version(view: &View<'_>, pair: Facing) -> Option<Problem> {
    let (second, first) = if version(view, pair.a) == Some(2) { (pair.a, pair.b) } else { (pair.b, pair.a) };
    let (newer, older) = (view.entry(second.0, second.1)?, view.entry(first.0, first.1)?);
    let (name, far) = (view.name(second.0), view.name(first.0));
    let title = |entry: &MapEntry| match entry.number {
        0 => entry.name.clone(),
        number => format!("crypto map {} {number}", entry.name),
    };
    let evidence = format!(
        "{name} negotiates for {} with IKEv2 (`set ikev2-profile`), and {far} for {} with IKEv1, as it names no profile of IKEv2: neither \
         answers the other, and no SA comes up. Which of the two is meant is not determined by these texts.",
        title(newer),
        title(older)
    );
    Some(
        Problem::new("config-ike-mismatch", evidence)
            .about(format!("{name} < > {far}"))
            .lines(view.policies, second.0, &newer.ikev2)
            .lines(view.policies, first.0, [&older.cite]),
    )
}

/// Proposals of IKEv2 of a router that no policy of IKEv2 names: what it offers is its release's.
fn not_attached(view: &View<'_>, at: usize) -> Option<Problem> {
    let router = view.policies.routers.get(at).filter(|router| router.maker.is_none())?;
    let proposals: Vec<&IkePolicy> = router.ike.iter().filter(|policy| policy.version == 2).collect();
    let hidden = router.forwarding.hidden.contains(&Chapter::Policies) || router.forwarding.mentions("proposal");
    if proposals.is_empty() || hidden || proposals.iter().any(|one| is_offered(router, one)) {
        return None;
    }
    let names: Vec<&str> = proposals.iter().map(|one| one.name.as_str()).collect();
    let evidence = format!(
        "{}: no `crypto ikev2 policy` names proposal {}, so it is not used. {0} offers the default proposal of its release, which is not \
         compared.",
        router.name,
        names.join(", ")
    );
    let cites = proposals.iter().filter_map(|one| one.cites.first());
    let problem = Problem::new("config-ike-mismatch", evidence).severity(Severity::Note).about(&*router.name);
    Some(problem.lines(view.policies, at, cites))
}

/// Whether a proposal of IKEv2 is offered: a policy names it, or it changes the proposal `default` of the release, which the policy of the release
/// names if no other policy is stated.
fn is_offered(router: &Router, proposal: &IkePolicy) -> bool {
    let attached = &router.forwarding.attached;
    attached.contains(&proposal.name) || attached.is_empty() && proposal.name == "default"
}

/// A router whose entry negotiates, and whose IKE is off.
fn switched_off(view: &View<'_>, at: usize, other: usize) -> Option<Problem> {
    let off = view.policies.routers.get(at)?.forwarding.ike_off.as_ref()?;
    let (name, far) = (view.name(at), view.name(other));
    let evidence = format!(
        "{name} negotiates with {far} (ipsec-isakmp) and has IKE switched off (`no crypto isakmp enable`): no SA comes up. \
         `crypto isakmp enable` switches it on."
    );
    Some(Problem::new("config-ike-mismatch", evidence).about(name).lines(view.policies, at, [off]))
}

fn policy_problem(view: &View<'_>, a: usize, b: usize, version: u8) -> Option<Problem> {
    let of = |router: usize| -> Vec<&IkePolicy> {
        let Some(router) = view.policies.routers.get(router) else { return Vec::new() };
        // Proposals count only through a policy that names them.
        let used = |policy: &&IkePolicy| version == 1 || is_offered(router, policy);
        router.ike.iter().filter(|policy| policy.version == version).filter(used).collect()
    };
    let (ours, theirs) = (of(a), of(b));
    // Without any policy a router has its release's defaults, which are not known here.
    if ours.is_empty() || theirs.is_empty() || ours.iter().any(|x| theirs.iter().any(|y| differences(x, y).is_empty()))
    {
        return None;
    }
    // Another policy may have been cut out of the text.
    let hidden =
        |at: usize| view.policies.routers.get(at).is_some_and(|one| one.forwarding.hidden.contains(&Chapter::Policies));
    if hidden(a) || hidden(b) {
        return None;
    }
    let (x, y) = (ours.first()?, theirs.first()?);
    let (a_host, b_host) = (view.name(a), view.name(b));
    let listed: Vec<String> = differences(x, y)
        .into_iter()
        .map(|(name, mine, other)| format!("{name} {mine} at {a_host}, {other} at {b_host}"))
        .collect();
    let what = if version == 1 { "crypto isakmp policy" } else { "crypto ikev2 proposal" };
    let first = if ours.len() + theirs.len() > 2 { "The first ones differ in: " } else { "They differ in: " };
    let evidence = format!("No {what} of {a_host} agrees with one of {b_host}. {first}{}.", listed.join("; "));
    // The stronger of the two policies is typed at the other router.
    let weaker_here = (weak_words(x), strength(y)) > (weak_words(y), strength(x));
    // Of a proposal the name is the router's own: the one that its policy names.
    let prf_said = [x, y].iter().any(|policy| !policy.prf.is_empty());
    let named = |policy: &IkePolicy, own: &IkePolicy| {
        let prf = if prf_said { functions(policy).to_vec() } else { Vec::new() };
        typed(&if version == 1 { policy.clone() } else { IkePolicy { name: own.name.clone(), prf, ..policy.clone() } })
    };
    let (own, other, lines) = if weaker_here { (a_host, b_host, named(y, x)) } else { (b_host, a_host, named(x, y)) };
    let cites =
        |policies: &[&IkePolicy]| policies.iter().flat_map(|policy| policy.cites.clone()).collect::<Vec<Cite>>();
    let mut lines = fix::global(None, lines);
    lines.push(if version == 1 { "clear crypto isakmp" } else { "clear crypto ikev2 sa" }.to_owned());
    let problem = Problem::new("config-ike-mismatch", evidence)
        .about(format!("{a_host} < > {b_host}"))
        .lines(view.policies, a, &cites(&ours))
        .lines(view.policies, b, &cites(&theirs));
    // Nothing is typed that only a default stands for.
    let sure = [x, y].iter().all(|policy| policy.unsure == [false; 4]);
    Some(if sure {
        blame::open(problem, own, lines, &format!("give {other} a policy as {own} has it"))
    } else {
        problem
    })
}

/// How strong a policy's words are, as far as they can be compared.
fn strength(policy: &IkePolicy) -> usize {
    filled(policy).iter().map(|list| list.iter().map(|word| rank(word)).max().unwrap_or(0)).sum()
}

/// How many of a policy's words name what should not be used any more.
fn weak_words(policy: &IkePolicy) -> usize {
    let weak = |word: &String| matches!(word.as_str(), "des" | "3des" | "md5" | "1" | "2" | "5");
    filled(policy).iter().flatten().filter(|word| weak(word)).count()
}

fn rank(word: &str) -> usize {
    match word {
        "aes 192" | "aes-cbc-192" | "sha256" | "15" | "19" => 2,
        "aes 256" | "aes-cbc-256" | "sha384" | "16" | "20" => 3,
        // A cipher with integrity of its own needs no hash.
        "aes-gcm-128" | "sha512" | "17" | "21" => 4,
        "18" => 5,
        "aes-gcm-256" => 6,
        _ => 1,
    }
}

/// A policy's lines, defaults filled in.
fn typed(policy: &IkePolicy) -> Vec<String> {
    let [encryption, hash, group] = filled(policy).map(|list| list.join(" "));
    if policy.version == 2 {
        let mut lines = vec![
            format!("crypto ikev2 proposal {}", policy.name),
            format!(" encryption {encryption}"),
            format!(" integrity {hash}"),
            format!(" group {group}"),
        ];
        lines.extend((!policy.prf.is_empty()).then(|| format!(" prf {}", policy.prf.join(" "))));
        return lines;
    }
    vec![
        format!("crypto isakmp policy {}", policy.name),
        format!(" encryption {encryption}"),
        format!(" hash {hash}"),
        format!(" authentication {}", authentication(policy)),
        format!(" group {group}"),
    ]
}

/// Encryption, hash and group, with the defaults of IOS for IKEv1 where a line is missing: DES, SHA-1, group 1.
fn filled(policy: &IkePolicy) -> [Vec<String>; 3] {
    let default = |list: &[String], word: &str| {
        if list.is_empty() && policy.version == 1 { vec![word.to_owned()] } else { list.to_vec() }
    };
    [default(&policy.encryption, "des"), default(&policy.hash, "sha"), default(&policy.group, "1")]
}

/// The pseudo-random functions of a proposal: its integrity algorithms where nothing is said.
fn functions(policy: &IkePolicy) -> &[String] {
    if policy.prf.is_empty() { &policy.hash } else { &policy.prf }
}

/// Pseudo-random functions of two proposals of IKEv2 that have none in common.
fn other_functions(x: &IkePolicy, y: &IkePolicy) -> Option<(&'static str, String, String)> {
    let (mine, theirs) = (functions(x), functions(y));
    // Without such a line they follow the integrity algorithms, which are compared.
    let said = !x.prf.is_empty() || !y.prf.is_empty();
    let known = |policy: &IkePolicy| policy.unsure == [false; 4] && !functions(policy).is_empty();
    let common = mine.iter().any(|one| theirs.contains(one));
    // With ciphers that need no integrity algorithm, one is no default.
    let aead = |policy: &IkePolicy| policy.encryption.iter().any(|cipher| cipher.contains("gcm"));
    let said = said && (!x.prf.is_empty() && !y.prf.is_empty() || !aead(x) && !aead(y));
    (x.version == 2 && said && known(x) && known(y) && !common).then(|| ("prf", mine.join(" "), theirs.join(" ")))
}

/// RSA signatures are the default of IOS.
fn authentication(policy: &IkePolicy) -> &str {
    policy.authentication.as_deref().unwrap_or("rsa-sig")
}

/// In what two policies have nothing in common: what, here, there.
fn differences(x: &IkePolicy, y: &IkePolicy) -> Vec<(&'static str, String, String)> {
    let mut different = Vec::new();
    let said = |policy: &IkePolicy| [&policy.encryption, &policy.hash, &policy.group].map(|list| !list.is_empty());
    // What is said in lines that were cut out or cannot be read has no default.
    let missing = |policy: &IkePolicy, number: usize, said: bool| policy.unsure.get(number) == Some(&true) && !said;
    let both = said(x).into_iter().zip(said(y)).enumerate();
    let unsaid = both.map(|(number, (mine, theirs))| missing(x, number, mine) || missing(y, number, theirs));
    let names = ["encryption", "hash", "group"].into_iter();
    for (((name, mine), theirs), unsaid) in names.zip(filled(x)).zip(filled(y)).zip(unsaid) {
        // An IKEv2 proposal for AEAD ciphers has no integrity line.
        let open = unsaid || x.version == 2 && (mine.is_empty() || theirs.is_empty());
        if !open && !mine.iter().any(|word| theirs.iter().any(|other| same(word, other))) {
            different.push((name, mine.join(" "), theirs.join(" ")));
        }
    }
    different.extend(other_functions(x, y));
    let unsaid = [x, y].into_iter().any(|policy| missing(policy, 3, policy.authentication.is_some()));
    if x.version == 1 && !unsaid && authentication(x) != authentication(y) {
        different.push(("authentication", authentication(x).to_owned(), authentication(y).to_owned()));
    }
    different
}

/// `aes` is `aes 128`.
fn same(a: &str, b: &str) -> bool {
    let whole = |word: &str| if word == "aes" { "aes 128".to_owned() } else { word.to_owned() };
    whole(a) == whole(b)
}

/// Whether phase 1 authenticates with the pre-shared keys that were read: all policies on which the two agree say so, and no profile
/// chooses among keyrings.
fn uses_keys(view: &View<'_>, a: usize, b: usize) -> bool {
    let (Some(here), Some(there)) = (view.policies.routers.get(a), view.policies.routers.get(b)) else { return false };
    let [ours, theirs] = [here, there].map(|router| router.ike.iter().filter(|policy| policy.version == 1));
    let pre_shared = |policy: &IkePolicy| policy.authentication.as_deref() == Some("pre-share");
    let mut agreed = ours.clone().flat_map(|x| theirs.clone().map(move |y| (x, y)));
    // Without a policy in common there is a finding about the policies; the keys are compared as well.
    let said = [ours.clone().collect::<Vec<_>>(), theirs.clone().collect()];
    let never = said.iter().any(|policies| !policies.is_empty() && !policies.iter().any(|one| pre_shared(one)));
    !here.forwarding.keyrings
        && !there.forwarding.keyrings
        && !never
        && agreed.all(|(x, y)| !differences(x, y).is_empty() || pre_shared(x) || pre_shared(y))
}

fn key_problem(view: &View<'_>, a: usize, b: usize) -> Option<Problem> {
    if !uses_keys(view, a, b) {
        return None;
    }
    let for_other = |router: usize, other: usize| {
        let keys = view.policies.routers.get(router).map(|router| router.ike_keys.as_slice()).unwrap_or_default();
        let meant = keys.iter().find(|key| view.owners.get(&key.peer).is_some_and(|owners| owners.contains(&other)))?;
        // Which of two keys for one peer is in force depends on the release: some refuse the second.
        let again = |key: &&IkeKey| (key.peer, key.covers) == (meant.peer, meant.covers) && key.key != meant.key;
        (!keys.iter().any(|key| again(&key))).then_some(meant)
    };
    let (ours, theirs) = (for_other(a, b)?, for_other(b, a)?);
    let (Some(mine), Some(other)) = (&ours.key, &theirs.key) else { return None };
    // Of a key that was taken out of the text before it was pasted nothing is known.
    if mine == other || mine.is_masked() || other.is_masked() {
        return None;
    }
    let (a_host, b_host) = (view.name(a), view.name(b));
    let evidence = format!(
        "The pre-shared keys that {a_host} and {b_host} have for each other differ (compared, not shown). Phase 1 fails and no SA comes up."
    );
    let typed = |key: &crate::policy::IkeKey| {
        let mut lines = fix::global(None, vec![format!("crypto isakmp key <KEY> address {}", key.peer)]);
        lines.push("clear crypto isakmp".to_owned());
        lines
    };
    let problem = Problem::new("config-key-mismatch", evidence)
        .about(format!("{a_host} < > {b_host}"))
        .lines(view.policies, a, [&ours.cite])
        .lines(view.policies, b, [&theirs.cite]);
    let alternative = format!("enter the key of {a_host} on {b_host}");
    Some(blame::open(problem, a_host, typed(ours), &alternative))
}

//! IKE policies that cannot agree, and pre-shared keys that differ.

use crate::policy::facts::router::{IkeKey, IkePolicy, Keying};
use crate::policy::form::order::Chapter;
use crate::policy::lint::{Facing, blame};
use crate::policy::{Cite, Problem, View, fix};

pub(in crate::policy::lint) fn problems(view: &View<'_>, facing: &[Facing]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut routers: Vec<(usize, usize)> = facing
        .iter()
        .filter(|pair| {
            [pair.a, pair.b].iter().all(|at| view.entry(at.0, at.1).is_some_and(|entry| entry.keying == Keying::Ike))
        })
        .map(|pair| (pair.a.0, pair.b.0))
        .collect();
    routers.dedup();
    for (a, b) in routers {
        problems.extend([(a, b), (b, a)].into_iter().filter_map(|(at, other)| switched_off(view, at, other)));
        for version in [1, 2] {
            problems.extend(policy_problem(view, a, b, version));
        }
        problems.extend(key_problem(view, a, b));
    }
    problems
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
        let all = view.policies.routers.get(router).map(|router| router.ike.as_slice()).unwrap_or_default();
        all.iter().filter(|policy| policy.version == version).collect()
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
    let (own, other, lines) = if weaker_here { (a_host, b_host, typed(y)) } else { (b_host, a_host, typed(x)) };
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
        return vec![
            format!("crypto ikev2 proposal {}", policy.name),
            format!(" encryption {encryption}"),
            format!(" integrity {hash}"),
            format!(" group {group}"),
        ];
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

fn key_problem(view: &View<'_>, a: usize, b: usize) -> Option<Problem> {
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

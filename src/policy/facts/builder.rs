//! What readers tell: facts about the router they are reading, and what they could not read.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::forwarding::{digest, may_define};
use super::redact;
use crate::policy::form::filter::Filter;
use crate::policy::form::order::{ALL, Chapter};
use crate::policy::limits::{MAX_BLOCKS, MAX_FACTS, MAX_REMARKS, MAX_ROUTERS, MAX_SKIPPED};
use crate::policy::{Cite, Remark, Router, Understood};

/// Adds a line to stretches of lines.
fn stretch(stretches: &mut Vec<(u32, u32)>, number: u32) {
    let room = stretches.len() < MAX_SKIPPED;
    match stretches.last_mut() {
        Some((_, last)) if *last == number || last.checked_add(1) == Some(number) => *last = number,
        _ if room => stretches.push((number, number)),
        _ => {}
    }
}

/// Takes in facts, input by input.
#[derive(Default)]
pub(in crate::policy) struct Builder {
    pub(in crate::policy) routers: Vec<Router>,
    pub(in crate::policy) files: Vec<Understood>,
    by_name: HashMap<String, usize>,
    /// The router that is being told of; none until the first fact.
    current: Option<usize>,
    /// Its name, where one was seen.
    host: Option<String>,
    /// The router without a name that the present input told of before its first prompt.
    nameless: Option<usize>,
    file: Arc<str>,
    pub(in crate::policy) number: u32,
    facts: usize,
    /// Which of several configurations without a name in one input is read, from 1; 0 where there is only one.
    part: u32,
    /// Whether access list entries have netmasks in place of wildcards.
    netmasks: bool,
    /// Host names that the present input gave in lines of their own.
    titled: HashSet<String>,
    /// Chapters that the present input lacks lines of, before any of its facts.
    cut: Vec<Chapter>,
    /// Hosts of which each input tells of one of its own, and their names by those that tell them apart.
    apart: BTreeSet<String>,
    parted: HashMap<String, String>,
    /// Prompts of the present input after which `hostname` gave the router another name.
    renamed: HashMap<String, String>,
    /// Inputs in which a router's configuration was read: a second one in the same input replaces the first.
    configured: HashMap<(usize, usize), u32>,
    /// Routers of which only parts were displayed, and what those show.
    pieces: BTreeMap<usize, BTreeSet<Filter>>,
    /// A router's configuration while a part of it is displayed again, and what the display shows.
    aside: Option<(usize, Router, Filter)>,
}

impl Builder {
    /// A builder that goes on with one router: what follows is typed at it.
    pub(in crate::policy) fn typing_at(router: Router) -> Self {
        let mut builder = Self::default();
        builder.begin("typed");
        builder.host = Some(router.name.to_string());
        builder.routers.push(router);
        builder.current = Some(0);
        builder
    }

    /// A builder that takes each input's host for one of its own, where its name is one of these.
    pub(in crate::policy) fn reading_apart(hosts: BTreeSet<String>) -> Self {
        Self { apart: hosts, ..Self::default() }
    }

    /// Names of hosts that several inputs tell of.
    pub(in crate::policy) fn repeated(&self) -> BTreeSet<String> {
        let files = |of: usize| self.configured.keys().filter(|(at, _)| *at == of).take(2).count();
        self.by_name.iter().filter(|(_, at)| files(**at) > 1).map(|(host, _)| host.clone()).collect()
    }

    /// The host whose name was told apart by its input.
    pub(in crate::policy) fn parted(&self, name: &str) -> Option<&str> {
        self.parted.get(name).map(String::as_str)
    }

    /// A host's name as it is told apart.
    fn own_name(&mut self, host: &str) -> String {
        if !self.apart.contains(host) {
            return host.to_owned();
        }
        let own = format!("{host} ({})", self.file);
        self.parted.insert(own.clone(), host.to_owned());
        own
    }

    pub(in crate::policy) fn begin(&mut self, name: &str) {
        self.file = name.into();
        self.number = 0;
        self.current = None;
        (self.host, self.nameless) = (None, None);
        self.part = 0;
        self.netmasks = false;
        self.titled.clear();
        self.cut.clear();
        self.renamed.clear();
        self.files.push(Understood { name: self.file.clone(), ..Understood::default() });
    }

    /// The next line.
    pub(in crate::policy) fn at(&mut self, number: u32) {
        self.number = number;
        if let Some(file) = self.files.last_mut() {
            file.lines = number;
        }
    }

    /// Whether access list entries have netmasks from here on.
    pub(in crate::policy) fn set_netmasks(&mut self, netmasks: bool) {
        self.netmasks = netmasks;
    }

    pub(in crate::policy) const fn netmasks(&self) -> bool {
        self.netmasks
    }

    /// Another configuration without a name begins: its router and the one before it are told apart by number.
    pub(in crate::policy) fn another(&mut self) {
        if self.part == 0
            && let Some(router) = self.current.and_then(|at| self.routers.get_mut(at)).filter(|router| !router.named)
        {
            router.name = format!("{} (1)", self.file).into();
        }
        self.part = self.part.max(1) + 1;
        (self.current, self.host) = (None, None);
    }

    /// A prompt or heading names the router that what follows is about.
    pub(in crate::policy) fn prompt(&mut self, host: &str, configuring: bool) {
        let renamed = self.renamed.get(host).filter(|_| configuring).cloned();
        let host = renamed.unwrap_or_else(|| self.own_name(host));
        if self.host.is_none() {
            self.nameless = self.current.filter(|at| self.routers.get(*at).is_some_and(|router| !router.named));
        }
        // What is typed is for the router whose configuration stands before it without a name.
        if configuring
            && !self.by_name.contains_key(&host)
            && let Some((at, router)) = self.nameless.take().and_then(|at| Some((at, self.routers.get_mut(at)?)))
        {
            (router.name, router.named) = (host.as_str().into(), true);
            self.by_name.insert(host.clone(), at);
        }
        if self.host.as_deref() != Some(&host) {
            self.host = Some(host);
            self.current = None;
        }
    }

    /// `hostname` names the router whose configuration this is, and that of the lines before it if they had no name.
    pub(in crate::policy) fn hostname(&mut self, host: &str, text: &str) {
        let known = self.by_name.get(host).and_then(|at| self.routers.get(*at));
        let again = known.is_some_and(|router| !router.interfaces.is_empty() || !router.maps.is_empty());
        if !self.titled.insert(host.to_owned()) && again {
            self.wrong("this host name again: of two routers that have one name, give each in a file of its own");
        }
        let host = self.own_name(host);
        let host = host.as_str();
        if self.host.as_deref() == Some(host) {
            return;
        }
        let file = self.files.len();
        // Two whole configurations under one name (`Router` is what IOS begins with) are two routers.
        // Parts of one that were displayed are in the whole.
        if let Some(at) = self.by_name.get(host).copied().filter(|at| self.pieces.remove(at).is_some()) {
            self.routers.get_mut(at).into_iter().for_each(Router::forget_configuration);
        }
        let taken = self.by_name.get(host).is_some_and(|at| {
            let elsewhere = self.configured.keys().any(|(router, of)| router == at && *of != file);
            elsewhere && self.routers.get(*at).is_some_and(Router::has_configuration)
        });
        let own = if taken { format!("{host} ({})", self.file) } else { host.to_owned() };
        let host = own.as_str();
        let cite = self.cite(text);
        // What is typed goes on under the old prompt in a script that was written down.
        if let Some(prompt) = self.host.clone() {
            let raw = self.parted.get(&prompt).cloned().unwrap_or(prompt);
            self.renamed.insert(raw, host.to_owned());
        }
        let unnamed = self.current.filter(|_| self.host.is_none() && !self.by_name.contains_key(host));
        self.host = Some(host.to_owned());
        if let Some(at) = unnamed
            && let Some(router) = self.routers.get_mut(at)
        {
            router.name = host.into();
            router.named = true;
            router.cite = Some(cite);
            self.by_name.insert(host.to_owned(), at);
        } else {
            self.current = None;
        }
    }

    /// A configuration of the router begins: what the same input said before is replaced.
    pub(in crate::policy) fn configuration(&mut self) {
        let file = self.files.len();
        let known = self.host.as_ref().and_then(|host| self.by_name.get(host)).copied();
        if let Some(at) = known.filter(|at| self.pieces.remove(at).is_some()) {
            // All parts of it are in the whole.
            self.routers.get_mut(at).into_iter().for_each(Router::forget_configuration);
        } else if let Some(at) = known
            && let Some(router) = self.routers.get_mut(at)
            && router.has_configuration()
            && self.configured.contains_key(&(at, file))
        {
            router.forget_configuration();
            self.wrong("the router's configuration begins again; the later one counts");
        }
        if let Some(at) = known {
            self.configured.insert((at, file), self.number);
        }
    }

    /// A part of the router's configuration is displayed. Beside the whole one it says nothing new, and renews at most the blocks that it
    /// shows; parts alone are pieces of a configuration whose rest is hidden.
    pub(in crate::policy) fn part(&mut self, filter: &Filter) {
        let named = self.host.as_ref().and_then(|host| self.by_name.get(host)).copied();
        if let Some(at) = named.or(self.current)
            && self.routers.get(at).is_some_and(Router::has_configuration)
            && (filter.whole_blocks || !self.pieces.contains_key(&at))
        {
            if self.pieces.get(&at).is_some_and(|known| known.contains(filter)) {
                self.wrong("this part of the configuration is displayed again; the later one counts");
            }
            if let Some(router) = self.routers.get_mut(at) {
                let again = router.again();
                self.aside = Some((at, std::mem::replace(router, again), filter.clone()));
                self.current = Some(at);
            }
        } else if self.router().is_some()
            && let Some(at) = self.current
        {
            self.pieces.entry(at).or_default().insert(filter.clone());
        }
    }

    /// The display of a part ends.
    pub(in crate::policy) fn part_ends(&mut self) {
        if let Some((at, whole, filter)) = self.aside.take()
            && let Some(router) = self.routers.get_mut(at)
        {
            let shown = std::mem::replace(router, whole);
            let pieces = self.pieces.get_mut(&at);
            let parts = pieces.is_some() || !router.forwarding.hidden.is_empty();
            router.renew(shown, &filter, parts);
            pieces.into_iter().for_each(|known| {
                known.insert(filter.clone());
            });
        }
    }

    /// The router that is being told of; `None` beyond the limits.
    pub(in crate::policy) fn router(&mut self) -> Option<&mut Router> {
        if self.facts >= MAX_FACTS {
            if self.facts == MAX_FACTS {
                self.facts += 1;
                self.beyond(&format!("more than {MAX_FACTS} facts in all inputs; the rest is left out"));
            }
            return None;
        }
        self.facts += 1;
        if self.current.is_none() {
            let at = match self.host.as_ref().and_then(|host| self.by_name.get(host)) {
                Some(&at) => at,
                None if self.routers.len() >= MAX_ROUTERS => {
                    self.facts = MAX_FACTS + 1;
                    self.beyond(&format!("more than {MAX_ROUTERS} routers in all inputs; the rest is left out"));
                    return None;
                }
                None => {
                    let unnamed = || match self.part {
                        0 => self.file.clone(),
                        part => format!("{} ({part})", self.file).into(),
                    };
                    let name = self.host.clone().map_or_else(unnamed, Arc::from);
                    self.routers.push(Router::new(name, self.host.is_some()));
                    let at = self.routers.len() - 1;
                    if let Some(host) = &self.host {
                        self.by_name.insert(host.clone(), at);
                    }
                    at
                }
            };
            self.configured.entry((at, self.files.len())).or_insert(self.number);
            self.current = Some(at);
        }
        let router = self.current.and_then(|at| self.routers.get_mut(at))?;
        if self.netmasks {
            // Lines to type would have wildcards and modes that these do not know.
            router.maker.get_or_insert("PIX or ASA");
        }
        if !self.cut.is_empty() {
            router.forwarding.cut_out(&std::mem::take(&mut self.cut));
        }
        Some(router)
    }

    /// Whether the input that was read last tells anything of SAs: of the router itself, or of one that other inputs tell of.
    fn tells(&self, file: usize) -> bool {
        let of = self.configured.keys().filter(|(_, of)| *of == file).filter_map(|(at, _)| self.routers.get(*at));
        of.into_iter().any(Router::tells_of_sas)
    }

    /// What was read of all inputs.
    pub(in crate::policy) fn finish(mut self) -> (Vec<Router>, Vec<Understood>) {
        for (at, shown) in std::mem::take(&mut self.pieces) {
            let hidden: Vec<Chapter> =
                ALL.into_iter().filter(|chapter| !shown.iter().any(|filter| filter.shows.contains(chapter))).collect();
            if let Some(router) = self.routers.get_mut(at) {
                router.forwarding.cut_out(&hidden);
            }
        }
        let tells: Vec<bool> = (1..=self.files.len()).map(|file| self.tells(file)).collect();
        for (file, tells) in self.files.iter_mut().zip(tells) {
            file.tells = tells;
        }
        (self.routers, self.files)
    }

    /// The present line, as a fact's place. What may be a key is left out of `text`.
    pub(in crate::policy) fn cite(&self, text: &str) -> Cite {
        self.cite_made(&redact::redacted(text))
    }

    /// The present line with a text that was made from what was understood, placeholders for keys in it.
    pub(in crate::policy) fn cite_made(&self, text: &str) -> Cite {
        Cite { file: self.file.clone(), line: self.number, text: text.into() }
    }

    /// Lines of these chapters were cut out of the text: what is not there may have been among them.
    pub(in crate::policy) fn cut_out(&mut self, chapters: &[Chapter]) {
        match self.continues() {
            Some(router) => router.forwarding.cut_out(chapters),
            None => self.cut.extend(chapters),
        }
    }

    /// Whether a fact may be a continuation of one read before: nothing has named another router since.
    pub(in crate::policy) fn continues(&mut self) -> Option<&mut Router> {
        self.current.and_then(|at| self.routers.get_mut(at))
    }

    pub(in crate::policy) fn understood(&mut self) {
        if let Some(file) = self.files.last_mut() {
            file.understood += 1;
        }
    }

    /// A line that no reader takes; `named` where what it says may matter.
    pub(in crate::policy) fn skipped(&mut self, named: bool) {
        let number = self.number;
        let Some(file) = self.files.last_mut() else { return };
        file.skipped_lines += 1;
        stretch(&mut file.skipped, number);
        if named {
            file.unread_lines += 1;
            stretch(&mut file.unread, number);
        }
    }

    /// Keeps the words of a line that no reader takes: what one of them names is not known to be missing.
    pub(in crate::policy) fn mentions(&mut self, text: &str) {
        let Some(router) = self.current.and_then(|at| self.routers.get_mut(at)) else { return };
        // In a script for a Linux host, any line may be the call of a function.
        let room = if may_define(text) || router.has_xfrm() { MAX_BLOCKS } else { 0 };
        let known = &mut router.forwarding.mentioned;
        let room = room.saturating_sub(known.len());
        known.extend(text.split(' ').take(room).map(|word| digest(word.trim_matches(['"', ',', ';']))));
    }

    /// Something is left out because a limit of the readers was reached: what would have been compared with it is not.
    pub(in crate::policy) fn beyond(&mut self, what: &str) {
        self.wrong(what);
        if let Some(file) = self.files.last_mut()
            && file.left_out.iter().all(|known| known != what)
        {
            file.left_out.push(what.to_owned());
        }
    }

    /// A line that says something, and says it wrongly. `what` never holds text of the line: it may be a key.
    pub(in crate::policy) fn wrong(&mut self, what: &str) {
        let number = self.number;
        let Some(file) = self.files.last_mut() else { return };
        if file.remarks.len() < MAX_REMARKS {
            file.remarks.push(Remark { line: number, what: what.to_owned() });
        } else {
            file.more_remarks += 1;
        }
    }
}

//! The wire against what should be on it.

mod figures;
pub(crate) mod keys;
mod leak;
mod number;
mod translated;
mod verdict;
mod zero;

use std::collections::{BTreeMap, BTreeSet};

use super::tap::{SaView, Tap};
use crate::analysis::settings::Settings;
use crate::model::report::{ConfigLine, Finding, Report, Severity};
use crate::model::{Address, Protocol, SaKey, Spi};
use crate::policy::{Basis, Display, Installed, Stated, View, Way, config_line};

/// Expected SPIs of one direction that an unknown one is compared with; a tunnel has one or two.
const COMPARED: usize = 64;
/// Lines of configuration that one finding names.
const CITED: usize = 12;

/// SAs that should be on the wire, by what the wire knows them by.
pub(crate) struct Expected<'v> {
    pub(crate) view: &'v View<'v>,
    by_key: BTreeMap<SaKey, Vec<&'v Stated>>,
    /// By protocol and SPI alone: the SAs of lists that leave the ends open.
    open: BTreeSet<(Protocol, Spi)>,
    by_spi: BTreeMap<(Protocol, Spi), Vec<SaKey>>,
    directions: BTreeMap<(Protocol, Address, Address), Vec<SaKey>>,
    /// What IKE negotiates between two ends, where all who state it agree on the transforms.
    negotiable: BTreeMap<(Protocol, Address, Address), Vec<&'v Stated>>,
    /// Routers that are Linux systems.
    linux: BTreeSet<usize>,
    /// Pairs of ends that routers state SAs of, the smaller address first.
    pairs: BTreeSet<(Address, Address)>,
}

impl<'v> Expected<'v> {
    pub(crate) fn new(view: &'v View<'v>) -> Self {
        // A router's own configuration counts more than a display, which may be old or another router's; the lint says so.
        let configured: BTreeSet<usize> =
            view.stated.iter().filter(|one| one.basis == Basis::Manual).map(|one| one.router).collect();
        let counts = |one: &&Stated| one.used && (one.basis != Basis::InForce || !configured.contains(&one.router));
        let mut expected = Self {
            view,
            by_key: BTreeMap::new(),
            open: BTreeSet::new(),
            by_spi: BTreeMap::new(),
            directions: BTreeMap::new(),
            negotiable: BTreeMap::new(),
            linux: BTreeSet::new(),
            pairs: BTreeSet::new(),
        };
        for stated in &view.negotiable {
            if let Some(key) = stated.key() {
                expected.negotiable.entry((key.protocol, key.src, key.dst)).or_default().push(stated);
            }
        }
        expected.negotiable.retain(|_, all| {
            all.iter().all(|one| one.suite.is_some() && Some(one.suite) == all.first().map(|first| first.suite))
        });
        let linux = |sa: &Installed| matches!(sa.display, Display::Xfrm | Display::Swanctl);
        let routers = view.policies.routers.iter().enumerate();
        expected.linux.extend(routers.filter(|(_, router)| router.installed.iter().any(linux)).map(|(at, _)| at));
        for stated in view.stated.iter().filter(counts) {
            match stated.key() {
                // A state of Linux that IKE is still to fill has SPI 0.
                Some(key) if key.spi.is_zero() && stated.basis == Basis::InForce => {}
                Some(key) => {
                    expected.by_key.entry(key).or_default().push(stated);
                    if stated.basis != Basis::Listed {
                        expected.pairs.insert((key.src.min(key.dst), key.src.max(key.dst)));
                    }
                }
                None => {
                    expected.open.insert((stated.protocol, stated.spi));
                }
            }
        }
        for key in expected.by_key.keys() {
            expected.by_spi.entry((key.protocol, key.spi)).or_default().push(*key);
            expected.directions.entry((key.protocol, key.src, key.dst)).or_default().push(*key);
        }
        expected
    }

    /// What is stated of an SA.
    fn of(&self, key: &SaKey) -> &[&'v Stated] {
        self.by_key.get(key).map(Vec::as_slice).unwrap_or_default()
    }

    /// What is stated of an SA's transforms: by its SPI, or of what IKE negotiates between its ends.
    fn transforms_of(&self, key: &SaKey) -> &[&'v Stated] {
        let stated = self.of(key);
        if stated.is_empty() && !self.covers(key.src, key.dst) && !key.spi.is_zero() {
            self.negotiable.get(&(key.protocol, key.src, key.dst)).map(Vec::as_slice).unwrap_or_default()
        } else {
            stated
        }
    }

    /// Whether somebody states SAs from one endpoint to the other. A router states both directions; a list may be of one.
    fn covers(&self, src: Address, dst: Address) -> bool {
        let listed =
            [Protocol::Ah, Protocol::Esp].iter().any(|protocol| self.directions.contains_key(&(*protocol, src, dst)));
        listed || self.pairs.contains(&(src.min(dst), src.max(dst)))
    }

    /// Other SAs of the same direction, the first of them where a list names hundreds.
    fn beside(&self, key: &SaKey) -> &[SaKey] {
        let all = self.directions.get(&(key.protocol, key.src, key.dst)).map(Vec::as_slice).unwrap_or_default();
        all.get(..COMPARED).unwrap_or(all)
    }

    /// The lines that state SAs.
    fn lines(&self, stated: &[&Stated]) -> Vec<ConfigLine> {
        let first = |one: &&Stated| one.cites.first().map(|cite| config_line(self.view.policies, one.router, cite));
        let mut lines: Vec<ConfigLine> = Vec::new();
        for line in stated.iter().filter_map(first) {
            if lines.len() < CITED && !lines.iter().any(|old| (&old.file, old.line) == (&line.file, line.line)) {
                lines.push(line);
            }
        }
        lines
    }

    /// `R1 (outbound)`, `R2 (inbound)`.
    fn holders(&self, stated: &[&Stated]) -> String {
        let mut names: Vec<String> = Vec::new();
        for one in stated {
            let way = match one.way {
                Some(Way::In) => " (inbound)",
                Some(Way::Out) => " (outbound)",
                None => "",
            };
            let name = format!("{}{way}", self.view.name(one.router));
            if names.len() < 4 && !names.contains(&name) {
                names.push(name);
            }
        }
        names.join(" and ")
    }
}

/// Findings from both, and what the policies add to findings of the wire alone.
pub(crate) fn add(
    findings: &mut Vec<Finding>,
    taps: &[Tap<'_>],
    settings: &Settings,
    view: &View<'_>,
    report: &Report,
) {
    let expected = Expected::new(view);
    let translated = translated::find(findings, taps, settings.expectation.locks(), &expected);
    number::add(findings, taps, settings, &expected, &translated);
    figures::add(findings, taps, &expected, report);
    keys::add(findings, taps, settings, &expected);
    leak::add(findings, taps, view);
    zero::explain(findings, taps, &expected);
    keep_one_fix(findings);
}

/// Takes the lines to type from findings of the wire where the difference between the configurations already has some, or says that it
/// cannot be told which of the two routers is wrong: lines for both would exchange one fault for another.
fn keep_one_fix(findings: &mut [Finding]) {
    let of_configurations =
        |finding: &&Finding| finding.code.starts_with("config-") && finding.severity != Severity::Note;
    let hosts: BTreeSet<String> =
        findings.iter().filter(of_configurations).flat_map(|one| &one.config).map(|line| line.host.clone()).collect();
    let of_the_wire = |finding: &&mut Finding| {
        finding.code.starts_with("spi-") && finding.code != "spi-zero" || finding.code.starts_with("sa-")
    };
    for finding in findings.iter_mut().filter(of_the_wire) {
        finding.fix.retain(|fix| !hosts.contains(&fix.host));
    }
}

/// Narrows what the wire alone leaves open to what the policies say.
pub(crate) fn narrow(taps: &mut [Tap<'_>], view: &View<'_>) {
    let expected = Expected::new(view);
    taps.iter_mut().for_each(|tap| figures::narrow(tap, &expected));
}

/// Gives the SAs of the report the transforms that are expected, and the figures that follow.
pub(crate) fn fill(report: &mut Report, taps: &[Tap<'_>], settings: &Settings, view: &View<'_>) {
    figures::fill(report, taps, &Expected::new(view));
    keys::fill(report, taps, settings);
}

/// All SAs on the wire, each with its tap.
fn on_the_wire<'t, 'p>(taps: &'t [Tap<'p>]) -> impl Iterator<Item = (&'t Tap<'p>, &'t SaView<'p>)> {
    taps.iter().flat_map(|tap| tap.sas.iter().map(move |sa| (tap, sa)))
}

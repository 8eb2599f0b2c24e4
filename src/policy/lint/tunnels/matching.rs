//! Pairs of protected tunnels of two routers: each the nearest of the other, and nothing as near beside it.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::end::TunnelEnd;
use super::nearness::{Agreement, Nearness, accused, facing};
use super::{COMPARED, Place, Undecided};
use crate::model::Address;
use crate::model::report::Severity;
use crate::policy::View;
use crate::policy::form::order::Chapter;
use crate::policy::lint::Facing;

/// What was found between two routers.
#[derive(Default)]
pub(super) struct Found {
    /// Pairs, and whether only one of the two names the other's router.
    pub(super) pairs: Vec<(Facing, bool)>,
    pub(super) undecided: Vec<Undecided>,
}

/// The tunnels of two routers, and how near each is to each; `None` where two cannot be the ends of one tunnel.
struct Table<'t, 'v> {
    left: &'t [&'t TunnelEnd<'v>],
    right: &'t [&'t TunnelEnd<'v>],
    near: Vec<Vec<Option<Nearness>>>,
}

/// Pairs of tunnels of two routers: only such as are between the same addresses (`exact`), or all.
pub(super) fn between<'v>(view: &View<'_>, left: &[&TunnelEnd<'v>], right: &[&TunnelEnd<'v>], exact: bool) -> Found {
    let (left, right) = if exact { answering(left, right) } else { of_interest(left, right) };
    if left.is_empty() || right.is_empty() || left.len().saturating_mul(right.len()) > COMPARED {
        return Found::default();
    }
    let table = if exact { exactly(view, &left, &right) } else { loosely(view, &left, &right) };
    let mut pairs = table.mutual();
    let mut undecided = Vec::new();
    for (rows, columns) in table.groups(&pairs) {
        let silent = |most: Option<Severity>| table.without_accusation(view, &rows, &columns, most);
        if let Some(matched) = silent(None).filter(|_| exact) {
            pairs.extend(matched);
            continue;
        }
        // Which of them bears the note is not known.
        if exact && silent(Some(Severity::Note)).is_some() {
            continue;
        }
        undecided.push(Undecided {
            left: rows.iter().filter_map(|row| Some(left.get(*row)?.place)).collect(),
            right: columns.iter().filter_map(|column| Some(right.get(*column)?.place)).collect(),
            same_ends: exact,
        });
    }
    let named = |(row, column): (usize, usize)| {
        let (a, b) = (left.get(row)?, right.get(column)?);
        Some((facing(a, b), !exact && (a.leads_to.is_empty() || b.leads_to.is_empty())))
    };
    Found { pairs: pairs.into_iter().filter_map(named).collect(), undecided }
}

/// The tunnels of two routers.
type Sides<'t, 'v> = (Vec<&'t TunnelEnd<'v>>, Vec<&'t TunnelEnd<'v>>);

/// Tunnels that lead to where a tunnel of the other router leaves from.
fn answering<'t, 'v>(left: &[&'t TunnelEnd<'v>], right: &[&'t TunnelEnd<'v>]) -> Sides<'t, 'v> {
    let leading = |own: &[&'t TunnelEnd<'v>], far: &[&'t TunnelEnd<'v>]| -> Vec<&'t TunnelEnd<'v>> {
        let sources: BTreeSet<Address> = far.iter().flat_map(|end| end.sources.iter().copied()).collect();
        own.iter().copied().filter(|end| sources.contains(&end.destination)).collect()
    };
    (leading(left, right), leading(right, left))
}

/// All tunnels; of too many, those that lead to the other router.
fn of_interest<'t, 'v>(left: &[&'t TunnelEnd<'v>], right: &[&'t TunnelEnd<'v>]) -> Sides<'t, 'v> {
    let many = left.len().saturating_mul(right.len()) > COMPARED;
    let [left, right] =
        [left, right].map(|ends| ends.iter().copied().filter(|end| !many || !end.leads_to.is_empty()).collect());
    (left, right)
}

/// Tunnels each of which leads to where the other leaves from.
fn exactly<'t, 'v>(view: &View<'_>, left: &'t [&'t TunnelEnd<'v>], right: &'t [&'t TunnelEnd<'v>]) -> Table<'t, 'v> {
    let near = |a: &TunnelEnd<'_>, b: &TunnelEnd<'_>| a.is_exact(b).then(|| Nearness::of(view, a, b));
    let mut table = Table::of(left, right, near);
    // Of several between the same addresses, two that differ in mode or key and inside have nothing in common; and one that is out of
    // service and differs is no other end.
    table.remove(|table, row, column, near| {
        let down = [left.get(row), right.get(column)].into_iter().flatten().any(|end| end.is_down());
        let strange = !near.is_carried() && (down || near.inside == Agreement::Contradict);
        strange && table.beside(row, column).next().is_some()
    });
    table
}

/// Tunnels of which one has a wrong address, or one that is not known.
fn loosely<'t, 'v>(view: &View<'_>, left: &'t [&'t TunnelEnd<'v>], right: &'t [&'t TunnelEnd<'v>]) -> Table<'t, 'v> {
    let router = |ends: &[&TunnelEnd<'_>]| ends.first().map_or(0, |end| end.place.0);
    let elsewhere = |ends: &[&TunnelEnd<'_>], other: usize| -> Vec<Place> {
        ends.iter().filter(|end| end.has_other_end(view, other)).map(|end| end.place).collect()
    };
    let mut taken = elsewhere(left, router(right));
    taken.extend(elsewhere(right, router(left)));
    let taken: BTreeSet<Place> = taken.into_iter().collect();
    // An entry that could not be read may be the one that answers.
    let is_unread =
        |end: &TunnelEnd<'_>| end.leads_to.is_empty() && end.router.forwarding.may_have(&end.entry.name, Chapter::Maps);
    let near = |a: &TunnelEnd<'_>, b: &TunnelEnd<'_>| {
        let (own, far) = (!a.leads_to.is_empty(), !b.leads_to.is_empty());
        // Those between the same addresses were compared before.
        let possible = (own || far) && !is_unread(a) && !is_unread(b) && !a.is_exact(b);
        if !possible || taken.contains(&a.place) || taken.contains(&b.place) {
            return None;
        }
        let near = Nearness::of(view, a, b);
        (own && far || near.inside != Agreement::Contradict).then_some(near)
    };
    let mut table = Table::of(left, right, near);
    // With several to choose from, a tunnel that names nobody known, or that fits in neither address, needs more that speaks for it.
    table.remove(|table, row, column, near| {
        let Some((a, b)) = left.get(row).zip(right.get(column)) else { return true };
        let doubtful = a.leads_to.is_empty() || b.leads_to.is_empty() || near.outside[1] == Agreement::Contradict;
        doubtful && !near.is_told(a) && table.beside(row, column).any(|other| other.outside >= near.outside)
    });
    table
}

impl<'t, 'v> Table<'t, 'v> {
    fn of(
        left: &'t [&'t TunnelEnd<'v>],
        right: &'t [&'t TunnelEnd<'v>],
        near: impl Fn(&TunnelEnd<'_>, &TunnelEnd<'_>) -> Option<Nearness>,
    ) -> Self {
        let near = left.iter().map(|a| right.iter().map(|b| near(a, b)).collect()).collect();
        Self { left, right, near }
    }

    fn get(&self, row: usize, column: usize) -> Option<Nearness> {
        *self.near.get(row)?.get(column)?
    }

    fn all(&self) -> impl Iterator<Item = (usize, usize, Nearness)> {
        let rows = self.near.iter().enumerate();
        rows.flat_map(|(row, of)| of.iter().enumerate().filter_map(move |(column, near)| Some((row, column, (*near)?))))
    }

    /// What else either of two could be paired with.
    fn beside(&self, row: usize, column: usize) -> impl Iterator<Item = Nearness> {
        let of_row = self.near.get(row).into_iter().flatten().enumerate();
        let others = of_row.filter(move |(at, _)| *at != column).filter_map(|(_, near)| *near);
        let of_column = self.near.iter().enumerate().filter(move |(at, _)| *at != row);
        others.chain(of_column.filter_map(move |(_, of)| *of.get(column)?))
    }

    /// Takes out what a rule names, seen beside all that is there.
    fn remove(&mut self, rule: impl Fn(&Self, usize, usize, Nearness) -> bool) {
        let named: Vec<(usize, usize)> = self
            .all()
            .filter(|(row, column, near)| rule(self, *row, *column, *near))
            .map(|(row, column, _)| (row, column))
            .collect();
        for (row, column) in named {
            if let Some(near) = self.near.get_mut(row).and_then(|of| of.get_mut(column)) {
                *near = None;
            }
        }
    }

    /// Pairs each of which is the only nearest of the other, until there are no more.
    fn mutual(&self) -> Vec<(usize, usize)> {
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        let mut left: Vec<(usize, usize, Nearness)> = self.all().collect();
        loop {
            let rows = nearest(left.iter().map(|(row, column, near)| (*row, *column, *near)));
            let columns = nearest(left.iter().map(|(row, column, near)| (*column, *row, *near)));
            let both = rows.iter().filter(|(row, column)| columns.get(column) == Some(row));
            let found: Vec<(usize, usize)> = both.map(|(row, column)| (*row, *column)).collect();
            if found.is_empty() {
                return pairs;
            }
            left.retain(|(row, column, _)| found.iter().all(|(a, b)| a != row && b != column));
            pairs.extend(found);
        }
    }

    /// What is left beside pairs, in groups that are connected: rows and columns.
    fn groups(&self, pairs: &[(usize, usize)]) -> Vec<(Vec<usize>, Vec<usize>)> {
        let mut left: Vec<(usize, usize)> = self.all().map(|(row, column, _)| (row, column)).collect();
        left.retain(|(row, column)| pairs.iter().all(|(a, b)| a != row && b != column));
        let mut groups = Vec::new();
        while let Some(&(row, column)) = left.first() {
            let (mut rows, mut columns) = (BTreeSet::from([row]), BTreeSet::from([column]));
            loop {
                let size = rows.len() + columns.len();
                for (row, column) in &left {
                    if rows.contains(row) || columns.contains(column) {
                        rows.insert(*row);
                        columns.insert(*column);
                    }
                }
                if rows.len() + columns.len() == size {
                    break;
                }
            }
            left.retain(|(row, _)| !rows.contains(row));
            groups.push((rows.into_iter().collect(), columns.into_iter().collect()));
        }
        groups
    }

    /// A pairing of a group in which nothing more than `most` is said of any pair, and the smaller side has all its ends paired.
    fn without_accusation(
        &self,
        view: &View<'_>,
        rows: &[usize],
        columns: &[usize],
        most: Option<Severity>,
    ) -> Option<Vec<(usize, usize)>> {
        let silent = |row: usize, column: usize| {
            let (Some(_), Some(a), Some(b)) = (self.get(row, column), self.left.get(row), self.right.get(column))
            else {
                return false;
            };
            let said = accused(view, a, b);
            said.is_none() || said == most
        };
        let edges: BTreeSet<(usize, usize)> = rows
            .iter()
            .flat_map(|row| columns.iter().map(|column| (*row, *column)))
            .filter(|(row, column)| silent(*row, *column))
            .collect();
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        for row in rows {
            augment(*row, columns, &edges, &mut pairs, &mut BTreeSet::new());
        }
        (pairs.len() == rows.len().min(columns.len())).then_some(pairs)
    }
}

/// The only nearest of each, where there is one.
fn nearest(edges: impl Iterator<Item = (usize, usize, Nearness)>) -> BTreeMap<usize, usize> {
    let mut best: BTreeMap<usize, (Nearness, Option<usize>)> = BTreeMap::new();
    for (own, far, near) in edges {
        let kept = best.entry(own).or_insert((near, Some(far)));
        match near.cmp(&kept.0) {
            Ordering::Greater => *kept = (near, Some(far)),
            Ordering::Equal if kept.1 != Some(far) => kept.1 = None,
            _ => {}
        }
    }
    best.into_iter().filter_map(|(own, (_, far))| Some((own, far?))).collect()
}

/// Pairs a row, with other rows paired anew where that makes room; whether it could be done.
fn augment(
    row: usize,
    columns: &[usize],
    edges: &BTreeSet<(usize, usize)>,
    pairs: &mut Vec<(usize, usize)>,
    tried: &mut BTreeSet<usize>,
) -> bool {
    for column in columns.iter().filter(|column| edges.contains(&(row, **column))) {
        if !tried.insert(*column) {
            continue;
        }
        let before = pairs.iter().position(|(_, taken)| taken == column);
        let holder = before.and_then(|at| pairs.get(at)).map(|(holder, _)| *holder);
        if holder.is_none_or(|holder| augment(holder, columns, edges, pairs, tried)) {
            pairs.retain(|(one, taken)| *one != row && taken != column);
            pairs.push((row, *column));
            return true;
        }
    }
    false
}

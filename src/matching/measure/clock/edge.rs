//! The edge along which the differences of one direction lie: their convex hull from below.

/// Differences of one direction: the hull's lower edge, and the sums of all.
#[derive(Clone, Debug, Default)]
pub(super) struct LowerEdge {
    /// Of every fourth pair by order; the second of all others, too. Any two bound the clock alone, only less closely.
    quarters: [LowerHull; 4],
    /// What counts of both.
    hull: LowerHull,
    pub(super) count: u64,
    by_order: u64,
    /// Pairs that are no more than guesses.
    pub(super) guesses: u64,
    sum_x: i128,
    sum_y: i128,
}

/// A lower hull.
#[derive(Clone, Debug, Default)]
pub(super) struct LowerHull {
    /// From left to right.
    points: Vec<(i64, i64)>,
    /// Points to the right of these, from left to right: the few of them that may be in the hull are put into it together.
    row: Vec<(i64, i64)>,
    /// Not yet in the hull.
    fresh: Vec<(i64, i64)>,
}

/// Points of a row.
const ROW: usize = 64;

/// Points that are put into the hull at once.
const FRESH: usize = 4_096;
/// Pairs by order of one half that show what is usual.
const FEW: u64 = 8;
/// How far below all others, in times that these are above their edge on the average, a pair by order lies that is doubted.
const LONE: f64 = 4.0;
/// The same of two in a row: with as many ways to part the pairs chance brings more.
const LONE_TWO: f64 = 16.0;

impl LowerEdge {
    pub(super) fn add(&mut self, x: i64, y: i64, by_order: bool) {
        self.count += 1;
        self.sum_x += i128::from(x);
        self.sum_y += i128::from(y);
        let [first, second, third, fourth] = &mut self.quarters;
        match if by_order { self.by_order % 4 } else { 1 } {
            0 => first.add(x, y),
            1 => second.add(x, y),
            2 => third.add(x, y),
            _ => fourth.add(x, y),
        }
        self.by_order += u64::from(by_order);
    }

    /// Whether its pairs are more than a few that are sure beside many guesses, which may be chance.
    pub(super) const fn is_sound(&self) -> bool {
        const OF_GUESSES: u64 = 8;
        self.count > 0 && (self.count >= FEW || self.count * OF_GUESSES >= self.guesses)
    }

    /// Puts all points into the hull that counts: that of one half where the other has a point far below it. A pair by order may be wrong, or two in a
    /// row: of these halves one holds neither.
    pub(super) fn settle(&mut self) {
        self.quarters.iter_mut().for_each(LowerHull::settle);
        let [first, second, third, fourth] = &self.quarters;
        let all_by_order = self.by_order == self.count && self.count >= 2 * FEW;
        let halves = [
            ([first, third, second, fourth], LONE),
            ([first, second, third, fourth], LONE_TWO),
            ([second, third, first, fourth], LONE_TWO),
        ];
        let above = |([a, b, c, d], times): &([&LowerHull; 4], f64)| self.above(a.with(b), c.with(d), *times);
        let above = halves.iter().filter(|_| all_by_order).find_map(above);
        self.hull = above.unwrap_or_else(|| first.with(third).with(&second.with(fourth)));
    }

    /// The half that the other has a point far below: so many times the mean.
    fn above(&self, one: LowerHull, other: LowerHull, times: f64) -> Option<LowerHull> {
        let (depth, other_depth) = (one.depth_below(&other), other.depth_below(&one));
        let mean = self.mean();
        let is_lone =
            |depth: f64, above: &LowerHull| above.at(mean.0).is_some_and(|edge| depth > times * (mean.1 - edge));
        if depth > other_depth && is_lone(depth, &other) {
            Some(other)
        } else {
            (other_depth > depth && is_lone(other_depth, &one)).then_some(one)
        }
    }

    pub(super) fn mean(&self) -> (f64, f64) {
        let count = self.count.max(1) as f64;
        (self.sum_x as f64 / count, self.sum_y as f64 / count)
    }

    /// Slope of the edge over the mean of the times, and how far it may be wrong.
    pub(super) fn slope(&self) -> Option<(f64, f64)> {
        let (x, y) = self.mean();
        let hull = &self.hull.points;
        let mut edges = hull.iter().zip(hull.iter().skip(1));
        let (a, b) = edges.clone().find(|(_, b)| b.0 as f64 >= x).or_else(|| edges.next_back())?;
        let slope = apart(a.1, b.1) as f64 / apart(a.0, b.0) as f64;
        let above = y - (a.1 as f64 + slope * (x - a.0 as f64));
        let span = apart(hull.first()?.0, hull.last()?.0);
        // Pairs that are doubted lie below: where they outweigh the others, the mean says nothing of these.
        (above >= -1.0).then_some((slope, above.max(1.0) / span as f64))
    }

    /// From when to when it reaches.
    pub(super) fn reach(&self) -> Option<(f64, f64)> {
        Some((self.hull.points.first()?.0 as f64, self.hull.points.last()?.0 as f64))
    }

    /// The least difference above a line of this slope through the origin.
    pub(super) fn intercept(&self, slope: f64) -> Option<f64> {
        self.hull.intercept(slope)
    }
}

impl LowerHull {
    pub(super) fn add(&mut self, x: i64, y: i64) {
        // Most come in the order of their times: the hull grows at its end.
        if self.row.last().or(self.points.last()).is_none_or(|last| last.0 < x) {
            self.row.push((x, y));
            if self.row.len() >= ROW {
                self.append_row();
            }
            return;
        }
        self.fresh.push((x, y));
        if self.fresh.len() >= FRESH {
            self.settle();
        }
    }

    /// Puts the points of a row into the hull. Up to the lowest of them those count that are below all before them, and from there on those
    /// that are below all behind them: a hull falls to its lowest point and rises behind it.
    fn append_row(&mut self) {
        let mut row = std::mem::take(&mut self.row);
        let mut least = i64::MAX;
        let mut lowest = 0;
        for (at, (x, y)) in row.iter().enumerate() {
            if *y < least || at == 0 {
                (least, lowest) = (*y, at);
                self.append((*x, *y));
            }
        }
        let mut behind: [(i64, i64); ROW] = [(0, 0); ROW];
        let (mut count, mut least) = (0, i64::MAX);
        for (at, (x, y)) in row.iter().enumerate().skip(lowest + 1).rev() {
            if (*y < least || at + 1 == row.len())
                && let Some(place) = behind.get_mut(count)
            {
                least = *y;
                *place = (*x, *y);
                count += 1;
            }
        }
        behind.iter().take(count).rev().for_each(|point| self.append(*point));
        row.clear();
        self.row = row;
    }

    /// Puts a point that is to the right of all others into the hull.
    fn append(&mut self, point: (i64, i64)) {
        while let [.., a, b] = self.points.as_slice()
            && !turns_left(*a, *b, point)
        {
            self.points.pop();
        }
        self.points.push(point);
    }

    /// Andrew's monotone chain over the hull and the fresh points.
    fn settle(&mut self) {
        self.append_row();
        if self.fresh.is_empty() {
            return;
        }
        let mut points = std::mem::take(&mut self.points);
        points.append(&mut self.fresh);
        points.sort_unstable();
        for point in points {
            // Of points at one time the lowest came first.
            if self.points.last().is_none_or(|last| last.0 != point.0) {
                self.append(point);
            }
        }
    }

    /// The least difference above a line of this slope through the origin, of all points.
    pub(super) fn settled(&mut self, slope: f64) -> Option<f64> {
        self.settle();
        self.intercept(slope)
    }

    /// The point that is lowest above such a line: its time, and the difference above the line.
    pub(super) fn lowest(&mut self, slope: f64) -> Option<(f64, f64)> {
        self.settle();
        let above = self.points.iter().map(|(x, y)| (*x as f64, *y as f64 - slope * *x as f64));
        above.min_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn intercept(&self, slope: f64) -> Option<f64> {
        self.points.iter().map(|(x, y)| *y as f64 - slope * *x as f64).min_by(f64::total_cmp)
    }

    /// The hull of both.
    pub(super) fn with(&self, other: &Self) -> Self {
        let fresh = [&self.row[..], &self.fresh, &other.points, &other.row, &other.fresh].concat();
        let mut both = Self { points: self.points.clone(), row: Vec::new(), fresh };
        both.settle();
        both
    }

    /// Where the edge is at a time; beyond its ends as at them.
    fn at(&self, x: f64) -> Option<f64> {
        let (first, last) = (self.points.first()?, self.points.last()?);
        let mut edges = self.points.iter().zip(self.points.iter().skip(1));
        let at = edges.find(|(_, b)| b.0 as f64 >= x).map(|(a, b)| {
            let share = (x - a.0 as f64) / apart(a.0, b.0) as f64;
            a.1 as f64 + share.max(0.0) * apart(a.1, b.1) as f64
        });
        Some(at.unwrap_or(if first.0 as f64 >= x { first.1 } else { last.1 } as f64))
    }

    /// How far its lowest point is below another hull.
    fn depth_below(&self, other: &Self) -> f64 {
        let depths = self.points.iter().filter_map(|(x, y)| Some(other.at(*x as f64)? - *y as f64));
        depths.max_by(f64::total_cmp).unwrap_or(0.0)
    }
}

/// Whether the way from `a` over `b` to `c` turns left.
fn turns_left(a: (i64, i64), b: (i64, i64), c: (i64, i64)) -> bool {
    // Spans of captures fit into 64 bits, and their products into 128.
    let spans = (b.0.checked_sub(a.0), c.1.checked_sub(a.1), b.1.checked_sub(a.1), c.0.checked_sub(a.0));
    if let (Some(one), Some(other), Some(third), Some(fourth)) = spans {
        return i128::from(one) * i128::from(other) > i128::from(third) * i128::from(fourth);
    }
    let left = product(apart(a.0, b.0), apart(a.1, c.1));
    let right = product(apart(a.1, b.1), apart(a.0, c.0));
    left > right
}

/// A product of two spans. That of centuries does not fit: both sides of a comparison then stick at the same end.
fn product(one: i128, other: i128) -> i128 {
    match (i64::try_from(one), i64::try_from(other)) {
        (Ok(one), Ok(other)) => i128::from(one) * i128::from(other),
        _ => one.saturating_mul(other),
    }
}

/// From one to the other, without overflow.
fn apart(from: i64, to: i64) -> i128 {
    i128::from(to) - i128::from(from)
}

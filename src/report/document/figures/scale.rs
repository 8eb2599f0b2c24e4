//! Axes: from where to where, and at which round places they have ticks.

/// An axis of a plot.
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    /// Its beginning.
    pub from: f64,
    /// Its end.
    pub to: f64,
    /// Whether equal distances are equal ratios.
    pub logarithmic: bool,
    /// Its ticks.
    pub ticks: Vec<Tick>,
}

/// A tick.
#[derive(Clone, PartialEq, Debug)]
pub struct Tick {
    /// The place.
    pub at: f64,
    /// What stands at it.
    pub label: String,
    /// Whether it is left out where room is short.
    pub minor: bool,
}

impl Axis {
    /// An axis from `from` to `to` with ticks between them; `None` where it has no length or an end is no number.
    pub(super) fn new(from: f64, to: f64, logarithmic: bool, ticks: Vec<Tick>) -> Option<Self> {
        let sound = from.is_finite() && to.is_finite() && to > from && (!logarithmic || from > 0.0);
        sound.then_some(Self { from, to, logarithmic, ticks })
    }

    /// An axis from 0 to the first round tick at or above `most`, with 3 to 6 ticks and their labels.
    pub(in crate::report::document) fn zero_to(most: f64, label: impl Fn(f64) -> String) -> Option<Self> {
        if !most.is_finite() || most <= 0.0 {
            return None;
        }
        let step = step(most / 4.0);
        let count = (most / step).ceil().max(1.0) as usize;
        let ticks = (0..=count).map(|n| Tick::new(n as f64 * step, label(n as f64 * step))).collect();
        Self::new(0.0, count as f64 * step, false, ticks)
    }

    /// Where `value` lies, from 0 at the beginning to 1 at the end; values beyond lie at the ends.
    #[must_use]
    pub fn place(&self, value: f64) -> f64 {
        let (from, to, value) = if self.logarithmic {
            (self.from.ln(), self.to.ln(), value.max(self.from).ln())
        } else {
            (self.from, self.to, value)
        };
        let place = (value - from) / (to - from);
        if place.is_finite() { place.clamp(0.0, 1.0) } else { 0.0 }
    }
}

impl Tick {
    pub(super) fn new(at: f64, label: impl Into<String>) -> Self {
        Self { at, label: label.into(), minor: false }
    }
}

/// The least of 1, 2, 2.5, 5 and 10 times a power of ten that is not below `least`.
pub(super) fn step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 2.5, 5.0].into_iter().map(|n| n * power).find(|step| *step >= least).unwrap_or(10.0 * power)
}

/// Ticks of a logarithmic axis at 1, 2 and 5 times powers of ten, over the values from `least` to `most`, with the ends of the axis.
pub(super) fn decades(least: f64, most: f64) -> Option<(f64, f64, Vec<f64>)> {
    if !(least.is_finite() && most.is_finite() && least > 0.0 && most >= least) {
        return None;
    }
    let steps = |power: f64| [1.0, 2.0, 5.0].map(|n| n * power);
    let first = least.log10().floor() as i32;
    let last = most.log10().ceil() as i32 + 1;
    let all: Vec<f64> = (first..=last).flat_map(|n| steps(10_f64.powi(n))).collect();
    let from = all.iter().copied().filter(|tick| *tick <= least).fold(f64::NAN, f64::max);
    let to = all.iter().copied().find(|tick| *tick >= most && *tick > from)?;
    let inside: Vec<f64> = all.into_iter().filter(|tick| *tick >= from && *tick <= to).collect();
    // Of long axes whole decades alone.
    let ticks = if inside.len() > 7 {
        let whole = |tick: &f64| (tick.log10() - tick.log10().round()).abs() < 1e-9;
        inside.into_iter().filter(|tick| whole(tick) || *tick <= from).collect()
    } else {
        inside
    };
    from.is_finite().then_some((from, to, ticks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        let axis = Axis::zero_to(233.0, |value| value.to_string()).unwrap();
        assert_eq!((axis.to, axis.ticks.len()), (300.0, 4));
        let axis = Axis::zero_to(0.0007, |value| value.to_string()).unwrap();
        assert!((3..=6).contains(&axis.ticks.len()) && axis.to >= 0.0007);
        for most in 1..2000 {
            let axis = Axis::zero_to(f64::from(most) / 7.0, |_| String::new()).unwrap();
            assert!((3..=6).contains(&axis.ticks.len()), "{most}: {}", axis.ticks.len());
        }
        assert_eq!(Axis::zero_to(0.0, |_| String::new()), None);
        assert_eq!(Axis::zero_to(f64::NAN, |_| String::new()), None);
    }

    #[test]
    fn decades_hold_all_values() {
        let (from, to, ticks) = decades(12_000.0, 310_000.0).unwrap();
        assert!(from <= 12_000.0 && to >= 310_000.0 && ticks.len() >= 4, "{from} {to} {ticks:?}");
        assert!(decades(5.0, 5.0).is_some_and(|(from, to, _)| from < to));
        assert_eq!(decades(0.0, 5.0), None);
    }

    #[test]
    fn places_stay_on_the_axis() {
        let axis = Axis::new(10.0, 1000.0, true, Vec::new()).unwrap();
        assert!((axis.place(100.0) - 0.5).abs() < 1e-9);
        assert_eq!((axis.place(-4.0), axis.place(1e9)), (0.0, 1.0));
    }
}

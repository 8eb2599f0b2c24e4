//! Charts: bars as rows of a table, everything else as drawings whose text keeps its size at any width.
//!
//! Places across are per cent of the plot and heights are pixels. Lines and areas stand in a drawing of their own that is stretched, and
//! their strokes are not. So no script is needed to fit a chart to a page.

use super::table;
use super::typeset::typeset;
use super::writer::Writer;
use crate::report::document::figures::{Axis, Bars, Dot, Ink, Layer, Panel, Plot, StackPart};
use crate::report::document::table::Cell;

/// Pixels above the plot.
const ABOVE: f64 = 10.0;
/// The same with findings at the top.
const ABOVE_FLAGS: f64 = 26.0;
/// Pixels below it, for the labels.
const BELOW: f64 = 26.0;
/// The same with a rug under the labels.
const BELOW_RUG: f64 = 50.0;
/// Width of a stretched drawing.
const WIDE: f64 = 1000.0;
/// Points that have words of their own.
const SPEAKING: usize = 400;
/// Least bytes of a part whose name is written in the bar.
const NAMED: f64 = 8.0;
/// Least bytes of a part whose number is written in the bar.
const NUMBERED: f64 = 5.0;

/// The class of an ink.
pub(super) const fn class(ink: Ink) -> &'static str {
    match ink {
        Ink::Part(part) => part_class(part),
        Ink::Measured => "meas",
        Ink::Calculated => "model",
        Ink::Offered => "offered",
        Ink::Carried => "carried",
        Ink::Missing => "gap",
        Ink::Lost => "lost",
        Ink::Flag => "flag",
        Ink::Median => "median",
        Ink::Range => "whisk",
        Ink::Most => "hollow",
    }
}

const fn part_class(part: StackPart) -> &'static str {
    match part {
        StackPart::OuterIp => "p-ip",
        StackPart::Udp | StackPart::Tcp | StackPart::Gre | StackPart::Link => "p-udp",
        StackPart::Ah => "p-ah",
        StackPart::Esp => "p-esp",
        StackPart::Iv => "p-iv",
        StackPart::Icv => "p-icv",
        StackPart::Padding => "p-pad",
        StackPart::Fragmentation => "p-frag",
    }
}

/// Rows of bars.
pub(super) fn bars(page: &mut Writer, bars: &Bars, label: &str) {
    table::region(page, label, |page| {
        page.element("table", &[("class", "bars")], |page| {
            page.leaf("caption", &[("class", "vh")], label);
            page.element("thead", &[], |page| {
                page.element("tr", &[], |page| {
                    table::head(page, &bars.rows_are, "n");
                    page.element("th", &[("scope", "col"), ("class", "bar")], |page| {
                        page.leaf("span", &[("class", "vh")], &bars.stacked);
                    });
                    bars.columns.iter().for_each(|column| table::head(page, column, table::class(column, true)));
                });
            });
            page.element("tbody", &[], |page| bars.rows.iter().for_each(|row| bar(page, bars, row)));
        });
    });
}

fn bar(page: &mut Writer, bars: &Bars, row: &crate::report::document::figures::BarRow) {
    let percent = |bytes: f64| format!("{:.2}%", (bytes / bars.full * 100.0).clamp(0.0, 100.0));
    page.element("tr", &[], |page| {
        page.leaf("th", &[("scope", "row"), ("class", "n")], &table::show(&row.name));
        page.element("td", &[("class", "bar")], |page| {
            page.element("div", &[("class", "stack")], |page| {
                for (part, bytes) in row.parts.iter().filter(|(_, bytes)| *bytes > 0.0) {
                    let style = format!("width:{}", percent(*bytes));
                    let number = table::show(&Cell::mean(*bytes));
                    let words = format!("{} {number} B", part.name());
                    let attributes =
                        [("class", part_class(*part)), ("style", style.as_str()), ("title", words.as_str())];
                    page.element("i", &attributes, |page| {
                        // What has no room is still read aloud.
                        let hidden = if *bytes < NUMBERED { "vh" } else { "" };
                        page.element("b", &[("class", hidden)], |page| {
                            let name = if *bytes >= NAMED { "" } else { "vh" };
                            page.leaf("span", &[("class", name)], &format!("{}\u{202f}", part.short()));
                            page.text(&number);
                        });
                    });
                }
                for dot in &row.dots {
                    page.element("i", &[("class", "dot"), ("style", &format!("left:{}", percent(*dot)))], |_| {});
                }
            });
        });
        for (n, (column, cell)) in bars.columns.iter().zip(&row.cells).enumerate() {
            let class = match (n, table::class(column, true)) {
                (0, _) => "n strong",
                (_, class) => class,
            };
            page.leaf("td", &[("class", class)], &table::show(cell));
        }
    });
}

/// A drawing over axes.
pub(super) fn plot(page: &mut Writer, panel: &Panel, plot: &Plot) {
    let flags = plot.layers.iter().any(|layer| matches!(layer, Layer::Flag { .. }));
    let rug = plot.layers.iter().any(|layer| matches!(layer, Layer::Rug(..)));
    let height = f64::from(plot.height);
    let sheet = Sheet {
        plot,
        top: if flags { ABOVE_FLAGS } else { ABOVE },
        bottom: height - if rug { BELOW_RUG } else { BELOW },
        height: plot.height.to_string(),
    };
    page.element("div", &[("class", "plot"), ("role", "img"), ("aria-label", &typeset(&panel.message))], |page| {
        let hidden = ("aria-hidden", "true");
        page.element("svg", &[("class", "ya"), ("width", "56"), ("height", &sheet.height), hidden], |page| {
            for tick in &plot.y.ticks {
                let y = format!("{:.1}", sheet.y(tick.at) + 4.0);
                page.leaf("text", &[("x", "100%"), ("y", &y)], &typeset(&tick.label));
            }
        });
        page.element("svg", &[("class", "pl"), ("width", "100%"), ("height", &sheet.height), hidden], |page| {
            sheet.grid(page);
            let view = format!("0 0 {WIDE} {}", sheet.height);
            let stretched = [
                ("width", "100%"),
                ("height", sheet.height.as_str()),
                ("viewBox", &view),
                ("preserveAspectRatio", "none"),
            ];
            page.element("svg", &stretched, |page| plot.layers.iter().for_each(|layer| sheet.path(page, layer)));
            sheet.ticks(page, &plot.x);
            plot.layers.iter().for_each(|layer| sheet.marks(page, layer));
        });
    });
}

/// A plot with the room that its marks leave.
struct Sheet<'p> {
    plot: &'p Plot,
    top: f64,
    bottom: f64,
    height: String,
}

impl Sheet<'_> {
    fn x(&self, value: f64) -> String {
        format!("{:.2}%", self.plot.x.place(value) * 100.0)
    }

    fn y(&self, value: f64) -> f64 {
        self.bottom - self.plot.y.place(value) * (self.bottom - self.top)
    }

    fn grid(&self, page: &mut Writer) {
        for tick in &self.plot.y.ticks {
            let y = format!("{:.1}", self.y(tick.at));
            // The line of zero, or the foot of an axis that has none.
            let from = self.plot.y.from;
            let foot = if from < 0.0 && !self.plot.y.logarithmic { tick.at.abs() < 1e-9 } else { tick.at <= from };
            let class = if foot { "base" } else { "grid" };
            page.shape("line", &[("class", class), ("x1", "0"), ("x2", "100%"), ("y1", &y), ("y2", &y)]);
        }
    }

    fn ticks(&self, page: &mut Writer, axis: &Axis) {
        let (from, to) = (format!("{:.1}", self.bottom), format!("{:.1}", self.bottom + 5.0));
        let below = format!("{:.1}", self.bottom + 19.0);
        for tick in &axis.ticks {
            let (x, place) = (self.x(tick.at), axis.place(tick.at));
            page.shape("line", &[("class", "tick"), ("x1", &x), ("x2", &x), ("y1", &from), ("y2", &to)]);
            let class = if tick.minor { "m" } else { "" };
            let anchor = anchor(place, 0.02);
            let attributes = [("class", class), ("text-anchor", anchor), ("x", x.as_str()), ("y", below.as_str())];
            page.leaf("text", &attributes, &typeset(&tick.label));
        }
    }

    /// Lines and areas.
    fn path(&self, page: &mut Writer, layer: &Layer) {
        match layer {
            Layer::Line(ink, points) => {
                let path = self.through(points.iter().copied());
                page.shape("path", &[("class", line(*ink)), ("d", &path)]);
            }
            Layer::Area(ink, points) => {
                let (Some(first), Some(last)) = (points.first(), points.last()) else { return };
                let foot = [(last.0, self.plot.y.from), (first.0, self.plot.y.from)];
                let path = self.through(points.iter().copied().chain(foot));
                page.shape("path", &[("class", area(*ink)), ("d", &format!("{path}Z"))]);
            }
            Layer::Between(ink, points) => {
                let upper = points.iter().map(|(x, upper, _)| (*x, *upper));
                let lower = points.iter().rev().map(|(x, _, lower)| (*x, *lower));
                let path = self.through(upper.chain(lower));
                page.shape("path", &[("class", area(*ink)), ("d", &format!("{path}Z"))]);
            }
            _ => {}
        }
    }

    /// A path through points, straight ones across or down in short.
    fn through(&self, points: impl Iterator<Item = (f64, f64)>) -> String {
        let mut path = String::new();
        let mut before: Option<(String, String)> = None;
        for (x, y) in points {
            let now = (format!("{:.1}", self.plot.x.place(x) * WIDE), format!("{:.1}", self.y(y)));
            match &before {
                None => path.push_str(&format!("M{},{}", now.0, now.1)),
                Some((x, y)) if *x == now.0 && *y == now.1 => {}
                Some((_, y)) if *y == now.1 => path.push_str(&format!("H{}", now.0)),
                Some((x, _)) if *x == now.0 => path.push_str(&format!("V{}", now.1)),
                Some(_) => path.push_str(&format!("L{},{}", now.0, now.1)),
            }
            before = Some(now);
        }
        path
    }

    /// Points, words and other marks of one size.
    fn marks(&self, page: &mut Writer, layer: &Layer) {
        match layer {
            Layer::Dots(ink, dots) => {
                let speaks = dots.len() <= SPEAKING;
                dots.iter().for_each(|dot| self.dot(page, class(*ink), dot, speaks));
            }
            Layer::Spread { x, least, median, high, most, label } => {
                let x1 = self.x(*x);
                self.upright(page, "whisk", &x1, self.y(*least), self.y(*high));
                let (y, half) = (format!("{:.1}", self.y(*median)), 0.16);
                let (from, to) = (self.x(*x - half), self.x(*x + half));
                page.shape("line", &[("class", "median"), ("x1", &from), ("x2", &to), ("y1", &y), ("y2", &y)]);
                self.dot(page, "hollow", &Dot { x: *x, y: *most, label: label.clone() }, true);
            }
            Layer::Rug(ink, marks) => {
                for (x, label) in marks {
                    let (x, y1, y2) =
                        (self.x(*x), format!("{:.1}", self.bottom + 27.0), format!("{:.1}", self.bottom + 37.0));
                    let attributes = [("class", class(*ink)), ("x1", &*x), ("x2", &*x), ("y1", &*y1), ("y2", &*y2)];
                    page.element("line", &attributes, |page| page.leaf("title", &[], label));
                }
            }
            Layer::Flag { x, number } => {
                let x = self.x(*x);
                self.upright(page, "flagl", &x, 16.0, self.bottom);
                page.shape("circle", &[("class", "flag"), ("cx", &x), ("cy", "11"), ("r", "9")]);
                let attributes = [("class", "flagt"), ("text-anchor", "middle"), ("x", x.as_str()), ("y", "15")];
                page.leaf("text", &attributes, &number.to_string());
            }
            Layer::Call { x, y, text } => {
                let (place, anchor) = (self.plot.x.place(*x), anchor(self.plot.x.place(*x), 0.2));
                let shift = match anchor {
                    "start" => 0.012,
                    "end" => -0.012,
                    _ => 0.0,
                };
                let x = format!("{:.2}%", (place + shift) * 100.0);
                let y = format!("{:.1}", (self.y(*y) + 24.0).min(self.bottom - 6.0));
                let attributes = [("class", "call"), ("text-anchor", anchor), ("x", x.as_str()), ("y", y.as_str())];
                page.leaf("text", &attributes, &typeset(text));
            }
            Layer::Line(..) | Layer::Area(..) | Layer::Between(..) => {}
        }
    }

    fn dot(&self, page: &mut Writer, class: &'static str, dot: &Dot, speaks: bool) {
        let (x, y) = (self.x(dot.x), format!("{:.1}", self.y(dot.y)));
        let attributes = [("class", class), ("cx", x.as_str()), ("cy", y.as_str()), ("r", "3.5")];
        if speaks && !dot.label.is_empty() {
            page.element("circle", &attributes, |page| page.leaf("title", &[], &typeset(&dot.label)));
        } else {
            page.shape("circle", &attributes);
        }
    }

    fn upright(&self, page: &mut Writer, class: &'static str, x: &str, from: f64, to: f64) {
        let (from, to) = (format!("{from:.1}"), format!("{to:.1}"));
        page.shape("line", &[("class", class), ("x1", x), ("x2", x), ("y1", &from), ("y2", &to)]);
    }
}

/// Words near an end of the axis stay inside.
const fn anchor(place: f64, edge: f64) -> &'static str {
    if place < edge {
        "start"
    } else if place > 1.0 - edge {
        "end"
    } else {
        "middle"
    }
}

/// The class of a line.
const fn line(ink: Ink) -> &'static str {
    match ink {
        Ink::Carried => "carriedl",
        other => class(other),
    }
}

/// The class of an area.
const fn area(ink: Ink) -> &'static str {
    match ink {
        Ink::Calculated => "fill",
        other => class(other),
    }
}

//! Figures of a document: charts as data. A form that draws none leaves them out; the tables beside them hold the same.

pub mod load;
pub mod losses;
pub mod offered;
pub mod overhead;
pub mod parts;
pub mod scale;
pub mod share;
pub mod times;

mod calculated;
mod sources;
mod span;

pub(super) use sources::{Sized, of_match, of_report};

use super::table::{Cell, Column, Table};
pub use parts::StackPart;
pub use scale::Axis;

/// A chart with its title.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    /// The finding in words, made of figures; a plain name if a figure for the sentence is missing.
    pub title: String,
    /// What is drawn: quantity, unit, direction, bin.
    pub about: String,
    /// What each ink means.
    pub key: Vec<LegendKey>,
    /// The charts, one below the other.
    pub panels: Vec<Panel>,
    /// A remark below; may be empty.
    pub note: String,
    /// The figures that are drawn, where no table of the section holds them.
    pub data: Option<Data>,
}

/// The figures of a chart.
#[derive(Clone, PartialEq, Debug)]
pub struct Data {
    /// What the table holds.
    pub caption: String,
    /// The table.
    pub table: Table,
}

/// One chart of a figure.
#[derive(Clone, PartialEq, Debug)]
pub struct Panel {
    /// What it shows; empty where the figure says it.
    pub caption: String,
    /// The message in words, for people who do not see the chart.
    pub message: String,
    /// The chart.
    pub chart: Chart,
}

/// The kinds of charts.
#[derive(Clone, PartialEq, Debug)]
pub enum Chart {
    /// Rows of stacked parts.
    Bars(Bars),
    /// Lines, areas and points over an axis.
    Plot(Plot),
}

/// An ink and what it means.
#[derive(Clone, PartialEq, Debug)]
pub struct LegendKey {
    /// The ink.
    pub ink: Ink,
    /// What it means.
    pub text: String,
}

/// What is drawn; each has one look in every chart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ink {
    /// A part of an overhead.
    Part(StackPart),
    /// A measured point.
    Measured,
    /// A calculated line.
    Calculated,
    /// What was offered: the plaintext side.
    Offered,
    /// What was carried.
    Carried,
    /// The difference of the two.
    Missing,
    /// A packet that was lost.
    Lost,
    /// A finding, with its number.
    Flag,
    /// A median.
    Median,
    /// From the least to the 99th percentile.
    Range,
    /// A maximum.
    Most,
}

/// Rows of stacked parts, each with figures beside it.
#[derive(Clone, PartialEq, Debug)]
pub struct Bars {
    /// What a row is: its name and unit.
    pub rows_are: Column,
    /// What is stacked.
    pub stacked: String,
    /// The columns beside the bars.
    pub columns: Vec<Column>,
    /// The length of a full bar.
    pub full: f64,
    /// The rows.
    pub rows: Vec<BarRow>,
}

/// One row.
#[derive(Clone, PartialEq, Debug)]
pub struct BarRow {
    /// Its name.
    pub name: Cell,
    /// The parts, in packet order.
    pub parts: Vec<(StackPart, f64)>,
    /// Measured ends of the bar: one dot each.
    pub dots: Vec<f64>,
    /// The cells beside it.
    pub cells: Vec<Cell>,
}

/// Layers over two axes.
#[derive(Clone, PartialEq, Debug)]
pub struct Plot {
    /// Height in pixels.
    pub height: u16,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// What is drawn, from the back to the front.
    pub layers: Vec<Layer>,
}

/// Something drawn over the axes.
#[derive(Clone, PartialEq, Debug)]
pub enum Layer {
    /// A line through points.
    Line(Ink, Vec<(f64, f64)>),
    /// An area between points and the horizontal axis.
    Area(Ink, Vec<(f64, f64)>),
    /// An area between two lines over the same places.
    Between(Ink, Vec<(f64, f64, f64)>),
    /// Points, each with words for it.
    Dots(Ink, Vec<Dot>),
    /// Median, range and maximum at one place.
    Spread {
        /// The place.
        x: f64,
        /// The least.
        least: f64,
        /// The median.
        median: f64,
        /// The end of the range.
        high: f64,
        /// The maximum.
        most: f64,
        /// Words for it.
        label: String,
    },
    /// Marks under the axis.
    Rug(Ink, Vec<(f64, String)>),
    /// A finding by its number.
    Flag {
        /// The place.
        x: f64,
        /// The number.
        number: usize,
    },
    /// Words at a point.
    Call {
        /// The place.
        x: f64,
        /// The height.
        y: f64,
        /// The words.
        text: String,
    },
}

/// A point.
#[derive(Clone, PartialEq, Debug)]
pub struct Dot {
    /// The place.
    pub x: f64,
    /// The height.
    pub y: f64,
    /// Words for it.
    pub label: String,
}

impl LegendKey {
    pub(super) fn new(ink: Ink, text: impl Into<String>) -> Self {
        Self { ink, text: text.into() }
    }
}

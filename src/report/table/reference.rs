//! The reference of the columns, `docs/columns.md`: made from the tables and the schemas, and committed.

use std::fmt::Write as _;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value as Json;

use super::calc;
use super::frames::FRAMES;
use super::padding::PADDING;
use super::pairs::{self, DIRECTIONS, ENDS, LOST, OUTSIDE, PAIRS};
use super::report::{CAPTURES, FINDINGS, LAYERS, RATES, SAS, SIZES, TUNNELS};
use super::series::{BINS, GAPS, OUTER_SIZES, SA_BINS};
use super::{Field, FieldKind, Sheet, trials};
use crate::model::pairs::{MatchReport, Pair};
use crate::model::report::Report;
use crate::model::trials::TrialsReport;
use crate::transform::calculation::Calculation;

/// The definitions of types, by which members of rows say what they mean.
struct Schema(Json);

impl Schema {
    /// Of a type and all types in it.
    fn of<T: JsonSchema>() -> Self {
        let settings = SchemaSettings::draft2020_12().for_serialize();
        Self(settings.into_generator().into_root_schema_for::<T>().to_value())
    }

    /// A type, by its name; a reference leads on, and of something or null it is the something.
    fn named(&self, name: &str) -> Option<&Json> {
        self.0.pointer(&format!("/$defs/{name}"))
    }

    fn resolved<'s>(&'s self, member: &'s Json) -> &'s Json {
        let options = member["anyOf"].as_array();
        let member = options.and_then(|options| options.first()).unwrap_or(member);
        match member["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")) {
            Some(name) => self.named(name).unwrap(),
            None => member,
        }
    }

    /// What the member says that `column` is made of, with the objects around it, and its type: the longest member's name that begins
    /// the column's, then the same within it.
    fn member<'s>(&'s self, object: &'s Json, column: &str) -> Option<(String, &'s Json)> {
        let members = object["properties"].as_object()?;
        let mut fitting: Vec<_> = members.iter().filter(|(name, _)| column.starts_with(name.as_str())).collect();
        fitting.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        fitting.into_iter().find_map(|(name, member)| {
            let about = member["description"].as_str().unwrap_or_default().replace('\n', " ");
            let inside = self.resolved(member);
            match column[name.len()..].strip_prefix('_') {
                None if column.len() == name.len() => Some((about, inside)),
                None => None,
                Some(rest) => {
                    let (more, inside) = self.member(inside, rest)?;
                    Some((format!("{about} {more}").trim().to_owned(), inside))
                }
            }
        })
    }

    /// What a column means.
    fn meaning(&self, rows: &[&str], column: &str) -> Option<(String, &Json)> {
        rows.iter().find_map(|row| self.member(self.named(row)?, column))
    }
}

/// The unit that the name of a column carries.
fn unit(column: &str) -> &'static str {
    let has = |word: &str| column.split('_').any(|part| part == word);
    match column {
        _ if column.contains("per_s") => "1/s",
        _ if has("mbps") => "10^6 bit/s",
        _ if has("bps") => "bit/s",
        _ if has("pct") => "%",
        _ if has("ppm") => "ppm",
        _ if has("ns") => "ns",
        _ if has("seconds") => "s",
        _ if has("bytes") || column.starts_with("parts_") => "B",
        _ => "",
    }
}

const fn kind(kind: FieldKind) -> &'static str {
    match kind {
        FieldKind::Text => "text",
        FieldKind::Time => "time",
        FieldKind::List => "list",
        FieldKind::Integer => "integer",
        FieldKind::Real => "number",
        FieldKind::Truth => "true, false",
    }
}

/// The words of a vocabulary.
fn words(inside: &Json) -> String {
    let options = inside["oneOf"].as_array().into_iter().flatten();
    let words: Vec<String> = options.filter_map(|option| Some(format!("`{}`", option["const"].as_str()?))).collect();
    if words.is_empty() { String::new() } else { format!(" One of {}.", words.join(", ")) }
}

/// Whether cells of a kind may hold what the schema says of the member.
fn agree(field: FieldKind, inside: &Json) -> bool {
    let is = |word: &str| match &inside["type"] {
        Json::String(own) => own == word,
        Json::Array(own) => own.iter().any(|own| own == word),
        _ => false,
    };
    match field {
        FieldKind::Text => is("string") || inside["oneOf"].is_array(),
        FieldKind::Time => is("string"),
        FieldKind::List => is("array"),
        FieldKind::Integer => is("integer"),
        FieldKind::Real => is("number"),
        FieldKind::Truth => is("boolean"),
    }
}

fn table<R>(page: &mut String, schema: &Schema, sheet: &Sheet<R>) {
    head(page, sheet.name, sheet.about);
    for Field { name, kind: own, about, .. } in sheet.fields {
        let text = match about {
            Some(about) => (*about).to_owned(),
            None => {
                let (text, inside) = schema
                    .meaning(sheet.rows, name)
                    .unwrap_or_else(|| panic!("{}: {name} is no member of its rows and says nothing", sheet.name));
                assert!(agree(*own, inside), "{}: {name} is {own:?} and its member {inside}", sheet.name);
                format!("{text}{}", words(inside))
            }
        };
        row(page, name, *own, &text);
    }
}

fn head(page: &mut String, name: &str, about: &str) {
    let _ = write!(page, "\n### `{name}`\n\n{about}\n\n| column | type | unit | meaning |\n|---|---|---|---|\n");
}

fn row(page: &mut String, name: &str, own: FieldKind, text: &str) {
    let _ = writeln!(page, "| `{name}` | {} | {} | {} |", kind(own), unit(name), text.replace('|', "\\|"));
}

/// The page.
fn page() -> String {
    let mut page = "# Columns of the tables\n\n\
        `--format csv` writes one table, which `--table` chooses. The header row is always there. Published columns keep their names and\n\
        places; new ones come last. Absent is empty; lists are joined with `;`; times are RFC 3339 in UTC with nine digits. Text that a\n\
        spreadsheet would take for a formula begins with `'`.\n\n\
        This page is made from the tables and the schemas: `SPIGLASS_COLUMNS=write cargo test --lib columns`.\n\n\
        ## `report` and `check`\n"
        .to_owned();
    let report = Schema::of::<Report>();
    table(&mut page, &report, &FINDINGS);
    table(&mut page, &report, &SAS);
    table(&mut page, &report, &TUNNELS);
    table(&mut page, &report, &SIZES);
    table(&mut page, &report, &PADDING);
    table(&mut page, &report, &RATES);
    table(&mut page, &report, &LAYERS);
    table(&mut page, &report, &CAPTURES);
    table(&mut page, &report, &GAPS);
    table(&mut page, &report, &BINS);
    table(&mut page, &report, &SA_BINS);
    table(&mut page, &report, &OUTER_SIZES);
    page.push_str("\n## `match`\n\nBesides these, `findings` and `captures` as above.\n");
    // Pairs are rows of CSV alone.
    let of_match = Schema::of::<(MatchReport, Pair)>();
    table(&mut page, &of_match, &PAIRS);
    table(&mut page, &of_match, &DIRECTIONS);
    table(&mut page, &of_match, &pairs::SIZES);
    table(&mut page, &of_match, &pairs::SPREAD);
    table(&mut page, &of_match, &pairs::PADDING);
    table(&mut page, &of_match, &LOST);
    table(&mut page, &of_match, &OUTSIDE);
    table(&mut page, &of_match, &ENDS);
    page.push_str("\n## `trials`\n\nBesides these, `findings` and `captures` as above.\n");
    let of_trials = Schema::of::<TrialsReport>();
    table(&mut page, &of_trials, &trials::TRIALS);
    table(&mut page, &of_trials, &trials::THROUGHPUT);
    table(&mut page, &of_trials, &trials::LOSS);
    table(&mut page, &of_trials, &trials::MODEL);
    table(&mut page, &of_trials, &trials::TRANSFERS);
    table(&mut page, &of_trials, &trials::BUFFERS);
    table(&mut page, &of_trials, &trials::BACK_TO_BACK);
    table(&mut page, &of_trials, &trials::SEARCH);
    table(&mut page, &of_trials, &trials::BASELINE);
    table(&mut page, &of_trials, &trials::SEGMENTS);
    page.push_str("\n## `calc`\n");
    let of_calc = Schema::of::<Calculation>();
    table(&mut page, &of_calc, &calc::SIZES);
    table(&mut page, &of_calc, &calc::TRANSFORMS);
    page.push_str("\n## `frames`\n");
    head(&mut page, "frames", "The frames, in capture order.");
    for (name, own, about) in FRAMES {
        row(&mut page, name, own, about);
    }
    page
}

/// `SPIGLASS_COLUMNS=write cargo test --lib columns` writes the page anew.
#[cfg(test)]
#[test]
fn the_reference_of_the_columns_is_that_of_the_tables() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/columns.md");
    let now = page();
    if std::env::var_os("SPIGLASS_COLUMNS").is_some() {
        std::fs::write(path, &now).unwrap();
    } else {
        let committed = std::fs::read_to_string(path).unwrap_or_default();
        assert!(committed == now, "docs/columns.md is old: SPIGLASS_COLUMNS=write cargo test --lib columns");
    }
}

//! Pages: `--format html` and `spiglass render`.

#[path = "../support/mod.rs"]
mod support;

mod inputs;
mod markup;
mod pages;
mod sentences;

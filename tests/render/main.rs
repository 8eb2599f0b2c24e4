//! Pages: `--format html` and `spiglass render`.

#![expect(clippy::duplicate_mod, reason = "the program that makes the fixtures is a program of its own, tested here")]

#[path = "../support/mod.rs"]
mod support;

mod inputs;
mod markup;
mod pages;
mod sentences;

//! Octets as the body of a partial state, its digest made to fit: refused or reported, and merged with itself and another.
#![no_main]

#[path = "../../tests/support/state_file.rs"]
mod state_file;

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use spiglass::engine::State;
use spiglass::report::{document, json, text};
use state_file::state_file;

fn report(state: State) {
    let (report, _) = state.report();
    let mut out = Vec::new();
    json::write(&report, &mut out).unwrap();
    serde_json::from_slice::<serde_json::Value>(&out).unwrap();
    let page = text::render(&document::report(&report, &document::View::default()), &text::TextOptions::default());
    assert!(!page.chars().any(|c| c.is_control() && c != '\n'), "{page:?}");
}

fuzz_target!(|data: &[u8]| {
    // Raw as well: the head is an input like any other.
    let _ = State::read(Path::new("raw"), data);
    let name = Path::new("state");
    let Ok(mut state) = State::read(name, state_file(data).as_slice()) else { return };
    let mut again = Vec::new();
    state.write(&mut again).unwrap();
    let mut other = State::read(name, again.as_slice()).expect("what was written can be read");
    report(state.clone());
    // The same streams under another part number are further streams.
    other.label(None, Some(7));
    if state.merge(other).is_ok() {
        report(state.clone());
        state.label(Some("one"), None);
        report(state);
    }
});

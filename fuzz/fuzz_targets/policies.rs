//! Octets as configurations and lists of SAs, one or two (apart by a line of `%%%`): read, compared, and retyped.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use spiglass::engine::{Quiet, Settings, run};
use spiglass::policy::{Policies, lint};
use spiglass::report::{document, json, text};

fn halves(data: &[u8]) -> (&[u8], Option<&[u8]>) {
    const MARK: &[u8] = b"\n%%%\n";
    match data.windows(MARK.len()).position(|window| window == MARK) {
        Some(at) => (&data[..at], Some(&data[at + MARK.len()..])),
        None => (data, None),
    }
}

fuzz_target!(|data: &[u8]| {
    let (first, second) = halves(data);
    let inputs: Vec<_> = std::iter::once(first)
        .chain(second)
        .enumerate()
        .map(|(at, text)| (format!("{at}.cfg"), text.to_vec()))
        .collect();
    let policies = Policies::read(&inputs);
    assert_eq!(policies.files.len(), inputs.len());
    for file in &policies.files {
        assert!(file.understood <= file.lines && file.skipped_lines <= file.lines, "{file:?}");
        assert!(file.skipped.iter().all(|(from, to)| 1 <= *from && from <= to && *to <= file.lines), "{file:?}");
        assert!(file.remarks.iter().all(|remark| remark.line <= file.lines.max(1)), "{file:?}");
    }
    let _ = lint(&policies.view());
    let settings = Settings { expectation: Arc::new(policies).into(), ..Settings::default() };
    let outcome = run(&[], &settings, 1, &Quiet);
    let mut out = Vec::new();
    json::write(&outcome.report, &mut out).unwrap();
    serde_json::from_slice::<serde_json::Value>(&out).unwrap();
    let page = text::render(&document::report(&outcome.report, &document::View::default()), &text::TextOptions::default());
    assert!(!page.chars().any(|c| c.is_control() && c != '\n'), "{page:?}");
});

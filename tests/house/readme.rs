//! What the README shows is what the program prints.

use crate::support;

/// An example: what is typed, and the lines shown below it.
struct Example {
    words: Vec<String>,
    shown: Vec<String>,
}

/// The examples in the README's `console` blocks.
fn examples(readme: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut inside = false;
    for line in readme.lines() {
        match (inside, line.trim_end()) {
            (false, "```console") => inside = true,
            (true, "```") => inside = false,
            (true, line) => match (line.strip_prefix("$ spiglass "), examples.last_mut()) {
                (Some(typed), _) => {
                    examples.push(Example { words: typed.split(' ').map(str::to_owned).collect(), shown: Vec::new() })
                }
                (None, Some(example)) => example.shown.push(line.to_owned()),
                (None, None) => panic!("output before any command: {line}"),
            },
            (false, _) => {}
        }
    }
    examples
}

/// Where the shown lines leave the printed ones; `...` stands for any number of lines.
fn difference(shown: &[String], printed: &[&str]) -> Option<String> {
    let mut at = 0;
    let mut skipping = false;
    for line in shown {
        if line == "..." {
            skipping = true;
            continue;
        }
        let found = if skipping {
            printed.iter().skip(at).position(|p| p.trim_end() == line)
        } else {
            printed.get(at).filter(|p| p.trim_end() == line).map(|_| 0)
        };
        let Some(found) = found else { return Some(line.clone()) };
        at += found + 1;
        skipping = false;
    }
    (!skipping && at < printed.len()).then(|| format!("(the end; the program goes on with {:?})", printed[at]))
}

#[test]
fn examples_print_what_the_readme_shows() {
    let readme = include_str!("../../README.md");
    let examples = examples(readme);
    assert!(examples.len() >= 3, "{} examples", examples.len());
    for Example { words, shown } in examples {
        let run = support::spiglass(&words);
        let printed: Vec<&str> = run.text().lines().collect();
        let difference = difference(&shown, &printed);
        assert!(difference.is_none(), "`spiglass {}` does not print: {}", words.join(" "), difference.unwrap());
    }
}

#[test]
fn the_comparison_sees_differences() {
    let shown = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let printed = ["a", "b", "c"];
    assert!(difference(&shown("a\nb\nc"), &printed).is_none());
    assert!(difference(&shown("...\nb\n..."), &printed).is_none());
    assert!(difference(&shown("a\nc"), &printed).is_some());
    assert!(difference(&shown("a\nb"), &printed).is_some());
    assert!(difference(&shown("...\nd"), &printed).is_some());
}

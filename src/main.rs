//! The command line of spiglass.
use spiglass::capture::Source;
use spiglass::engine::*;
fn main() {
    let inputs: Vec<Input> =
        std::env::args_os().skip(1).map(|a| Input { source: Source::from_arg(&a), tap: None }).collect();
    let o = run(&inputs, &Settings::default(), &Quiet);
    for e in &o.errors {
        eprintln!("{e}");
    }
    if std::env::var_os("TEXT").is_some() {
        print!("{}", spiglass::report::text::render(&o.report, &Default::default()));
    } else {
        serde_json::to_writer(std::io::stdout(), &o.report).unwrap();
        println!();
    }
}

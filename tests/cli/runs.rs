//! The program on captures: exit status, what goes to which stream, files that appear complete.

use std::path::PathBuf;

use assert_cmd::Command;

const BROKEN: &str = "fixtures/seeds/test06-esp-null-broken.pcap";
const LOSS: &str = "fixtures/lab/loss-before-tap-tunnel.pcap";

fn spiglass(arguments: &[&str]) -> Run {
    fed(arguments, Vec::new())
}

fn fed(arguments: &[&str], input: Vec<u8>) -> Run {
    let output = Command::cargo_bin("spiglass").unwrap().args(arguments).write_stdin(input).output().unwrap();
    Run {
        status: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

struct Run {
    status: i32,
    stdout: String,
    stderr: String,
}

impl Run {
    fn last_words(&self) -> &str {
        self.stderr.lines().last().unwrap_or_default()
    }
}

/// A file of its own for each test.
fn scratch(name: &str) -> PathBuf {
    std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cli-{name}"))
}

fn cut_capture(name: &str) -> PathBuf {
    let path = scratch(name);
    let whole = std::fs::read(LOSS).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 10]).unwrap();
    path
}

#[test]
fn findings_decide_between_0_and_1() {
    assert_eq!(spiglass(&["report", BROKEN]).status, 0, "report does not fail on findings unless asked");
    let check = spiglass(&["check", BROKEN]);
    assert_eq!(check.status, 1);
    assert!(check.last_words().starts_with("spiglass: exit status 1:"), "{}", check.stderr);
    assert_eq!(spiglass(&["check", "--fail-on", "never", BROKEN]).status, 0);
    assert_eq!(spiglass(&["check", "--fail-on", "error", LOSS]).status, 0, "loss is a warning");
    assert_eq!(spiglass(&["check", "--max-loss", "5", LOSS]).status, 0, "a note below --max-loss");
}

#[test]
fn one_bad_input_gives_2_and_does_not_stop_the_others() {
    let run = spiglass(&["check", "--format", "json", "nonexistent.pcap", BROKEN, "Cargo.toml"]);
    assert_eq!(run.status, 2);
    assert!(run.last_words().contains("2 inputs could not be read"), "{}", run.stderr);
    assert!(run.last_words().contains("1 finding"), "both are said: {}", run.stderr);
    let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(json["exit_status"], 2);
    assert_eq!(json["findings"][0]["code"], "spi-zero");
    let errors: Vec<bool> = json["captures"].as_array().unwrap().iter().map(|c| c["error"].is_string()).collect();
    assert_eq!(errors, [false, true, true], "what could not be read is listed behind the others: {}", json["captures"]);
    let summary = "[inputs=3 read=1 cut=0 damaged=0 unreadable=2 findings_error=1 findings_warning=0]";
    assert!(run.last_words().ends_with(summary), "for scripts: {}", run.stderr);
    assert_eq!((&json["run"]["inputs"], &json["run"]["unreadable"]), (&3.into(), &2.into()));
}

#[test]
fn a_cut_capture_is_reported_and_named() {
    let path = cut_capture("cut.pcap");
    let name = path.to_str().unwrap();
    let run = spiglass(&["report", name]);
    assert_eq!(run.status, 2);
    assert!(run.stderr.contains("(frame 1250)") && run.stderr.contains("1 249 frames were read"), "{}", run.stderr);
    assert!(run.stdout.contains("Security associations"), "what was read is reported");
    assert_eq!(spiglass(&["report", "--accept-cut", name]).status, 0);
    let rows = spiglass(&["frames", name]);
    assert_eq!((rows.status, rows.stdout.lines().count()), (2, 1250));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_wrong_command_line_is_2_with_its_reason_last() {
    for arguments in [
        &["report"][..],
        &["report", "--bin", "soon", BROKEN],
        &["report", "-", "-"],
        &["report", "--table", "sas", BROKEN],
        &["nonsense"],
        &["explain", "banana"],
        &["report", "--from", "+5s", "--to", "+1s", BROKEN],
    ] {
        let run = spiglass(arguments);
        assert_eq!(run.status, 2, "{arguments:?}");
        assert!(run.stdout.is_empty(), "{arguments:?}");
        assert!(run.last_words().starts_with("spiglass: exit status 2:"), "{arguments:?}: {}", run.stderr);
    }
    for arguments in [&["--help"][..], &["report", "-h"], &["--version"]] {
        assert_eq!(spiglass(arguments).status, 0);
    }
}

#[test]
fn standard_input_reads_like_a_file() {
    let file = spiglass(&["frames", LOSS]);
    let pipe = fed(&["frames", "-"], std::fs::read(LOSS).unwrap());
    assert_eq!(pipe.status, 0);
    assert!(pipe.stdout.replace("\n-,", &format!("\n{LOSS},")) == file.stdout, "rows differ in more than the name");
}

#[test]
fn lists_of_files_are_read_from_standard_input() {
    let run =
        fed(&["report", "--format", "json", "--files-from", "-", "-0"], format!("{LOSS}\0{BROKEN}\0").into_bytes());
    let json: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(json["captures"].as_array().unwrap().len(), 2);
}

#[test]
fn sides_are_named_one_by_one_or_in_lists() {
    const PLAIN: &str = "fixtures/lab/loss-before-tap-plain-a.pcap";
    let without_run = |run: Run| {
        assert_eq!(run.status, 0, "{}", run.stderr);
        serde_json::from_str::<serde_json::Value>(&run.stdout).unwrap()
    };
    let named = without_run(spiglass(&["match", "--format", "json", "--plain", PLAIN, "--tunnel", LOSS]));
    let list = scratch("plain.txt");
    std::fs::write(&list, format!("{PLAIN}\0")).unwrap();
    let plain = list.to_str().unwrap();
    let words = ["--format", "json", "--plain-from", plain, "--tunnel-from", "-", "-0"];
    let lists = || format!("{LOSS}\0").into_bytes();
    assert_eq!(without_run(fed(&[&["match"], &words[..]].concat(), lists())), named);
    let trials = without_run(spiglass(&["trials", "--format", "json", "--plain", PLAIN, "--tunnel", LOSS]));
    assert_eq!(without_run(fed(&[&["trials"], &words[..]].concat(), lists())), trials);
    let ends = without_run(spiglass(&["trials", "--format", "json", "--in", PLAIN, "--out", LOSS]));
    let words = ["trials", "--format", "json", "--in-from", plain, "--out-from", "-", "-0"];
    assert_eq!(without_run(fed(&words, lists())), ends);
    let annotated = |words: &[&str]| {
        let out = scratch("sides.pcapng");
        let run = spiglass(&[&["annotate", LOSS, "-o", out.to_str().unwrap()], words].concat());
        assert_eq!(run.status, 0, "{}", run.stderr);
        let octets = std::fs::read(&out).unwrap();
        std::fs::remove_file(out).unwrap();
        octets
    };
    assert!(annotated(&["--plain", PLAIN]) == annotated(&["--plain-from", plain, "-0"]));
    std::fs::write(&list, "").unwrap();
    for words in [
        &["match", "--plain-from", plain, "--tunnel", LOSS][..],
        &["match", "--plain", PLAIN, "--tunnel", LOSS, "-0"],
        &["match", "--plain-from", "-", "--tunnel-from", "-"],
        &["match", "--plain-from", "-", "--tunnel", "-"],
        &["match", "--tunnel", LOSS],
        &["trials", "--in", PLAIN],
        &["trials", "--in", PLAIN, "--out-from", plain],
        &["trials", "--in-from", plain, "--plain", PLAIN],
        &["annotate", LOSS, "-o", "never.pcapng", "--plain-from", plain],
        &["annotate", LOSS, "-o", "never.pcapng", "--plain-from", "-", "--config", "-"],
    ] {
        assert_eq!(spiglass(words).status, 2, "{words:?}");
    }
    std::fs::remove_file(list).unwrap();
}

#[test]
fn a_report_in_a_file_is_complete_and_standard_output_is_empty() {
    let path = scratch("report.json");
    let run = spiglass(&["report", "--format", "json", "-o", path.to_str().unwrap(), LOSS]);
    assert_eq!((run.status, run.stdout.as_str()), (0, ""));
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(json["schema"], "spiglass.report/1");
    std::fs::remove_file(path).unwrap();
}

#[test]
fn every_form_is_written() {
    for format in ["text", "json", "csv", "ndjson", "markdown"] {
        for command in ["report", "check"] {
            let run = spiglass(&[command, "--fail-on", "never", "--format", format, LOSS]);
            assert_eq!(run.status, 0, "{command} {format}: {}", run.stderr);
            assert!(run.stdout.contains("sequence") && !run.stdout.contains('\x1b'), "{command} {format}");
        }
    }
    for table in ["findings", "sas", "tunnels", "sizes", "padding", "rates", "layers", "captures"] {
        let run = spiglass(&["report", "--format", "csv", "--table", table, LOSS]);
        assert!(run.status == 0 && !run.stdout.is_empty(), "{table}");
    }
}

#[test]
fn a_pipe_closed_downstream_is_success() {
    use std::process::Stdio;
    for arguments in [&["frames", LOSS, LOSS, LOSS][..], &["check", "--format", "json", LOSS]] {
        let program = Command::cargo_bin("spiglass").unwrap().get_program().to_owned();
        // The reading end is gone before the program starts: it must not matter who is quicker.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output =
            std::process::Command::new(program).args(arguments).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{arguments:?}");
    }
}

#[test]
fn explain_knows_codes_numbers_and_log_lines() {
    assert!(spiglass(&["explain"]).stdout.contains("sequence-gap"));
    assert!(spiglass(&["explain", "spi-zero"]).stdout.contains("set session-key"));
    assert!(spiglass(&["explain", "0x3ea"]).stdout.contains("1002"));
    // Unquoted, the shell makes several words of a line.
    let words =
        ["explain", "decaps:", "rec'd", "destaddr=192.168.1.2,", "prot=50,", "spi=0x0(0),", "srcaddr=192.168.1.1"];
    assert!(spiglass(&words).stdout.contains("192.168.1.1"));
    let near = spiglass(&["explain", "spi-zerro"]);
    assert!(near.status == 2 && near.stderr.contains("`spi-zero`"));
}

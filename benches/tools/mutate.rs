//! Damages captures in all the ways that strangers and broken disks do, and holds the program to its promise about each of them:
//! an exit status of 0, 1 or 2, valid JSON, no more than ten seconds, and no more than the memory it is given.
//!
//!     cargo build && cargo run --release --example mutate -- --count 100000 fixtures/lab/*.pcap fixtures/seeds/*.pcap*
//!
//! With `--pair` the mutants are given to `match`. The same seed makes the same mutants. A mutant that breaks the promise is kept in
//! `--keep`, and the run goes on.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use clap::Parser;

#[path = "../../tests/support/build.rs"]
mod build;

use build::Noise;

#[derive(Parser)]
#[command(about = "Damage captures and hold spiglass to its promises", version)]
struct Options {
    /// Captures to begin with
    #[arg(required = true)]
    captures: Vec<PathBuf>,
    /// Mutants to make
    #[arg(long, default_value_t = 1_000)]
    count: u64,
    /// Another seed, other mutants
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Give mutants to `match` instead of `report`, in turn as the tunnel's side and as the plain one; the other side is the capture's
    /// partner (of `tunnel.pcap` it is `plain-a.pcap`), or else the capture itself
    #[arg(long)]
    pair: bool,
    /// The program
    #[arg(long, default_value = "target/debug/spiglass")]
    program: PathBuf,
    /// Address space of the program in MiB, where `prlimit` is installed
    #[arg(long, default_value_t = 400)]
    memory: u64,
    /// Where mutants that break a promise are kept
    #[arg(long, default_value = "mutants")]
    keep: PathBuf,
}

/// Time that a mutant may take.
const LONGEST: Duration = Duration::from_secs(10);
/// Larger captures are cut to this before they are damaged, so that most damage is reached.
const LARGEST: usize = 96 * 1024;

fn main() -> io::Result<ExitCode> {
    let options = Options::parse();
    let originals: Vec<Vec<u8>> = options
        .captures
        .iter()
        .map(|path| {
            fs::read(path).map(|mut bytes| {
                bytes.truncate(LARGEST);
                bytes
            })
        })
        .collect::<io::Result<_>>()?;
    let limited = Command::new("prlimit").arg("--version").stdout(Stdio::null()).status().is_ok_and(|s| s.success());
    if !limited {
        eprintln!("prlimit is not installed: memory is not limited");
    }
    let mutant = std::env::temp_dir().join(format!("spiglass-mutant-{}", std::process::id()));
    let (mut broken, mut statuses, mut slowest) = (0_u64, [0_u64; 3], Duration::ZERO);
    for number in 0..options.count {
        let mut random = Noise(options.seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ number);
        let from = below(&mut random, originals.len());
        let bytes = mutate(&originals[from], &mut random);
        fs::write(&mutant, &bytes)?;
        let started = Instant::now();
        let mut arguments: Vec<OsString> = Vec::new();
        if options.pair {
            let other = partner(&options.captures[from]);
            let (plain, tunnel) = if number % 2 == 0 { (&other, &mutant) } else { (&mutant, &other) };
            arguments.extend(["match".into(), "--plain".into(), plain.into(), "--tunnel".into(), tunnel.into()]);
        } else {
            arguments.extend(["report".into(), "--jobs".into(), "1".into(), (&mutant).into()]);
        }
        let verdict = run(&options, limited, &arguments);
        slowest = slowest.max(started.elapsed());
        match verdict {
            Ok(status) => statuses[status] += 1,
            Err(why) => {
                broken += 1;
                fs::create_dir_all(&options.keep)?;
                let kept = options.keep.join(format!("{}-{number}", options.seed));
                fs::write(&kept, &bytes)?;
                eprintln!("{}: {why}; made of {}", kept.display(), options.captures[from].display());
            }
        }
    }
    fs::remove_file(&mutant)?;
    println!(
        "{} mutants of {} captures: exit status 0 {}, 1 {}, 2 {}; {broken} broke a promise; the slowest took {:.2} s",
        options.count,
        originals.len(),
        statuses[0],
        statuses[1],
        statuses[2],
        slowest.as_secs_f64()
    );
    Ok(if broken == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The plaintext side of a tunnel's capture and the other way round, where there is one; otherwise the capture itself.
fn partner(capture: &Path) -> PathBuf {
    let name = capture.file_name().unwrap_or_default().to_string_lossy();
    let other =
        if name.contains("tunnel") { name.replace("tunnel", "plain-a") } else { name.replace("plain-a", "tunnel") };
    let other = capture.with_file_name(other);
    if other.exists() { other } else { capture.to_owned() }
}

/// Runs the program; the exit status, or which promise it broke.
fn run(options: &Options, limited: bool, arguments: &[OsString]) -> Result<usize, String> {
    let mut command = if limited {
        let mut command = Command::new("prlimit");
        command.arg(format!("--as={}", options.memory << 20)).arg(&options.program);
        command
    } else {
        Command::new(&options.program)
    };
    command.args(arguments).args(["--format", "json", "--progress", "never"]);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{} cannot be started: {error}", options.program.display()))?;
    let (mut out, mut err) = (Vec::new(), String::new());
    let (Some(mut stdout), Some(mut stderr)) = (child.stdout.take(), child.stderr.take()) else {
        return Err("it has no output".into());
    };
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        let outcome = stderr.read_to_end(&mut text);
        (outcome, text)
    });
    let watched = std::thread::scope(|scope| {
        let output = scope.spawn(|| stdout.read_to_end(&mut out));
        let started = Instant::now();
        loop {
            match child.try_wait() {
                Ok(Some(status)) => {
                    drop(output.join());
                    return Ok(status);
                }
                Ok(None) if started.elapsed() > LONGEST => {
                    drop(child.kill());
                    return Err(format!("it ran longer than {} s", LONGEST.as_secs()));
                }
                Ok(None) => std::thread::sleep(Duration::from_micros(300)),
                Err(error) => return Err(error.to_string()),
            }
        }
    });
    if let Ok((Ok(_), text)) = reader.join() {
        err = String::from_utf8_lossy(&text).into_owned();
    }
    let status = watched?;
    let code = status.code().and_then(|code| usize::try_from(code).ok()).filter(|code| *code <= 2);
    let Some(code) = code else { return Err(format!("{status}: {}", err.trim())) };
    if err.contains("panicked") {
        return Err(format!("it panicked: {}", err.trim()));
    }
    if let Err(error) = serde_json::from_slice::<serde_json::Value>(&out) {
        return Err(format!("exit status {code}, and its JSON cannot be read: {error}; {}", err.trim()));
    }
    Ok(code)
}

/// A damaged copy: one to four injuries.
fn mutate(original: &[u8], random: &mut Noise) -> Vec<u8> {
    let mut bytes = original.to_vec();
    for _ in 0..=below(random, 4) {
        if bytes.is_empty() {
            break;
        }
        let at = below(random, bytes.len());
        let length = 1 + below(random, bytes.len().min(256));
        let end = (at + length).min(bytes.len());
        match below(random, 9) {
            0 => bytes[at] ^= 1 << below(random, 8),
            1 => bytes[at..end].iter_mut().for_each(|byte| *byte = random.word() as u8),
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..end)),
            4 => {
                // The same again, here or elsewhere.
                let piece = bytes[at..end].to_vec();
                let to = below(random, bytes.len());
                drop(bytes.splice(to..to, piece));
            }
            5 => {
                let other = below(random, bytes.len());
                let length = length.min(bytes.len() - at.max(other)).min(at.abs_diff(other));
                for step in 0..length {
                    bytes.swap(at + step, other + step);
                }
            }
            6 => bytes[at..end].fill(if below(random, 2) == 0 { 0 } else { 0xff }),
            kind => {
                // A length or a count at one of its ends, in two or four octets and in both orders.
                let extremes =
                    [0_u32, 1, 3, 4, 0x7f, 0x80, 0xff, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe, u32::MAX];
                let value = extremes[below(random, extremes.len())];
                let aligned = at & !3;
                let word = if kind == 7 { value.to_le_bytes() } else { value.to_be_bytes() };
                let width = if below(random, 3) == 0 { 2 } else { 4 };
                bytes.iter_mut().skip(aligned).zip(word).take(width).for_each(|(byte, new)| *byte = new);
            }
        }
    }
    bytes
}

/// A place or a count below `limit`.
fn below(random: &mut Noise, limit: usize) -> usize {
    (random.word() % limit.max(1) as u64) as usize
}

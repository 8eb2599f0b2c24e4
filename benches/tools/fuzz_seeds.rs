//! Makes the inputs that fuzzing begins with, from captures and configurations: one folder for each target of `fuzz/`.
//!
//!     cargo run --release --example fuzz_seeds                            # from fixtures/
//!     cargo run --release --example fuzz_seeds -- --to fuzz/corpus fixtures more/captures
//!
//! A seed is named after its content, so making them again adds nothing.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Parser;
use spiglass::capture::{CaptureReader, Chunk, Source};
use spiglass::dissect::{DissectOptions, Shape, Stack, dissect};
use spiglass::engine::{Input, Quiet, Settings, State, analyse};
use twox_hash::XxHash3_64;

#[derive(Parser)]
#[command(about = "Make the inputs that fuzzing begins with", version)]
struct Options {
    /// Captures, configurations and folders of them
    #[arg(default_value = "fixtures")]
    from: Vec<PathBuf>,
    /// Folder that gets a folder for each target
    #[arg(long, default_value = "fuzz/corpus")]
    to: PathBuf,
}

/// Larger files are cut to this: what fuzzing finds in a large input, it finds faster in a small one.
const LARGEST: usize = 8 * 1024;
/// Octets of a state file in front of its body.
const STATE_HEAD: usize = 44;
/// Seeds of captures for the slower targets, of each kind of stack.
const FRAMES_OF_A_SHAPE: usize = 2;

fn main() -> io::Result<()> {
    let options = Options::parse();
    let mut seeds = Seeds { to: options.to, made: 0, shapes: Vec::new() };
    for path in options.from {
        below(&path, &mut |file| seeds.file(file))?;
    }
    println!("{} seeds below {}", seeds.made, seeds.to.display());
    Ok(())
}

/// Calls `each` for every file at or below `path`, in the order of their names.
fn below(path: &Path, each: &mut dyn FnMut(&Path) -> io::Result<()>) -> io::Result<()> {
    if !path.is_dir() {
        return each(path);
    }
    let entries: BTreeSet<PathBuf> =
        fs::read_dir(path)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<_>>()?;
    entries.iter().try_for_each(|entry| below(entry, each))
}

struct Seeds {
    to: PathBuf,
    made: usize,
    /// The stacks that frames were kept of, with how many of each.
    shapes: Vec<(Shape, usize)>,
}

impl Seeds {
    fn put(&mut self, target: &str, seed: &[u8]) -> io::Result<()> {
        let folder = self.to.join(target);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(format!("{:016x}", XxHash3_64::oneshot(seed))), seed)?;
        self.made += 1;
        Ok(())
    }

    fn file(&mut self, path: &Path) -> io::Result<()> {
        let bytes = fs::read(path)?;
        let Ok(mut reader) = CaptureReader::open(&Source::Path(path.into()), 0) else {
            if path.extension().is_some_and(|extension| ["txt", "cfg", "toml"].iter().any(|known| extension == *known))
            {
                self.put("policies", bytes.get(..LARGEST).unwrap_or(&bytes))?;
            }
            return Ok(());
        };
        let short = bytes.get(..LARGEST).unwrap_or(&bytes);
        self.put("capture", short)?;
        self.put("report", short)?;
        self.pair(path, &bytes)?;
        let (mut chunk, mut stack) = (Chunk::new(), Stack::default());
        while reader.next_chunk(&mut chunk) {
            for frame in chunk.frames() {
                dissect(&frame, &DissectOptions::default(), &mut stack);
                let shape = stack.shape;
                match self.shapes.iter_mut().find(|(known, _)| *known == shape) {
                    Some((_, count)) if *count >= FRAMES_OF_A_SHAPE => continue,
                    Some((_, count)) => *count += 1,
                    None => self.shapes.push((shape, 1)),
                }
                let longer = (frame.wire_bytes as usize).saturating_sub(frame.data.len()).min(255) as u8;
                let mut seed = frame.link.0.to_le_bytes().to_vec();
                seed.extend([longer, 0]);
                seed.extend(frame.data.iter().take(LARGEST));
                self.put("frame", &seed)?;
            }
        }
        self.state(path)
    }

    /// A capture of a tunnel, with the capture of its plaintext side in front where that lies beside it.
    fn pair(&mut self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let half = LARGEST / 4;
        let tunnel = bytes.get(..half).unwrap_or(bytes);
        let plain = name.contains("tunnel").then(|| path.with_file_name(name.replacen("tunnel", "plain-a", 1)));
        let plain = match plain {
            Some(plain) if plain.is_file() => fs::read(plain)?,
            _ => Vec::new(),
        };
        let plain = plain.get(..half).unwrap_or(&plain);
        let share = (plain.len() as u16).to_le_bytes();
        self.put("pair", &[&share[..], plain, tunnel].concat())
    }

    /// The state of a capture, without its head.
    fn state(&mut self, path: &Path) -> io::Result<()> {
        let input = Input { source: Source::Path(path.into()), tap: None };
        let state: State = analyse(&[input], &Settings::default(), 1, &Quiet).state;
        let mut file = Vec::new();
        state.write(&mut file)?;
        match file.get(STATE_HEAD..) {
            Some(body) if body.len() <= 4 * LARGEST => self.put("state", body),
            _ => Ok(()),
        }
    }
}

//! Every bound of the readers of configurations. What is refused is told with its line.

/// Octets of one input; a running configuration has a few hundred thousand at most.
pub const MAX_OCTETS: usize = 16 << 20;
/// Octets of one line; no command and no key is longer.
pub(super) const MAX_LINE: usize = 4_096;
/// Routers in all inputs together.
pub(super) const MAX_ROUTERS: usize = 256;
/// Facts (lines that say something) in all inputs together.
pub(super) const MAX_FACTS: usize = 262_144;
/// Crypto map entries, interfaces, IKE policies and other blocks of one router.
pub(super) const MAX_BLOCKS: usize = 4_096;
/// Remarks kept of one input; the rest is counted.
pub(super) const MAX_REMARKS: usize = 50;
/// Skipped ranges of lines kept of one input; the rest is counted.
pub(super) const MAX_SKIPPED: usize = 1_000;
/// Findings of one code that a lint makes; the rest is counted in the last one.
pub(super) const MAX_PROBLEMS: usize = 100;
/// Lines cited by one finding; the rest is counted in its evidence.
pub(super) const MAX_CITED: usize = 12;

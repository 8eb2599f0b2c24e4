//! The digest that a run takes of its captures.

use clap::{Args, ValueEnum};

use crate::capture::DigestRequest;
use crate::model::report::DigestAlgorithm;

/// How the digests of captures are computed.
#[derive(Debug, Default, Args)]
pub(in crate::cli) struct DigestArgs {
    /// Digest of each capture as stored, in the report: xxh3-128, sha256 or none [default: xxh3-128 up to 256 MiB]
    ///
    /// xxh3-128 tells files apart; sha256 resists forgery. There is none of a capture of which only a part was read. Files that several threads
    /// read are read once more for it; so without this option there is an xxh3-128 of captures of up to 256 MiB.
    #[arg(
        long,
        value_enum,
        value_name = "ALGORITHM",
        hide_possible_values = true,
        hide_short_help = true,
        help_heading = "Output"
    )]
    digest: Option<Choice>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Choice {
    #[value(name = "xxh3-128")]
    Xxh3128,
    Sha256,
    None,
}

impl DigestArgs {
    pub(in crate::cli) fn request(&self) -> Option<DigestRequest> {
        let of_all = |algorithm| Some(DigestRequest { algorithm, most_bytes: u64::MAX });
        match self.digest {
            Option::None => Some(DigestRequest::default()),
            Some(Choice::Xxh3128) => of_all(DigestAlgorithm::Xxh3128),
            Some(Choice::Sha256) => of_all(DigestAlgorithm::Sha256),
            Some(Choice::None) => None,
        }
    }
}

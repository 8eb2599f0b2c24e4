//! Readers that take a digest of what they read.

use std::io;
use std::path::Path;

use super::{CaptureReader, Ended};
use crate::capture::input::digest::DigestRequest;
use crate::capture::input::source::{Opened, Source};
use crate::model::report::CaptureDigest;
use crate::model::{CaptureId, Error};

impl CaptureReader {
    /// Opens a capture as [`CaptureReader::open`] does, taking a digest of the octets as they are stored:
    /// [`CaptureInfo::digest`](crate::capture::CaptureInfo::digest) once all of them were read.
    ///
    /// # Errors
    /// As [`CaptureReader::open`].
    pub fn open_with_digest(
        source: &Source,
        capture: CaptureId,
        request: Option<DigestRequest>,
    ) -> Result<Self, Error> {
        let name = source.name();
        let opened = source.open().map_err(|source| Error::Io { path: name.to_path_buf(), source })?;
        Self::begin(name, opened, capture, request)
    }

    /// Reads a capture as [`CaptureReader::from_reader`] does, taking a digest as [`CaptureReader::open_with_digest`] does.
    pub(crate) fn of_input(
        name: &Path,
        input: Box<dyn io::Read + Send>,
        capture: CaptureId,
        request: Option<DigestRequest>,
    ) -> Result<Self, Error> {
        Self::begin(name, Opened { input, total: None, live: true }, capture, request)
    }

    /// Notes the digest of the whole input, of which this reader may have read only the last part. Where something else than the end ended
    /// the reading, how much was read follows from the size of the reads: then there is none.
    pub(crate) fn keep_digest(&mut self, digest: Option<CaptureDigest>) {
        let is_read = matches!(self.ended, Some(Ended::Whole | Ended::Cut));
        self.info.digest = digest.filter(|_| is_read);
    }

    /// Notes that a digest is wanted.
    pub(crate) fn want_digest(&mut self, request: DigestRequest) {
        self.info.digest_most = Some(request.most_bytes);
    }
}

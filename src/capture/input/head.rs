//! The first octets of an input, read ahead to decide what it is.

use std::io::{self, Cursor, Read};

/// Octets taken from the input at once while it is being decided what it is.
const STEP_BYTES: usize = 4096;

/// An input whose beginning has been read ahead.
pub(crate) struct Head {
    bytes: Vec<u8>,
    input: Box<dyn Read + Send>,
}

impl Head {
    pub(crate) fn new(input: Box<dyn Read + Send>) -> Self {
        Self { bytes: Vec::new(), input }
    }

    /// What has been read ahead.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Reads on until at least `n` octets are there or the input ends. A pipe may deliver single octets, and a live
    /// one may have no more than `n` for a long time.
    pub(crate) fn fill(&mut self, n: usize) -> io::Result<()> {
        let mut step = [0; STEP_BYTES];
        while self.bytes.len() < n {
            match self.input.read(&mut step)? {
                0 => break,
                read => self.bytes.extend_from_slice(step.get(..read).unwrap_or_default()),
            }
        }
        Ok(())
    }

    /// What has been read ahead, and the rest of the input.
    pub(crate) fn into_parts(self) -> (Vec<u8>, Box<dyn Read + Send>) {
        (self.bytes, self.input)
    }

    /// The input as if nothing had been read ahead.
    pub(crate) fn unread(self) -> Box<dyn Read + Send> {
        Box::new(Cursor::new(self.bytes).chain(self.input))
    }
}

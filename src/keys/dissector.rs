//! The one place where a frame becomes a packet: dissected, and opened as far as there are keys.

use super::Keyring;
use super::expectation::Expectation;
use super::unlocked::{Check, Unlocked};
use crate::capture::Frame;
use crate::dissect::{DissectOptions, Stack, dissect};
use crate::transform::size::ethernet;

/// Dissects frames, and opens what there are keys for.
#[derive(Clone, Debug)]
pub(crate) struct Dissector {
    options: DissectOptions,
    keyring: Keyring,
    stack: Stack,
}

/// A frame with its dissection. Where packets were decrypted, `octets` and `stack` are those of the frame with the plaintext in place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sight<'f> {
    /// The frame as it was captured, with the octets of the FCS that was found behind it.
    pub(crate) frame: Frame<'f>,
    /// Its octets.
    pub(crate) octets: &'f [u8],
    /// Its dissection.
    pub(crate) stack: &'f Stack,
    /// Whether something was decrypted.
    pub(crate) decrypted: bool,
    /// What came of each header that has a key, from the outside in.
    pub(crate) checks: &'f [Check],
}

impl Sight<'_> {
    /// The frame with plaintext in the place of ciphertext.
    pub(crate) const fn in_clear(&self) -> Frame<'_> {
        Frame { data: self.octets, ..self.frame }
    }

    /// The dissection of what was decrypted; `None` where nothing was.
    pub(crate) fn decrypted(&self) -> Option<&Stack> {
        self.decrypted.then_some(self.stack)
    }
}

impl Dissector {
    /// A dissector with the keys that the expectation states.
    pub(crate) fn new(expectation: &Expectation, options: DissectOptions) -> Self {
        Self { keyring: Keyring::new(expectation, &options), options, stack: Stack::default() }
    }

    /// How frames are dissected.
    pub(crate) const fn options(&self) -> &DissectOptions {
        &self.options
    }

    /// Whether there is any key.
    pub(crate) fn has_keys(&self) -> bool {
        !self.keyring.is_empty()
    }

    /// Dissects a frame and opens what there are keys for.
    #[inline]
    pub(crate) fn open<'f>(&'f mut self, frame: &Frame<'f>) -> Sight<'f> {
        self.see(frame, true)
    }

    /// Dissects a frame of a side where nothing is to be opened.
    #[inline]
    pub(crate) fn look<'f>(&'f mut self, frame: &Frame<'f>) -> Sight<'f> {
        self.see(frame, false)
    }

    #[inline]
    fn see<'f>(&'f mut self, frame: &Frame<'f>, open: bool) -> Sight<'f> {
        let Self { options, keyring, stack } = self;
        dissect(frame, options, stack);
        let mut frame = *frame;
        if stack.flags.fcs_found {
            // What is decrypted no longer has the checksum that it was found by.
            frame.fcs_bytes = ethernet::FCS as u8;
        }
        let unlocked = if open { keyring.open(&frame, stack) } else { None };
        let checks = unlocked.map(Unlocked::checks).unwrap_or_default();
        match unlocked.and_then(|unlocked| Some((unlocked.octets(), unlocked.stack()?))) {
            Some((octets, stack)) => Sight { frame, octets, stack, decrypted: true, checks },
            None => Sight { frame, octets: frame.data, stack, decrypted: false, checks },
        }
    }
}

//! A state file around a body that need not be one.

use spiglass::engine::State;
use twox_hash::XxHash3_128;

/// A whole state file with this body, its digest made to fit.
pub fn state_file(body: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    State::default().write(&mut file).expect("memory takes everything");
    // Magic and version of the present format.
    file.truncate(20);
    file.extend((body.len() as u64).to_le_bytes());
    file.extend(XxHash3_128::oneshot(body).to_le_bytes());
    file.extend_from_slice(body);
    file
}

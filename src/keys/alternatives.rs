//! What a sender may have made of a key other than what is stated: tried where a packet fails, to tell what differs.

use crate::decrypt::{AhVerifier, Decryptor, Icv, Keys, Packet};
use crate::policy::Secret;
use crate::transform::algorithm::integrity::{INTEGRITIES, Place};
use crate::transform::{Esp, Integrity};

use super::lock::Lock;
use super::tool::{EspTool, Tool, octets};

/// What names the lengths of ICVs that a packet may carry; the last is none.
const LENGTHS: [Option<&str>; 5] = [Some("ANY-96"), Some("ANY-128"), Some("ANY-192"), Some("ANY-256"), None];

/// Other transforms with the same keys.
#[derive(Clone, Debug, Default)]
pub(super) struct Alternatives {
    /// Integrity algorithms under the same authentication key, by their place in the catalogue; those that differ in the length of
    /// the ICV alone come first.
    algorithms: Vec<(u16, Tool)>,
    /// How many of these differ in the length alone.
    lengths: usize,
    /// The cipher alone: what it decrypts tells the length of the ICV.
    bare: Vec<EspTool>,
}

impl Alternatives {
    pub(super) fn of(lock: &Lock) -> Self {
        let (cipher, authenticator) = lock.secrets();
        let (algorithms, bare) = match (lock.esp(), lock.tool()) {
            (Some(esp), _) => (esp_algorithms(esp, cipher, authenticator), bare(esp, cipher)),
            (None, Tool::Ah(_, integrity)) => (ah_algorithms(integrity, authenticator), Vec::new()),
            (None, Tool::Esp(_)) => Default::default(),
        };
        let lengths = algorithms.iter().take_while(|(_, _, same)| *same).count();
        Self { algorithms: algorithms.into_iter().map(|(at, tool, _)| (at, tool)).collect(), lengths, bare }
    }

    /// Transforms that differ from the stated one in the length of the ICV alone.
    pub(super) fn lengths(&self) -> &[(u16, Tool)] {
        self.algorithms.get(..self.lengths).unwrap_or_default()
    }

    /// Transforms with another integrity algorithm.
    pub(super) fn algorithms(&self) -> &[(u16, Tool)] {
        self.algorithms.get(self.lengths..).unwrap_or_default()
    }

    /// The length of the ICV that a packet has if it is decrypted with this cipher and key: the one length at which a whole packet with
    /// regular padding comes out.
    pub(super) fn length_of_icv(&self, packet: Packet<'_>, plain: &mut Vec<u8>) -> Option<u8> {
        let mut fitting = self.bare.iter().filter(|tool| {
            matches!(tool.open_one(packet, None, plain), (Icv::NotChecked(_), Some(found)) if found.pad_bytes.is_some() && found.pad_counting)
        });
        let first = fitting.next()?.icv_bytes();
        fitting.next().is_none().then_some(first)
    }
}

type Algorithms = Vec<(u16, Tool, bool)>;

/// Integrity algorithms but the stated one, those of the same hash first.
fn others(stated: &Integrity) -> impl Iterator<Item = (u16, &'static Integrity, bool)> {
    let hash = |one: &Integrity| one.linux.map(|(name, _)| name);
    let stated = (stated.name, hash(stated));
    let of = move |same: bool| {
        (0..)
            .zip(INTEGRITIES)
            .filter(move |(_, one)| one.name != stated.0 && one.place == Place::Both)
            .filter(move |(_, one)| (hash(one) == stated.1) == same)
            .map(move |(at, one)| (at, one, same))
    };
    of(true).chain(of(false))
}

fn esp_algorithms(esp: &Esp, cipher: Option<&Secret>, authenticator: Option<&Secret>) -> Algorithms {
    let (Some(stated), Some(_)) = (esp.integrity, authenticator) else { return Vec::new() };
    let (Ok(encryption), Ok(authentication)) = (octets(cipher), octets(authenticator)) else { return Vec::new() };
    let keys = Keys { encryption, authentication };
    let tool = |integrity| {
        let esp = Esp { integrity: Some(integrity), ..*esp };
        let decryptor = Decryptor::with_key_of_another(&esp, &keys).ok()?;
        EspTool::new(decryptor, &esp, None).map(Tool::Esp)
    };
    others(stated).filter_map(|(at, integrity, same)| Some((at, tool(integrity)?, same))).collect()
}

fn ah_algorithms(stated: &Integrity, key: Option<&Secret>) -> Algorithms {
    let Ok(key) = octets(key) else { return Vec::new() };
    let tool = |integrity| Some(Tool::Ah(AhVerifier::with_key_of_another(integrity, &key).ok()?, integrity));
    others(stated).filter_map(|(at, integrity, same)| Some((at, tool(integrity)?, same))).collect()
}

fn bare(esp: &Esp, cipher: Option<&Secret>) -> Vec<EspTool> {
    // What is not encrypted tells nothing about keys.
    if !esp.cipher.encrypts() || esp.cipher.is_combined() {
        return Vec::new();
    }
    let Ok(encryption) = octets(cipher) else { return Vec::new() };
    let keys = Keys { encryption, ..Keys::default() };
    let tool = |name: Option<&str>| {
        let integrity = match name {
            Some(name) => Some(crate::transform::algorithm::integrity::named(name)?),
            None => None,
        };
        let esp = Esp { integrity, ..*esp };
        EspTool::new(Decryptor::new(&esp, &keys).ok()?, &esp, None)
    };
    LENGTHS.into_iter().filter_map(tool).collect()
}

//! What an IKE message says in clear about SAs.

use crate::dissect::layer::LayerKind;
use crate::dissect::stack::Note;
use crate::dissect::walk::{Next, Walk};
use crate::model::Spi;
use crate::wire::ike::{Header, Payloads};

/// Payload types (RFC 2408 section 3.1; RFC 7296 section 3.2).
const NOTIFY_V1: u8 = 11;
const DELETE_V1: u8 = 12;
const NOTIFY_V2: u8 = 41;
const DELETE_V2: u8 = 42;
/// Encrypted, and encrypted fragment (RFC 7383 section 2.5): nothing behind them is in clear.
const ENCRYPTED_V2: [u8; 2] = [46, 53];
/// INVALID-SPI in both versions (RFC 2408 section 3.14.1, RFC 7296 section 3.10.1).
const INVALID_SPI: u16 = 11;

/// An IKE message at the cursor.
pub(in crate::dissect) fn message(walk: &mut Walk<'_, '_>) -> Next {
    let bytes = walk.bytes();
    let wire = walk.wire_bytes();
    let Some(header) = Header::read(bytes) else {
        // Without its length it is a proof of IKE only where all that there is of it fits.
        if let Some(version) = Header::begun(bytes) {
            walk.stack.notes.push(Note::Ike { version, invalid_spi: None, delete: None });
        }
        let stop = walk.pos;
        if walk.push(LayerKind::Ike, wire) {
            walk.pos = stop;
            return walk.too_short(LayerKind::Ike, Header::BYTES);
        }
        return Next::Done;
    };
    let (invalid_spi, delete) = in_clear(header, bytes.get(Header::BYTES..).unwrap_or_default());
    walk.stack.notes.push(Note::Ike { version: header.major_version(), invalid_spi, delete });
    walk.push(LayerKind::Ike, wire);
    Next::Done
}

type Said = Option<Option<Spi>>;

/// The first INVALID-SPI notify and the first delete that are in clear.
fn in_clear(header: Header<'_>, payloads: &[u8]) -> (Said, Said) {
    let (mut invalid_spi, mut delete) = (None, None);
    let version = header.major_version();
    if version == 1 && header.encrypted_v1() {
        return (None, None);
    }
    for payload in Payloads::new(header.next_payload(), payloads) {
        match (version, payload.kind) {
            (2, kind) if ENCRYPTED_V2.contains(&kind) => break,
            // Behind the domain of interpretation IKEv1 has the same fields as IKEv2.
            (1, NOTIFY_V1) => invalid_spi = invalid_spi.or_else(|| payload.body.get(4..).and_then(notify)),
            (2, NOTIFY_V2) => invalid_spi = invalid_spi.or_else(|| notify(payload.body)),
            (1, DELETE_V1) => delete = delete.or_else(|| payload.body.get(4..).and_then(deletion)),
            (2, DELETE_V2) => delete = delete.or_else(|| deletion(payload.body)),
            _ => {}
        }
    }
    (invalid_spi, delete)
}

fn spi(bytes: &[u8]) -> Option<Spi> {
    bytes.first_chunk::<4>().map(|octets| Spi(u32::from_be_bytes(*octets)))
}

/// Protocol, SPI size, type, SPI, data. The invalid SPI is the SPI field or, in IKEv2, the data.
fn notify(body: &[u8]) -> Said {
    let (&[_, size, high, low], rest) = body.split_first_chunk::<4>()?;
    if u16::from_be_bytes([high, low]) != INVALID_SPI {
        return None;
    }
    let (field, data) = rest.split_at_checked(usize::from(size))?;
    Some(if size == 4 { spi(field) } else { spi(data) })
}

/// Protocol, SPI size, number of SPIs, SPIs.
fn deletion(body: &[u8]) -> Said {
    let (&[_, size, _, _], rest) = body.split_first_chunk::<4>()?;
    Some(if size == 4 { spi(rest) } else { None })
}

//! The pcapng file format (draft-ietf-opsawg-pcapng).

mod blocks;
mod packets;
mod raw;
mod section;
mod usual;
mod walker;

pub(crate) use blocks::{
    ENHANCED_PACKET, INTERFACE, NAMES, PACKET_HEADER, SECTION_HEADER, SIMPLE_PACKET, SKIPPED, TRAILER, padded,
    section_order,
};
pub(crate) use packets::Packets;
pub(crate) use raw::{RawBlock, RawBlocks};
pub(crate) use section::Section;
pub(crate) use walker::{Place, Walker};

//! The pcapng file format (draft-ietf-opsawg-pcapng).

mod blocks;
mod packets;
mod section;
mod walker;

pub(crate) use blocks::section_order;
pub(crate) use packets::Packets;
pub(crate) use section::Section;
pub(crate) use walker::{Place, Walker};

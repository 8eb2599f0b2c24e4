//! The walk over pcapng blocks: it checks them, keeps the section's interfaces and marks what is damaged.

use std::sync::Arc;

use super::super::byte_order::ByteOrder;
use super::super::info::{CaptureInfo, InterfaceInfo};
use super::super::limits::{MAX_BLOCK, MAX_DESCRIPTION, MAX_INTERFACES};
use super::blocks::{
    ENHANCED_PACKET, INTERFACE, PACKET, PACKET_HEADER, PacketNotes, SECTION_HEADER, SIMPLE_HEADER, SIMPLE_PACKET,
    SKIPPED, STATISTICS, TRAILER, padded, section_order,
};
use super::section::{Interface, Section};
use super::usual;
use crate::capture::span::walk::{End, Walked};
use crate::model::{Damage, DamageKind};

/// Octets of a block with an empty body.
const LEAST_BLOCK: usize = 12;
/// Octets of a section header block without options.
const LEAST_SECTION_HEADER: usize = 28;

/// Walks over blocks and knows the section it is in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Walker {
    section: Arc<Section>,
    /// Number of the section from 0, `None` before the first.
    number: Option<u32>,
    /// Where the section's interfaces begin in [`CaptureInfo::interfaces`].
    listed: usize,
}

/// Where a span of blocks stands in its stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// Offset of the span's first octet in the decompressed stream.
    pub(crate) offset: u64,
    /// Number of the next frame.
    pub(crate) frame: u64,
}

/// A block whose two length fields agree.
struct Block {
    kind: u32,
    /// Octets with padding.
    size: usize,
}

impl Walker {
    /// A walker in front of the first section header.
    pub(crate) fn new() -> Self {
        Self { section: Arc::new(Section::new(ByteOrder::Little)), number: None, listed: 0 }
    }

    /// The section that the next block belongs to.
    pub(crate) fn section(&self) -> Arc<Section> {
        Arc::clone(&self.section)
    }

    /// Walks over the blocks of `bytes`, which begin with a block header. Sections that end in it go to `ended`.
    ///
    /// A damaged block whose two length fields agree is noted in `info`, marked in `bytes` so that it is skipped later,
    /// and the walk goes on behind it.
    pub(crate) fn walk(
        &mut self,
        bytes: &mut [u8],
        place: Place,
        info: &mut CaptureInfo,
        ended: &mut Vec<Arc<Section>>,
    ) -> Walked {
        let (mut at, mut frames) = (0_usize, 0_u64);
        let end = loop {
            let rest = bytes.get(at..).unwrap_or_default();
            let (passed, usual) = if self.number.is_some() { usual::walk(&self.section, rest) } else { (0, 0) };
            (at, frames) = (at + passed, frames + usual);
            let rest = rest.get(passed..).unwrap_or_default();
            let block = match self.block(rest) {
                Ok(block) => block,
                Err(end) => break end,
            };
            let whole = rest.get(..block.size).unwrap_or_default();
            let verdict = match block.kind {
                ENHANCED_PACKET => self.packet(whole, true).map(|noted| self.note(noted, info)),
                SECTION_HEADER => {
                    match section_order(whole) {
                        Ok(order) => ended.push(std::mem::replace(&mut self.section, Arc::new(Section::new(order)))),
                        Err(what) => break End::Damaged { kind: DamageKind::Corrupt, what },
                    }
                    self.number = Some(self.number.map_or(0, |number| number.saturating_add(1)));
                    self.listed = info.interfaces.len();
                    Ok(false)
                }
                INTERFACE => self.interface(whole, info).map(|()| false),
                STATISTICS => self.statistics(whole, info).map(|()| false),
                PACKET => self.packet(whole, false).map(|noted| self.note(noted, info)),
                SIMPLE_PACKET => self.simple_packet(whole).map(|()| true),
                _ => Ok(false),
            };
            match verdict {
                Ok(frame) => frames += u64::from(frame),
                Err(what) => {
                    info.damaged(Damage {
                        kind: DamageKind::Corrupt,
                        offset: place.offset + at as u64,
                        frame: place.frame + frames,
                        what,
                        further: 0,
                    });
                    if let Some(kind) = bytes.get_mut(at..at + 4) {
                        kind.copy_from_slice(&SKIPPED.to_ne_bytes());
                    }
                }
            }
            at += block.size;
        };
        Walked { bytes: at, frames, end }
    }

    /// Size of the block that begins `rest`, if it is one that a reader would take: with `packet`, a packet of an interface
    /// that is described.
    pub(crate) fn sound_block(&self, rest: &[u8], packet: bool) -> Option<usize> {
        let block = match self.block(rest) {
            Ok(block) => block,
            // Larger than what is there: nothing speaks against it.
            Err(End::More { need, cut: Some(_) }) if !packet && rest.len() >= LEAST_BLOCK => return Some(need),
            Err(_) => return None,
        };
        let whole = rest.get(..block.size)?;
        let sound = match block.kind {
            ENHANCED_PACKET => self.packet(whole, true).is_ok(),
            PACKET => self.packet(whole, false).is_ok(),
            SIMPLE_PACKET => self.simple_packet(whole).is_ok(),
            _ => !packet,
        };
        sound.then_some(block.size)
    }

    /// The block that begins `rest`, if it is whole and its two length fields agree.
    #[inline]
    fn block(&self, rest: &[u8]) -> Result<Block, End> {
        let Some(header) = rest.first_chunk::<LEAST_BLOCK>() else {
            let cut = (!rest.is_empty())
                .then(|| format!("the capture ends inside a block header, {} of {LEAST_BLOCK} bytes", rest.len()));
            return Err(End::More { need: LEAST_BLOCK, cut });
        };
        let mut order = self.section.order;
        let kind = order.u32_at(header, 0).unwrap_or(SKIPPED);
        if kind == SECTION_HEADER {
            // The order of the section that ends says nothing about the one that begins.
            order = if header.get(8) == Some(&0x1a) { ByteOrder::Big } else { ByteOrder::Little };
        } else if self.number.is_none() {
            return Err(corrupt("a block precedes the first section header".into()));
        }
        let length = order.u32_at(header, 4).unwrap_or(0);
        let least = if kind == SECTION_HEADER { LEAST_SECTION_HEADER } else { LEAST_BLOCK };
        if (length as usize) < least {
            if header.iter().all(|&b| b == 0) {
                return Err(corrupt(
                    "zeros in place of a block header, as a full disk or an interrupted writer leaves them".into(),
                ));
            }
            return Err(corrupt(format!("the block claims {length} bytes, the least is {least}")));
        }
        if length > MAX_BLOCK {
            return Err(corrupt(format!("the block claims {length} bytes, the limit is {MAX_BLOCK}")));
        }
        let size = padded(length as usize);
        if rest.len() < size {
            let cut = Some(format!("the block claims {length} bytes, {} are left", rest.len()));
            return Err(End::More { need: size, cut });
        }
        let trailer = order.u32_at(rest, size - TRAILER).unwrap_or(0);
        if trailer != length && trailer as usize != size {
            return Err(corrupt(format!("the block's two length fields are {length} and {trailer}")));
        }
        Ok(Block { kind, size })
    }

    /// Checks an enhanced or obsolete packet block: both keep their lengths in the same place. Its interface, and what its options say where it has any.
    #[inline]
    fn packet(&self, block: &[u8], enhanced: bool) -> Result<Option<(u32, PacketNotes)>, String> {
        let order = self.section.order;
        let short = || format!("a packet block of {} bytes is too short for its header", block.len());
        let header = block.first_chunk::<PACKET_HEADER>().ok_or_else(short)?;
        let id = if enhanced { order.u32_at(header, 8) } else { order.u16_at(header, 8).map(u32::from) };
        let (Some(id), Some(captured)) = (id, order.u32_at(header, 20)) else { return Err(short()) };
        let limit = self.limit(id)?;
        if captured > limit {
            return Err(format!("the packet claims {captured} bytes, the limit is {limit}"));
        }
        if PACKET_HEADER + captured as usize + TRAILER > block.len() {
            return Err(format!("the packet claims {captured} bytes, its block has {}", block.len()));
        }
        let options = PACKET_HEADER + padded(captured as usize);
        if block.len() <= options + TRAILER && enhanced {
            return Ok(None);
        }
        let mut notes = PacketNotes::of(order, block.get(options..block.len() - TRAILER).unwrap_or_default());
        if !enhanced {
            // An obsolete block counts them in its header; all bits set: not known.
            notes.dropped = order.u16_at(header, 10).filter(|dropped| *dropped < u16::MAX).unwrap_or(0).into();
        }
        Ok(Some((id, notes)))
    }

    /// Takes note of what the options of a packet say; true, as it is a frame.
    #[inline]
    fn note(&self, noted: Option<(u32, PacketNotes)>, info: &mut CaptureInfo) -> bool {
        if let Some((id, PacketNotes { more, dropped })) = noted {
            info.unread_options += u64::from(more);
            if dropped > 0
                && let Some(interface) = self.listed(id, info)
            {
                interface.packet_drops = interface.packet_drops.saturating_add(dropped);
            }
        }
        true
    }

    /// Checks a simple packet block, whose captured length follows from the first interface's snapshot length.
    fn simple_packet(&self, block: &[u8]) -> Result<(), String> {
        let Some(original) = self.section.order.u32_at(block, 8).filter(|_| block.len() >= SIMPLE_HEADER + TRAILER)
        else {
            return Err(format!("a simple packet block of {} bytes is too short for its header", block.len()));
        };
        let limit = self.limit(0)?;
        let captured = self.section.simple_captured(original);
        if captured > limit {
            return Err(format!("the packet claims {captured} bytes, the limit is {limit}"));
        }
        // There are no options, so any other size means that the snapshot length is not what it was captured with.
        if SIMPLE_HEADER + padded(captured as usize) + TRAILER != block.len() {
            return Err(format!(
                "the packet should have {captured} captured bytes, its block of {} disagrees",
                block.len()
            ));
        }
        Ok(())
    }

    /// The largest captured length of interface `id`.
    #[inline]
    fn limit(&self, id: u32) -> Result<u32, String> {
        match self.section.interfaces.get(id as usize) {
            Some(Interface { limit: Some(limit), .. }) => Ok(*limit),
            Some(_) => Err(format!("the packet is of interface {id}, whose description is damaged")),
            None => Err(format!("the packet is of interface {id}, {} are described", self.section.interfaces.len())),
        }
    }

    fn interface(&mut self, block: &[u8], info: &mut CaptureInfo) -> Result<(), String> {
        if self.section.interfaces.len() >= MAX_INTERFACES {
            return Err(format!("the section describes more than {MAX_INTERFACES} interfaces"));
        }
        let described = description(block).and_then(|()| self.section.interface(block, self.number.unwrap_or(0)));
        // Clones the section only if a chunk still holds it, so once per chunk at most.
        let section = Arc::make_mut(&mut self.section);
        match described {
            Ok((interface, facts)) => {
                section.interfaces.push(interface);
                info.describe(facts);
                Ok(())
            }
            Err(what) => {
                section.interfaces.push(Interface::undescribed());
                Err(what)
            }
        }
    }

    fn statistics(&self, block: &[u8], info: &mut CaptureInfo) -> Result<(), String> {
        description(block)?;
        let (id, drops, os_drops) = self.section.drops(block)?;
        if let Some(interface) = self.listed(id, info) {
            interface.drops = drops.or(interface.drops);
            interface.os_drops = os_drops.or(interface.os_drops);
        }
        Ok(())
    }

    /// What is said of an interface of this section.
    fn listed<'i>(&self, id: u32, info: &'i mut CaptureInfo) -> Option<&'i mut InterfaceInfo> {
        let number = self.number.unwrap_or(0);
        let listed = info.interfaces.get_mut(self.listed..).unwrap_or_default();
        // Undescribed interfaces are not listed, so the index is not the place; mostly it is, though.
        let place = match listed.get(id as usize) {
            Some(interface) if interface.index == id => Some(id as usize),
            _ => listed.iter().position(|interface| interface.index == id && interface.section == number),
        };
        listed.get_mut(place?)
    }
}

fn corrupt(what: String) -> End {
    End::Damaged { kind: DamageKind::Corrupt, what }
}

/// Refuses a describing block that is too large to have its options listed.
fn description(block: &[u8]) -> Result<(), String> {
    if block.len() > MAX_DESCRIPTION as usize {
        return Err(format!("a describing block has {} bytes, the limit is {MAX_DESCRIPTION}", block.len()));
    }
    Ok(())
}

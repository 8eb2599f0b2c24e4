//! A pcapng section: its byte order and the interfaces described so far.

use pcap_parser::pcapng::{
    InterfaceDescriptionBlock, InterfaceStatisticsBlock, OptionCode, PcapNGOption, parse_interfacedescriptionblock_be,
    parse_interfacedescriptionblock_le, parse_interfacestatisticsblock_be, parse_interfacestatisticsblock_le,
};

use super::super::byte_order::ByteOrder;
use super::super::info::InterfaceInfo;
use super::super::limits::{MAX_NAME, record_limit};
use super::super::resolution::{Clock, Resolution};
use crate::model::LinkType;

/// What the packets of a section need to be read. Interfaces are only ever appended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Section {
    pub(super) order: ByteOrder,
    pub(super) interfaces: Vec<Interface>,
}

/// What the packets of an interface need to be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Interface {
    pub(super) link: LinkType,
    pub(super) clock: Clock,
    pub(super) fcs_bytes: u8,
    pub(super) snaplen: u32,
    /// Largest captured length; `None` where the description could not be read: it keeps its number, so that later
    /// interfaces keep theirs, but its packets cannot be read.
    pub(super) limit: Option<u32>,
}

impl Interface {
    pub(super) fn undescribed() -> Self {
        Self {
            link: LinkType(u16::MAX),
            clock: Clock::new(Resolution::MICROSECONDS, 0),
            fcs_bytes: 0,
            snaplen: 0,
            limit: None,
        }
    }
}

impl Section {
    /// A section without interfaces yet.
    pub(crate) fn new(order: ByteOrder) -> Self {
        Self { order, interfaces: Vec::new() }
    }

    /// Decodes a whole interface description block; `section` and `index` are only passed on.
    pub(super) fn interface(&self, block: &[u8], section: u32) -> Result<(Interface, InterfaceInfo), String> {
        let parse = match self.order {
            ByteOrder::Little => parse_interfacedescriptionblock_le,
            ByteOrder::Big => parse_interfacedescriptionblock_be,
        };
        // The block is complete, so "incomplete" too means that it contradicts itself.
        let (_, block) =
            parse(block).map_err(|_| "an interface description block contradicts its length".to_string())?;
        let resolution = self.resolution(&block);
        let interface = Interface {
            link: LinkType(block.linktype.0 as u16),
            clock: Clock::new(resolution, self.offset(&block)),
            fcs_bytes: fcs_bytes(&block),
            snaplen: block.snaplen,
            limit: Some(record_limit(block.snaplen)),
        };
        let info = InterfaceInfo {
            section,
            index: self.interfaces.len() as u32,
            name: name(&block),
            link: interface.link,
            snaplen: block.snaplen,
            resolution,
            drops: None,
            os_drops: None,
            packet_drops: 0,
        };
        Ok((interface, info))
    }

    /// `if_tsresol` from its raw octet: pcap-parser's own decoding knows no binary resolutions.
    fn resolution(&self, block: &InterfaceDescriptionBlock<'_>) -> Resolution {
        value(&block.options, OptionCode::IfTsresol)
            .and_then(|value| value.first())
            .map_or(Resolution::MICROSECONDS, |&octet| Resolution::from_if_tsresol(octet))
    }

    /// `if_tsoffset` in the section's byte order: pcap-parser reads it little-endian always.
    fn offset(&self, block: &InterfaceDescriptionBlock<'_>) -> i64 {
        value(&block.options, OptionCode::IfTsoffset)
            .and_then(|value| self.order.u64_at(value, 0))
            .map_or(0, u64::cast_signed)
    }

    /// Decodes a whole interface statistics block: the interface, `isb_ifdrop` and `isb_osdrop`.
    pub(super) fn drops(&self, block: &[u8]) -> Result<(u32, Option<u64>, Option<u64>), String> {
        let parse = match self.order {
            ByteOrder::Little => parse_interfacestatisticsblock_le,
            ByteOrder::Big => parse_interfacestatisticsblock_be,
        };
        let (_, block): (_, InterfaceStatisticsBlock<'_>) =
            parse(block).map_err(|_| "an interface statistics block contradicts its length".to_string())?;
        // pcap-parser's getters for these read little-endian always.
        let count = |code| value(&block.options, code).and_then(|value| self.order.u64_at(value, 0));
        Ok((block.if_id, count(OptionCode::IsbIfDrop), count(OptionCode::IsbOsDrop)))
    }
}

/// The value of the first option with `code`, without its padding.
fn value<'a>(options: &'a [PcapNGOption<'_>], code: OptionCode) -> Option<&'a [u8]> {
    options
        .iter()
        .take_while(|option| option.code != OptionCode::EndOfOpt)
        .find(|option| option.code == code)?
        .as_bytes()
        .ok()
}

/// `if_fcslen` in octets. The draft counts in bits, but its example, and writers after it, say 4 for Ethernet; no frame
/// check sequence is shorter than an octet, so small values are octets.
fn fcs_bytes(block: &InterfaceDescriptionBlock<'_>) -> u8 {
    const IF_FCSLEN: OptionCode = OptionCode(13);
    match value(&block.options, IF_FCSLEN).and_then(|value| value.first()) {
        Some(&bits @ 8..) => bits / 8,
        Some(&octets) => octets,
        None => 0,
    }
}

/// `if_name`; capture files are not always the UTF-8 that the draft asks for.
fn name(block: &InterfaceDescriptionBlock<'_>) -> Option<String> {
    let name = String::from_utf8_lossy(value(&block.options, OptionCode::IfName)?);
    let name: String = name.trim_end_matches('\0').chars().take(MAX_NAME).collect();
    (!name.is_empty()).then_some(name)
}

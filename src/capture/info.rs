//! What a capture says of itself, as far as it has been read.

use std::path::{Path, PathBuf};

use super::Resolution;
use super::limits::{MAX_INTERFACES, MAX_PACKET_OPTIONS};
use crate::model::report::{Capture, CaptureDigest};
use crate::model::{Damage, LinkType};

/// Facts about a capture. They grow as reading goes on and are complete once [`super::CaptureReader::next_chunk`] answers `false`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CaptureInfo {
    /// The capture as it was named; `-` is standard input.
    pub path: PathBuf,
    /// `pcap` or `pcapng`.
    pub format: &'static str,
    /// `gzip`, `zstd`, `lz4`, `xz` or `bzip2`, `None` where the capture is not compressed.
    pub compression: Option<&'static str>,
    /// Distinct link types of the interfaces, in the order in which they were described.
    pub link_types: Vec<LinkType>,
    /// The interfaces of all sections in file order, at most [`super::limits::MAX_INTERFACES`]; a pcap has one.
    pub interfaces: Vec<InterfaceInfo>,
    /// Largest snapshot length of the interfaces in octets; `None` where one of them states no limit, or none is described.
    pub snaplen: Option<u32>,
    /// Frames delivered.
    pub frames: u64,
    /// Octets read of the decompressed stream, headers included; up to damage that ended the reading.
    pub bytes_read: u64,
    /// Octets taken from the raw input, for progress against `bytes_total`.
    pub bytes_consumed: u64,
    /// Size of the raw input in octets; `None` for pipes.
    pub bytes_total: Option<u64>,
    /// Packets with more options than are looked at, see [`super::limits`]; a flag behind those is not seen.
    pub unread_options: u64,
    /// The first damage found, `None` while the capture is sound.
    pub damage: Option<Damage>,
    /// Digest of the raw input, where one was asked for and all of it was read.
    pub digest: Option<CaptureDigest>,
    /// Octets of the longest input of which a digest was asked for; `None`: none was.
    pub digest_most: Option<u64>,
}

/// An interface that packets were captured on.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct InterfaceInfo {
    /// Index of the pcapng section that describes it, from 0; 0 in pcap.
    pub section: u32,
    /// Index within its section, as frames state it.
    pub index: u32,
    /// `if_name`, at most 256 characters.
    pub name: Option<String>,
    /// Link type.
    pub link: LinkType,
    /// Snapshot length in octets; 0 is no limit.
    pub snaplen: u32,
    /// Length of a timestamp's tick.
    pub resolution: Resolution,
    /// Packets that the interface dropped for lack of resources, by the last interface statistics block (`isb_ifdrop`).
    pub drops: Option<u64>,
    /// Packets that the operating system dropped, by the last interface statistics block (`isb_osdrop`).
    pub os_drops: Option<u64>,
    /// Packets that were lost before others, as these say (`epb_dropcount`).
    pub packet_drops: u64,
}

impl InterfaceInfo {
    /// The one interface of a pcap file, of which it says no more.
    pub(crate) const fn of_pcap(link: LinkType, snaplen: u32, resolution: Resolution) -> Self {
        let (section, index, name, drops, os_drops, packet_drops) = (0, 0, None, None, None, 0);
        Self { section, index, name, link, snaplen, resolution, drops, os_drops, packet_drops }
    }

    /// As it was described, without what packets counted.
    pub(crate) fn before_packets(&self) -> Self {
        Self { packet_drops: 0, ..self.clone() }
    }

    /// Packets that the capturing host says it lost on this interface; `None` where it says nothing. Its packets and its statistics count the same.
    #[must_use]
    pub fn lost(&self) -> Option<u64> {
        let stated = self.drops.or(self.os_drops).map(|_| {
            let (interface, system) = (self.drops.unwrap_or(0), self.os_drops.unwrap_or(0));
            interface.saturating_add(system)
        });
        let counted = (self.packet_drops > 0).then_some(self.packet_drops);
        stated.max(counted)
    }
}

impl CaptureInfo {
    /// Nothing is known but the name.
    pub(crate) fn of(path: &Path) -> Self {
        Self {
            path: path.to_path_buf(),
            format: "pcapng",
            compression: None,
            link_types: Vec::new(),
            interfaces: Vec::new(),
            snaplen: None,
            frames: 0,
            bytes_read: 0,
            bytes_consumed: 0,
            bytes_total: None,
            unread_options: 0,
            damage: None,
            digest: None,
            digest_most: None,
        }
    }

    /// Takes note of an interface.
    pub(crate) fn describe(&mut self, interface: InterfaceInfo) {
        let unlimited = interface.snaplen == 0;
        self.snaplen = match self.snaplen {
            _ if unlimited => None,
            None if self.link_types.is_empty() => Some(interface.snaplen),
            None => None,
            Some(snaplen) => Some(snaplen.max(interface.snaplen)),
        };
        if !self.link_types.contains(&interface.link) {
            self.link_types.push(interface.link);
        }
        if self.interfaces.len() < MAX_INTERFACES {
            self.interfaces.push(interface);
        }
    }

    /// Puts the facts of the part of the file before this one in front of these.
    pub(crate) fn follow(&mut self, before: &Self) {
        let damage = self.damage.take().map(|d| Damage { frame: d.frame + before.frames, ..d });
        self.damage = match (&before.damage, damage) {
            (Some(first), later) => {
                let further = later.map_or(0, |later| later.further + 1);
                Some(Damage { further: first.further + further, ..first.clone() })
            }
            (None, later) => later,
        };
        self.frames += before.frames;
        self.unread_options += before.unread_options;
        for (own, before) in self.interfaces.iter_mut().zip(&before.interfaces) {
            own.packet_drops = own.packet_drops.saturating_add(before.packet_drops);
        }
        self.bytes_read += before.bytes_read;
        self.bytes_consumed += before.bytes_consumed;
    }

    /// What a limit left unread although the capture is sound, in words.
    #[must_use]
    pub fn unread(&self) -> Option<String> {
        unread_options(self.unread_options)
    }

    /// Why there is no digest, in words; `None` where there is one. `interrupted`: reading was ended before the end.
    #[must_use]
    pub(crate) fn digest_missing(&self, interrupted: bool) -> Option<&'static str> {
        match (&self.digest, self.digest_most) {
            (_, None) => Some(Capture::NO_DIGEST_WANTED),
            _ if interrupted => Some("only a part was read: the run was interrupted"),
            (Some(_), _) => None,
            _ if self.damage.is_some() => Some("only a part was read: it is damaged"),
            (None, Some(most)) if self.bytes_total.unwrap_or(0).max(self.bytes_consumed) > most => {
                Some(Capture::TOO_LONG_FOR_DIGEST)
            }
            _ => Some("only a part was read, or the file changed while it was read"),
        }
    }

    /// Takes back the last damage that was noted.
    pub(crate) fn forgive_last(&mut self) {
        match &mut self.damage {
            Some(first) if first.further > 0 => first.further -= 1,
            damage => *damage = None,
        }
    }

    /// Takes note of damage: the first is kept, later ones are counted.
    pub(crate) fn damaged(&mut self, damage: Damage) {
        match &mut self.damage {
            None => self.damage = Some(damage),
            Some(first) => first.further += 1,
        }
    }
}

/// Packets whose options were not all looked at, in words.
pub(crate) fn unread_options(packets: u64) -> Option<String> {
    (packets > 0).then(|| {
        format!("{packets} packets have more than {MAX_PACKET_OPTIONS} options; what further ones say was not read")
    })
}

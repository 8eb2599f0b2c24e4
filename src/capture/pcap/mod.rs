//! The pcap file format (draft-ietf-opsawg-pcap), its older versions and its modified forms.

mod header;
mod record;

pub(crate) use header::{Header, Magic};
pub(crate) use record::{Records, walk};

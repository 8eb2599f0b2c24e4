//! Frames that carry packets which nobody read: IPsec may be in them.

use std::collections::BTreeMap;

use super::Report;

/// Layers that hide or hold packets, as they end a stack: encrypted by MACsec, or carried by GTP-U, which is named only.
const HIDING: [&str; 2] = ["macsec", "gtpu"];

impl Report {
    /// Frames whose packet inside was not read, by the layer that holds it.
    pub(crate) fn hidden_frames(&self) -> BTreeMap<&'static str, u64> {
        let mut hidden = BTreeMap::new();
        for layer in &self.layers {
            let last = layer.stack.rsplit('/').next();
            if let Some(name) = HIDING.into_iter().find(|name| last == Some(*name)) {
                *hidden.entry(name).or_default() += layer.frames;
            }
        }
        hidden
    }

    /// Frames that end in UDP or TCP: what these carry was not read.
    pub(crate) fn transport_frames(&self) -> u64 {
        let is_transport = |stack: &str| matches!(stack.rsplit('/').next(), Some("udp" | "tcp"));
        self.layers.iter().filter(|layer| is_transport(&layer.stack)).map(|layer| layer.frames).sum()
    }

    /// Whether a stream of IKE and ESP in TCP was seen whose segments were not read: then there is IPsec.
    pub(crate) fn has_unread_stream(&self) -> bool {
        self.findings.iter().any(|finding| ["tcp-stream-unread", "tcp-continuation"].contains(&&*finding.code))
    }
}

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

    /// Frames that end in UDP or TCP, without those on ports of IPsec that were looked at and are no ESP: what the others carry was not read.
    pub(crate) fn unsearched_frames(&self) -> u64 {
        let frames = |last: &[&str]| {
            let own = self
                .layers
                .iter()
                .filter(|layer| layer.stack.rsplit('/').next().is_some_and(|end| last.contains(&end)));
            own.map(|layer| layer.frames).sum::<u64>()
        };
        // Of messages in TCP several share a frame, and frames with them do not end in TCP.
        let are_datagrams = frames(&["esp"]) == 0;
        let searched = self.findings.iter().filter(|finding| finding.code == "udp-not-esp" && are_datagrams);
        frames(&["udp", "tcp"]).saturating_sub(searched.map(|finding| finding.count).sum())
    }

    /// Whether a stream of IKE and ESP in TCP was seen whose segments were not read: then there is IPsec.
    pub(crate) fn has_unread_stream(&self) -> bool {
        self.findings.iter().any(|finding| ["tcp-stream-unread", "tcp-continuation"].contains(&&*finding.code))
    }
}

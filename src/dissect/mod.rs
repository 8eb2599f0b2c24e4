//! A frame becomes a [`Stack`]: the layers that parsed, and where and why parsing stopped. Never fails.

mod layer;
mod stack;

pub use layer::LayerKind;
pub use stack::{
    Costs, IpHeader, Layer, Limit, Note, NullSupport, SaHeader, Shape, Span, Stack, StackFlags, Stop, StopCause,
};

/// The most layers a stack holds; deeper frames stop with [`StopCause::TooDeep`].
pub const MAX_LAYERS: usize = 20;

/// placeholder until the branch lands
#[derive(Clone, Debug, Default)]
pub struct DissectOptions { /// p
pub udp_ports: Vec<u16>, /// o
pub overlay: bool }
/// placeholder
pub fn dissect(_: &crate::capture::Frame<'_>, _: &DissectOptions, stack: &mut Stack) { stack.clear(); }

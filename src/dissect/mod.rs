//! A frame becomes a [`Stack`]: the layers that parsed, and where and why parsing stopped. Never fails.

mod layer;
mod stack;

pub use layer::LayerKind;
pub use stack::{
    Costs, IpHeader, Layer, Limit, Note, NullSupport, SaHeader, Shape, Span, Stack, StackFlags, Stop, StopCause,
};

/// The most layers a stack holds; deeper frames stop with [`StopCause::TooDeep`].
pub const MAX_LAYERS: usize = 20;

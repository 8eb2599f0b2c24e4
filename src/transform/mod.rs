//! Size arithmetic and wire constants; pure.

pub mod ethernet;

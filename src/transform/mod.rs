//! Size arithmetic and wire constants; pure.

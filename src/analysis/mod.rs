//! Accumulators over observations, and findings. Pure: no files, no clock, no threads, no printing.

pub mod catalogue;

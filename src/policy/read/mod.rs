//! Readers of configurations and displays: lines become facts.

pub(super) mod cisco;
pub(super) mod esp_sa;
pub(super) mod list;
pub(super) mod makers;
pub(super) mod setkey;
pub(super) mod show;
pub(super) mod show_map;
pub(super) mod swanctl;
pub(super) mod xfrm;

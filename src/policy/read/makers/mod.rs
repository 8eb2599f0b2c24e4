//! Readers of other makers' configurations than Cisco's and Linux's.

pub(in crate::policy) mod foreign;
pub(in crate::policy) mod fortigate;
pub(in crate::policy) mod huawei;
pub(in crate::policy) mod junos;
pub(in crate::policy) mod openbsd;
mod proposal;
pub(in crate::policy) mod routeros;

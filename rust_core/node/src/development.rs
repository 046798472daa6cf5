//! Methods that only a development chain has.

pub(crate) mod dev_snapshots;
pub(crate) mod development_control;
pub(crate) mod dump;
pub(crate) mod header_fields;
pub(crate) mod mine;
pub(crate) mod overrides;
pub(crate) mod reorg;
pub(crate) mod reset;
pub(crate) mod snapshots;
pub(crate) mod time;

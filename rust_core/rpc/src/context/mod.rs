//! Resources that a call may use, and its limits.

pub mod call_context;
pub mod keys;
pub mod limits;

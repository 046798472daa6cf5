//! Filters of clients: where they are stored, and the protocol to get there from another process.

pub mod backend;
pub mod filter_protocol;
pub mod filter_registry;
pub mod filter_state;

//! Errors of the methods, and their mapping to JSON-RPC errors.

pub mod development_error;
pub mod error;
pub mod rpc_error;
pub mod unsigned_error;

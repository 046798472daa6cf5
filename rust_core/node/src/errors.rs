//! Errors of the node, which every room may return.

pub(crate) mod chain_loss;
pub(crate) mod cluster_error;
pub(crate) mod key_error;
pub(crate) mod node_error;
pub(crate) mod production_error;
pub(crate) mod start_error;
pub(crate) mod store_failed;

//! The node as a process: it opens a data directory, starts the threads of its role, and reports its status.

pub(crate) mod chain_thread;
pub(crate) mod cluster_node;
pub(crate) mod follower_status;
pub(crate) mod liveness;
#[cfg(feature = "simulation")]
pub(crate) mod manual;
pub(crate) mod mining_command;
pub(crate) mod node;
pub(crate) mod production_loop;
pub(crate) mod status;
pub(crate) mod submission;

//! Production: the writer of the chain, and the blocks and steps that a leader builds.

pub(crate) mod automine;
pub(crate) mod block_producer;
pub(crate) mod chain_draft;
pub(crate) mod chain_writer;
pub(crate) mod clock_limit;
pub(crate) mod draft_execution;
pub(crate) mod rebuild;
pub(crate) mod retired;
pub(crate) mod signer;
pub(crate) mod slow_lane;
pub(crate) mod step_signer;
pub(crate) mod step_stamp;
pub(crate) mod steps;
pub(crate) mod unwind;

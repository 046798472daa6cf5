//! Errors of development methods.

use alloy_primitives::Address;

/// Error for parameters that a development method rejects.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DevelopmentError {
    #[error("Reorg depth must not exceed current chain height: current height {height}, depth {depth}")]
    ReorgDepth { height: u64, depth: u64 },
    #[error(
        "Block number for reorg tx will exceed the reorged chain height. Block number {block} must not exceed \
         (depth-1) {last}"
    )]
    ReorgBlock { block: u64, last: u64 },
    #[error("unknown account {0}: neither its key is here, nor is it impersonated")]
    UnknownAccount(Address),
    #[error("from is missing, and the node has no accounts")]
    NoAccounts,
    #[error("blob transactions are not sent in this way: sign them with their sidecar")]
    Blobs,
    #[error("transaction {index} of the reorg: {why}")]
    ReorgTransaction { index: usize, why: String },
    #[error("payloadAttributes: timestamp must be later than the parent's, which is {parent}")]
    PayloadTimestamp { parent: u64 },
    #[error("extraData: expected at most {max} bytes, got {length}")]
    ExtraData { length: usize, max: usize },
    #[error("transactions[{index}]: {why}")]
    PayloadTransaction { index: usize, why: String },
    #[error("state: the dump is compressed by gzip; send its JSON, as `anvil --dump-state` writes it")]
    CompressedState,
    #[error("state: not a dump of anvil: {0}")]
    State(String),
    #[error("{0}")]
    Payload(String),
}

//! What a development method does not take.

/// Why a development method refuses its parameters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DevelopmentError {
    #[error("Reorg depth must not exceed current chain height: current height {height}, depth {depth}")]
    ReorgDepth { height: u64, depth: u64 },
    #[error(
        "Block number for reorg tx will exceed the reorged chain height. Block number {block} must not exceed \
         (depth-1) {last}"
    )]
    ReorgBlock { block: u64, last: u64 },
    #[error("transaction {index} of the reorg: {why}")]
    ReorgTransaction { index: usize, why: String },
}

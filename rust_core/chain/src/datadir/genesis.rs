//! Genesis block of a chain.

use alloy_primitives::B256;
use foreseal_primitives::ChainSpec;
use foreseal_state::{State, genesis_header};

/// Returns the hash of the genesis block.
pub fn genesis_hash(spec: &ChainSpec) -> B256 {
    spec.genesis_hash()
        .unwrap_or_else(|| genesis_header(spec, &State::from_genesis(spec.genesis())).hash_slow())
}

//! Genesis block of a chain.

use alloy_primitives::B256;
use foreseal_primitives::ChainSpec;
use foreseal_state::State;

/// Returns the hash of the genesis block.
pub fn genesis_hash(spec: &ChainSpec) -> B256 {
    spec.genesis_header(State::from_genesis(spec.genesis()).root()).hash_slow()
}

//! The identity of a chain.

use foreseal_chain::datadir::genesis_hash;
use foreseal_journal::Identity;
use foreseal_primitives::ChainSpec;

/// Returns the identity of the chain that a genesis defines.
pub fn chain_identity(spec: &ChainSpec) -> Identity {
    Identity { chain_id: spec.chain_id(), genesis: genesis_hash(spec) }
}

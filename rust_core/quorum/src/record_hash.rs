//! Hashes of the chain of appends.

use alloy_primitives::B256;

/// Returns the hash of an append that follows the one with hash `previous`.
pub fn chain_hash(previous: B256, content: B256) -> B256 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(previous.as_slice()).update(content.as_slice());
    B256::from(*hasher.finalize().as_bytes())
}

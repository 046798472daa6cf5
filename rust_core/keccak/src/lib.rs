//! Layer 0: keccak-256 of one input or of many at once, with vector instructions where the processor has them, and
//! the hashes that the chain derives from it: trie keys and log blooms.

mod batch;
mod key_hash_cache;

pub use batch::keccak_batch;

use alloy_primitives::{Address, B256, Bloom, BloomInput, Log, U256, keccak256};

use key_hash_cache::KeyHashCache;

/// Returns the keccak-256 of `bytes`.
pub fn keccak(bytes: &[u8]) -> B256 {
    keccak256(bytes)
}

thread_local! {
    static ADDRESSES: KeyHashCache<20> = const { KeyHashCache::new() };
    static SLOTS: KeyHashCache<32> = const { KeyHashCache::new() };
}

/// Returns the hash of an address: its key in the state trie.
pub fn hash_address(address: &Address) -> B256 {
    ADDRESSES.with(|cache| cache.hash(&address.0))
}

/// Returns the hash of a slot: its key in the storage trie of an account.
pub fn hash_slot(slot: &U256) -> B256 {
    SLOTS.with(|cache| cache.hash(&slot.to_be_bytes()))
}

/// Returns the bloom of a list of logs (yellow paper, section 4.3.1):
/// every address and topic sets three bits.
pub fn logs_bloom<'a>(logs: impl IntoIterator<Item = &'a Log>) -> Bloom {
    let inputs = logs.into_iter().flat_map(|log| {
        std::iter::once(log.address.as_slice()).chain(log.topics().iter().map(B256::as_slice))
    });
    let mut bloom = Bloom::ZERO;
    let mut waiting: [&[u8]; 8] = [&[]; 8];
    let mut count = 0;
    for input in inputs {
        waiting[count] = input;
        count += 1;
        if count == waiting.len() {
            accrue(&mut bloom, &waiting);
            count = 0;
        }
    }
    accrue(&mut bloom, &waiting[..count]);
    bloom
}

fn accrue(bloom: &mut Bloom, inputs: &[&[u8]]) {
    let mut hashes = [B256::ZERO; 8];
    let hashes = &mut hashes[..inputs.len()];
    keccak_batch(inputs, hashes);
    for hash in hashes {
        bloom.accrue(BloomInput::Hash(*hash));
    }
}

#[cfg(test)]
mod tests;

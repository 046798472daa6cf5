//! Hashing entry points.

mod batch;

pub use batch::keccak_batch;

use std::cell::Cell;

use alloy_primitives::{Address, B256, Bloom, BloomInput, Log, keccak256};

/// keccak-256 of `bytes`.
pub fn keccak(bytes: &[u8]) -> B256 {
    keccak256(bytes)
}

/// Hash of an address: its key in the state trie. Each thread keeps the last one: whoever asks much of an account asks
/// it again and again.
pub fn hash_address(address: &Address) -> B256 {
    thread_local! {
        static LAST: Cell<Option<(Address, B256)>> = const { Cell::new(None) };
    }
    match LAST.get() {
        Some((last, hash)) if last == *address => hash,
        _ => {
            let hash = keccak256(address);
            LAST.set(Some((*address, hash)));
            hash
        }
    }
}

/// The bloom of a list of logs (yellow paper, section 4.3.1): every address and topic sets three bits.
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

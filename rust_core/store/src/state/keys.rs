//! Keys of state versions.

use alloy_primitives::{Address, U256};

/// Returns the inverted block number, which sorts newer versions first.
fn inverted(number: u64) -> [u8; 8] {
    (!number).to_be_bytes()
}

/// Returns the key of an account: address, block.
pub(crate) fn account(address: &Address, number: u64) -> [u8; 28] {
    let mut key = [0; 28];
    key[..20].copy_from_slice(address.as_slice());
    key[20..].copy_from_slice(&inverted(number));
    key
}

/// Returns the key prefix of a storage: address, incarnation.
pub(crate) fn storage(address: &Address, incarnation: u32) -> [u8; 24] {
    let mut key = [0; 24];
    key[..20].copy_from_slice(address.as_slice());
    key[20..].copy_from_slice(&incarnation.to_be_bytes());
    key
}

/// Returns the key of a slot: address, incarnation, slot, block.
pub(crate) fn slot(address: &Address, incarnation: u32, slot: &U256, number: u64) -> [u8; 64] {
    let mut key = [0; 64];
    key[..24].copy_from_slice(&storage(address, incarnation));
    key[24..56].copy_from_slice(&slot.to_be_bytes::<32>());
    key[56..].copy_from_slice(&inverted(number));
    key
}

/// Returns the block number at the end of a version's key.
pub(crate) fn version(key: &[u8]) -> Option<u64> {
    key.last_chunk().map(|bytes| !u64::from_be_bytes(*bytes))
}

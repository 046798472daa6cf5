//! Table keys. Numbers are big-endian, so that entries are sorted by number.

use crate::{error::StoreError, table::Table};

/// Key of a transaction, a receipt or a step: the block number and the index in that block.
pub(crate) type BlockItemKey = [u8; 12];

pub(crate) fn number(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

pub(crate) fn block_item(number: u64, index: u32) -> BlockItemKey {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&number.to_be_bytes());
    key[8..].copy_from_slice(&index.to_be_bytes());
    key
}

/// Converts an index in a block, or a count of its items.
pub(crate) fn index(index: usize) -> u32 {
    u32::try_from(index).expect("a block has fewer than 2^32 of anything")
}

/// Reads a number from an entry of `table` under `key`.
pub(crate) fn read_number(table: &Table, key: &[u8], bytes: &[u8]) -> Result<u64, StoreError> {
    let bytes = bytes.try_into().map_err(|_| table.damaged(key, "a number does not have 8 bytes"))?;
    Ok(u64::from_be_bytes(bytes))
}

/// Reads block number and index from an entry of `table` under `key`.
pub(crate) fn decode_position(table: &Table, key: &[u8], bytes: &[u8]) -> Result<(u64, u32), StoreError> {
    match (bytes.first_chunk(), bytes.last_chunk()) {
        (Some(number), Some(index)) if bytes.len() == 12 => {
            Ok((u64::from_be_bytes(*number), u32::from_be_bytes(*index)))
        }
        _ => Err(table.damaged(key, "a place does not have 12 bytes")),
    }
}

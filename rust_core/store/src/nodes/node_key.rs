//! Node locations, and the keys of node versions.

use alloy_primitives::B256;

use crate::table::{Table, Tables};

/// Length in bytes of the block number in a key.
const VERSION: usize = 8;

/// Kind of trie that contains a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Accounts,
    Storages,
}

impl Kind {
    pub const ALL: [Self; 2] = [Self::Accounts, Self::Storages];

    pub fn table(self, tables: &Tables) -> &Table {
        match self {
            Self::Accounts => &tables.account_nodes,
            Self::Storages => &tables.storage_nodes,
        }
    }
}

/// Returns the location of a node in the storage trie of an account.
pub(crate) fn in_storage(account: &B256, path: &[u8]) -> Vec<u8> {
    [account.as_slice(), path].concat()
}

/// Returns the key of the version that a block writes.
pub(crate) fn key(location: &[u8], number: u64) -> Vec<u8> {
    [location, &(!number).to_be_bytes()].concat()
}

/// Returns a key before all versions of a location, and after those of the locations below it.
pub(crate) fn start(location: &[u8]) -> Vec<u8> {
    [location, &[u8::MAX]].concat()
}

/// Returns a key after all versions of a location.
pub(crate) fn end(location: &[u8]) -> Vec<u8> {
    [location, &[u8::MAX; VERSION + 1]].concat()
}

/// Splits a key into location and block number.
pub(crate) fn split<'k>(table: &Table, key: &'k [u8]) -> Result<(&'k [u8], u64), crate::error::StoreError> {
    match key.split_last_chunk() {
        Some((path_key, version)) => Ok((path_key, !u64::from_be_bytes(*version))),
        None => Err(table.damaged(key, "the key is too short")),
    }
}

//! Read interfaces that execution uses.

use alloy_primitives::{Address, B256, U256};
use foreseal_primitives::Account;
use foreseal_trie::NodePath;
use revm_bytecode::Bytecode;
use serde::{Deserialize, Serialize};

use crate::trie_name::TrieName;

/// A failure to read or change a state. A state in memory never fails; a store may.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq, Deserialize, Serialize)]
pub enum StateError {
    #[error("code {0} is not in the state")]
    MissingCode(B256),
    #[error("state read failed: {0}")]
    Store(String),
    /// A reorg has unwound the chain since the view was taken: its data is no longer stored.
    #[error("view no longer available")]
    ViewGone,
    /// Trie nodes are retained for the newest blocks only; values are retained for all.
    #[error("trie nodes of block {block} are no longer available; the oldest available block is {oldest}")]
    Pruned { block: u64, oldest: u64 },
    /// The store is corrupt.
    #[error("no node is stored at {path} of {trie}")]
    NodeMissing { trie: TrieName, path: NodePath },
    /// The store is corrupt.
    #[error("the node stored at {path} of {trie} does not have the hash that its parent holds")]
    NodeHash { trie: TrieName, path: NodePath },
    /// The store is corrupt.
    #[error("the value stored at {path} of {trie} is not a trie node")]
    NodeMalformed { trie: TrieName, path: NodePath },
}

/// Read access to the state after some step, for execution.
///
/// Object safe, so that layers share `&dyn StateReader`. An absent account reads as `None`, an absent slot as
/// zero.
pub trait StateReader: Send + Sync {
    /// Returns the account, or `None` if it does not exist.
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError>;
    /// Returns many accounts, in the order of the addresses. Faster than single reads if the implementation
    /// batches its I/O.
    fn accounts(&self, addresses: &[Address]) -> Result<Vec<Option<Account>>, StateError> {
        addresses.iter().map(|address| self.account(address)).collect()
    }
    /// Returns the value of a storage slot.
    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError>;
    /// Returns the storage of one account for reading many of its slots with one lookup of the account.
    fn account_storage(&self, address: &Address) -> Result<Box<dyn StorageReader + '_>, StateError>;
    /// Returns `true` if any storage slot of the account is not zero (EIP-7610 forbids creating a contract
    /// there).
    fn has_storage(&self, address: &Address) -> Result<bool, StateError>;
    /// Returns code by its hash, already analysed.
    fn code(&self, hash: &B256) -> Result<Bytecode, StateError>;
}

/// Read access to the storage of one account.
pub trait StorageReader {
    /// Returns the value of a slot; zero if it is absent.
    fn slot(&self, slot: &U256) -> Result<U256, StateError>;
    /// Returns the values of many slots, in their order. Faster than single reads if the implementation batches them.
    fn slots(&self, slots: &[U256]) -> Result<Vec<U256>, StateError> {
        slots.iter().map(|slot| self.slot(slot)).collect()
    }
}

/// Storage of an account that has none.
pub struct NoStorage;

impl StorageReader for NoStorage {
    fn slot(&self, _: &U256) -> Result<U256, StateError> {
        Ok(U256::ZERO)
    }
}

/// Hashes that the `BLOCKHASH` opcode returns.
pub trait BlockHashes: Send + Sync {
    /// Returns the hash of the ancestor with this number, or `None` if it is unknown. Only the last 256 are
    /// requested.
    fn block_hash(&self, number: u64) -> Result<Option<B256>, StateError>;
}

/// Hashes of a state without a chain: none is known.
#[derive(Debug, Clone, Copy)]
pub struct NoBlockHashes;

impl BlockHashes for NoBlockHashes {
    fn block_hash(&self, _: u64) -> Result<Option<B256>, StateError> {
        Ok(None)
    }
}

//! What execution reads.

use alloy_primitives::{Address, B256, U256};
use foreseal_trie::NodePath;
use foreseal_types::Account;
use revm_bytecode::Bytecode;

use crate::TrieName;

/// A state that could not be read or changed. Memory never fails; a store may.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum StateError {
    #[error("code {0} is not in the state")]
    MissingCode(B256),
    #[error("state read failed: {0}")]
    Store(String),
    /// The chain was unwound since the view was taken: what it showed is no longer stored.
    #[error("view no longer available")]
    ViewGone,
    /// Trie nodes are kept for the newest blocks only; values are kept for all.
    #[error("trie nodes as of block {block} are no longer kept, only those from block {oldest} on")]
    Pruned { block: u64, oldest: u64 },
    /// The store is damaged.
    #[error("no node is stored at {path} of {trie}")]
    NodeMissing { trie: TrieName, path: NodePath },
    /// The store is damaged.
    #[error("the node stored at {path} of {trie} does not have the hash that its parent holds")]
    NodeHash { trie: TrieName, path: NodePath },
    /// The store is damaged.
    #[error("what is stored at {path} of {trie} is not a trie node")]
    NodeMalformed { trie: TrieName, path: NodePath },
}

/// Read access to the state after some step, as execution needs it.
///
/// Object safe, so that layers meet at `&dyn StateReader`. An absent account reads as `None`, an absent slot as zero.
pub trait StateReader: Send + Sync {
    /// The account, `None` if it does not exist.
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError>;
    /// Many accounts, in the order of the addresses. Faster than one at a time where reads can wait together.
    fn accounts(&self, addresses: &[Address]) -> Result<Vec<Option<Account>>, StateError> {
        addresses.iter().map(|address| self.account(address)).collect()
    }
    /// A storage slot's value.
    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError>;
    /// The storage of one account, for reading many of its slots: the account is looked up once.
    fn storage_of(&self, address: &Address) -> Result<Box<dyn StorageReader + '_>, StateError>;
    /// Whether any storage slot of the account is not zero (EIP-7610 asks before a contract is created there).
    fn has_storage(&self, address: &Address) -> Result<bool, StateError>;
    /// Code by its hash, analysed once.
    fn code(&self, hash: &B256) -> Result<Bytecode, StateError>;
}

/// Read access to the storage of one account.
pub trait StorageReader {
    /// A slot's value, zero if it is absent.
    fn slot(&self, slot: &U256) -> Result<U256, StateError>;
}

/// The storage of an account that has none.
pub struct NoStorage;

impl StorageReader for NoStorage {
    fn slot(&self, _: &U256) -> Result<U256, StateError> {
        Ok(U256::ZERO)
    }
}

/// The hashes that the `BLOCKHASH` opcode sees.
pub trait BlockHashes: Send + Sync {
    /// Hash of the ancestor with this number, `None` if it is not known. Only the last 256 are asked for.
    fn block_hash(&self, number: u64) -> Result<Option<B256>, StateError>;
}

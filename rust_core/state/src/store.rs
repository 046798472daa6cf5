//! What a state asks of the store that holds what is not in memory.

use std::{fmt, sync::Arc};

use alloy_primitives::{Address, B256, Bytes, U256};
use foreseal_trie::{LoadError, NodeSource};
use foreseal_types::Account;
use revm_bytecode::Bytecode;

use crate::StateError;

/// The states of stored blocks: flat values and trie nodes, both by version.
///
/// `at` is a block number that the store holds. *As of block `at`* means: the newest version that was written by a block
/// with a number of at most `at`; one that says "gone" reads as absent. A handle belongs to one chain: after an unwind its
/// reads answer [`StateError::ViewGone`], or what it still has in memory of its own chain, and never another chain's values.
///
/// A state asks for values and nodes only below what it knows to be unchanged since `at`. It never asks for slots of a
/// storage that was made anew in memory after `at`, so `slot` may go by the incarnation that the account had as of `at`.
pub trait StateStore: Send + Sync {
    /// The account as of block `at`, `None` if it does not exist then.
    fn account(&self, address: &Address, at: u64) -> Result<Option<Account>, StateError>;

    /// Many accounts as of block `at`, in the order of the addresses.
    fn accounts(&self, addresses: &[Address], at: u64) -> Result<Vec<Option<Account>>, StateError> {
        addresses.iter().map(|address| self.account(address, at)).collect()
    }

    /// The value of a slot as of block `at`: zero if it was never written in the account's incarnation of that block, if
    /// it was deleted, or if there is no such account then.
    fn slot(&self, address: &Address, slot: &U256, at: u64) -> Result<U256, StateError>;

    /// Whether any slot of the account is not zero as of block `at`.
    fn has_storage(&self, address: &Address, at: u64) -> Result<bool, StateError>;

    /// Code by its hash, of whatever block; analysed (see [`analysed`]), so the store does well to keep what is used much.
    /// `None` if it never was stored.
    fn code(&self, hash: &B256) -> Result<Option<Bytecode>, StateError>;

    /// The node of the account trie that hangs at `path` (nibbles, one per byte) as of block `at`, in the form that
    /// [`StateChanges`](crate::StateChanges) had it; `None` if none hangs there.
    ///
    /// # Errors
    /// [`StateError::Pruned`] when nodes as old as that are no longer kept.
    fn account_node(&self, path: &[u8], at: u64) -> Result<Option<Bytes>, StateError>;

    /// Many nodes of the account trie, in the order of the paths, which ascend.
    fn account_nodes(&self, paths: &[&[u8]], at: u64) -> Result<Vec<Option<Bytes>>, StateError> {
        paths.iter().map(|path| self.account_node(path, at)).collect()
    }

    /// As [`StateStore::account_node`], in the storage trie of the account with this hash (keccak-256 of its address).
    fn storage_node(&self, account: &B256, path: &[u8], at: u64) -> Result<Option<Bytes>, StateError>;

    /// Many nodes of one storage trie, in the order of the paths, which ascend.
    fn storage_nodes(
        &self,
        account: &B256,
        paths: &[&[u8]],
        at: u64,
    ) -> Result<Vec<Option<Bytes>>, StateError> {
        paths.iter().map(|path| self.storage_node(account, path, at)).collect()
    }
}

/// Code as execution wants it, its jump destinations found.
///
/// Code that begins like a delegation (EIP-7702) but is none can stand in states from before EIP-3541.
pub fn analysed(code: Bytes) -> Bytecode {
    Bytecode::new_raw_checked(code.clone()).unwrap_or_else(|_| Bytecode::new_legacy(code))
}

/// One of the tries of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrieName {
    Accounts,
    /// The storage of the account with this hash of its address.
    Storage(B256),
}

impl fmt::Display for TrieName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Accounts => f.write_str("the account trie"),
            Self::Storage(account) => write!(f, "the storage trie of account hash {account}"),
        }
    }
}

/// The store below a state, and the block as of which it is read.
#[derive(Clone)]
pub(crate) struct Base {
    pub store: Arc<dyn StateStore>,
    pub at: u64,
}

/// The nodes of one trie of a state. A state without a store has no stubs, so nothing is ever asked for.
#[derive(Clone, Copy)]
pub(crate) struct Nodes<'s> {
    pub base: Option<&'s Base>,
    pub trie: TrieName,
}

impl Nodes<'_> {
    /// Why a node of this trie was not loaded.
    pub fn error(&self, error: LoadError<StateError>) -> StateError {
        let trie = self.trie;
        match error {
            LoadError::Source(error) => error,
            LoadError::Missing { path } => StateError::NodeMissing { trie, path },
            LoadError::Hash { path } => StateError::NodeHash { trie, path },
            LoadError::Malformed { path } => StateError::NodeMalformed { trie, path },
        }
    }
}

impl NodeSource for Nodes<'_> {
    type Error = StateError;

    fn node(&self, path: &[u8]) -> Result<Option<Bytes>, StateError> {
        let Some(Base { store, at }) = self.base else { return Ok(None) };
        match &self.trie {
            TrieName::Accounts => store.account_node(path, *at),
            TrieName::Storage(account) => store.storage_node(account, path, *at),
        }
    }

    fn nodes(&self, paths: &[&[u8]]) -> Result<Vec<Option<Bytes>>, StateError> {
        let Some(Base { store, at }) = self.base else { return Ok(vec![None; paths.len()]) };
        match &self.trie {
            TrieName::Accounts => store.account_nodes(paths, *at),
            TrieName::Storage(account) => store.storage_nodes(account, paths, *at),
        }
    }
}

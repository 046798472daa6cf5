//! Interface to the store that holds the parts of a state that are not in memory.

use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256};
use foreseal_primitives::Account;
use foreseal_trie::{LoadError, NodeSource};
use revm_bytecode::Bytecode;

use crate::{reader::StateError, trie_name::TrieName};

/// States of stored blocks: flat values and trie nodes, both versioned by block.
///
/// `at` is the number of a stored block. *As of block `at`* means the newest version that a block with a
/// number of at most `at` wrote; a version that marks a deletion reads as absent. A handle belongs to one
/// chain. After that chain is unwound, a read returns [`StateError::ViewGone`] or a value of its own chain
/// that is still cached. It never returns a value of another chain.
///
/// A state reads values and nodes only below stubs, which have not changed since `at`. It never reads slots
/// of a storage that was created in memory after `at`. So `slot` may use the incarnation that the account had
/// as of `at`.
pub trait StateStore: Send + Sync {
    /// Returns the account as of block `at`; `None` if it does not exist at that block.
    fn account(&self, address: &Address, at: u64) -> Result<Option<Account>, StateError>;

    /// Returns many accounts as of block `at`, in the order of the addresses.
    fn accounts(&self, addresses: &[Address], at: u64) -> Result<Vec<Option<Account>>, StateError> {
        addresses.iter().map(|address| self.account(address, at)).collect()
    }

    /// Returns the value of a slot as of block `at`. Zero if the slot was never written in the account's
    /// incarnation at that block, if it was deleted, or if the account does not exist.
    fn slot(&self, address: &Address, slot: &U256, at: u64) -> Result<U256, StateError>;

    /// Returns `true` if any slot of the account is not zero as of block `at`.
    fn has_storage(&self, address: &Address, at: u64) -> Result<bool, StateError>;

    /// Returns code by its hash, independent of the block; `None` if it was never stored. The code is
    /// analysed (see [`analyze_code`]), so the store should cache what is used often.
    fn code(&self, hash: &B256) -> Result<Option<Bytecode>, StateError>;

    /// Returns the node of the account trie at `path` (nibbles, one per byte) as of block `at`, encoded as in
    /// [`StateChanges`](crate::StateChanges); `None` if there is no node at that path.
    ///
    /// # Errors
    /// Returns [`StateError::Pruned`] if nodes that old are no longer retained.
    fn account_node(&self, path: &[u8], at: u64) -> Result<Option<Bytes>, StateError>;

    /// Returns many nodes of the account trie, in the order of the paths, which ascend.
    fn account_nodes(&self, paths: &[&[u8]], at: u64) -> Result<Vec<Option<Bytes>>, StateError> {
        paths.iter().map(|path| self.account_node(path, at)).collect()
    }

    /// Does the same as [`StateStore::account_node`] in the storage trie of the account with this hash
    /// (keccak-256 of its address).
    fn storage_node(&self, account: &B256, path: &[u8], at: u64) -> Result<Option<Bytes>, StateError>;

    /// Returns many nodes of one storage trie, in the order of the paths, which ascend.
    fn storage_nodes(
        &self,
        account: &B256,
        paths: &[&[u8]],
        at: u64,
    ) -> Result<Vec<Option<Bytes>>, StateError> {
        paths.iter().map(|path| self.storage_node(account, path, at)).collect()
    }
}

/// Analyses code for execution: finds its jump destinations.
///
/// States from before EIP-3541 may contain code that begins like a delegation (EIP-7702) but is none.
pub fn analyze_code(code: Bytes) -> Bytecode {
    Bytecode::new_raw_checked(code.clone()).unwrap_or_else(|_| Bytecode::new_legacy(code))
}

/// The store below a state, and the block at which it is read.
#[derive(Clone)]
pub(crate) struct BaseBlock {
    pub store: Arc<dyn StateStore>,
    pub number: u64,
}

/// Nodes of one trie of a state. A state without a store has no stubs, so no node is ever requested.
#[derive(Clone, Copy)]
pub(crate) struct StateNodes<'s> {
    pub base: Option<&'s BaseBlock>,
    pub trie: TrieName,
}

impl StateNodes<'_> {
    /// Converts the failure to load a node of this trie.
    pub fn state_error(&self, error: LoadError<StateError>) -> StateError {
        let trie = self.trie;
        match error {
            LoadError::Source(error) => error,
            LoadError::Missing { path } => StateError::NodeMissing { trie, path },
            LoadError::Hash { path } => StateError::NodeHash { trie, path },
            LoadError::Malformed { path } => StateError::NodeMalformed { trie, path },
        }
    }
}

impl NodeSource for StateNodes<'_> {
    type Error = StateError;

    fn node(&self, path: &[u8]) -> Result<Option<Bytes>, StateError> {
        let Some(BaseBlock { store, number: at }) = self.base else { return Ok(None) };
        match &self.trie {
            TrieName::Accounts => store.account_node(path, *at),
            TrieName::Storage(account) => store.storage_node(account, path, *at),
        }
    }

    fn nodes(&self, paths: &[&[u8]]) -> Result<Vec<Option<Bytes>>, StateError> {
        let Some(BaseBlock { store, number: at }) = self.base else { return Ok(vec![None; paths.len()]) };
        match &self.trie {
            TrieName::Accounts => store.account_nodes(paths, *at),
            TrieName::Storage(account) => store.storage_nodes(account, paths, *at),
        }
    }
}

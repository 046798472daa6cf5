//! States that are partly in a store: opening, writing and unloading.

use std::{cmp::Ordering, sync::Arc};

use alloy_primitives::{B256, U256};
use foreseal_primitives::Account;
use foreseal_trie::{NodeChange, NodeChangeKind, NodePath, RequiredKey, Trie, TrieDiff};

use crate::{
    account::{AccountLeaf, SlotValue},
    reader::StateError,
    state::State,
    state_store::{BaseBlock, StateNodes, StateStore},
    trie_name::TrieName,
};

/// Trie nodes in which a state differs from an older one: a store writes them next to the flat values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateChanges {
    /// Nodes of the account trie, in the order of the paths.
    pub accounts: Vec<NodeChange>,
    /// Storage tries that differ, in the order of the accounts' hashes.
    pub storages: Vec<StorageChanges>,
}

/// Nodes in which one storage trie differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorageChanges {
    /// Hash of the account's address.
    pub account: B256,
    /// Nodes in the order of the paths. A deleted storage is one entry: the root, cleared.
    pub nodes: Vec<NodeChange>,
}

/// An account as the leaves of the account trie hold it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashedAccount {
    /// Hash of its address.
    pub hash: B256,
    pub account: Account,
    pub storage_root: B256,
}

impl State {
    /// Returns the state with this root, with nothing in memory: the state after block `at`, which `store`
    /// holds.
    ///
    /// Values are read as of block `at`. Changes and proofs load trie nodes, and check them against the root.
    pub fn from_store(store: Arc<dyn StateStore>, at: u64, root: B256) -> Self {
        let base = Some(BaseBlock { store, number: at });
        Self { accounts: Trie::from_root(root), codes: imbl::HashMap::default(), base }
    }

    /// Returns the block as of which values that are not in memory are read; `None` if everything is in
    /// memory.
    pub fn base_block(&self) -> Option<u64> {
        self.base.as_ref().map(|base| base.number)
    }

    /// Returns the same state, which reads what is not in memory as of block `at` if that is newer than
    /// [`Self::base_block`].
    ///
    /// `at` must be an ancestor of this state or its own block: what is not in memory has not changed since the
    /// base block, so it is the same in both.
    #[must_use]
    pub fn read_at(&self, at: u64) -> Self {
        let mut state = self.clone();
        if let Some(base) = &mut state.base {
            base.number = base.number.max(at);
        }
        state
    }

    /// Returns the trie nodes that this state has and `old` has not, and the removed ones. The first written
    /// state is compared with `State::default()`.
    ///
    /// The cost is proportional to the difference. A stub of `old` that differs is loaded, so callers should
    /// retain the snapshots of the last few blocks until they are written.
    ///
    /// # Errors
    /// Returns an error if a node that must be loaded cannot be.
    pub fn changes_since(&self, old: &Self) -> Result<StateChanges, StateError> {
        let (source, old_source) =
            (self.node_source(TrieName::Accounts), old.node_source(TrieName::Accounts));
        let changes = self.accounts.diff_from(&source, &old.accounts, &old_source, true);
        let TrieDiff { nodes, new_values, old_values } =
            changes.map_err(|error| source.state_error(error))?;
        let mut storages = Vec::new();
        let (mut values, mut former) = (new_values.into_iter().peekable(), old_values.into_iter().peekable());
        loop {
            let order = match (values.peek(), former.peek()) {
                (None, None) => break,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((new, _)), Some((old, _))) => new.cmp(old),
            };
            let new_leaf = if order.is_le() { values.next() } else { None };
            let old_leaf = if order.is_ge() { former.next() } else { None };
            let Some((key, _)) = new_leaf.as_ref().or(old_leaf.as_ref()) else { break };
            let account = B256::from_slice(key.as_slice());
            let storage = |leaf: Option<(_, AccountLeaf)>| {
                leaf.and_then(|(_, leaf)| leaf.storage().cloned()).unwrap_or_default()
            };
            let nodes = self.storage_changes(account, &storage(new_leaf), old, &storage(old_leaf))?;
            if !nodes.is_empty() {
                storages.push(StorageChanges { account, nodes });
            }
        }
        Ok(StateChanges { accounts: nodes, storages })
    }

    fn storage_changes(
        &self,
        account: B256,
        storage: &Trie<SlotValue>,
        old: &Self,
        old_storage: &Trie<SlotValue>,
    ) -> Result<Vec<NodeChange>, StateError> {
        if storage.is_empty() && !old_storage.is_empty() {
            return Ok(vec![NodeChange { path: NodePath::default(), write: NodeChangeKind::Cleared }]);
        }
        let name = TrieName::Storage(account);
        let (source, old_source) = (self.node_source(name), old.node_source(name));
        let changes = storage.diff_from(&source, old_storage, &old_source, false);
        Ok(changes.map_err(|error| source.state_error(error))?.nodes)
    }

    /// Returns the same state with a portion of what has not changed since `old` removed from memory. From
    /// then on, values that are not in memory are read as of block `at`.
    ///
    /// `old` is the state after block `at`, which `store` holds. This state must descend from it. `at` must
    /// not be older than the block as of which this state is read already; otherwise nothing is removed.
    /// `portion` is the first nibble of the hashes of the accounts that are processed, with their storage.
    /// After all portions, in any order, memory holds the changes since block `at` and little else. Each call
    /// may use a newer block.
    #[must_use]
    pub fn evict_unchanged(&self, old: &Self, store: &Arc<dyn StateStore>, at: u64, portion: u8) -> Self {
        if self.base_block().is_some_and(|current| current > at) {
            return self.clone();
        }
        let storage = |new: &AccountLeaf, old: &AccountLeaf| {
            let (new_storage, old_storage) = (new.storage()?, old.storage()?);
            let evicted = new_storage.evict_unchanged(old_storage, None, |_, _| None)?;
            Some(new.with_storage(evicted))
        };
        let accounts = self.accounts.evict_unchanged(&old.accounts, Some(portion), storage);
        let accounts = accounts.unwrap_or_else(|| self.accounts.clone());
        let codes = match portion {
            0 => self.codes.clone().relative_complement(old.codes.clone()),
            _ => self.codes.clone(),
        };
        Self { accounts, codes, base: Some(BaseBlock { store: Arc::clone(store), number: at }) }
    }

    /// Iterates over all accounts in the order of their hashes; checks each node that it loads.
    pub fn iter_accounts(&self) -> impl Iterator<Item = Result<HashedAccount, StateError>> {
        let source = self.node_source(TrieName::Accounts);
        self.accounts.iter(source).map(move |leaf| {
            let (key, leaf) = leaf.map_err(|error| source.state_error(error))?;
            let (hash, storage_root) = (B256::from_slice(key.as_slice()), leaf.storage_root());
            Ok(HashedAccount { hash, account: leaf.account(), storage_root })
        })
    }

    /// Iterates over all slots of the account with this address hash: the hash of each slot and its value, in
    /// the order of the hashes. Checks each node that it loads.
    ///
    /// # Errors
    /// Returns an error if the path to the account cannot be loaded.
    pub fn iter_slots(
        &self,
        account: B256,
    ) -> Result<impl Iterator<Item = Result<(B256, U256), StateError>>, StateError> {
        let accounts = self.load_path(account)?;
        let storage = accounts.get(account.as_slice()).value().and_then(AccountLeaf::storage).cloned();
        let source = self.node_source(TrieName::Storage(account));
        Ok(storage.unwrap_or_default().iter(source).map(move |leaf| {
            let (key, value) = leaf.map_err(|error| source.state_error(error))?;
            Ok((B256::from_slice(key.as_slice()), value.0))
        }))
    }

    /// Returns the account trie with the path to one account in memory.
    pub(crate) fn load_path(&self, account: B256) -> Result<Trie<AccountLeaf>, StateError> {
        let source = self.node_source(TrieName::Accounts);
        let required = RequiredKey { key: account.into(), deleted: false };
        self.accounts.load([required], &source).map_err(|error| source.state_error(error))
    }

    pub(crate) fn node_source(&self, trie: TrieName) -> StateNodes<'_> {
        StateNodes { base: self.base.as_ref(), trie }
    }
}

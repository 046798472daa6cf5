//! A minimal store of versioned states for tests.

use std::{
    collections::BTreeMap,
    fmt::Debug,
    ops::Bound,
    sync::{Mutex, PoisonError},
};

use alloy_primitives::{Address, B256, Bytes, U256};
use foreseal_primitives::{Account, StateDiff};
use foreseal_state::{StateChanges, StateError, StateStore, StorageChanges, TrieName, analyze_code};
use foreseal_trie::{NodeChange, NodeChangeKind, NodePath};
use revm_bytecode::Bytecode;

/// Versions of values by block. A read at a block returns the newest version that is not above it.
type Versions<K, V> = BTreeMap<(K, u64), Option<V>>;

#[derive(Default)]
struct Tables {
    accounts: Versions<Address, Account>,
    /// Number of times that an account's storage was deleted.
    incarnations: Versions<Address, u64>,
    slots: Versions<(Address, u64, U256), U256>,
    codes: BTreeMap<B256, Bytes>,
    account_nodes: Versions<NodePath, Bytes>,
    storage_nodes: Versions<(B256, NodePath), Bytes>,
}

/// A test store that never deletes a version; each block writes one.
#[derive(Default)]
pub struct Double(Mutex<Tables>);

fn newest<K: Ord + Clone, V: Clone>(table: &Versions<K, V>, key: &K, at: u64) -> Option<V> {
    let (_, value) = table.range((key.clone(), 0)..=(key.clone(), at)).next_back()?;
    value.clone()
}

impl Double {
    fn tables<T>(&self, then: impl FnOnce(&mut Tables) -> T) -> T {
        then(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn write(&self, block: u64, diff: &StateDiff, changes: &StateChanges) {
        self.tables(|tables| {
            tables.write_values(block, diff);
            for NodeChange { path, write } in &changes.accounts {
                let below = |key: &NodePath| key.starts_with(path);
                write_node(&mut tables.account_nodes, path.clone(), block, write, below);
            }
            for StorageChanges { account, nodes } in &changes.storages {
                for NodeChange { path, write } in nodes {
                    let below = |key: &(B256, NodePath)| key.0 == *account && key.1.starts_with(path);
                    write_node(&mut tables.storage_nodes, (*account, path.clone()), block, write, below);
                }
            }
        });
    }

    /// Returns the paths of all stored nodes.
    pub fn node_paths(&self) -> Vec<(TrieName, NodePath)> {
        self.tables(|tables| {
            let accounts = tables.account_nodes.keys().map(|(path, _)| (TrieName::Accounts, path.clone()));
            let slots = tables.storage_nodes.keys();
            let slots = slots.map(|((account, path), _)| (TrieName::Storage(*account), path.clone()));
            accounts.chain(slots).collect()
        })
    }

    /// Changes the node stored at a path, in all versions.
    pub fn spoil(&self, trie: TrieName, path: &NodePath, spoil: impl Fn(&mut Option<Bytes>)) {
        self.tables(|tables| {
            for ((other, _), node) in &mut tables.account_nodes {
                if trie == TrieName::Accounts && other == path {
                    spoil(node);
                }
            }
            for (((account, other), _), node) in &mut tables.storage_nodes {
                if trie == TrieName::Storage(*account) && other == path {
                    spoil(node);
                }
            }
        });
    }
}

fn write_node<K: Ord + Clone + Debug>(
    table: &mut Versions<K, Bytes>,
    key: K,
    block: u64,
    write: &NodeChangeKind,
    below: impl Fn(&K) -> bool,
) {
    match write {
        NodeChangeKind::Stored(node) => {
            table.insert((key, block), Some(node.clone()));
        }
        NodeChangeKind::Removed => {
            assert!(newest(table, &key, block).is_some(), "{key:?} was not there");
            table.insert((key, block), None);
        }
        NodeChangeKind::Cleared => {
            assert!(newest(table, &key, block).is_some(), "{key:?} was not there");
            let keys: Vec<K> = table.keys().map(|(key, _)| key).filter(|key| below(key)).cloned().collect();
            table.extend(keys.into_iter().map(|key| ((key, block), None)));
        }
    }
}

impl Tables {
    fn write_values(&mut self, block: u64, diff: &StateDiff) {
        for changed in &diff.accounts {
            let (address, diff) = (changed.address, &changed.diff);
            let mut incarnation = newest(&self.incarnations, &address, block).unwrap_or(0);
            if diff.wiped || diff.account.is_none() {
                incarnation += 1;
                self.incarnations.insert((address, block), Some(incarnation));
            }
            self.accounts.insert((address, block), diff.account);
            if diff.account.is_some() {
                let slot =
                    |(slot, value): &(U256, U256)| (((address, incarnation, *slot), block), Some(*value));
                self.slots.extend(diff.storage.iter().map(slot));
            }
        }
        self.codes.extend(diff.codes.iter().map(|new| (new.hash, new.code.clone())));
    }

    fn slot(&self, address: &Address, slot: &U256, at: u64) -> U256 {
        let incarnation = newest(&self.incarnations, address, at).unwrap_or(0);
        newest(&self.slots, &(*address, incarnation, *slot), at).unwrap_or_default()
    }
}

impl StateStore for Double {
    fn account(&self, address: &Address, at: u64) -> Result<Option<Account>, StateError> {
        Ok(self.tables(|tables| newest(&tables.accounts, address, at)))
    }

    fn slot(&self, address: &Address, slot: &U256, at: u64) -> Result<U256, StateError> {
        Ok(self.tables(|tables| tables.slot(address, slot, at)))
    }

    fn has_storage(&self, address: &Address, at: u64) -> Result<bool, StateError> {
        Ok(self.tables(|tables| {
            let from = Bound::Included(((*address, 0, U256::ZERO), 0));
            let to = Bound::Included(((*address, u64::MAX, U256::MAX), u64::MAX));
            let slots: Vec<U256> =
                tables.slots.range((from, to)).map(|(((_, _, slot), _), _)| *slot).collect();
            slots.iter().any(|slot| !tables.slot(address, slot, at).is_zero())
        }))
    }

    fn code(&self, hash: &B256) -> Result<Option<Bytecode>, StateError> {
        Ok(self.tables(|tables| tables.codes.get(hash).cloned().map(analyze_code)))
    }

    fn account_node(&self, path: &[u8], at: u64) -> Result<Option<Bytes>, StateError> {
        Ok(self.tables(|tables| newest(&tables.account_nodes, &path.into(), at)))
    }

    fn storage_node(&self, account: &B256, path: &[u8], at: u64) -> Result<Option<Bytes>, StateError> {
        Ok(self.tables(|tables| newest(&tables.storage_nodes, &(*account, path.into()), at)))
    }
}

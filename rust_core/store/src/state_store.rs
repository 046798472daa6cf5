//! The store as the source of states.

use std::hash::Hash;

use alloy_primitives::{Address, B256, Bytes, U256};
use foreseal_primitives::Account;
use foreseal_state::{StateError, StateStore, analyze_code};
use revm_bytecode::Bytecode;

use crate::{
    error::StoreError,
    read_transaction::ReadTransaction,
    reader::Reader,
    state::{Values, Version},
};

impl From<StoreError> for StateError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::ViewGone => Self::ViewGone,
            StoreError::OutsideProofWindow { number, oldest } => Self::Pruned { block: number, oldest },
            other => Self::Store(other.to_string()),
        }
    }
}

impl Reader {
    /// Returns a value as of block `at`: the cached one, or the result of `read`.
    fn recent<K: Eq + Hash, V: Clone>(
        &self,
        values: &Values<K, V>,
        key: K,
        at: u64,
        read: impl FnOnce(&ReadTransaction<'_>) -> Result<Version<V>, StoreError>,
    ) -> Result<V, StateError> {
        if let Some(value) = values.get(&key, self.generation(), at) {
            return Ok(value);
        }
        let (version, progress) = self.read(|read_txn, progress| Ok((read(read_txn)?, *progress)))?;
        let value = version.value.clone();
        values.insert(key, at, &progress, version);
        Ok(value)
    }
}

impl StateStore for Reader {
    fn account(&self, address: &Address, at: u64) -> Result<Option<Account>, StateError> {
        let accounts = &self.store().state_cache().accounts;
        self.recent(accounts, *address, at, |read_txn| read_txn.account_version(address, at))
    }

    fn slot(&self, address: &Address, slot: &U256, at: u64) -> Result<U256, StateError> {
        let slots = &self.store().state_cache().slots;
        self.recent(slots, (*address, *slot), at, |read_txn| read_txn.slot_version(address, slot, at))
    }

    fn has_storage(&self, address: &Address, at: u64) -> Result<bool, StateError> {
        Ok(self.read(|read_txn, _| read_txn.has_storage(address, at))?)
    }

    fn code(&self, hash: &B256) -> Result<Option<Bytecode>, StateError> {
        let recent = self.store().state_cache();
        if let Some(code) = recent.code(hash) {
            return Ok(Some(code));
        }
        let Some(code) = self.read(|read_txn, _| read_txn.code(hash))? else { return Ok(None) };
        let code = analyze_code(code);
        recent.insert_code(*hash, code.clone());
        Ok(Some(code))
    }

    fn account_node(&self, path: &[u8], at: u64) -> Result<Option<Bytes>, StateError> {
        Ok(self.read(|read_txn, progress| {
            progress.check_proofs(at)?;
            read_txn.account_node(path, at)
        })?)
    }

    fn account_nodes(&self, paths: &[&[u8]], at: u64) -> Result<Vec<Option<Bytes>>, StateError> {
        Ok(self.read(|read_txn, progress| {
            progress.check_proofs(at)?;
            paths.iter().map(|path| read_txn.account_node(path, at)).collect()
        })?)
    }

    fn storage_node(&self, account: &B256, path: &[u8], at: u64) -> Result<Option<Bytes>, StateError> {
        Ok(self.read(|read_txn, progress| {
            progress.check_proofs(at)?;
            read_txn.storage_node(account, path, at)
        })?)
    }

    fn storage_nodes(
        &self,
        account: &B256,
        paths: &[&[u8]],
        at: u64,
    ) -> Result<Vec<Option<Bytes>>, StateError> {
        Ok(self.read(|read_txn, progress| {
            progress.check_proofs(at)?;
            paths.iter().map(|path| read_txn.storage_node(account, path, at)).collect()
        })?)
    }
}

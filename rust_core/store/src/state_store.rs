//! The store as the source of states.

use std::hash::Hash;

use alloy_primitives::{Address, B256, Bytes, U256};
use foreseal_primitives::Account;
use foreseal_state::{StateError, StateStore, analyze_code};
use revm_bytecode::Bytecode;

use crate::{
    error::StoreError,
    reader::Reader,
    snapshot::Snapshot,
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
        read: impl FnOnce(&Snapshot<'_>) -> Result<Version<V>, StoreError>,
    ) -> Result<V, StateError> {
        if let Some(value) = values.get(&key, self.generation(), at) {
            return Ok(value);
        }
        let (version, progress) = self.read(|snapshot, progress| Ok((read(snapshot)?, *progress)))?;
        let value = version.value.clone();
        values.insert(key, at, &progress, version);
        Ok(value)
    }
}

impl StateStore for Reader {
    fn account(&self, address: &Address, at: u64) -> Result<Option<Account>, StateError> {
        let accounts = &self.store().state_cache().accounts;
        self.recent(accounts, *address, at, |snapshot| snapshot.account_version(address, at))
    }

    fn slot(&self, address: &Address, slot: &U256, at: u64) -> Result<U256, StateError> {
        let slots = &self.store().state_cache().slots;
        self.recent(slots, (*address, *slot), at, |snapshot| snapshot.slot_version(address, slot, at))
    }

    fn has_storage(&self, address: &Address, at: u64) -> Result<bool, StateError> {
        Ok(self.read(|snapshot, _| snapshot.has_storage(address, at))?)
    }

    fn code(&self, hash: &B256) -> Result<Option<Bytecode>, StateError> {
        let recent = self.store().state_cache();
        if let Some(code) = recent.code(hash) {
            return Ok(Some(code));
        }
        let Some(code) = self.read(|snapshot, _| snapshot.code(hash))? else { return Ok(None) };
        let code = analyze_code(code);
        recent.insert_code(*hash, code.clone());
        Ok(Some(code))
    }

    fn account_node(&self, path: &[u8], at: u64) -> Result<Option<Bytes>, StateError> {
        Ok(self.read(|snapshot, progress| {
            progress.check_proofs(at)?;
            snapshot.account_node(path, at)
        })?)
    }

    fn account_nodes(&self, paths: &[&[u8]], at: u64) -> Result<Vec<Option<Bytes>>, StateError> {
        Ok(self.read(|snapshot, progress| {
            progress.check_proofs(at)?;
            paths.iter().map(|path| snapshot.account_node(path, at)).collect()
        })?)
    }

    fn storage_node(&self, account: &B256, path: &[u8], at: u64) -> Result<Option<Bytes>, StateError> {
        Ok(self.read(|snapshot, progress| {
            progress.check_proofs(at)?;
            snapshot.storage_node(account, path, at)
        })?)
    }

    fn storage_nodes(
        &self,
        account: &B256,
        paths: &[&[u8]],
        at: u64,
    ) -> Result<Vec<Option<Bytes>>, StateError> {
        Ok(self.read(|snapshot, progress| {
            progress.check_proofs(at)?;
            paths.iter().map(|path| snapshot.storage_node(account, path, at)).collect()
        })?)
    }
}

//! States of stored blocks that stay readable after an unwind.

use alloy_primitives::{Address, B256, Bytes, U256};
use foreseal_primitives::Account;
use foreseal_state::{StateError, StateStore};
use foreseal_store::{Reader, Store};
use revm_bytecode::Bytecode;

/// Reader of states from one generation of the store, which ends with the next unwind.
///
/// An unwind leaves everything up to its target block unchanged. So a state at that block or below stays
/// valid, and the chain that continues from there reuses it. A state at a later block is gone.
#[derive(Debug)]
pub(crate) struct States {
    reader: Reader,
}

impl States {
    pub fn new(reader: Reader) -> Self {
        Self { reader }
    }

    fn read<T>(&self, at: u64, read: impl Fn(&Reader) -> Result<T, StateError>) -> Result<T, StateError> {
        let mut answer = read(&self.reader);
        while answer.as_ref().err() == Some(&StateError::ViewGone) {
            // The reader is opened before the unwinds are read, so it covers all unwinds that led to its
            // generation. If a further unwind replaces it, the next iteration finds that unwind.
            let newest = self.newest()?;
            let common = newest.store().common_block_since(self.reader.generation())?;
            if common.is_none_or(|common| at > common) {
                return answer;
            }
            answer = read(&newest);
        }
        answer
    }

    fn newest(&self) -> Result<Reader, StateError> {
        let store: &Store = self.reader.store();
        Ok(store.reader()?)
    }
}

impl StateStore for States {
    fn account(&self, address: &Address, at: u64) -> Result<Option<Account>, StateError> {
        self.read(at, |reader| reader.account(address, at))
    }

    fn accounts(&self, addresses: &[Address], at: u64) -> Result<Vec<Option<Account>>, StateError> {
        self.read(at, |reader| reader.accounts(addresses, at))
    }

    fn slot(&self, address: &Address, slot: &U256, at: u64) -> Result<U256, StateError> {
        self.read(at, |reader| reader.slot(address, slot, at))
    }

    fn has_storage(&self, address: &Address, at: u64) -> Result<bool, StateError> {
        self.read(at, |reader| reader.has_storage(address, at))
    }

    /// Code is addressed by its hash, so any generation that has it returns the right bytes.
    fn code(&self, hash: &B256) -> Result<Option<Bytecode>, StateError> {
        match self.reader.code(hash) {
            Err(StateError::ViewGone) => match self.newest()?.code(hash)? {
                None => Err(StateError::ViewGone),
                code => Ok(code),
            },
            answer => answer,
        }
    }

    fn account_node(&self, path: &[u8], at: u64) -> Result<Option<Bytes>, StateError> {
        self.read(at, |reader| reader.account_node(path, at))
    }

    fn account_nodes(&self, paths: &[&[u8]], at: u64) -> Result<Vec<Option<Bytes>>, StateError> {
        self.read(at, |reader| reader.account_nodes(paths, at))
    }

    fn storage_node(&self, account: &B256, path: &[u8], at: u64) -> Result<Option<Bytes>, StateError> {
        self.read(at, |reader| reader.storage_node(account, path, at))
    }

    fn storage_nodes(
        &self,
        account: &B256,
        paths: &[&[u8]],
        at: u64,
    ) -> Result<Vec<Option<Bytes>>, StateError> {
        self.read(at, |reader| reader.storage_nodes(account, paths, at))
    }
}

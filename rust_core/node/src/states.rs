//! The states of stored blocks, for chains that outlive an unwind.

use alloy_primitives::{Address, B256, Bytes, U256};
use foreseal_state::{StateError, StateStore};
use foreseal_store::{Reader, Store};
use foreseal_types::Account;
use revm_bytecode::Bytecode;

/// Reads states as the generation has them that it was made in.
///
/// What was written up to the block of an unwind is the same before and after it. So a state that is read as of such a block
/// stays right, and the chain that goes on from there keeps it; one as of a later block is gone.
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
            // Before the unwinds are looked at: all that led to this generation are known by then. Overtaken once more, it
            // is gone too, and there is another unwind to look at.
            let newest = self.newest()?;
            let common = newest.store().common_since(self.reader.generation())?;
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

    /// Code is named by what it is: any generation that has it is right.
    fn code(&self, hash: &B256) -> Result<Option<Bytecode>, StateError> {
        match self.reader.code(hash) {
            Err(StateError::ViewGone) => match self.newest()?.code(hash)? {
                None => Err(StateError::ViewGone),
                found => Ok(found),
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

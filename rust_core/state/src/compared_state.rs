//! A state that notes if another state has a different value for anything that was read.

use std::sync::atomic::{AtomicBool, Ordering};

use alloy_primitives::{Address, B256, U256};
use foreseal_primitives::Account;
use revm_bytecode::Bytecode;

use crate::reader::{StateError, StateReader, StorageReader};

/// A state whose reads are compared with those of another one, until the first difference.
pub struct ComparedState<'a> {
    state: &'a dyn StateReader,
    other: &'a dyn StateReader,
    differs: AtomicBool,
}

impl<'a> ComparedState<'a> {
    /// Returns `state`, compared with `other`.
    pub fn new(state: &'a dyn StateReader, other: &'a dyn StateReader) -> Self {
        Self { state, other, differs: AtomicBool::new(false) }
    }

    /// Returns `true` if `other` has another value for anything that was read.
    pub fn differs(&self) -> bool {
        self.differs.load(Ordering::Relaxed)
    }

    /// Returns what `read` finds in the state, after comparing it with the other one.
    fn compare<T: PartialEq>(
        &self,
        read: impl Fn(&dyn StateReader) -> Result<T, StateError>,
    ) -> Result<T, StateError> {
        let value = read(self.state)?;
        if !self.differs() && read(self.other)? != value {
            self.differs.store(true, Ordering::Relaxed);
        }
        Ok(value)
    }
}

impl StateReader for ComparedState<'_> {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        self.compare(|state| state.account(address))
    }

    fn accounts(&self, addresses: &[Address]) -> Result<Vec<Option<Account>>, StateError> {
        self.compare(|state| state.accounts(addresses))
    }

    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        self.compare(|state| state.storage(address, slot))
    }

    fn account_storage(&self, address: &Address) -> Result<Box<dyn StorageReader + '_>, StateError> {
        Ok(Box::new(ComparedStorage { state: self, address: *address }))
    }

    fn has_storage(&self, address: &Address) -> Result<bool, StateError> {
        self.compare(|state| state.has_storage(address))
    }

    fn code(&self, hash: &B256) -> Result<Bytecode, StateError> {
        self.state.code(hash)
    }
}

/// Storage of one account of a [`ComparedState`].
struct ComparedStorage<'a> {
    state: &'a ComparedState<'a>,
    address: Address,
}

impl StorageReader for ComparedStorage<'_> {
    fn slot(&self, slot: &U256) -> Result<U256, StateError> {
        self.state.storage(&self.address, slot)
    }
}

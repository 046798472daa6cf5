//! A state with a diff on top; only the values read cost time.

use alloy_primitives::{
    Address, B256, U256,
    map::{AddressMap, B256Map},
};
use foreseal_primitives::{Account, StateDiff};
use foreseal_state::{NoStorage, StateError, StateReader, StorageReader, analyze_code};
use revm::{bytecode::Bytecode, primitives::U256Map};

/// An account of the overlay.
#[derive(Debug)]
struct OverriddenAccount {
    account: Option<Account>,
    /// `true` if the storage of the underlying state is hidden.
    wiped: bool,
    slots: U256Map<U256>,
}

impl OverriddenAccount {
    fn hides_storage(&self) -> bool {
        self.wiped || self.account.is_none()
    }
}

/// A view of `below` after a diff. It computes no root and loads no trie.
pub struct StateOverlay<'a> {
    below: &'a dyn StateReader,
    accounts: AddressMap<OverriddenAccount>,
    codes: B256Map<Bytecode>,
}

impl<'a> StateOverlay<'a> {
    /// Creates an overlay of `diff` on top of `below`.
    pub fn new(below: &'a dyn StateReader, diff: &StateDiff) -> Self {
        let accounts = diff.accounts.iter().map(|changed| {
            let diff = &changed.diff;
            let slots = diff.storage.iter().copied().collect();
            (changed.address, OverriddenAccount { account: diff.account, wiped: diff.wiped, slots })
        });
        let codes = diff.codes.iter().map(|new| (new.hash, analyze_code(new.code.clone())));
        Self { below, accounts: accounts.collect(), codes: codes.collect() }
    }
}

impl StateReader for StateOverlay<'_> {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        match self.accounts.get(address) {
            Some(changed) => Ok(changed.account),
            None => self.below.account(address),
        }
    }

    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        let Some(changed) = self.accounts.get(address) else { return self.below.storage(address, slot) };
        match changed.slots.get(slot) {
            Some(value) => Ok(*value),
            None if changed.hides_storage() => Ok(U256::ZERO),
            None => self.below.storage(address, slot),
        }
    }

    fn account_storage(&self, address: &Address) -> Result<Box<dyn StorageReader + '_>, StateError> {
        let Some(changed) = self.accounts.get(address) else { return self.below.account_storage(address) };
        let below = if changed.hides_storage() {
            Box::new(NoStorage)
        } else {
            self.below.account_storage(address)?
        };
        Ok(Box::new(OverlayStorage { slots: &changed.slots, below }))
    }

    /// May return `true` for an account whose slots are all overwritten with zeros.
    fn has_storage(&self, address: &Address) -> Result<bool, StateError> {
        let Some(changed) = self.accounts.get(address) else { return self.below.has_storage(address) };
        let written = changed.slots.values().any(|value| !value.is_zero());
        Ok(written || (!changed.hides_storage() && self.below.has_storage(address)?))
    }

    fn code(&self, hash: &B256) -> Result<Bytecode, StateError> {
        match self.codes.get(hash) {
            Some(code) => Ok(code.clone()),
            None => self.below.code(hash),
        }
    }
}

struct OverlayStorage<'a> {
    slots: &'a U256Map<U256>,
    below: Box<dyn StorageReader + 'a>,
}

impl StorageReader for OverlayStorage<'_> {
    fn slot(&self, slot: &U256) -> Result<U256, StateError> {
        match self.slots.get(slot) {
            Some(value) => Ok(*value),
            None => self.below.slot(slot),
        }
    }
}

//! Reads of a state: from memory, and below a stub from the store.

use alloy_primitives::{Address, B256, KECCAK256_EMPTY, U256};
use foreseal_keccak::{hash_address, hash_slot, keccak_batch};
use foreseal_primitives::Account;
use foreseal_trie::{Lookup, Trie};
use revm_bytecode::Bytecode;

use crate::{
    account::{AccountLeaf, SlotValue},
    reader::{NoStorage, StateError, StateReader, StorageReader},
    state::State,
    state_store::BaseBlock,
};

impl State {
    fn leaf(&self, address: &Address) -> Lookup<'_, AccountLeaf> {
        self.accounts.get(hash_address(address).as_slice())
    }

    /// Returns the store from which everything below a stub is read.
    fn base(&self) -> &BaseBlock {
        self.base.as_ref().expect("only a state with a store has stubs")
    }
}

impl StateReader for State {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        match self.leaf(address) {
            Lookup::Value(leaf) => Ok(Some(leaf.account())),
            Lookup::Absent => Ok(None),
            Lookup::Stub => {
                let BaseBlock { store, number: at } = self.base();
                store.account(address, *at)
            }
        }
    }

    fn accounts(&self, addresses: &[Address]) -> Result<Vec<Option<Account>>, StateError> {
        let inputs: Vec<&[u8]> = addresses.iter().map(|address| address.as_slice()).collect();
        let mut keys = vec![B256::ZERO; inputs.len()];
        keccak_batch(&inputs, &mut keys);
        let mut stored = Vec::new();
        let mut accounts = Vec::with_capacity(addresses.len());
        for (at, lookup) in self.accounts.get_many(&keys).into_iter().enumerate() {
            accounts.push(match lookup {
                Lookup::Value(leaf) => Some(leaf.account()),
                Lookup::Absent => None,
                Lookup::Stub => {
                    stored.push(at);
                    None
                }
            });
        }
        if !stored.is_empty() {
            let BaseBlock { store, number: at } = self.base();
            let requested: Vec<Address> = stored.iter().map(|at| addresses[*at]).collect();
            for (at, account) in stored.into_iter().zip(store.accounts(&requested, *at)?) {
                accounts[at] = account;
            }
        }
        Ok(accounts)
    }

    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        let storage = match self.leaf(address) {
            Lookup::Value(leaf) => leaf.storage(),
            Lookup::Absent => None,
            Lookup::Stub => {
                let BaseBlock { store, number: at } = self.base();
                return store.slot(address, slot, *at);
            }
        };
        storage.map_or(Ok(U256::ZERO), |storage| self.read(storage, address, slot))
    }

    fn account_storage(&self, address: &Address) -> Result<Box<dyn StorageReader + '_>, StateError> {
        let storage = match self.leaf(address) {
            Lookup::Value(leaf) => leaf.storage(),
            Lookup::Absent => None,
            Lookup::Stub => {
                return Ok(Box::new(StoredStorage { base: self.base(), address: *address }));
            }
        };
        Ok(match storage {
            Some(storage) => Box::new(AccountStorage { state: self, storage, address: *address }),
            None => Box::new(NoStorage),
        })
    }

    fn has_storage(&self, address: &Address) -> Result<bool, StateError> {
        match self.leaf(address) {
            Lookup::Value(leaf) => Ok(leaf.storage().is_some_and(|storage| !storage.is_empty())),
            Lookup::Absent => Ok(false),
            Lookup::Stub => {
                let BaseBlock { store, number: at } = self.base();
                store.has_storage(address, *at)
            }
        }
    }

    fn code(&self, hash: &B256) -> Result<Bytecode, StateError> {
        if *hash == KECCAK256_EMPTY {
            return Ok(Bytecode::default());
        }
        let code = match (self.codes.get(hash), &self.base) {
            (Some(code), _) => Some(code.clone()),
            (None, Some(base)) => base.store.code(hash)?,
            (None, None) => None,
        };
        code.ok_or(StateError::MissingCode(*hash))
    }
}

impl State {
    /// Reads a slot of an account whose leaf is in memory. The storage trie has the value unless the slot is
    /// below a stub; below a stub, nothing has changed since the block at which the store is read.
    fn read(&self, storage: &Trie<SlotValue>, address: &Address, slot: &U256) -> Result<U256, StateError> {
        self.slot_value(storage.get(hash_slot(slot).as_slice()), address, slot)
    }

    /// Returns the value of a slot by its lookup in the storage trie.
    fn slot_value(
        &self,
        lookup: Lookup<'_, SlotValue>,
        address: &Address,
        slot: &U256,
    ) -> Result<U256, StateError> {
        match lookup {
            Lookup::Value(value) => Ok(value.0),
            Lookup::Absent => Ok(U256::ZERO),
            Lookup::Stub => {
                let BaseBlock { store, number: at } = self.base();
                store.slot(address, slot, *at)
            }
        }
    }
}

/// Storage of an account whose leaf is in memory.
struct AccountStorage<'s> {
    state: &'s State,
    storage: &'s Trie<SlotValue>,
    address: Address,
}

impl StorageReader for AccountStorage<'_> {
    fn slot(&self, slot: &U256) -> Result<U256, StateError> {
        self.state.read(self.storage, &self.address, slot)
    }

    fn slots(&self, slots: &[U256]) -> Result<Vec<U256>, StateError> {
        let inputs: Vec<[u8; 32]> = slots.iter().map(U256::to_be_bytes).collect();
        let mut keys = vec![B256::ZERO; slots.len()];
        keccak_batch(&inputs.iter().map(<[u8; 32]>::as_slice).collect::<Vec<_>>(), &mut keys);
        let lookups = self.storage.get_many(&keys).into_iter().zip(slots);
        lookups.map(|(lookup, slot)| self.state.slot_value(lookup, &self.address, slot)).collect()
    }
}

/// Storage of an account that is in the store.
struct StoredStorage<'s> {
    base: &'s BaseBlock,
    address: Address,
}

impl StorageReader for StoredStorage<'_> {
    fn slot(&self, slot: &U256) -> Result<U256, StateError> {
        self.base.store.slot(&self.address, slot, self.base.number)
    }
}

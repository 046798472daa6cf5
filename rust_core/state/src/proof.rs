//! Proofs of accounts and slots (EIP-1186).

use alloy_primitives::{Address, B256, Bytes, U256};
use foreseal_keccak::{hash_address, hash_slot};
use foreseal_primitives::Account;
use foreseal_trie::{EMPTY_ROOT, RequiredKey, Trie};

use crate::{
    account::{AccountLeaf, SlotValue},
    reader::StateError,
    state::State,
    trie_name::TrieName,
};

/// An account with the trie nodes that prove it or its absence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountProof {
    pub address: Address,
    /// `None` if the proof shows absence.
    pub account: Option<Account>,
    pub storage_root: B256,
    /// RLP of the nodes, from the state root downwards.
    pub nodes: Vec<Bytes>,
    pub slots: Vec<SlotProof>,
}

/// A slot with the trie nodes that prove its value under the storage root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotProof {
    pub slot: U256,
    /// Zero if the proof shows absence.
    pub value: U256,
    /// RLP of the nodes, from the storage root downwards.
    pub nodes: Vec<Bytes>,
}

impl State {
    /// Proves an account and some of its slots, present or absent.
    ///
    /// # Errors
    /// Returns an error if a node that must be loaded cannot be: [`StateError::Pruned`] for states older than
    /// the retained ones.
    pub fn prove_account(&self, address: &Address, slots: &[U256]) -> Result<AccountProof, StateError> {
        let key = hash_address(address);
        let accounts = self.load_path(key)?;
        let leaf = accounts.get(key.as_slice()).value();
        let slots = match leaf.and_then(AccountLeaf::storage) {
            Some(storage) => self.prove_slots(key, storage, slots)?,
            None => slots.iter().map(|slot| absent(*slot)).collect(),
        };
        Ok(AccountProof {
            address: *address,
            account: leaf.map(AccountLeaf::account),
            storage_root: leaf.map_or(EMPTY_ROOT, AccountLeaf::storage_root),
            nodes: accounts.prove(key.as_slice()),
            slots,
        })
    }

    fn prove_slots(
        &self,
        account: B256,
        storage: &Trie<SlotValue>,
        slots: &[U256],
    ) -> Result<Vec<SlotProof>, StateError> {
        let source = self.node_source(TrieName::Storage(account));
        let wants = slots.iter().map(|slot| RequiredKey { key: hash_slot(slot).into(), deleted: false });
        let storage = storage.load(wants, &source).map_err(|error| source.state_error(error))?;
        let prove = |slot: &U256| {
            let key = hash_slot(slot);
            let value = storage.get(key.as_slice()).value().map_or(U256::ZERO, |value| value.0);
            SlotProof { slot: *slot, value, nodes: storage.prove(key.as_slice()) }
        };
        Ok(slots.iter().map(prove).collect())
    }
}

/// Returns the proof of absence of a slot in empty storage.
fn absent(slot: U256) -> SlotProof {
    SlotProof { slot, value: U256::ZERO, nodes: Vec::new() }
}

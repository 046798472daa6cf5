//! Proofs of accounts and slots (EIP-1186).

use alloy_primitives::{Address, B256, Bytes, U256};
use foreseal_trie::{EMPTY_ROOT, Trie};
use foreseal_types::{Account, hash_address};

use crate::{
    State,
    account::{AccountLeaf, SlotValue},
    snapshot::hash_slot,
};

/// An account with the trie nodes that prove it, or that there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountProof {
    pub address: Address,
    /// `None` when the proof is one of absence.
    pub account: Option<Account>,
    pub storage_root: B256,
    /// RLP of the nodes from the state root on.
    pub nodes: Vec<Bytes>,
    pub slots: Vec<SlotProof>,
}

/// A slot with the trie nodes that prove its value under the storage root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotProof {
    pub slot: U256,
    /// Zero when the proof is one of absence.
    pub value: U256,
    /// RLP of the nodes from the storage root on.
    pub nodes: Vec<Bytes>,
}

impl State {
    /// Proves an account and some of its slots, present or not.
    pub fn prove_account(&self, address: &Address, slots: &[U256]) -> AccountProof {
        let key = hash_address(address);
        let leaf = self.accounts().get(key.as_slice());
        let storage = leaf.and_then(AccountLeaf::storage);
        AccountProof {
            address: *address,
            account: leaf.map(AccountLeaf::account),
            storage_root: leaf.map_or(EMPTY_ROOT, AccountLeaf::storage_root),
            nodes: self.accounts().prove(key.as_slice()),
            slots: slots.iter().map(|slot| prove_slot(storage, *slot)).collect(),
        }
    }
}

fn prove_slot(storage: Option<&Trie<SlotValue>>, slot: U256) -> SlotProof {
    let key = hash_slot(&slot);
    let value = storage.and_then(|storage| storage.get(key.as_slice())).map_or(U256::ZERO, |value| value.0);
    SlotProof { slot, value, nodes: storage.map(|storage| storage.prove(key.as_slice())).unwrap_or_default() }
}

//! Verification of state roots from the flat values alone.
//!
//! The root is computed over the accounts in hash order, but the table has them in address order. They are
//! sorted in memory, in several passes over the table if they are many. `alloy_trie` computes the root, not
//! the crate that computed the root in the header.

use std::{cmp::Ordering, iter::Peekable, sync::Arc};

use alloy_primitives::{Address, B256, U256};
use alloy_trie::{HashBuilder, Nibbles, TrieAccount};
use foreseal_keccak::{hash_address, keccak};
use foreseal_primitives::Account;
use foreseal_state::{HashedAccount, State, StateError};
use foreseal_trie::EMPTY_ROOT;

use super::{
    PORTION, Verifier, fault,
    report::{Fault, StorePart},
};
use crate::{
    error::StoreError,
    read_transaction::ReadTransaction,
    state::{keys, value},
};

/// Maximum number of accounts, or of slots of one account, that are sorted in memory: about 250 MB.
const SORTED: u64 = 2_000_000;

/// One of several passes, each over a range of the hashes.
#[derive(Clone, Copy)]
struct Pass {
    number: u64,
    of: u64,
}

impl Pass {
    fn has(self, hash: &B256) -> bool {
        let first = u64::from(u16::from_be_bytes([hash[0], hash[1]]));
        first * self.of / (1 << 16) == self.number
    }

    fn all(of: u64) -> impl Iterator<Item = Self> {
        (0..of).map(move |number| Self { number, of })
    }
}

/// An account in the form of its leaf in the state trie, with its address.
#[derive(Clone, Copy)]
struct FlatEntry {
    address: Address,
    leaf: HashedAccount,
}

/// A slot's hash, its number and its value.
type Slot = (B256, U256, U256);

impl Verifier<'_> {
    /// Verifies the state roots of genesis, whose values no list has a checksum of, and of the head.
    pub(super) fn state_roots(&mut self) -> Result<(), StoreError> {
        if self.head > 0 {
            self.state_root(0)?;
            (self.verified.accounts, self.verified.slots) = (0, 0);
        }
        self.state_root(self.head)
    }

    fn state_root(&mut self, at: u64) -> Result<(), StoreError> {
        let accounts = self.reader.store().tables().accounts;
        let stat = self.reader.read(|read_txn, _| accounts.stat(read_txn.txn))?;
        let passes = (stat.entries as u64 / SORTED + 1).min(1 << 16);
        let mut builder = HashBuilder::default();
        for pass in Pass::all(passes) {
            for entry in self.accounts_of(pass, at)? {
                let Account { nonce, balance, code_hash } = entry.leaf.account;
                let leaf = TrieAccount { nonce, balance, storage_root: entry.leaf.storage_root, code_hash };
                builder.add_leaf(Nibbles::unpack(entry.leaf.hash), &alloy_rlp::encode(leaf));
                self.verified.accounts += 1;
            }
        }
        let known = self.reader.read(|read_txn, _| read_txn.existing_record(at));
        let Some((_, record)) = self.sound(known)? else { return Ok(()) };
        let (root, expected) = (builder.root(), record.header.state_root);
        if root != expected {
            let why = format!("the values as of block {at} have the root {root}, its header says {expected}");
            self.fault(fault(&accounts, &[], why));
            if at == self.head {
                self.differences(passes, expected)?;
            }
        }
        Ok(())
    }

    /// Returns the accounts of a pass as of block `at`, with their storage roots, in hash order.
    fn accounts_of(&mut self, pass: Pass, at: u64) -> Result<Vec<FlatEntry>, StoreError> {
        let mut accounts = Vec::new();
        let (table, mut last) = (self.reader.store().tables().accounts, None);
        let each = |_: &ReadTransaction<'_>, key: &[u8], bytes: &[u8], _: &mut Vec<Fault>| {
            let (Some(address), Some(version)) = (key.first_chunk(), keys::version(key)) else {
                return Ok(());
            };
            let address = Address::new(*address);
            // The newest version comes first.
            if version > at || last == Some(address) {
                return Ok(());
            }
            last = Some(address);
            let hash = hash_address(&address);
            if let (true, Ok(Some(account))) = (pass.has(&hash), value::decode_account(bytes)) {
                accounts.push(FlatEntry {
                    address,
                    leaf: HashedAccount { hash, account, storage_root: EMPTY_ROOT },
                });
            }
            Ok(())
        };
        self.walk(&table, PORTION, each, |verifier, done, of| {
            verifier.done(StorePart::StateRoot, pass.number * of + done, pass.of * of)
        })?;
        accounts.sort_unstable_by_key(|entry| entry.leaf.hash);
        for entry in &mut accounts {
            entry.leaf.storage_root = self.storage_root(&entry.address, at)?;
        }
        Ok(accounts)
    }

    fn storage_root(&mut self, address: &Address, at: u64) -> Result<B256, StoreError> {
        let (mut slots, mut count) = self.slots_of(address, Pass { number: 0, of: 1 }, at)?;
        let passes = (count / SORTED + 1).min(1 << 16);
        let mut builder = HashBuilder::default();
        for pass in Pass::all(passes) {
            if passes > 1 {
                (slots, count) = self.slots_of(address, pass, at)?;
            }
            for (hash, _, value) in slots.drain(..) {
                builder.add_leaf(Nibbles::unpack(hash), &alloy_rlp::encode(value));
            }
            self.verified.slots += count;
        }
        Ok(builder.root())
    }

    /// Returns the slots of a pass as of block `at` in hash order, up to
    /// [`SORTED`] of them, and their total number.
    fn slots_of(&mut self, address: &Address, pass: Pass, at: u64) -> Result<(Vec<Slot>, u64), StoreError> {
        let (mut slots, mut count, mut behind) = (Vec::new(), 0, None);
        loop {
            let reader = self.reader.clone();
            let read = reader.read(|read_txn, _| {
                let incarnation = read_txn.incarnation(address, at)?;
                for _ in 0..PORTION {
                    let Some((slot, value)) = read_txn.next_slot(address, incarnation, behind, at)? else {
                        return Ok(true);
                    };
                    behind = Some(slot);
                    let hash = keccak(&slot.to_be_bytes::<32>());
                    if pass.has(&hash) {
                        count += 1;
                        if count <= SORTED {
                            slots.push((hash, slot, value));
                        }
                    }
                }
                Ok(false)
            });
            // Damaged entries are recorded as faults already.
            if !matches!(read, Err(StoreError::Damaged { .. })) && !read? {
                continue;
            }
            slots.sort_unstable_by_key(|(hash, ..)| *hash);
            return Ok((slots, count));
        }
    }

    /// Records the differences from the trie, as far as it can be read.
    fn differences(&mut self, passes: u64, root: B256) -> Result<(), StoreError> {
        let at = self.head;
        let stored = State::from_store(Arc::new(self.reader.clone()), self.head, root);
        let mut leaves = stored.iter_accounts().peekable();
        for pass in Pass::all(passes) {
            for entry in self.accounts_of(pass, at)? {
                let Some(leaf) = self.leaf_of(&mut leaves, Some(&entry.leaf.hash))? else { continue };
                if leaf.account != entry.leaf.account {
                    let table = self.reader.store().tables().accounts;
                    self.fault(fault(&table, entry.address.as_slice(), "the trie has another account"));
                }
                if leaf.storage_root != entry.leaf.storage_root {
                    self.slot_differences(&stored, &entry)?;
                }
            }
        }
        self.leaf_of(&mut leaves, None).map(|_| ())
    }

    /// Returns the leaf with this hash. Records a fault for each leaf before it,
    /// which has no account, and for a missing leaf.
    fn leaf_of(
        &mut self,
        leaves: &mut Peekable<impl Iterator<Item = Result<HashedAccount, StateError>>>,
        hash: Option<&B256>,
    ) -> Result<Option<HashedAccount>, StoreError> {
        let table = self.reader.store().tables().accounts;
        loop {
            // Damaged nodes end the comparison; they are recorded as separate faults.
            let order = match (leaves.peek(), hash) {
                (Some(Err(StateError::ViewGone)), _) => return Err(StoreError::ViewGone),
                (Some(Err(_)), _) | (None, None) => return Ok(None),
                (Some(Ok(leaf)), Some(hash)) => leaf.hash.cmp(hash),
                (Some(Ok(_)), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
            };
            match order {
                Ordering::Equal => return Ok(leaves.next().and_then(Result::ok)),
                Ordering::Less => {
                    if let Some(Ok(leaf)) = leaves.next() {
                        let why =
                            format!("the trie has an account with the hash {}, the table none", leaf.hash);
                        self.fault(fault(&table, &[], why));
                    }
                }
                Ordering::Greater => {
                    let hash = hash.map_or(&[][..], |hash| hash.as_slice());
                    self.fault(fault(&table, hash, "the trie has no account with this hash"));
                    return Ok(None);
                }
            }
        }
    }

    fn slot_differences(&mut self, stored: &State, entry: &FlatEntry) -> Result<(), StoreError> {
        let (table, head) = (self.reader.store().tables().slots, self.head);
        let incarnation = self.reader.read(|read_txn, _| read_txn.incarnation(&entry.address, head))?;
        let storage = keys::storage(&entry.address, incarnation);
        self.fault(fault(&table, &storage, "the slots do not have the storage root of the account's leaf"));
        let (slots, _) = self.slots_of(&entry.address, Pass { number: 0, of: 1 }, head)?;
        let slots: Vec<U256> = slots.into_iter().map(|(_, slot, _)| slot).collect();
        let Ok(proof) = stored.prove_account(&entry.address, &slots) else { return Ok(()) };
        for proved in proof.slots {
            let value = self.reader.read(|read_txn, _| read_txn.slot(&entry.address, &proved.slot, head));
            if self.sound(value)?.is_some_and(|value| value != proved.value) {
                let key = keys::slot(&entry.address, incarnation, &proved.slot, head);
                self.fault(fault(&table, &key[..56], "the trie has another value"));
            }
        }
        Ok(())
    }
}

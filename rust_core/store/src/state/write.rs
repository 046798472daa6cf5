//! Writing the state changes of blocks.

use std::collections::{HashMap, HashSet};

use alloy_primitives::{Address, B256};
use foreseal_primitives::{ChangedAccount, StateDiff};
use heed::RwTxn;

use super::{
    changes::{AccountKeys, StateKeys},
    keys, value,
};
use crate::{
    chunks, error::StoreError, read_transaction::ReadTransaction, table::Tables, write_batch::WriteBatch,
};

/// State versions that the blocks of one write create.
#[derive(Default)]
pub(crate) struct StateWrites {
    accounts: WriteBatch,
    incarnations: WriteBatch,
    slots: WriteBatch,
    codes: WriteBatch,
    /// New incarnations of this write.
    renewed: HashMap<Address, u32>,
    /// Storages to which this write adds slots.
    written: HashSet<(Address, u32)>,
    /// New codes of this write.
    new_codes: HashSet<B256>,
}

impl StateWrites {
    /// Adds the changes of a block.
    pub fn add(
        &mut self,
        txn: &mut RwTxn<'_>,
        tables: &Tables,
        number: u64,
        diff: &StateDiff,
    ) -> Result<(), StoreError> {
        let read_txn = ReadTransaction::new(txn, tables);
        let mut keys = StateKeys::default();
        for changed in &diff.accounts {
            let account = self.add_account(&read_txn, number, changed, &mut keys.checksum)?;
            keys.accounts.push(account);
        }
        for new in &diff.codes {
            let stored = tables.codes.get(read_txn.txn, new.hash.as_slice())?.is_some();
            if !stored && self.new_codes.insert(new.hash) {
                self.codes.push(new.hash.as_slice(), &new.code);
                keys.codes.push(new.hash);
            }
        }
        if number == 0 {
            // Genesis is never unwound; its list may be long.
            return Ok(());
        }
        chunks::append(txn, &tables.state_changes, number, &alloy_rlp::encode(&keys))
    }

    fn add_account(
        &mut self,
        read_txn: &ReadTransaction<'_>,
        number: u64,
        ChangedAccount { address, diff }: &ChangedAccount,
        checksum: &mut u32,
    ) -> Result<AccountKeys, StoreError> {
        let emptied = diff.wiped || diff.account.is_none();
        let mut incarnation = match self.renewed.get(address) {
            Some(incarnation) => *incarnation,
            None => read_txn.incarnation(address, u64::MAX)?,
        };
        // An account that never had storage keeps its incarnation: most
        // accounts that are created over have none.
        let renewed = emptied && self.has_slots(read_txn, address, incarnation)?;
        if renewed {
            incarnation = incarnation.checked_add(1).expect("a block renews an account once");
            self.renewed.insert(*address, incarnation);
            self.incarnations.push(&keys::account(address, number), &incarnation.to_be_bytes());
        }
        let account = value::encode_account(diff.account.as_ref());
        *checksum = crc32c::crc32c_append(*checksum, &account);
        self.accounts.push(&keys::account(address, number), &account);
        let mut slots = Vec::new();
        if diff.account.is_some() && !diff.storage.is_empty() {
            self.written.insert((*address, incarnation));
            for (slot, value) in &diff.storage {
                let value = value::encode_slot(value);
                *checksum = crc32c::crc32c_append(*checksum, &value);
                self.slots.push(&keys::slot(address, incarnation, slot, number), &value);
                slots.push(*slot);
            }
        }
        Ok(AccountKeys { address: *address, incarnation, renewed, slots })
    }

    /// Returns `true` if any slot of a storage was ever written.
    fn has_slots(
        &self,
        read_txn: &ReadTransaction<'_>,
        address: &Address,
        incarnation: u32,
    ) -> Result<bool, StoreError> {
        let prefix = keys::storage(address, incarnation);
        let stored = || read_txn.tables.slots.prefix(read_txn.txn, &prefix)?.next().transpose();
        Ok(self.written.contains(&(*address, incarnation)) || stored()?.is_some())
    }

    /// Writes the added versions.
    pub fn write(self, txn: &mut RwTxn<'_>, tables: &Tables) -> Result<(), StoreError> {
        self.accounts.write(txn, &tables.accounts)?;
        self.incarnations.write(txn, &tables.incarnations)?;
        self.slots.write(txn, &tables.slots)?;
        self.codes.write(txn, &tables.codes)
    }
}

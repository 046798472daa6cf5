//! Transactions: sender and EIP-2718 bytes, each under its own key.

use std::sync::Arc;

use alloy_primitives::{Address, B256};
use foreseal_primitives::Transaction;
use rayon::prelude::*;

use crate::{
    error::StoreError,
    key,
    read_transaction::ReadTransaction,
    table::{Entry, Table},
};

/// Number of transactions from which on they are decoded on all cores.
const PARALLEL: usize = 64;

pub(super) fn encode(transaction: &Transaction) -> Vec<u8> {
    [transaction.sender().as_slice(), transaction.encoded()].concat()
}

fn decode(table: &Table, key: &[u8], bytes: &[u8]) -> Result<Arc<Transaction>, StoreError> {
    let damaged = |why| table.damaged(key, why);
    let (sender, encoded) = bytes.split_first_chunk().ok_or_else(|| damaged("it is too short"))?;
    let envelope =
        Transaction::decode_envelope(encoded).map_err(|_| damaged("the transaction does not decode"))?;
    Ok(Arc::new(Transaction::new(envelope, Address::new(*sender))))
}

impl ReadTransaction<'_> {
    /// Returns the block number and the index of the transaction with this hash.
    pub fn transaction_position(&self, hash: &B256) -> Result<Option<(u64, u32)>, StoreError> {
        let table = &self.tables.transaction_hashes;
        let value = table.get(self.txn, hash.as_slice())?;
        value.map(|bytes| key::decode_position(table, hash.as_slice(), bytes)).transpose()
    }

    /// Returns one transaction of a block.
    pub fn transaction(&self, number: u64, index: u32) -> Result<Option<Arc<Transaction>>, StoreError> {
        let (table, key) = (&self.tables.transactions, key::block_item(number, index));
        table.get(self.txn, &key)?.map(|bytes| decode(table, &key, bytes)).transpose()
    }

    /// Returns the `count` transactions of a block.
    pub fn transactions(&self, number: u64, count: u32) -> Result<Vec<Arc<Transaction>>, StoreError> {
        let table = &self.tables.transactions;
        let stored = self.list(table, number, count)?;
        if stored.len() < PARALLEL {
            return stored.into_iter().map(|(key, bytes)| decode(table, key, bytes)).collect();
        }
        stored.into_par_iter().map(|(key, bytes)| decode(table, key, bytes)).collect()
    }

    /// Returns a block's entries in a table keyed by block number and index; there must be exactly `count`.
    pub fn list(&self, table: &Table, number: u64, count: u32) -> Result<Vec<Entry<'_>>, StoreError> {
        // No capacity is reserved for `count`: a damaged count could request any amount of memory.
        let mut entries = Vec::new();
        for (index, entry) in (0..=count).zip(table.prefix(self.txn, &key::number(number))?) {
            let (key, bytes) = entry?;
            if index == count {
                return Err(table.damaged(key, "the block has fewer entries than are stored"));
            }
            if *key != key::block_item(number, index) {
                return Err(table.damaged(&key::block_item(number, index), "it is missing"));
            }
            entries.push((key, bytes));
        }
        match u32::try_from(entries.len()) {
            Ok(length) if length < count => {
                Err(table.damaged(&key::block_item(number, length), "it is missing"))
            }
            _ => Ok(entries),
        }
    }
}

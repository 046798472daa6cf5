//! Verification of the blocks, one after the other.

use std::sync::Arc;

use alloy_consensus::proofs::calculate_ommers_root;
use alloy_primitives::{B256, Bloom, Bytes, U256};
use foreseal_keccak::logs_bloom;
use foreseal_primitives::{Receipt, Transaction, length_in_block};
use foreseal_trie::ordered_trie_root;
use rayon::prelude::*;

use super::{
    Verifier, fault, readable,
    report::{Fault, StorePart},
    sound,
};
use crate::{
    block::BlockRecord, error::StoreError, key, meta::Progress, read_transaction::ReadTransaction,
    table::Table,
};

/// Number of blocks between two reports.
const REPORTED: u64 = 64;

/// Values of the preceding blocks that the next block must continue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ChainTotals {
    parent: B256,
    pub transactions: u64,
    pub logs: u64,
    pub steps: u64,
    pub bodies: u64,
    difficulty: U256,
}

impl Verifier<'_> {
    pub(super) fn blocks(&mut self) -> Result<(), StoreError> {
        let (mut number, mut sums) = (0, ChainTotals::default());
        loop {
            while number <= self.head {
                let reader = self.reader.clone();
                let withdrawals_in_state = self.withdrawals_in_state;
                let (faults, after) = reader.read(|read_txn, progress| {
                    let (read_txn, faults) = (*read_txn, Vec::new());
                    let mut check = BlockCheck { read_txn, number, withdrawals_in_state, faults };
                    let after = check.run(progress, sums)?;
                    Ok((check.faults, after))
                })?;
                self.faults(faults);
                sums = after;
                number += 1;
                if number % REPORTED == 0 || number > self.head {
                    self.done(StorePart::Blocks, number, self.head + 1)?;
                }
            }
            // A node may have written blocks meanwhile, but the counts are of one
            // moment: newer blocks are verified first.
            if self.counts(&sums)? {
                break;
            }
        }
        (self.verified.transactions, self.verified.logs) = (sums.transactions, sums.logs);
        Ok(())
    }
}

/// Check of one block in one transaction.
struct BlockCheck<'s> {
    read_txn: ReadTransaction<'s>,
    number: u64,
    withdrawals_in_state: bool,
    faults: Vec<Fault>,
}

impl BlockCheck<'_> {
    fn run(&mut self, progress: &Progress, sums: ChainTotals) -> Result<ChainTotals, StoreError> {
        let record = self.read_txn.existing_record(self.number);
        let Some((hash, record)) = sound(&mut self.faults, record)? else { return Ok(sums) };
        self.header(&hash, &record, &sums);
        self.by_hash(&hash)?;
        self.body(&record)?;
        let transactions = self.read_txn.transactions(self.number, record.transactions);
        if let Some(transactions) = sound(&mut self.faults, transactions)? {
            self.transactions(&transactions, &record)?;
        }
        let receipts = self.read_txn.receipts(self.number, &record);
        if let Some(receipts) = sound(&mut self.faults, receipts)? {
            self.receipts(&receipts, &record)?;
        }
        let in_window = self.number >= progress.steps_from;
        self.steps(&hash, &record, in_window)?;
        let body = self.read_txn.tables.bodies.get(self.read_txn.txn, &key::number(self.number))?;
        Ok(ChainTotals {
            parent: hash,
            transactions: sums.transactions + u64::from(record.transactions),
            logs: record.first_log.saturating_add(record.logs),
            steps: sums.steps + u64::from(record.steps),
            bodies: sums.bodies + u64::from(body.is_some()),
            difficulty: record.total_difficulty,
        })
    }

    /// Records a fault of the block unless `sound`.
    fn expect(&mut self, sound: bool, why: &str) {
        if !sound {
            let headers = &self.read_txn.tables.headers;
            self.faults.push(fault(headers, &key::number(self.number), why));
        }
    }

    /// Same as [`Self::expect`], for an entry of a table keyed by block number and index.
    fn expect_item(&mut self, sound: bool, table: &Table, index: u32, why: &str) {
        if !sound {
            self.faults.push(fault(table, &key::block_item(self.number, index), why));
        }
    }

    fn header(&mut self, hash: &B256, record: &BlockRecord, sums: &ChainTotals) {
        let header = &record.header;
        self.expect(header.hash_slow() == *hash, "the hash is not that of the header");
        self.expect(header.number == self.number, "the header has another number");
        self.expect(
            header.parent_hash == sums.parent || self.number == 0,
            "the parent is not the block before",
        );
        self.expect(record.first_log == sums.logs, "the ordinal of the first log does not follow");
        let difficulty = sums.difficulty.saturating_add(header.difficulty);
        self.expect(record.total_difficulty == difficulty, "the total difficulty is not the sum");
    }

    fn by_hash(&mut self, hash: &B256) -> Result<(), StoreError> {
        let number = self.read_txn.number_of(hash);
        if let Some(number) = sound(&mut self.faults, number)?
            && number != Some(self.number)
        {
            let table = &self.read_txn.tables.block_hashes;
            self.faults.push(fault(table, hash.as_slice(), "it does not name the block with this hash"));
        }
        Ok(())
    }

    fn body(&mut self, record: &BlockRecord) -> Result<(), StoreError> {
        let header = &record.header;
        let body = self.read_txn.body(header);
        let Some((uncles, withdrawals)) = sound(&mut self.faults, body)? else { return Ok(()) };
        self.expect(
            calculate_ommers_root(&uncles) == header.ommers_hash,
            "the uncles do not have their hash",
        );
        let encoded =
            |list: &[_]| list.iter().map(|one| Bytes::from(alloy_rlp::encode(one))).collect::<Vec<_>>();
        if self.withdrawals_in_state {
            let is_empty = withdrawals.is_some_and(|list| list.is_empty());
            self.expect(
                is_empty && header.withdrawals_root.is_some(),
                "a block of an OP chain lists withdrawals",
            );
        } else {
            let root = withdrawals.map(|list| ordered_trie_root(encoded(&list)));
            self.expect(root == header.withdrawals_root, "the withdrawals do not have their root");
        }
        Ok(())
    }

    fn transactions(&mut self, list: &[Arc<Transaction>], record: &BlockRecord) -> Result<(), StoreError> {
        let root = ordered_trie_root(list.iter().map(|transaction| transaction.encoded().clone()));
        self.expect(root == record.header.transactions_root, "the transactions do not have their root");
        let length: usize = list.iter().map(|transaction| length_in_block(transaction)).sum();
        self.expect(length as u64 == record.transactions_length, "the transactions do not have their length");
        let signed = |transaction: &Arc<Transaction>| {
            let recovered = Transaction::trusted(transaction.envelope().clone());
            recovered.is_ok_and(|recovered| recovered.sender() == transaction.sender())
        };
        let signed: Vec<bool> = list.par_iter().map(signed).collect();
        let tables = self.read_txn.tables;
        for ((index, transaction), signed) in (0..).zip(list).zip(signed) {
            self.expect_item(signed, &tables.transactions, index, "the sender did not sign it");
            let position = self.read_txn.transaction_position(&transaction.hash());
            if let Some(position) = sound(&mut self.faults, position)?
                && position != Some((self.number, index))
            {
                let (table, hash) = (&tables.transaction_hashes, transaction.hash());
                self.faults.push(fault(
                    table,
                    hash.as_slice(),
                    "it does not name the transaction with this hash",
                ));
            }
        }
        Ok(())
    }

    fn receipts(&mut self, list: &[Arc<Receipt>], record: &BlockRecord) -> Result<(), StoreError> {
        let header = &record.header;
        let encoded = |receipt: &Arc<Receipt>| {
            let mut out = Vec::new();
            receipt.encode_2718(&mut out);
            Bytes::from(out)
        };
        let root = ordered_trie_root(list.iter().map(encoded));
        self.expect(root == header.receipts_root, "the receipts do not have their root");
        let bloom = list.iter().fold(Bloom::ZERO, |bloom, receipt| bloom | receipt.bloom);
        self.expect(bloom == header.logs_bloom, "the receipts do not have the header's bloom");
        let used = list.last().map_or(0, |receipt| receipt.cumulative_gas_used);
        self.expect(used == header.gas_used, "the receipts do not use the header's gas");
        let stored = self.read_txn.logs(record.first_log, record.logs).map(Some);
        let stored = readable(stored)?.unwrap_or_default();
        let mut places = stored.iter().map(|log| (log.number, log.transaction));
        let (mut gas, mut logs) = (0, 0);
        let tables = self.read_txn.tables;
        for (index, receipt) in (0..).zip(list) {
            let mut expect = |sound, why| self.expect_item(sound, &tables.receipts, index, why);
            expect(logs_bloom(&receipt.logs) == receipt.bloom, "the bloom is not that of the logs");
            expect(receipt.first_log_index == logs, "the index of its first log does not follow");
            expect(
                receipt.cumulative_gas_used.checked_sub(gas) == Some(receipt.gas_used),
                "the gas used is not the difference",
            );
            let own = places.by_ref().take(receipt.logs.len());
            let elsewhere = own.filter(|place| *place != (self.number, index)).count();
            self.expect_item(
                elsewhere == 0,
                &tables.logs,
                index,
                "a log of this transaction names another one",
            );
            (gas, logs) = (receipt.cumulative_gas_used, logs + receipt.logs.len() as u64);
        }
        Ok(())
    }

    fn steps(&mut self, hash: &B256, record: &BlockRecord, in_window: bool) -> Result<(), StoreError> {
        let steps = self.read_txn.steps(self.number, record.steps);
        let Some(steps) = sound(&mut self.faults, steps)? else { return Ok(()) };
        let tables = self.read_txn.tables;
        let mut before = 0;
        for (index, step) in (0..).zip(&steps) {
            let grows = (before..=record.transactions).contains(&step.transactions);
            self.expect_item(grows, &tables.steps, index, "it does not follow the previous step");
            before = step.transactions;
            let position = self.read_txn.step_position(&step.hash);
            let expected = in_window.then_some((self.number, index));
            if let Some(position) = sound(&mut self.faults, position)?
                && position != expected
            {
                let table = &tables.step_hashes;
                self.faults.push(fault(
                    table,
                    step.hash.as_slice(),
                    "it does not name the step with this hash",
                ));
            }
        }
        if let Some(last) = steps.last() {
            let seals = last.hash == *hash && last.transactions == record.transactions;
            self.expect(seals, "the last step is not the block");
        }
        Ok(())
    }
}

//! Writing a block and its index entries.

use alloy_primitives::U256;
use foreseal_primitives::Block;
use heed::RwTxn;

use super::{
    body, log,
    receipt::StoredReceipt,
    record::{self, BlockRecord},
    sealed::SealedBlock,
    step::StoredStep,
    transaction,
};
use crate::{
    error::StoreError,
    key,
    log_index::IndexAdditions,
    meta::{Progress, StoredHead},
    read_transaction::ReadTransaction,
    table::Tables,
    write_batch::WriteBatch,
};

/// Index entries for the blocks of one write.
#[derive(Default)]
pub(crate) struct Indexes {
    pub(super) blocks: WriteBatch,
    pub(super) transactions: WriteBatch,
    pub(super) steps: WriteBatch,
    pub(super) logs: IndexAdditions,
}

impl Indexes {
    pub fn write(self, txn: &mut RwTxn<'_>, tables: &Tables) -> Result<(), StoreError> {
        self.blocks.write(txn, &tables.block_hashes)?;
        self.transactions.write(txn, &tables.transaction_hashes)?;
        self.steps.write(txn, &tables.step_hashes)?;
        Ok(self.logs.write(&tables.log_index(), txn)?)
    }
}

/// Appends a block after the newest one and advances `progress`.
pub(crate) fn append(
    txn: &mut RwTxn<'_>,
    tables: &Tables,
    progress: &mut Progress,
    sealed: &SealedBlock,
    indexes: &mut Indexes,
) -> Result<(), StoreError> {
    let SealedBlock { block, steps, journal_sequence, .. } = sealed;
    let number = block.header.number;
    let before = match number.checked_sub(1) {
        Some(parent) => ReadTransaction::new(txn, tables).existing_record(parent)?.1.total_difficulty,
        None => U256::ZERO,
    };
    let first_log = progress.logs;
    indexes.blocks.push(block.hash.as_slice(), &key::number(number));
    if let Some(body) = body::encode(block) {
        tables.bodies.append(txn, &key::number(number), &body)?;
    }
    for (transaction, key) in block.transactions.iter().zip(item_keys(number)) {
        tables.transactions.append(txn, &key, &transaction::encode(transaction))?;
        indexes.transactions.push(transaction.hash().as_slice(), &key);
    }
    append_receipts(txn, tables, progress, block, indexes)?;
    append_steps(txn, tables, number, steps, indexes)?;
    let record = BlockRecord {
        header: block.header.clone(),
        transactions: key::index(block.transactions.len()),
        transactions_length: block.transactions_length as u64,
        steps: key::index(steps.len()),
        first_log,
        logs: progress.logs - first_log,
        total_difficulty: before.saturating_add(block.header.difficulty),
    };
    tables.headers.append(txn, &key::number(number), &record::encode(&block.hash, &record))?;
    progress.head = Some(StoredHead { number, hash: block.hash });
    progress.journal_sequence = *journal_sequence;
    Ok(())
}

fn item_keys(number: u64) -> impl Iterator<Item = key::BlockItemKey> {
    (0..).map(move |index| key::block_item(number, index))
}

fn append_receipts(
    txn: &mut RwTxn<'_>,
    tables: &Tables,
    progress: &mut Progress,
    block: &Block,
    indexes: &mut Indexes,
) -> Result<(), StoreError> {
    let number = block.header.number;
    let mut bytes = Vec::new();
    for (index, receipt) in (0..).zip(&block.receipts) {
        tables.receipts.append(
            txn,
            &key::block_item(number, index),
            &StoredReceipt::new(receipt).encode(),
        )?;
        for log in &receipt.logs {
            bytes.clear();
            log::encode(number, index, log, &mut bytes);
            tables.logs.append(txn, &key::number(progress.logs), &bytes)?;
            indexes.logs.add(progress.logs, log);
            progress.logs += 1;
        }
    }
    Ok(())
}

fn append_steps(
    txn: &mut RwTxn<'_>,
    tables: &Tables,
    number: u64,
    steps: &[StoredStep],
    indexes: &mut Indexes,
) -> Result<(), StoreError> {
    for (step, key) in steps.iter().zip(item_keys(number)) {
        tables.steps.append(txn, &key, &step.encode())?;
        indexes.steps.push(step.hash.as_slice(), &key);
    }
    Ok(())
}

/// Removes the step hashes of blocks that left the window.
pub(crate) fn prune_steps(
    txn: &mut RwTxn<'_>,
    tables: &Tables,
    progress: &mut Progress,
    window: u64,
) -> Result<(), StoreError> {
    let next = progress.head.map_or(0, |head| head.number + 1);
    while progress.steps_from + window < next {
        let number = progress.steps_from;
        let read_txn = ReadTransaction::new(txn, tables);
        let count = read_txn.existing_record(number)?.1.steps;
        for step in read_txn.steps(number, count)? {
            tables.step_hashes.delete(txn, step.hash.as_slice())?;
        }
        progress.steps_from += 1;
    }
    Ok(())
}

//! Execution of an append that another process made.

use std::sync::Arc;

use alloy_primitives::B256;
use foreseal_builder::{NextBlockAttributes, PendingBlock};
use foreseal_chain::{Chain, Finality, Recorded};
use foreseal_journal::Record;
use foreseal_primitives::Flashblock;

use crate::produce::chain_draft::{ChainDraft, diff_of, opening_records};

/// Reason why a record was not executed, for an error message.
type Difference = String;

impl ChainDraft {
    /// Executes a record of another process and adds the result. Of a step, only header, transactions, time
    /// and signature are used; receipts and state changes are computed.
    ///
    /// # Errors
    /// Returns the reason if the result is not the recorded one.
    pub fn execute(&mut self, record: &Record) -> Result<(), Difference> {
        match record {
            Record::Open { .. } => {}
            Record::Step(step) if step.index == 0 => self.execute_opening(step)?,
            Record::Step(step) => self.execute_step(step)?,
            Record::Override { change, step } => {
                let diff = diff_of(self.open_state()?.base(), change).map_err(|error| error.to_string())?;
                let made = self
                    .open_state()?
                    .overridden(diff, self.chain.hashes())
                    .map_err(|error| error.to_string())?;
                let (block, made) = made.ok_or("the override changes nothing here")?;
                let made = completed(made, step)?;
                self.records.push(Record::Override { change: change.clone(), step: made.clone() });
                self.chain.push_step(block, Recorded { step: made, change: Some(change.clone()) });
            }
            Record::Seal { number, hash } => {
                self.seal().map_err(|error| error.to_string())?;
                let sealed = self.chain.latest();
                check_hash("sealed block", sealed.block.hash, *hash)?;
                check("number of the sealed block", sealed.number(), *number)?;
            }
            Record::Import { block } => {
                self.chain.import(block).map_err(|error| error.to_string())?;
                self.records.push(record.clone());
            }
            Record::Clock { offset } => {
                self.chain.set_clock_offset(*offset);
                self.records.push(record.clone());
            }
            Record::Unwind { number, hash } => {
                self.chain.replay_unwind(*number, *hash).map_err(|error| error.to_string())?;
                self.records.push(record.clone());
            }
            Record::Finality { safe, finalized, trails } => {
                self.chain.set_finality(Finality { safe: *safe, finalized: *finalized, trails: *trails });
                self.records.push(record.clone());
            }
        }
        Ok(())
    }

    fn execute_opening(&mut self, step: &Flashblock) -> Result<(), Difference> {
        let attributes = attributes_of(step, &self.chain);
        let (block, made) = self.chain.prepare_open(&attributes).map_err(|error| error.to_string())?;
        let made = completed(made, step)?;
        self.records.extend(opening_records(&made));
        self.chain.start_block(block, made);
        Ok(())
    }

    fn execute_step(&mut self, step: &Flashblock) -> Result<(), Difference> {
        let built = self
            .open_state()?
            .include(&step.transactions, self.chain.hashes())
            .map_err(|error| error.to_string())?;
        if let Some((hash, reason)) = built.rejected.first() {
            return Err(format!("transaction {hash} is rejected: {reason}"));
        }
        let (block, made) = built.step.ok_or("a step has no transactions")?;
        let made = completed(made, step)?;
        self.records.push(Record::Step(made.clone()));
        self.chain.push_step(block, Recorded { step: made, change: None });
        Ok(())
    }

    fn open_state(&self) -> Result<&PendingBlock, Difference> {
        self.chain.open_block().ok_or_else(|| "no block is being built".to_owned())
    }
}

/// Returns the attributes with which the block of an opening step was opened.
fn attributes_of(step: &Flashblock, chain: &Chain) -> NextBlockAttributes {
    let header = &step.header;
    NextBlockAttributes {
        merged: chain.merged(),
        timestamp: header.timestamp,
        mix_hash: header.mix_hash,
        beneficiary: header.beneficiary,
        gas_limit: header.gas_limit,
        extra_data: header.extra_data.clone(),
        exact_gas_limit: Some(header.gas_limit),
        base_fee: header.base_fee_per_gas,
        parent_beacon_block_root: header.parent_beacon_block_root.unwrap_or_default(),
        withdrawals: Vec::new(),
        transactions: step.transactions.clone(),
    }
}

/// Completes an executed step with the recorded time and signature, if it is the recorded step.
fn completed(made: Flashblock, recorded: &Flashblock) -> Result<Arc<Flashblock>, Difference> {
    check("number of the step's block", made.number, recorded.number)?;
    check("index of the step", made.index, recorded.index)?;
    check_hash("previous step", made.previous, recorded.previous)?;
    check_hash("step", made.hash, recorded.hash)?;
    let Flashblock { time, signature, .. } = *recorded;
    Ok(Arc::new(Flashblock { time, signature, ..made }))
}

fn check(what: &str, computed: u64, recorded: u64) -> Result<(), Difference> {
    if computed == recorded { Ok(()) } else { Err(format!("{what} is {computed}, recorded is {recorded}")) }
}

fn check_hash(what: &str, computed: B256, recorded: B256) -> Result<(), Difference> {
    if computed == recorded {
        Ok(())
    } else {
        Err(format!("hash of the {what} is {computed}, recorded is {recorded}"))
    }
}

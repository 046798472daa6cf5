//! Everything that any process of a cluster ever showed.

use std::{
    collections::{BTreeMap, HashSet, hash_map::DefaultHasher},
    hash::{Hash, Hasher},
};

use alloy_primitives::B256;
use foreseal_chain::{ExecutedBlock, Step, View};

use crate::{cluster_history::QuorumHistory, ledger::Check};

/// A step as a process showed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ShownStep {
    hash: B256,
    /// Number of the block's transactions up to and including this step.
    transactions: usize,
    /// Hash of all further answers: time, signature, hashes of the transactions.
    answers: u64,
}

/// Record of all views that any process published.
#[derive(Default)]
pub struct ShownChain {
    steps: BTreeMap<(u64, u64), ShownStep>,
    /// Hashes of the blocks that were shown as sealed.
    sealed: BTreeMap<u64, B256>,
    pub views: u64,
    pub compared: u64,
    pub final_steps: u64,
}

fn shown_step(block: &ExecutedBlock, step: &Step) -> ShownStep {
    let mut hasher = DefaultHasher::new();
    (step.time, step.transactions, step.signature.map(|signature| format!("{signature:?}")))
        .hash(&mut hasher);
    for transaction in block.block.transactions.iter().take(step.transactions) {
        transaction.hash().hash(&mut hasher);
    }
    ShownStep { hash: step.hash, transactions: step.transactions, answers: hasher.finish() }
}

impl ShownChain {
    /// Records a view at the moment of its publication. Each of its steps must be that which others showed, and
    /// must exist in the quorum store.
    pub fn record(&mut self, view: &View, history: &QuorumHistory) -> Check {
        self.views += 1;
        let latest = view.latest();
        self.record_block(view, latest, history)?;
        if latest.number() > 0 {
            self.record_sealed(latest.number(), latest.block.hash)?;
        }
        self.record_block(view, view.pending(), history)
    }

    fn record_sealed(&mut self, number: u64, hash: B256) -> Check {
        let before = *self.sealed.entry(number).or_insert(hash);
        if before == hash {
            Ok(())
        } else {
            Err(format!("block {number} is shown with hash {hash}, and was shown with hash {before}"))
        }
    }

    fn record_block(&mut self, view: &View, block: &ExecutedBlock, history: &QuorumHistory) -> Check {
        let number = block.number();
        let steps = view.steps(block).map_err(|error| error.to_string())?;
        for (step, index) in steps.iter().zip(0..) {
            let shown = shown_step(block, step);
            let before = *self.steps.entry((number, index)).or_insert(shown);
            if before != shown {
                return Err(format!(
                    "step {number}.{index} is shown as {shown:?}, and was shown as {before:?}"
                ));
            }
            if index > 0 && !history.has_step(number, index, shown.hash) {
                return Err(format!("step {number}.{index} is shown, but the engine does not have it"));
            }
            self.compared += 1;
        }
        Ok(())
    }

    /// Checks that the chain of a process contains everything that was ever shown, and no transaction twice.
    pub fn check_final(&mut self, view: &View) -> Check {
        let mut transactions = HashSet::new();
        let newest = view.pending().number();
        for number in 1..=newest {
            let block = view.at(number).map_err(|error| error.to_string())?;
            let Some(block) = block else { return Err(format!("block {number} is gone")) };
            for transaction in &block.block.transactions {
                if !transactions.insert(transaction.hash()) {
                    return Err(format!("transaction {} is on the chain twice", transaction.hash()));
                }
            }
            if let Some(sealed) = self.sealed.get(&number)
                && (number == newest || *sealed != block.block.hash)
            {
                return Err(format!(
                    "block {number} was shown sealed as {sealed}, and is {}",
                    block.block.hash
                ));
            }
            self.check_steps(view, &block)?;
        }
        match self.steps.last_key_value() {
            Some(((number, index), _)) if *number > newest => {
                Err(format!("step {number}.{index} was shown and is lost"))
            }
            _ => Ok(()),
        }
    }

    fn check_steps(&mut self, view: &View, block: &ExecutedBlock) -> Check {
        let number = block.number();
        let steps = view.steps(block).map_err(|error| error.to_string())?;
        for (&(_, index), shown) in self.steps.range((number, 0)..=(number, u64::MAX)) {
            let step = usize::try_from(index).ok().and_then(|index| steps.get(index));
            if step.is_none_or(|step| shown_step(block, step) != *shown) {
                return Err(format!("step {number}.{index} was shown as {shown:?} and is lost"));
            }
            self.final_steps += 1;
        }
        Ok(())
    }
}

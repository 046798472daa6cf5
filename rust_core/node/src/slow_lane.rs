//! Execution of transactions that take longer than a step allows, on a thread of their own.
//!
//! ```text
//!   step k    stops the transaction; nothing of it remains
//!   lane      executes it on the newest step, to its end, while further steps are made
//!   step k+n  adds it if what it has read is unchanged; otherwise executes it once more, without a limit
//! ```
//!
//! So a transaction that a step has stopped pays in the end, even if its sender has replaced it in the pool meanwhile,
//! and is not stopped again and again. The lane rests after each transaction for as long as that took: slow
//! transactions have at most half of the time.

use std::{collections::VecDeque, sync::Arc, thread::JoinHandle, time::Duration};

use foreseal_builder::PreparedForBlock;
use foreseal_chain::{Chain, Clock};
use foreseal_evm::{ExecutionError, RejectedTransaction};
use foreseal_primitives::Transaction;
use foreseal_scheduler::lower_priority;

/// Nice value of the thread: steps and requests go first.
const NICE: i32 = 5;
/// Number of waiting transactions from which steps stop no others.
const MAX_WAITING: usize = 32;

/// Slow transactions, one of which runs at a time.
#[derive(Default)]
pub(crate) struct SlowLane {
    waiting: VecDeque<Arc<Transaction>>,
    running: Option<RunningTransaction>,
    /// Monotonic time at which the next transaction may begin.
    rests_until: Duration,
}

struct RunningTransaction {
    transaction: Arc<Transaction>,
    began: Duration,
    /// Returns the result, and the time of its end.
    thread: JoinHandle<(Result<PreparedForBlock, ExecutionError>, Duration)>,
}

/// Result of a slow transaction.
pub(crate) enum SlowResult {
    Prepared(Box<PreparedForBlock>),
    Rejected(Arc<Transaction>, RejectedTransaction),
    /// The state could not be read.
    Failed(Arc<Transaction>),
}

impl SlowLane {
    /// Returns `true` if further transactions may be stopped. Above the maximum, they would wait for long.
    pub fn has_room(&self) -> bool {
        self.waiting.len() < MAX_WAITING
    }

    /// Adds a transaction that a step has stopped.
    pub fn push(&mut self, transaction: Arc<Transaction>) {
        self.waiting.push_back(transaction);
    }

    /// Removes and returns the waiting transactions.
    pub fn drain(&mut self) -> impl Iterator<Item = Arc<Transaction>> {
        self.waiting.drain(..)
    }

    /// Returns the result of the running transaction if it has ended.
    pub fn poll(&mut self) -> Option<SlowResult> {
        let running = self.running.take_if(|running| running.thread.is_finished())?;
        let Ok((result, ended)) = running.thread.join() else {
            return Some(SlowResult::Failed(running.transaction));
        };
        self.rests_until = ended.saturating_add(ended.saturating_sub(running.began));
        Some(match result {
            Ok(prepared) => SlowResult::Prepared(Box::new(prepared)),
            Err(ExecutionError::Rejected(reason)) => SlowResult::Rejected(running.transaction, reason),
            Err(_) => SlowResult::Failed(running.transaction),
        })
    }

    /// Begins the next transaction on the newest step of `chain`, if none runs. `left` is the time until the block is
    /// sealed: one that may not end before does not begin.
    pub fn begin_next(
        &mut self,
        chain: &Chain,
        clock: &Arc<dyn Clock>,
        left: Duration,
        block_time: Duration,
    ) {
        let now = clock.monotonic();
        if self.running.is_some() || now < self.rests_until || left < block_time / 4 {
            return;
        }
        if chain.open_block().is_none() {
            return;
        }
        let Some(transaction) = self.waiting.pop_front() else { return };
        let (chain, to_run, clock) = (chain.clone(), transaction.clone(), clock.clone());
        let spawned = std::thread::Builder::new().name("slow-transaction".to_owned()).spawn(move || {
            lower_priority(NICE);
            let open = chain.open_block().expect("the chain has an open block");
            let result = open.prepare(to_run, chain.hashes());
            (result, clock.monotonic())
        });
        match spawned {
            Ok(thread) => self.running = Some(RunningTransaction { transaction, began: now, thread }),
            Err(error) => {
                tracing::warn!(%error, "cannot start a thread for a slow transaction");
                self.waiting.push_front(transaction);
            }
        }
    }
}

impl Drop for SlowLane {
    /// Waits for the thread, which reads the store.
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            drop(running.thread.join());
        }
    }
}

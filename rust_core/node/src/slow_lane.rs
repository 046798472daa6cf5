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
use foreseal_chain::Chain;
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
    thread: JoinHandle<Result<PreparedForBlock, ExecutionError>>,
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
    pub fn poll(&mut self, now: Duration) -> Option<SlowResult> {
        let running = self.running.take_if(|running| running.thread.is_finished())?;
        self.rests_until = now.saturating_add(now.saturating_sub(running.began));
        Some(match running.thread.join() {
            Ok(Ok(prepared)) => SlowResult::Prepared(Box::new(prepared)),
            Ok(Err(ExecutionError::Rejected(reason))) => SlowResult::Rejected(running.transaction, reason),
            Ok(Err(_)) | Err(_) => SlowResult::Failed(running.transaction),
        })
    }

    /// Begins the next transaction on the newest step of `chain`, if none runs. `left` is the time until the block is
    /// sealed: one that may not end before does not begin.
    pub fn begin_next(&mut self, chain: &Chain, now: Duration, left: Duration, block_time: Duration) {
        if self.running.is_some() || now < self.rests_until || left < block_time / 4 {
            return;
        }
        if chain.open_block().is_none() {
            return;
        }
        let Some(transaction) = self.waiting.pop_front() else { return };
        let (chain, to_run) = (chain.clone(), transaction.clone());
        let spawned = std::thread::Builder::new().name("slow-transaction".to_owned()).spawn(move || {
            lower_priority(NICE);
            let open = chain.open_block().expect("the chain has an open block");
            open.prepare(to_run, chain.hashes())
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

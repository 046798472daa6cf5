//! Execution of transactions that take longer than a step allows, on a thread of their own.
//!
//! ```text
//!   step k    stops the transaction; nothing of it remains
//!   lane      executes it on the newest step, to its end, while further steps are made
//!   step k+n  adds it if what it has read is unchanged; otherwise the lane executes it again
//! ```
//!
//! So a step never waits for it. A transaction that a step has stopped pays in the end, and is not stopped again and
//! again: the pool holds it, so that its sender cannot replace it. It is dropped if what it reads changes during each
//! of [`MAX_EXECUTIONS`], or if too many wait that pay more. The lane rests after each transaction for as long as that
//! took: slow transactions have at most half of the time of one thread.

use std::{sync::Arc, thread::JoinHandle, time::Duration};

use foreseal_builder::PreparedForBlock;
use foreseal_chain::{Chain, Clock};
use foreseal_evm::{ExecutionError, RejectedTransaction};
use foreseal_primitives::Transaction;
use foreseal_scheduler::lower_priority;

/// Nice value of the thread: steps and requests go first.
const NICE: i32 = 5;
/// Maximum number of waiting transactions. Above it, the one with the lowest tip is dropped.
const MAX_WAITING: usize = 32;
/// Number of executions after which an outdated transaction is dropped.
const MAX_EXECUTIONS: u32 = 3;

/// Slow transactions, one of which runs at a time.
#[derive(Default)]
pub(crate) struct SlowLane {
    waiting: Vec<SlowTransaction>,
    running: Option<RunningTransaction>,
    /// The last one that ran.
    ended: Option<SlowTransaction>,
    /// Monotonic time at which the next transaction may begin.
    rests_until: Duration,
}

struct SlowTransaction {
    transaction: Arc<Transaction>,
    /// Number of executions in the lane.
    executions: u32,
    /// Time of the last execution; zero before the first.
    time: Duration,
}

struct RunningTransaction {
    slow: SlowTransaction,
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

/// Reason for which a slow transaction leaves the lane without being in a step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DroppedSlow {
    #[error(
        "it takes longer than a step, and its block was sealed or what it reads has changed during each of \
         {MAX_EXECUTIONS} executions"
    )]
    Outdated,
    #[error("it takes longer than a step, and {MAX_WAITING} other such transactions that pay more wait")]
    Outbid,
    /// An earlier transaction has changed its sender meanwhile.
    #[error("it takes longer than a step, and could not be executed after that: {0}")]
    Rejected(RejectedTransaction),
}

/// Time until the block being built is sealed, and its whole time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimeLeft {
    pub left: Duration,
    pub block_time: Duration,
}

impl SlowTransaction {
    /// Returns `true` if an execution that begins now is likely to end before the block is sealed.
    fn fits(&self, TimeLeft { left, block_time }: TimeLeft) -> bool {
        let expected = (self.time * 5 / 4).min(block_time * 3 / 4);
        left >= expected.max(block_time / 4)
    }
}

impl SlowLane {
    /// Adds a transaction that a step has stopped. Returns the one that leaves for it.
    pub fn push(
        &mut self,
        transaction: Arc<Transaction>,
        tip: &impl Fn(&Transaction) -> u128,
    ) -> Option<(Arc<Transaction>, DroppedSlow)> {
        self.add(SlowTransaction { transaction, executions: 0, time: Duration::ZERO }, tip)
    }

    /// Adds a transaction whose result no step could add. Returns the one that leaves for it, or because of its number
    /// of executions.
    pub fn push_again(
        &mut self,
        transaction: Arc<Transaction>,
        tip: &impl Fn(&Transaction) -> u128,
    ) -> Option<(Arc<Transaction>, DroppedSlow)> {
        let ended = self.ended.take().filter(|ended| ended.transaction.hash() == transaction.hash());
        match ended {
            Some(slow) if slow.executions < MAX_EXECUTIONS => self.add(slow, tip),
            _ => Some((transaction, DroppedSlow::Outdated)),
        }
    }

    fn add(
        &mut self,
        slow: SlowTransaction,
        tip: &impl Fn(&Transaction) -> u128,
    ) -> Option<(Arc<Transaction>, DroppedSlow)> {
        self.waiting.push(slow);
        if self.waiting.len() <= MAX_WAITING {
            return None;
        }
        // The last of equal ones leaves.
        let tips = self.waiting.iter().enumerate().rev();
        let (lowest, _) = tips.min_by_key(|(_, slow)| tip(&slow.transaction))?;
        Some((self.waiting.remove(lowest).transaction, DroppedSlow::Outbid))
    }

    /// Removes and returns the waiting transactions.
    pub fn drain(&mut self) -> impl Iterator<Item = Arc<Transaction>> {
        self.waiting.drain(..).map(|slow| slow.transaction)
    }

    /// Returns the result of the running transaction if it has ended.
    pub fn poll(&mut self) -> Option<SlowResult> {
        let RunningTransaction { mut slow, began, thread } =
            self.running.take_if(|running| running.thread.is_finished())?;
        let transaction = slow.transaction.clone();
        let Ok((result, ended)) = thread.join() else { return Some(SlowResult::Failed(transaction)) };
        slow.time = ended.saturating_sub(began);
        slow.executions += 1;
        self.rests_until = ended.saturating_add(slow.time);
        self.ended = Some(slow);
        Some(match result {
            Ok(prepared) => SlowResult::Prepared(Box::new(prepared)),
            Err(ExecutionError::Rejected(reason)) => SlowResult::Rejected(transaction, reason),
            Err(_) => SlowResult::Failed(transaction),
        })
    }

    /// Begins the transaction with the highest tip on the newest step of `chain`, if none runs. One that may not end
    /// before the block is sealed does not begin.
    pub fn begin_next(
        &mut self,
        chain: &Chain,
        clock: &Arc<dyn Clock>,
        left: TimeLeft,
        tip: &impl Fn(&Transaction) -> u128,
    ) {
        let now = clock.monotonic();
        if self.running.is_some() || now < self.rests_until || chain.open_block().is_none() {
            return;
        }
        // The first of equal ones begins.
        let able = self.waiting.iter().enumerate().rev().filter(|(_, slow)| slow.fits(left));
        let Some((highest, _)) = able.max_by_key(|(_, slow)| tip(&slow.transaction)) else { return };
        let slow = self.waiting.remove(highest);
        let (chain, to_run, clock) = (chain.clone(), slow.transaction.clone(), clock.clone());
        let spawned = std::thread::Builder::new().name("slow-transaction".to_owned()).spawn(move || {
            lower_priority(NICE);
            let open = chain.open_block().expect("the chain has an open block");
            let result = open.prepare(to_run, chain.hashes());
            (result, clock.monotonic())
        });
        match spawned {
            Ok(thread) => self.running = Some(RunningTransaction { slow, began: now, thread }),
            Err(error) => {
                tracing::warn!(%error, "cannot start a thread for a slow transaction");
                self.waiting.insert(0, slow);
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

#[cfg(test)]
mod tests {
    use alloy_consensus::Transaction as _;
    use alloy_primitives::Address;
    use foreseal_testkit::{Fees, Wallet};

    use super::*;

    fn transaction(wallet: &Wallet, tip: u128) -> Arc<Transaction> {
        let raw = wallet.transfer(0, Address::ZERO, 1, Fees { tip, ..Fees::default() });
        Arc::new(Transaction::decode(&raw).expect("it is valid"))
    }

    fn tip(transaction: &Transaction) -> u128 {
        transaction.envelope().max_priority_fee_per_gas().unwrap_or_default()
    }

    fn ended(transaction: &Arc<Transaction>, executions: u32) -> SlowTransaction {
        SlowTransaction { transaction: transaction.clone(), executions, time: Duration::from_secs(1) }
    }

    #[test]
    fn the_lowest_tip_leaves_a_full_lane() {
        let wallets = Wallet::some(MAX_WAITING as u64 + 2);
        let mut lane = SlowLane::default();
        for (wallet, paid) in wallets.iter().zip(5..).take(MAX_WAITING) {
            assert!(lane.push(transaction(wallet, paid), &tip).is_none());
        }
        let (cheap, dear) =
            (transaction(&wallets[MAX_WAITING], 5), transaction(&wallets[MAX_WAITING + 1], 6));
        // The newest of equal ones leaves.
        let (left, reason) = lane.push(cheap.clone(), &tip).expect("the lane is full");
        assert_eq!((left.hash(), reason), (cheap.hash(), DroppedSlow::Outbid));
        let (left, _) = lane.push(dear, &tip).expect("the lane is full");
        assert_eq!((tip(&left), lane.waiting.len()), (5, MAX_WAITING));
    }

    #[test]
    fn an_outdated_transaction_leaves_after_its_last_execution() {
        let wallets = Wallet::some(2);
        let (slow, other) = (transaction(&wallets[0], 1), transaction(&wallets[1], 1));
        let mut lane = SlowLane::default();
        lane.ended = Some(ended(&slow, MAX_EXECUTIONS - 1));
        assert!(lane.push_again(slow.clone(), &tip).is_none());
        assert_eq!(lane.waiting[0].executions, MAX_EXECUTIONS - 1);
        lane.ended = Some(ended(&slow, MAX_EXECUTIONS));
        let (left, reason) = lane.push_again(slow.clone(), &tip).expect("it has run often enough");
        assert_eq!((left.hash(), reason), (slow.hash(), DroppedSlow::Outdated));
        lane.ended = Some(ended(&other, 1));
        assert!(lane.push_again(slow, &tip).is_some(), "an unknown one is not executed for ever");
    }

    #[test]
    fn an_execution_begins_if_it_may_end_before_the_block() {
        let wallet = &Wallet::some(1)[0];
        let block_time = Duration::from_secs(2);
        let fits = |time, left| {
            let slow = SlowTransaction {
                transaction: transaction(wallet, 1),
                executions: 0,
                time: Duration::from_millis(time),
            };
            slow.fits(TimeLeft { left: Duration::from_millis(left), block_time })
        };
        assert!(fits(0, 500) && !fits(0, 499));
        assert!(fits(1_000, 1_250) && !fits(1_000, 1_249));
        // One that takes longer than a block is tried at its begin.
        assert!(fits(9_000, 1_500) && !fits(9_000, 1_499));
    }
}

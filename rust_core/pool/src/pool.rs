//! The transaction pool behind its lock.

use std::{collections::BTreeMap, ops::Deref, sync::Arc};

use alloy_consensus::Header;
use alloy_primitives::{Address, B256, map::B256HashSet};
use foreseal_primitives::{ChainSpec, StateDiff, Transaction};
use foreseal_state::StateError;
use parking_lot::Mutex;

use crate::{
    admission::{AddedTransaction, Admission, PendingHead, l1_fees},
    arrival_log::PendingLogPage,
    config::PoolConfig,
    contents::Contents,
    error::PoolError,
    locked::{ContentsAndSink, Locked},
    metrics::PoolMetrics,
    origin::Origin,
    pool_event::PoolEventKind,
    rules::Rules,
    sender_queue::SenderQueue,
    status::{DropReason, Dropped, Status},
    submission::UnverifiedTransaction,
    transaction::{CheckedTransaction, PooledTransaction},
};

/// Number of senders that are updated before the lock is released briefly.
const SENDERS_PER_LOCK: usize = 256;

/// The transaction pool. All methods take `&self`; the lock is never held for long.
#[derive(Debug)]
pub struct Pool {
    config: PoolConfig,
    guarded: Mutex<ContentsAndSink>,
}

/// Complete state of a pool at one point in time.
#[derive(Clone, Debug)]
pub struct PoolSnapshot(Contents);

/// Size of the pool by status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolCounts {
    /// Number of transactions that can run, base fees aside.
    pub pooled: usize,
    /// Number of transactions that wait for a nonce or for funds.
    pub queued: usize,
    /// Bytes of all transactions, sidecars included.
    pub bytes: usize,
}

/// One sender's transactions, each list in nonce order.
#[derive(Clone, Debug, Default)]
pub struct SenderContent {
    /// Transactions that can run, base fees aside.
    pub pooled: Vec<Arc<PooledTransaction>>,
    /// Transactions that wait for a nonce or for funds.
    pub queued: Vec<Arc<PooledTransaction>>,
}

impl SenderContent {
    fn new(queue: &SenderQueue) -> Self {
        Self { pooled: queue.executable().to_vec(), queued: queue.queued().to_vec() }
    }
}

impl Pool {
    /// Creates an empty pool.
    pub fn new(config: PoolConfig) -> Self {
        Self { guarded: Mutex::new(ContentsAndSink::new(Contents::new(config.clone()))), config }
    }

    pub(crate) fn lock(&self) -> Locked<'_> {
        Locked::new(&self.guarded)
    }

    /// Returns the settings.
    pub fn config(&self) -> &PoolConfig {
        &self.config
    }

    /// Returns the rules of [`decode_submission`](crate::decode_submission) for the block with `header`.
    pub fn rules(&self, spec: &ChainSpec, header: &Header) -> Rules {
        Rules::new(&self.config, spec, header)
    }

    /// Admits a decoded submission.
    ///
    /// `head` loads the newest published view. It is called under the pool's lock, so the view contains every
    /// step that was published and reported before.
    ///
    /// # Errors
    ///
    /// Returns the error of the first check that fails. The pool is then unchanged.
    pub fn add<H>(
        &self,
        submission: CheckedTransaction,
        head: impl FnOnce() -> H,
    ) -> Result<AddedTransaction, PoolError>
    where
        H: Deref,
        H::Target: PendingHead,
    {
        self.admit(submission, Origin::Submitted, head)
    }

    /// Admits a submission like [`Self::add`], but only if it can run in the next step.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Self::add`].
    pub fn add_if_executable<H>(
        &self,
        submission: CheckedTransaction,
        head: impl FnOnce() -> H,
    ) -> Result<Admission, PoolError>
    where
        H: Deref,
        H::Target: PendingHead,
    {
        let mut contents = self.lock();
        contents.admit_if_executable(submission, &*head())
    }

    /// Checks a submission like [`Self::add`], and adds nothing. So a submission that will be rejected costs no
    /// verification ([`UnverifiedTransaction::verify`]).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Self::add`].
    pub fn precheck<H>(
        &self,
        submission: &UnverifiedTransaction,
        head: impl FnOnce() -> H,
    ) -> Result<(), PoolError>
    where
        H: Deref,
        H::Target: PendingHead,
    {
        let mut contents = self.lock();
        contents.precheck(submission.transaction(), &*head())
    }

    pub(crate) fn admit<H>(
        &self,
        submission: CheckedTransaction,
        origin: Origin,
        head: impl FnOnce() -> H,
    ) -> Result<AddedTransaction, PoolError>
    where
        H: Deref,
        H::Target: PendingHead,
    {
        let mut contents = self.lock();
        contents.admit(submission, origin, &*head())
    }

    pub(crate) fn executable_at(&self, sender: Address, nonce: u64) -> Option<Arc<PooledTransaction>> {
        self.lock().senders.get(&sender)?.executable_at(nonce).cloned()
    }

    /// Applies a published step, or any other change of the pending state.
    ///
    /// The `included` transactions leave, and senders whose account changed are checked again. A transaction
    /// whose sender can no longer pay waits. If something else used its nonce, it is dropped and returned.
    pub fn on_step(&self, included: &[Arc<Transaction>], diff: &StateDiff) -> Vec<Dropped> {
        let included: B256HashSet = included.iter().map(|transaction| transaction.hash()).collect();
        let mut dropped = Vec::new();
        self.update_l1_fees(diff);
        for changed in diff.accounts.chunks(SENDERS_PER_LOCK) {
            let mut contents = self.lock();
            for change in changed {
                let account = change.diff.account.unwrap_or_default();
                for removed in contents.set_account(change.address, &account) {
                    if !included.contains(&removed.hash()) {
                        dropped.push(contents.record_dropped(removed.hash(), DropReason::NonceTooLow));
                    }
                }
            }
        }
        self.lock().release_eviction_order();
        dropped
    }

    /// Applies the L1 attributes that a step of an OP chain has changed.
    fn update_l1_fees(&self, diff: &StateDiff) {
        let affected = {
            let mut contents = self.lock();
            let Some(fees) = contents.costs.l1 else { return };
            contents.set_l1_fees(fees.after(diff))
        };
        for senders in affected.chunks(SENDERS_PER_LOCK) {
            let mut contents = self.lock();
            for sender in senders {
                contents.recount_executable(*sender);
            }
        }
    }

    /// Orders by the base fees of a newly opened block, before its first step.
    pub fn on_fees(&self, base_fee: u64, blob_base_fee: u128) {
        self.lock().set_fees(u128::from(base_fee), blob_base_fee);
    }

    /// Applies unwound blocks and returns the dropped transactions.
    ///
    /// Every sender is checked against the current state. Then the blocks' transactions return in the given
    /// order (oldest block first). A transaction whose sender cannot pay waits. Transactions that are no
    /// longer admitted, or are evicted for others, are dropped.
    ///
    /// # Errors
    ///
    /// Returns an error if the state cannot be read.
    pub fn reinsert<H>(
        &self,
        transactions: &[Arc<Transaction>],
        head: impl FnOnce() -> H,
    ) -> Result<Vec<Dropped>, StateError>
    where
        H: Deref,
        H::Target: PendingHead,
    {
        let mut contents = self.lock();
        let head = head();
        if let Some(fees) = l1_fees(&*head)? {
            contents.set_l1_fees(fees);
        }
        let mut dropped = contents.recheck_all(head.state())?;
        for transaction in transactions {
            let submission = CheckedTransaction::checked(transaction.clone());
            match contents.admit(submission, Origin::Reinjected, &*head) {
                Ok(added) => dropped.extend(added.evicted),
                Err(PoolError::State(error)) => return Err(error),
                Err(error) => dropped.extend(contents.record_rejected(transaction.hash(), &error)),
            }
        }
        Ok(dropped)
    }

    /// Drops a transaction, for example one that execution found unfit for any block. Later transactions of
    /// its sender stay and wait.
    pub fn discard(&self, hash: &B256, reason: DropReason) -> Option<Dropped> {
        let mut contents = self.lock();
        contents.remove(hash)?;
        Some(contents.record_dropped(*hash, reason))
    }

    pub(crate) fn record_rejected(&self, hash: B256, error: &PoolError) -> Option<Dropped> {
        self.lock().record_rejected(hash, error)
    }

    /// Returns a snapshot of the pool.
    pub fn snapshot(&self) -> PoolSnapshot {
        PoolSnapshot(Contents::clone(&self.lock()))
    }

    /// Holds a transaction for the builder: until it is released, no submission replaces it. Returns `false` if it is
    /// not in the pool.
    pub fn hold(&self, hash: &B256) -> bool {
        let mut contents = self.lock();
        let is_pooled = contents.by_hash.contains_key(hash);
        if is_pooled {
            contents.held.insert(*hash);
        }
        is_pooled
    }

    /// Releases the transactions that the builder has held, except those for which `is_held` returns `true`.
    pub fn release_held(&self, is_held: impl Fn(&B256) -> bool) {
        self.lock().held.retain(is_held);
    }

    /// Restores the pool to a snapshot. The pending state must be the one of the snapshot, too.
    pub fn reset(&self, snapshot: &PoolSnapshot) {
        let restored = snapshot.0.clone();
        let old = self.lock().replace(restored, PoolEventKind::Reset);
        // Free the old contents outside the lock.
        drop(old);
    }

    /// Returns the number of the next arrival, counted over all transactions that ever entered.
    pub fn next_pending_sequence(&self) -> u64 {
        self.lock().arrivals.next()
    }

    /// Returns at most `limit` arrivals in order, from number `from` on, including transactions that have left
    /// since.
    pub fn pending_hashes_since(&self, from: u64, limit: usize) -> PendingLogPage {
        self.lock().arrivals.since(from, limit)
    }

    /// Starts or stops retaining the transactions that enter, for [`Self::full_transactions_since`].
    pub fn set_full_transactions(&self, enabled: bool) {
        self.lock().arrivals.set_full_transactions(enabled);
    }

    /// Returns complete transactions where [`Self::pending_hashes_since`] returns hashes, and drops those
    /// before `from`.
    pub fn full_transactions_since(&self, from: u64) -> PendingLogPage<Arc<Transaction>> {
        self.lock().arrivals.full_transactions_since(from)
    }

    /// Returns the sender's next nonce: the first one at or above `state_nonce` that no transaction in
    /// the pool uses.
    pub fn next_nonce(&self, sender: &Address, state_nonce: u64) -> u64 {
        let contents = self.lock();
        contents.senders.get(sender).map_or(state_nonce, |queue| queue.next_nonce(state_nonce))
    }

    /// Returns a pooled or queued transaction.
    pub fn get(&self, hash: &B256) -> Option<Arc<PooledTransaction>> {
        self.lock().by_hash.get(hash).cloned()
    }

    /// Returns `true` if the transaction is pooled or queued.
    pub fn contains(&self, hash: &B256) -> bool {
        self.lock().by_hash.contains_key(hash)
    }

    /// Returns the status of a transaction under the fees of the newest block.
    pub fn status(&self, hash: &B256) -> Status {
        let contents = self.lock();
        let Some(transaction) = contents.by_hash.get(hash) else {
            return contents.dropped_history.get(hash).cloned().unwrap_or(Status::Unknown);
        };
        contents.queued_reason(transaction).map_or(Status::Pooled, Status::Queued)
    }

    /// Returns the size of the pool by status.
    pub fn counts(&self) -> PoolCounts {
        let contents = self.lock();
        let pooled = contents.executable_count;
        PoolCounts { pooled, queued: contents.by_hash.len() - pooled, bytes: contents.bytes }
    }

    /// Returns the counters of the pool since its creation.
    pub fn metrics(&self) -> PoolMetrics {
        self.lock().metrics
    }

    /// Returns one sender's transactions.
    pub fn sender_content(&self, sender: &Address) -> SenderContent {
        self.lock().senders.get(sender).map(SenderContent::new).unwrap_or_default()
    }

    /// Returns all transactions by sender.
    pub fn content(&self) -> BTreeMap<Address, SenderContent> {
        let contents = self.lock();
        contents.senders.iter().map(|(sender, queue)| (*sender, SenderContent::new(queue))).collect()
    }

    /// Returns all transactions in the order of arrival.
    pub fn all(&self) -> Vec<Arc<PooledTransaction>> {
        let mut all: Vec<_> = self.lock().by_hash.values().cloned().collect();
        all.sort_unstable_by_key(|transaction| transaction.arrival());
        all
    }
}

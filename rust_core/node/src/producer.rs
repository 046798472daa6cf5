//! The single writer: ticks that seal, open and step.
//!
//! ```text
//!   tick:  slot ended?  -> append [seal N, open N+1] -> publish   (one swap: pending never misses)
//!          pool has work -> execute -> append [step] -> publish -> take it from the pool
//!          always        -> renew the freshness
//! ```
//!
//! Nothing is published before its append is durable. A failed append ends production for good.

use std::{sync::Arc, time::Duration};

use alloy_primitives::B256;
use foreseal_builder::{BuildError, Opening};
use foreseal_evm::Rejected;
use foreseal_journal::{Journal, JournalError, Record};
use foreseal_pool::DropReason;
use foreseal_types::{Flashblock, mutant};

use crate::{Chain, ChainError, Now, Phase, Production, Slot, shared::Shared};

/// Why production ended.
#[derive(Debug, thiserror::Error)]
pub enum ProductionError {
    #[error("the journal could not be written, so nothing more is promised: {0}")]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Chain(#[from] ChainError),
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// Source of `mixHash` values.
pub type Randomness = Box<dyn FnMut() -> B256 + Send>;

/// The owner of chain and journal. [`Node::start`](crate::Node::start) runs it on a thread; a test that owns the
/// clock ticks it itself.
pub struct Producer {
    chain: Chain,
    journal: Journal,
    slot: Slot,
    shared: Arc<Shared>,
    settings: Production,
    random: Randomness,
}

impl Producer {
    /// Takes over a replayed chain: goes on with its open block, or opens the next one.
    pub(crate) fn start(
        chain: Chain,
        journal: Journal,
        shared: Arc<Shared>,
        settings: Production,
        random: Randomness,
    ) -> Result<Self, ProductionError> {
        let now = shared.clock.now();
        let in_progress = chain.open_block().map(|open| open.header().timestamp);
        let slot = match in_progress {
            Some(timestamp) => Slot::of(now, timestamp, settings.block_time),
            None => Slot::at(now, chain.latest().block.header.timestamp, settings.block_time),
        };
        let mut producer = Self { chain, journal, slot, shared, settings, random };
        if in_progress.is_none() {
            let opening = producer.opening();
            let (block, step) = producer.chain.prepare_open(&opening)?;
            if let Err(error) = producer.journal.append(&opening_records(step)) {
                // Nothing of that block is shown; reads of what is sealed go on over an empty one that promises nothing.
                let idle = Opening { mix_hash: B256::ZERO, ..opening };
                producer.shared.publish(producer.chain.idle_view(&idle)?);
                return Err(error.into());
            }
            producer.chain.opened(block);
        }
        producer.publish();
        producer.shared.tick(now.monotonic);
        Ok(producer)
    }

    fn opening(&mut self) -> Opening {
        let gas_limit = self.settings.gas_limit.unwrap_or(self.chain.spec().genesis().gas_limit);
        Opening {
            merged: true,
            timestamp: self.slot.timestamp,
            mix_hash: (self.random)(),
            beneficiary: self.settings.beneficiary,
            gas_limit,
            extra_data: self.settings.extra_data.clone(),
        }
    }

    /// One tick at `now`. `keep_going` ends the taking of transactions when the step's time budget is spent.
    ///
    /// # Errors
    /// Ends production: health is red from here on, reads go on, submissions are refused.
    pub fn tick(&mut self, now: Now, keep_going: &mut dyn FnMut() -> bool) -> Result<(), ProductionError> {
        let done = self.try_tick(now, keep_going);
        if let Err(error) = &done {
            self.shared.set_phase(Phase::Failed(error.to_string()));
        }
        done
    }

    fn try_tick(&mut self, now: Now, keep_going: &mut dyn FnMut() -> bool) -> Result<(), ProductionError> {
        if self.slot.ended(now) {
            self.seal(now)?;
        }
        self.step(keep_going)?;
        self.shared.tick(now.monotonic);
        Ok(())
    }

    /// Seals the block as it stands and opens the next: one append, one swap.
    fn seal(&mut self, now: Now) -> Result<(), ProductionError> {
        let mut next = self.chain.sealed()?;
        let sealed = next.latest().clone();
        self.slot = Slot::at(now, sealed.block.header.timestamp, self.settings.block_time);
        let opening = self.opening();
        let (block, step) = next.prepare_open(&opening)?;
        let seal = Record::Seal { number: sealed.number(), hash: sealed.block.hash };
        let [open, step] = opening_records(step);
        self.journal.append(&[seal, open, step])?;
        next.opened(block);
        self.chain = next;
        self.publish();
        Ok(())
    }

    fn step(&mut self, keep_going: &mut dyn FnMut() -> bool) -> Result<(), ProductionError> {
        let open = self.chain.open_block().expect("a producer always has an open block");
        let (base_fee, blob_fee) = self.chain.spec().fees_of(open.header());
        let mut best = self.shared.pool.best(base_fee, blob_fee);
        let stepped = open.step(&mut best, self.chain.hashes(), keep_going)?;
        drop(best);
        for (hash, reason) in stepped.rejected {
            self.judge(&hash, &reason);
        }
        if let Some((block, flashblock)) = stepped.step {
            let flashblock = Arc::new(flashblock);
            if mutant!("unpool-before-publish") {
                self.shared.pool.on_step(&flashblock.transactions, &flashblock.diff);
            }
            if mutant!("publish-before-append") {
                self.chain.stepped(block.clone());
                self.publish();
            }
            self.journal.append(&[Record::Step(flashblock.clone())])?;
            if !mutant!("publish-before-append") {
                self.chain.stepped(block);
                self.publish();
            }
            self.shared.pool.on_step(&flashblock.transactions, &flashblock.diff);
        }
        Ok(())
    }

    /// Drops a refused transaction that no later step could hold; the others wait.
    fn judge(&self, hash: &B256, reason: &Rejected) {
        use Rejected as R;
        let drop_as = match reason {
            R::NonceTooHigh { .. }
            | R::InsufficientFunds { .. }
            | R::BlockGasExceeded { .. }
            | R::BlobGasExceeded { .. }
            | R::FeeTooLow { .. }
            | R::BlobFeeTooLow { .. } => return,
            R::NonceTooLow { .. } => DropReason::NonceTooLow,
            R::NonceOverflow
            | R::GasCapExceeded { .. }
            | R::IntrinsicGas { .. }
            | R::TipAboveFee
            | R::SenderHasCode
            | R::InitCodeTooLarge
            | R::ChainId
            | R::SignatureForm
            | R::UnsupportedType(_)
            | R::DepositLog
            | R::Other(_) => DropReason::Rejected(reason.to_string()),
        };
        self.shared.pool.discard(hash, drop_as);
    }

    fn publish(&self) {
        self.shared.publish(self.chain.view().expect("a producer always has an open block"));
    }

    /// Share of a step's time that may go into taking transactions; the rest is for roots and the sync.
    pub(crate) fn budget(&self) -> Duration {
        self.settings.step / 2
    }
}

/// A newly opened block, as the journal keeps it: its header, then its step 0.
fn opening_records(step: Flashblock) -> [Record; 2] {
    [Record::Open { header: Box::new(step.header.clone()) }, Record::Step(Arc::new(step))]
}

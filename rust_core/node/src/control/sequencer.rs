//! The sequencer: the writer of the chain with the roles that change it.
//!
//! ```text
//!   Sequencer -+-> PayloadBuilder (of a driver) ------+
//!              +-> DevelopmentControl ----------------+--> BlockProducer --> ChainWriter
//!              +-> ticks, unwind, safe and finalized -+
//! ```

use std::sync::Arc;

use foreseal_chain::ClockReading;
use foreseal_quorum::QuorumWriter;
use foreseal_replication::Phase;
use parking_lot::Mutex;

use crate::{
    development::{dev_snapshots::DevSnapshots, development_control::DevelopmentControl},
    driver::{driver_state::DriverState, payload_builder::PayloadBuilder},
    errors::production_error::{ControlError, ProductionError},
    produce::{block_producer::BlockProducer, chain_writer::ChainWriter, step_signer::StepSigner},
    settings::{Settings, environment::Randomness, mining::Mining},
    shared::shared_state::SharedState,
    store::start::Started,
};

/// Inputs of blocks and steps other than transactions.
pub(crate) struct BlockInputs {
    pub random: Randomness,
    /// Signer of the steps; `None` on a node that produces none.
    pub signer: Option<Arc<StepSigner>>,
    /// Writer of the quorum journal; `None` if only this machine has the journal.
    pub quorum: Option<Arc<Mutex<QuorumWriter>>>,
}

/// The chain of a process with its writer and the roles that change it. One thread at a time holds its lock: the thread
/// that ticks, or a caller of [`Node::control`](crate::Node::control).
pub struct Sequencer {
    pub(crate) producer: BlockProducer,
    /// Payload being built, and blocks of branches, under a driver.
    driver: DriverState,
    snapshots: DevSnapshots,
}

impl Sequencer {
    /// Takes over a replayed chain and publishes it. A node that produces continues its open block or opens
    /// the next one.
    pub(crate) fn start(
        started: Started,
        shared: Arc<SharedState>,
        settings: Settings,
        inputs: BlockInputs,
    ) -> Result<Self, ProductionError> {
        let BlockInputs { random, signer, quorum } = inputs;
        let driver = DriverState::new(settings.store.memory.driver_bytes(), shared.driver_bytes.clone());
        let writer = ChainWriter::new(started, shared, quorum);
        let mut producer = BlockProducer::new(writer, settings, random, signer);
        let begun = if producer.settings.leads_at_start() { producer.begin() } else { Ok(()) };
        // Even if production cannot begin, reads of durable data are served.
        let view = producer.view()?;
        producer.writer.show(Arc::new(view));
        begun.map(|()| Self { producer, driver, snapshots: DevSnapshots::default() })
    }

    /// Runs one tick: see [`Producer::tick`](crate::Producer::tick). Does nothing on a node that only serves.
    pub(crate) fn tick(
        &mut self,
        now: ClockReading,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<(), ProductionError> {
        let done = self.try_tick(now, keep_going);
        if let Err(error) = &done
            && error.is_failure()
        {
            self.producer.writer.shared.health.set_phase(Phase::Failed(error.to_string()));
        }
        done
    }

    fn try_tick(
        &mut self,
        now: ClockReading,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<(), ProductionError> {
        if self.producer.pauses_for_clock(now)? {
            return Ok(());
        }
        if let Some(reason) = self.producer.writer.failure() {
            return Err(ProductionError::Halted(reason));
        }
        self.producer.writer.check_store()?;
        match self.producer.mining {
            Mining::Driver => self.payloads().tick(keep_going),
            Mining::Interval { .. } | Mining::Automatic | Mining::Manual => {
                self.producer.tick(now, keep_going)
            }
        }
    }

    /// Returns the builder of the payloads of a driver. Its methods fail on a node without one.
    pub fn payloads(&mut self) -> PayloadBuilder<'_> {
        PayloadBuilder { producer: &mut self.producer, driver: &mut self.driver }
    }

    /// Returns the control of a development chain. Its methods fail on another chain.
    pub fn development(&mut self) -> DevelopmentControl<'_> {
        DevelopmentControl { producer: &mut self.producer, snapshots: &mut self.snapshots }
    }

    /// Returns the time on the chain's clock: the wall clock, plus an offset on development chains.
    pub fn now(&self) -> ClockReading {
        self.producer.writer.now()
    }

    /// Returns the milliseconds by which the chain's clock is ahead of the wall clock.
    pub fn clock_offset(&self) -> i64 {
        self.producer.writer.chain.clock_offset()
    }

    /// Returns the mining mode.
    pub fn mining(&self) -> Mining {
        self.producer.mining
    }

    /// Returns the number of the newest sealed block.
    pub fn height(&self) -> u64 {
        self.producer.writer.height()
    }

    /// Makes sealed block `number` the newest one. The transactions after it return to the pool, including
    /// those of the block being built.
    ///
    /// # Errors
    /// Returns [`ControlError::Finalized`] below the finalized block, except on a development chain.
    pub fn unwind(&mut self, number: u64) -> Result<(), ControlError> {
        let draft = self.producer.unwound(number)?;
        if self.producer.slot.is_none() {
            return Ok(self.producer.commit(draft, None)?);
        }
        self.producer.resume(draft)
    }
}

//! The writer of the chain of this process: makes appends durable, passes them to the store, and shows them.
//!
//! ```text
//!   append (journal: durable) -> adopt (chain, store) -> show (view, frames for followers) -> trim
//! ```
//!
//! Each process with a data directory of its own has one: a leader appends what it builds, a replica or standby what
//! its leader built. A worker reads the data directory of another process and has none. Nothing is shown before its
//! append is durable.

use std::sync::Arc;

use alloy_primitives::B256;
use foreseal_chain::{Chain, ClockReading, View};
use foreseal_journal::{Journal, JournalError, JournalReader, LocalJournal, RawAppend, Record};
use foreseal_quorum::{QuorumJournal, QuorumWriter, RunId};
use parking_lot::Mutex;

use crate::{
    errors::{production_error::ProductionError, store_failed::StoreFailed},
    observe::{points::InspectionPoint, writer_metrics::Stopwatch},
    produce::retired::Retired,
    shared::shared_state::SharedState,
    store::{start::Started, store_writer::StoreWriter},
};

/// Owner of chain, journal and store of this process.
pub(crate) struct ChainWriter {
    pub chain: Chain,
    pub shared: Arc<SharedState>,
    journal: Box<dyn Journal>,
    store_writer: StoreWriter,
    /// Writer of the quorum journal; `None` if only this machine has the journal.
    quorum: Option<Arc<Mutex<QuorumWriter>>>,
    /// Appends that no view shows yet. Followers receive them together with the view.
    unshown: Vec<RawAppend>,
    /// Reason why nothing more can be written.
    pub halted: Option<String>,
}

impl ChainWriter {
    /// Takes over a replayed chain.
    pub fn new(started: Started, shared: Arc<SharedState>, quorum: Option<Arc<Mutex<QuorumWriter>>>) -> Self {
        let Started { chain, journal, store_writer } = started;
        let journal: Box<dyn Journal> = match &quorum {
            Some(writer) => Box::new(QuorumJournal::new(journal, writer.clone())),
            None => Box::new(journal),
        };
        Self { chain, shared, journal, store_writer, quorum, unshown: Vec::new(), halted: None }
    }

    /// Returns the reason why nothing more can be written, if there is one.
    pub fn failure(&self) -> Option<String> {
        self.halted.clone().or_else(|| self.shared.health.failure())
    }

    /// Checks that the store can be written.
    pub fn check_store(&self) -> Result<(), StoreFailed> {
        self.store_writer.check()
    }

    /// Returns the part of the store's limit, in thousandths, to which the builder is throttled.
    pub fn share(&self) -> u32 {
        self.store_writer.share()
    }

    /// Returns the time on the chain's clock: the wall clock, plus an offset on development chains.
    pub fn now(&self) -> ClockReading {
        self.shared.clock.now().shifted(self.chain.clock_offset())
    }

    /// Returns the number of the newest sealed block.
    pub fn height(&self) -> u64 {
        self.chain.latest().number()
    }

    /// Appends records durably: on this machine, and on a quorum if there is one.
    pub fn append(&mut self, records: &[Record]) -> Result<(), ProductionError> {
        if records.is_empty() {
            return Ok(());
        }
        // A follower may meanwhile have proved that the journal has lost appends.
        if let Some(reason) = self.shared.health.failure() {
            return Err(ProductionError::Halted(reason));
        }
        self.append_with(|journal| journal.append(records))
    }

    /// Appends records that another process made durable, to the journal on this machine only.
    pub fn append_replicated(&mut self, records: &[Record]) -> Result<(), ProductionError> {
        self.append_with(|journal| journal.local_mut().append(records))
    }

    fn append_with(
        &mut self,
        append: impl FnOnce(&mut dyn Journal) -> Result<u64, JournalError>,
    ) -> Result<(), ProductionError> {
        // These records may derive from reads of the store, and a damaged store must not be built upon.
        self.store_writer.check()?;
        self.shared.publication.reached(InspectionPoint::BeforeAppend);
        let mut stopwatch = Stopwatch::begin(&*self.shared.clock);
        let waiting = self.shared.activity.wait_for_disk();
        append(&mut *self.journal)?;
        drop(waiting);
        self.shared.metrics.append.add(stopwatch.lap());
        self.shared.metrics.journal_is(self.journal.local());
        self.shared.publication.reached(InspectionPoint::Appended);
        if self.shared.publication.frames().is_some() {
            self.unshown.extend(self.journal.local().newest());
        }
        Ok(())
    }

    /// Replaces the chain by one whose records are durable, and passes its changes to the store. Returns the parts that
    /// were replaced.
    pub fn adopt(&mut self, chain: Chain) -> Result<Retired, ProductionError> {
        let before = std::mem::replace(&mut self.chain, chain);
        let sequence = self.next_sequence().saturating_sub(1);
        let waiting = self.shared.activity.wait_for_disk();
        self.store_writer.follow(&mut self.chain, sequence)?;
        drop(waiting);
        Ok(Retired::new(before, self.chain.remove_expired()))
    }

    /// Publishes a view to local readers, and the appends behind it to followers.
    pub fn show(&mut self, view: Arc<View>) {
        self.shared.publication.publish(view);
        self.send_unshown();
    }

    /// Publishes the appends that no follower has received.
    pub fn send_unshown(&mut self) {
        if let Some(frames) = self.shared.publication.frames() {
            self.unshown.drain(..).for_each(|append| frames.append(append));
        }
    }

    /// Notifies the pool of the fees of the block being built.
    pub fn publish_fees(&self) {
        if let Some(view) = self.shared.publication.view() {
            let (base_fee, blob_base_fee) = self.chain.spec().base_fees(&view.pending().block.header);
            self.shared.pool.on_fees(base_fee, blob_base_fee);
        }
    }

    /// Removes the segments of the journal that store and retention no longer need.
    pub fn trim(&mut self) {
        self.shared.publication.reached(InspectionPoint::BeforeTrim);
        let _waiting = self.shared.activity.wait_for_disk();
        self.store_writer.trim(self.journal.local_mut());
    }

    /// Proves to other machines that this process still writes the chain, if that is due. Returns `false` if it cannot
    /// prove it.
    pub fn beat(&mut self) -> Result<bool, ProductionError> {
        Ok(self.journal.beat()?)
    }

    /// Returns `true` if other machines have the journal as well.
    pub fn has_quorum(&self) -> bool {
        self.quorum.is_some()
    }

    /// Releases the ownership of the chain, preferably in favour of `successor`.
    ///
    /// # Errors
    /// Returns the reason if the quorum has not confirmed it. The ownership is given up in any case.
    pub fn release(&mut self, successor: Option<RunId>) -> Result<(), String> {
        match &self.quorum {
            Some(writer) => writer.lock().release(successor).map_err(|error| error.to_string()),
            None => Ok(()),
        }
    }

    /// Returns the journal on this machine.
    pub fn local_journal(&self) -> &LocalJournal {
        self.journal.local()
    }

    /// Returns the sequence number of the next append.
    pub fn next_sequence(&self) -> u64 {
        self.journal.local().next_sequence()
    }

    /// Returns the content hash of the newest append; `None` if there is none. `reader` reads the journal.
    ///
    /// # Errors
    /// Returns the reason if the append cannot be read.
    pub fn last_hash(&self, reader: &JournalReader) -> Result<Option<B256>, String> {
        let next = self.next_sequence();
        let Some(sequence) = next.checked_sub(1) else { return Ok(None) };
        if let Some(hash) = self.journal.local().newest_hash() {
            return Ok(Some(hash));
        }
        let mut appends = reader.up_to(next).raw_appends(sequence).map_err(|error| error.to_string())?;
        match appends.next().transpose().map_err(|error| error.to_string())? {
            Some(append) if append.sequence == sequence => Ok(Some(append.hash)),
            _ => Err(format!("the journal here lacks its append {sequence}")),
        }
    }

    /// Records durably that the journal ends here cleanly.
    pub fn close_journal(&mut self) -> Result<(), JournalError> {
        self.journal.local_mut().close()
    }

    /// Writes one batch to the store: see [`Node::write_store`](crate::Node::write_store).
    pub fn write_store(&self) -> bool {
        self.store_writer.write_without_thread()
    }

    /// Waits until the store holds everything that was queued.
    pub fn drain(&self) -> Result<(), StoreFailed> {
        let _waiting = self.shared.activity.wait_for_disk();
        self.store_writer.drain()
    }
}

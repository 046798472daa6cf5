//! Appends that another process made: a node on another machine adds them to its own journal and store.
//!
//! ```text
//!   upstream's feed -> MirrorChain -> ChainWriter::add_append -> local journal -> store, frames, view
//!   quorum's tail ------------------> ChainWriter::add_record -^
//! ```

use std::sync::Arc;

use foreseal_chain::{Chain, replay};
use foreseal_journal::{RawAppend, Record};
use foreseal_quorum::{QuorumEntry, QuorumRecord, chain_hash};
use foreseal_replication::{ApplyError, CopyError, Production};

use crate::produce::{chain_draft::ChainDraft, chain_writer::ChainWriter, step_stamp::StepStamp};

/// Check of an append before it is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AppendCheck {
    /// Applies the recorded state changes and compares roots.
    Roots,
    /// Executes the transactions and compares every byte.
    Execution,
}

impl ChainWriter {
    /// Adds an append of another process. It is durable on return, but not shown: see
    /// [`Self::show_replicated`].
    pub(crate) fn add_append(&mut self, append: &RawAppend, check: AppendCheck) -> Result<(), CopyError> {
        let (sequence, wanted) = (append.sequence, self.next_sequence());
        if sequence != wanted {
            return Err(ApplyError::OutOfOrder { found: sequence, wanted }.into());
        }
        if !append.is_consistent() {
            return Err(ApplyError::ContentHash { sequence }.into());
        }
        let records = append.decode().map_err(ApplyError::from)?.records;
        match check {
            AppendCheck::Execution => self.add_executed(&records, append)?,
            // A block after an unwind may need trie nodes that the store restores during the unwind.
            AppendCheck::Roots if records.iter().any(|record| matches!(record, Record::Unwind { .. })) => {
                self.add_durable(&records)?;
                self.replay_unwinding(&records)?;
            }
            AppendCheck::Roots => {
                let mut chain = self.chain.clone();
                replay_all(&mut chain, &records)?;
                self.add_durable(&records)?;
                self.adopt(chain).map(drop).map_err(|error| CopyError::Failed(error.to_string()))?;
            }
        }
        self.after_append(&records);
        Ok(())
    }

    /// Executes an append of another process and adds the result, which must have the same bytes.
    fn add_executed(&mut self, records: &[Record], made: &RawAppend) -> Result<(), CopyError> {
        let executed = self.execute_records(records, made.sequence)?;
        let append = RawAppend::encode(made.sequence, &executed.records);
        if append.hash != made.hash {
            let reason = format!("its content has hash {}, recorded is {}", append.hash, made.hash);
            return Err(ApplyError::Execution { sequence: made.sequence, reason }.into());
        }
        self.add_draft(executed)
    }

    /// Executes records of append `sequence`, of whose steps only header, transactions, time and signature are
    /// used.
    fn execute_records(&self, records: &[Record], sequence: u64) -> Result<ChainDraft, ApplyError> {
        let mut draft = ChainDraft::new(&self.chain, StepStamp::unsigned());
        for record in records {
            draft.execute(record).map_err(|reason| ApplyError::Execution { sequence, reason })?;
        }
        Ok(draft)
    }

    fn add_draft(&mut self, draft: ChainDraft) -> Result<(), CopyError> {
        self.add_durable(&draft.records)?;
        self.adopt(draft.chain).map(drop).map_err(|error| CopyError::Failed(error.to_string()))
    }

    /// Executes a record of the quorum journal and shows the result.
    pub(crate) fn add_record(&mut self, record: QuorumRecord) -> Result<(), CopyError> {
        let QuorumRecord { link, entries } = record;
        let inputs: Vec<_> = entries.into_iter().map(QuorumEntry::into_inputs).collect();
        let before = self.next_sequence();
        debug_assert_eq!(before, link.sequence, "the caller checks it");
        let executed = self.execute_records(&inputs, link.sequence)?;
        let append = RawAppend::encode(link.sequence, &executed.records);
        if chain_hash(link.previous, append.hash) != link.hash {
            let reason =
                format!("its content has hash {}, which the quorum journal does not have", append.hash);
            return Err(ApplyError::Execution { sequence: link.sequence, reason }.into());
        }
        let records = executed.records.clone();
        self.add_draft(executed)?;
        self.after_append(&records);
        self.show_replicated(None)?;
        // Without the feed, only the steps change the pool.
        for record in &records {
            if let Record::Step(step) | Record::Override { step, .. } = record {
                self.shared.pool.on_step(&step.transactions, &step.diff);
            }
        }
        self.publish_fees();
        Ok(())
    }

    fn add_durable(&mut self, records: &[Record]) -> Result<(), CopyError> {
        self.append_replicated(records).map_err(|error| CopyError::Failed(error.to_string()))
    }

    fn replay_unwinding(&mut self, records: &[Record]) -> Result<(), CopyError> {
        for record in records {
            let mut chain = self.chain.clone();
            replay_all(&mut chain, std::slice::from_ref(record))?;
            self.adopt(chain).map(drop).map_err(|error| CopyError::Failed(error.to_string()))?;
        }
        Ok(())
    }

    /// Passes the append to followers, and removes what store and retention no longer need after a sealed
    /// block.
    pub(crate) fn after_append(&mut self, records: &[Record]) {
        self.shared.metrics.committed(records);
        self.send_unshown();
        if records.iter().any(|record| matches!(record, Record::Seal { .. } | Record::Import { .. })) {
            self.trim();
        }
    }

    /// Publishes the newest state. In the middle of a change that the leader has not published either, publishes a
    /// placeholder block with the settings `idle`, or nothing if there are none.
    pub(crate) fn show_replicated(&mut self, idle: Option<&Production>) -> Result<(), CopyError> {
        let view = match self.chain.view() {
            Some(view) => view,
            None => match idle {
                Some(production) => self.chain.idle_view(&production.idle_opening(&self.chain))?,
                None => return Ok(()),
            },
        };
        self.shared.publication.publish(Arc::new(view));
        Ok(())
    }
}

fn replay_all(chain: &mut Chain, records: &[Record]) -> Result<(), ApplyError> {
    for (at, record) in records.iter().enumerate() {
        replay(chain, u64::try_from(at).unwrap_or(u64::MAX), record)?;
    }
    Ok(())
}

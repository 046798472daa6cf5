//! The journal with which a repaired store must agree.

use std::{path::PathBuf, sync::Arc};

use foreseal_chain::{SealedPosition, sealed_until};
use foreseal_journal::{Identity, JournalReader, JournalReport, RealDisk, check, recorded_end};
use foreseal_store::Store;

use crate::{errors::chain_loss::ChainLoss, repair::errors::StoreRepairError};

const HELP: &str = "see `foreseal journal check`, then `foreseal journal repair`";

/// The journal of a data directory, as a repair finds it.
pub(crate) struct RepairJournal {
    folder: PathBuf,
    identity: Identity,
    report: JournalReport,
}

impl RepairJournal {
    /// Reads the whole journal.
    ///
    /// # Errors
    /// Returns errors of the file system; damage is part of the report.
    pub fn read(folder: PathBuf, identity: Identity) -> Result<Self, StoreRepairError> {
        let report = check(&folder, Arc::new(RealDisk))?;
        Ok(Self { folder, identity, report })
    }

    /// Returns the sequence number of its oldest append.
    pub fn first_sequence(&self) -> u64 {
        self.report.first_sequence
    }

    /// Returns the sequence number after its newest append.
    fn next_sequence(&self) -> u64 {
        self.report.first_sequence.saturating_add(self.report.appends)
    }

    fn journal_reader(&self) -> JournalReader {
        JournalReader::new(self.folder.clone(), Arc::new(RealDisk), self.identity, self.next_sequence())
    }

    /// Returns the blocks of the chain that it seals, the oldest first.
    pub fn sealed(&self) -> Result<Vec<SealedPosition>, StoreRepairError> {
        let sealed = sealed_until(&self.journal_reader(), self.next_sequence(), self.identity.genesis)?;
        Ok(sealed.unwrap_or_default())
    }

    /// Returns the reason for which a store built on the journal would contradict what was visible: the
    /// journal is damaged, or the recorded end or the damaged store proves that it was longer. `None` if
    /// there is no such proof.
    pub fn loss(&self, store: Option<&Store>) -> Result<Option<String>, StoreRepairError> {
        if self.report.fault.is_some() {
            let why =
                format!("the journal is damaged as well: {HELP}, or restore a backup into a new folder");
            return Ok(Some(why));
        }
        if let Some(missing) = &self.report.missing {
            return Ok(Some(format!("{missing}: {HELP}")));
        }
        let next = self.next_sequence();
        let mark = recorded_end(&self.folder, &RealDisk)?;
        if mark.is_some_and(|mark| mark.is_accepted_loss(next)) {
            return Ok(None);
        }
        let Some((store, progress)) = store.and_then(|store| Some((store, store.progress().ok()?))) else {
            // A store that cannot be read proves nothing.
            return Ok(None);
        };
        let stored = progress.head.map_or(0, |head| head.number);
        if stored == 0 || progress.journal_sequence < next {
            return Ok(None);
        }
        let loss = ChainLoss::find(store, &self.journal_reader(), next, None).ok().flatten();
        let loss = loss.map_or_else(|| format!("the store has block {stored}"), |loss| loss.to_string());
        Ok(Some(format!("the journal has lost what was visible: {loss}: {HELP}")))
    }
}

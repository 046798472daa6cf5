//! The chain of a node that follows another machine, with a journal and a store of its own.

use std::sync::Arc;

use foreseal_journal::{JournalError, JournalReader, RawAppend};
use foreseal_replication::{
    ApplyError, ChainCopy, CopyError, CopyProgress, Phase, RestartCause,
    wire::{Cursor, Welcome},
};
use parking_lot::Mutex;

use crate::{
    cluster::replica_appends::AppendCheck, control::sequencer::Sequencer, shared::shared_state::SharedState,
};

/// A chain whose appends come from another machine. It serves workers and further nodes like a sequencer.
pub(crate) struct MirrorChain {
    pub sequencer: Arc<Mutex<Sequencer>>,
    pub shared: Arc<SharedState>,
    /// Reader of the own journal.
    pub journal_reader: JournalReader,
    pub check: AppendCheck,
    /// `true` once this process has reported that its chain is loaded.
    pub begun: bool,
}

impl MirrorChain {
    /// Returns an error while this process writes the chain itself.
    fn following(&self, sequencer: &Sequencer) -> Result<(), CopyError> {
        if sequencer.producer.leads() {
            return Err(CopyError::Failed("this process writes the chain itself".to_owned()));
        }
        match sequencer.producer.writer.halted.clone().or_else(|| self.shared.health.damage()) {
            Some(reason) => Err(CopyError::Failed(reason)),
            None => Ok(()),
        }
    }
}

impl MirrorChain {
    /// Checks that an append is the one that the journal here has with its number.
    fn check_repeated(&self, sequencer: &Sequencer, append: &RawAppend) -> Result<(), CopyError> {
        let (sequence, wanted) = (append.sequence, sequencer.producer.writer.next_sequence());
        let failed = |error: JournalError| CopyError::Failed(error.to_string());
        let mut appends = self.journal_reader.up_to(wanted).raw_appends(sequence).map_err(failed)?;
        match appends.next().transpose().map_err(failed)? {
            Some(here) if here.sequence == sequence && here.hash == append.hash => Ok(()),
            Some(here) if here.sequence == sequence => {
                Err(ApplyError::OtherAppend { sequence, found: append.hash, here: here.hash }.into())
            }
            // The journal here begins later.
            _ => Err(ApplyError::OutOfOrder { found: sequence, wanted }.into()),
        }
    }
}

impl ChainCopy for MirrorChain {
    fn cursor(&mut self) -> Result<Cursor, CopyError> {
        let sequencer = self.sequencer.lock();
        self.following(&sequencer)?;
        let Some(sequence) = sequencer.producer.writer.next_sequence().checked_sub(1) else {
            return Ok(Cursor::From { sequence: 0 });
        };
        match sequencer.producer.writer.last_hash(&self.journal_reader).map_err(CopyError::Failed)? {
            Some(hash) => Ok(Cursor::After { sequence, hash }),
            None => Ok(Cursor::From { sequence: 0 }),
        }
    }

    fn begin(&mut self, welcome: &Arc<Welcome>) -> Result<bool, CopyError> {
        let mut sequencer = self.sequencer.lock();
        self.following(&sequencer)?;
        sequencer.producer.follow_settings_of(welcome);
        Ok(!std::mem::replace(&mut self.begun, true))
    }

    fn apply(&mut self, append: &RawAppend) -> Result<(), CopyError> {
        let mut sequencer = self.sequencer.lock();
        self.following(&sequencer)?;
        if append.sequence < sequencer.producer.writer.next_sequence() {
            // The quorum's tail had it already.
            return self.check_repeated(&sequencer, append);
        }
        let added = sequencer.producer.writer.add_append(append, self.check);
        if let Err(CopyError::Failed(reason)) = &added {
            sequencer.producer.writer.halted = Some(reason.clone());
            self.shared.health.set_phase(Phase::Failed(reason.clone()));
        }
        added
    }

    fn publish(&mut self, welcome: &Welcome) -> Result<(), CopyError> {
        let mut sequencer = self.sequencer.lock();
        self.following(&sequencer)?;
        let idle = !welcome.produces || self.shared.publication.view().is_none();
        let producer = &mut sequencer.producer;
        producer.writer.show_replicated(idle.then_some(&producer.settings.production))
    }

    fn while_following(&mut self, act: &mut dyn FnMut()) -> Result<(), CopyError> {
        let sequencer = self.sequencer.lock();
        self.following(&sequencer)?;
        act();
        Ok(())
    }

    fn progress(&self) -> Option<CopyProgress> {
        let sequencer = self.sequencer.lock();
        let writer = &sequencer.producer.writer;
        let (next, latest) = (writer.next_sequence(), writer.height());
        Some(CopyProgress { next, latest, records: next })
    }

    fn start_over(&mut self, cause: &RestartCause) -> Result<(), String> {
        match cause {
            // Another address may have it, or have it again.
            RestartCause::CursorGone | RestartCause::InvalidFrame => Ok(()),
            RestartCause::Contradicted(reason) => Err(format!(
                "this node and the one that it follows have different chains: {reason}; \
                 start with an empty data directory once the cause is known"
            )),
        }
    }
}

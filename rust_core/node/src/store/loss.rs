//! Detection of journal loss: the journal ends although another record of this node proves that more existed.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use foreseal_chain::{SealedPosition, sealed_until};
use foreseal_journal::{
    Disk, Identity, JournalError, JournalReader, JournalRepairPlan, JournalReport, OfflineJournal, RealDisk,
    RecordedEnd,
};
use foreseal_store::Store;

use crate::{
    errors::{chain_loss::ChainLoss, node_error::NodeError, start_error::StartError},
    settings::StoreSettings,
    store::{contradiction, offline::open_store_to_read},
};

impl ChainLoss {
    /// Compares the store and the recorded end with the first `next` appends of the journal. Returns `None`
    /// if they prove no more than these appends.
    pub(crate) fn find(
        store: &Store,
        journal_reader: &JournalReader,
        next: u64,
        mark: Option<&RecordedEnd>,
    ) -> Result<Option<Self>, NodeError> {
        let progress = store.progress()?;
        let stored = progress.head.map_or(0, |_| progress.journal_sequence.saturating_add(1));
        // A store without blocks after genesis has applied at most append 0.
        let stored = if progress.head.is_none_or(|head| head.number == 0) { 0 } else { stored };
        let recorded = mark.map_or(0, |mark| mark.next);
        if stored.max(recorded) <= next {
            return Ok(None);
        }
        let mut loss = Self { next, appends: stored.max(recorded) - next, ..Self::default() };
        loss.tip = mark.filter(|mark| mark.next > next).map(|mark| mark.tip);
        if stored > next {
            // A damaged store still proves that more existed, even if its blocks cannot be read.
            if let Err(error) = loss.add_stored(store, journal_reader) {
                tracing::warn!(%error, "cannot read the blocks that only the store has");
            }
        }
        Ok(Some(loss))
    }

    fn add_stored(&mut self, store: &Store, journal_reader: &JournalReader) -> Result<(), NodeError> {
        let sealed = sealed_until(journal_reader, self.next, store.options().genesis)?.unwrap_or_default();
        self.back_to = common(store, &sealed)?.map(|block| block.number);
        self.nothing_shared = self.back_to.is_none();
        let (Some(back_to), Some(head)) = (self.back_to, store.head()?) else { return Ok(()) };
        let reader = store.reader()?;
        for number in back_to + 1..=head.number {
            let Some((_, record)) = reader.record(number)? else { continue };
            self.steps += u64::from(record.steps);
            self.transactions += u64::from(record.transactions);
        }
        if back_to < head.number {
            self.blocks = Some((back_to + 1, head.number));
        }
        Ok(())
    }
}

/// Returns the newest of these blocks that the store has too.
pub(crate) fn common(store: &Store, sealed: &[SealedPosition]) -> Result<Option<SealedPosition>, NodeError> {
    let reader = store.reader()?;
    for block in sealed.iter().rev() {
        if reader.block_hash(block.number)? == Some(block.hash) {
            return Ok(Some(*block));
        }
    }
    Ok(None)
}

/// Converts the error to that of a start, with the loss if the journal has lost appends.
pub(crate) fn explain(error: JournalError, store: &Store, journal_reader: &JournalReader) -> NodeError {
    let JournalError::Missing { next, mark, position, .. } = &error else { return error.into() };
    let head = store.head().ok().flatten().map_or(0, |head| head.number);
    if *next == 0 && head > 0 {
        return StartError::JournalGone { head }.into();
    }
    match ChainLoss::find(store, journal_reader, *next, Some(mark)) {
        Ok(Some(loss)) => StartError::Lost { position: *position, loss: Box::new(loss) }.into(),
        // Keeps the journal's own error if the store cannot be read.
        Ok(None) | Err(_) => error.into(),
    }
}

/// A planned repair of a data directory's journal. The directory stays locked until the plan is applied or
/// dropped.
pub struct JournalRepair {
    datadir: PathBuf,
    journal: OfflineJournal,
    repair: Option<JournalRepairPlan>,
    report: JournalReport,
    chain: Option<ChainLoss>,
}

impl JournalRepair {
    /// Compares the journal of a data directory with its recorded end and the store. Changes nothing.
    ///
    /// # Errors
    /// Returns the errors of reading the journal, and [`JournalRepairError::NothingShared`]. A store that
    /// cannot be read is no error; it proves nothing.
    pub fn plan(datadir: &Path) -> Result<Self, JournalRepairError> {
        let journal = OfflineJournal::lock(datadir)?;
        let (report, mut repair) = journal.plan_repair()?;
        if let Some(leading) = leading_cut(datadir, &journal, &report)? {
            let (datadir, repair) = (datadir.to_owned(), Some(leading));
            return Ok(Self { datadir, journal, repair, report, chain: None });
        }
        let mut chain = match lost(datadir, &journal, &report) {
            Ok(chain) => chain,
            Err(error) => {
                tracing::warn!(%error, "the store cannot be read, so it proves nothing");
                None
            }
        };
        add_contradiction(datadir, &journal, &report, &mut chain);
        if chain.as_ref().is_some_and(|chain| chain.nothing_shared) {
            return Err(JournalRepairError::NothingShared);
        }
        if repair.is_none() && chain.is_some() {
            repair = Some(journal.plan_acceptance()?);
        }
        if let (Some(repair), Some(chain)) = (&mut repair, &chain) {
            repair.discard_until(chain.next.saturating_add(chain.appends));
        }
        Ok(Self { datadir: datadir.to_owned(), journal, repair, report, chain })
    }

    /// Returns the report on the content of the journal.
    pub fn report(&self) -> &JournalReport {
        &self.report
    }

    /// Returns the appends that [`Self::apply`] abandons; `None` if there is nothing to repair.
    pub fn loss(&self) -> Option<&foreseal_journal::LostRecords> {
        self.repair.as_ref().map(JournalRepairPlan::loss)
    }

    /// Returns the loss that the store and the recorded end prove.
    pub fn chain(&self) -> Option<&ChainLoss> {
        self.chain.as_ref()
    }

    /// Truncates the journal where it is damaged and records that the loss is accepted. The next start
    /// unwinds the store.
    pub fn apply(self) -> Result<(), JournalError> {
        let Self { datadir, journal, repair, .. } = self;
        repair.map_or(Ok(()), JournalRepairPlan::apply)?;
        // If the file cannot be removed, its append is among those that the repair abandoned, so it has no
        // effect.
        if let Err(error) = contradiction::remove(&datadir) {
            tracing::warn!(%error, "cannot remove the record of lost appends");
        }
        drop(journal);
        Ok(())
    }
}

/// Reasons why a repair cannot be planned.
#[derive(Debug, thiserror::Error)]
pub enum JournalRepairError {
    #[error(transparent)]
    Offline(#[from] foreseal_journal::OfflineError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A repair would leave a data directory with which no start succeeds.
    #[error(
        "a repair would leave no block of the journal that the store has too, and the node could not start: bring back the \
         journal, restore a backup into a new folder, or `foreseal import` a file of blocks into a new folder"
    )]
    NothingShared,
}

/// Plans the removal of damaged leading segments, if the store holds all of their content.
fn leading_cut(
    datadir: &Path,
    journal: &OfflineJournal,
    report: &JournalReport,
) -> Result<Option<JournalRepairPlan>, JournalError> {
    if report.fault.is_none() {
        return Ok(None);
    }
    let progress = open_store_to_read(datadir, &StoreSettings::default()).map(|store| store.progress());
    match progress {
        Ok(Ok(progress)) if progress.head.is_some_and(|head| head.number > 0) => {
            journal.plan_leading_cut(progress.journal_sequence)
        }
        _ => Ok(None),
    }
}

/// Adds the appends that a follower received and the journal lacks, unless a repair has abandoned them.
fn add_contradiction(
    datadir: &Path,
    journal: &OfflineJournal,
    report: &JournalReport,
    chain: &mut Option<ChainLoss>,
) {
    let recorded = contradiction::read(datadir).unwrap_or_else(|error| {
        tracing::warn!(%error, "the record of lost appends cannot be read, so it proves nothing");
        None
    });
    let next = report.first_sequence.saturating_add(report.appends);
    let discarded = journal.recorded_end().ok().flatten().map_or(0..0, |end| end.discarded_before());
    let Some(sequence) = recorded.filter(|seen| *seen >= next && !discarded.contains(seen)) else { return };
    let loss = chain.get_or_insert_with(|| ChainLoss { next, ..ChainLoss::default() });
    loss.appends = loss.appends.max(sequence.saturating_add(1).saturating_sub(loss.next));
}

fn lost(
    datadir: &Path,
    journal: &OfflineJournal,
    report: &JournalReport,
) -> Result<Option<ChainLoss>, NodeError> {
    let store = open_store_to_read(datadir, &StoreSettings::default())?;
    let options = store.options();
    let identity = Identity { chain_id: options.chain_id, genesis: options.genesis };
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let journal_reader = JournalReader::new(journal.folder().to_owned(), disk, identity, u64::MAX);
    let mark = journal.recorded_end().ok().flatten();
    let next = report.first_sequence.saturating_add(report.appends);
    ChainLoss::find(&store, &journal_reader, next, mark.as_ref())
}

//! A copy of the chain that is kept by the journal's appends.

use std::{path::PathBuf, sync::Arc};

use alloy_primitives::B256;
use foreseal_journal::{Disk, Identity, Past, Record, Whole};
use foreseal_store::{Progress, Store};
use foreseal_types::ChainSpec;

use crate::{
    Chain, Recent, ReplayError, View,
    chain::Resumed,
    errors::NodeError,
    outgoing::{Note, Outgoing},
    replay::replay,
    start::{StartError, sealed_by},
    store_link::Confirmed,
    stored::StoredHistory,
    undone::Older,
    wire::{Cursor, Welcome},
};

/// Where the store was when a replica began with it.
#[derive(Clone, Debug)]
pub(crate) struct Seed {
    progress: Progress,
    note: Note,
}

impl Seed {
    /// Where it is now; `None` while it has no block.
    pub fn of(store: &Store) -> Result<Option<Self>, NodeError> {
        let (progress, note) = store.standing()?;
        let note = if note.is_empty() {
            Note::default()
        } else {
            Note::decode(&note).map_err(|_| StartError::Note)?
        };
        Ok(progress.head.is_some().then_some(Self { progress, note }))
    }

    /// With what the sequencer is to begin: the append that made the store's newest block, which may hold more.
    pub fn cursor(&self) -> Cursor {
        Cursor::From { sequence: self.progress.journal_sequence }
    }
}

/// What a replica is made of beside its seed.
#[derive(Clone)]
pub(crate) struct Ground {
    pub spec: Arc<ChainSpec>,
    pub store: Store,
    /// Where the journal is, to find blocks that were undone.
    pub journal: PathBuf,
    pub disk: Arc<dyn Disk>,
    pub window: Recent,
}

/// The chain of a follower.
pub(crate) struct Replica {
    ground: Ground,
    chain: Chain,
    confirmed: Arc<Confirmed>,
    /// Generation of the store that the chain's history is read from.
    generation: u64,
    /// The block that the store had; what comes before it in the first append is not applied again.
    skip_to: Option<(u64, B256)>,
    cursor: Cursor,
    records: u64,
}

/// Why an append does not make the chain go on. What comes next is a new beginning.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Misfit {
    #[error("append {found} came where {wanted} was expected")]
    OutOfOrder { found: u64, wanted: u64 },
    #[error(transparent)]
    NotRecords(#[from] foreseal_journal::NotRecords),
    #[error(transparent)]
    Replay(#[from] ReplayError),
    #[error("block {number} with hash {hash}, where the store ends, is not in append {sequence}")]
    NotThere { number: u64, hash: B256, sequence: u64 },
}

impl Replica {
    /// The chain as the store holds it. `undone` is how many blocks were taken off the chain that was shown before.
    pub fn begin(ground: Ground, seed: &Seed, welcome: &Welcome, undone: u64) -> Result<Self, NodeError> {
        let Progress { head, journal_sequence, generation, .. } = seed.progress;
        let head = head.ok_or(StartError::StoreGone)?;
        let confirmed = Arc::new(Confirmed::default());
        confirmed.set(Some(head.number));
        let history = history(&ground.store, generation, &confirmed);
        let record = ground.store.reader_of(generation).record(head.number)?;
        let total_difficulty = record.map(|(_, record)| record.total_difficulty).unwrap_or_default();
        let resumed = Resumed { head: head.number, total_difficulty, beside: seed.note.beside };
        let mut chain = Chain::resumed(ground.spec.clone(), welcome.depth, history, ground.window, resumed)?;
        let identity = Identity { chain_id: ground.spec.chain_id(), genesis: ground.store.options().genesis };
        let past = Past::new(ground.journal.clone(), ground.disk.clone(), identity, journal_sequence + 1);
        // All of the append that sealed the head: of what it holds behind that, nothing is undone yet.
        chain.remember(Older::new(past, (journal_sequence, usize::MAX)), undone);
        let first = head.number == 0 && journal_sequence == 0;
        Ok(Self {
            ground,
            chain,
            confirmed,
            generation,
            skip_to: (!first).then_some((head.number, head.hash)),
            cursor: seed.cursor(),
            records: 0,
        })
    }

    /// Where the sequencer is to go on.
    pub fn cursor(&self) -> Cursor {
        self.cursor
    }

    /// Sequence number of the append that comes next.
    pub fn next(&self) -> u64 {
        match self.cursor {
            Cursor::From { sequence } => sequence,
            Cursor::After { sequence, .. } => sequence + 1,
        }
    }

    /// Records so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Blocks that were ever taken off the chain.
    pub fn undone(&self) -> u64 {
        self.chain.undone_count()
    }

    /// Number of the newest sealed block.
    pub fn latest(&self) -> u64 {
        self.chain.latest().number()
    }

    /// The snapshot that readers get; `None` while no block is being built.
    pub fn view(&self) -> Option<View> {
        self.chain.view()
    }

    /// As [`Self::view`]; in place of a block being built what the sequencer would build next.
    pub fn idle_view(&self, welcome: &Welcome) -> Result<View, foreseal_builder::BuildError> {
        self.chain.idle_view(&welcome.production.idle_opening(&self.chain))
    }

    /// Applies an append, by the very functions that replay it.
    pub fn apply(&mut self, append: &Whole) -> Result<(), Misfit> {
        let (found, wanted) = (append.sequence, self.next());
        if found != wanted {
            return Err(Misfit::OutOfOrder { found, wanted });
        }
        let records = append.decode()?.records;
        for record in records.iter().skip(self.skipped(&records, found)?) {
            self.records += 1;
            replay(&mut self.chain, self.records, record)?;
            self.follow();
        }
        self.cursor = Cursor::After { sequence: append.sequence, hash: append.hash };
        self.chain.settle();
        Ok(())
    }

    /// How many of the first records the store has.
    fn skipped(&mut self, records: &[Record], sequence: u64) -> Result<usize, Misfit> {
        let Some((number, hash)) = self.skip_to.take() else { return Ok(0) };
        let sealed = records.iter().rposition(|record| sealed_by(record) == Some((number, hash)));
        sealed.map(|at| at + 1).ok_or(Misfit::NotThere { number, hash, sequence })
    }

    /// The sequencer's store has done what the chain did just now, so every unwind of the one is an unwind of the other.
    fn follow(&mut self) {
        for outgoing in self.chain.take_outgoing() {
            if let Outgoing::Unwound { to, .. } = outgoing {
                self.generation += 1;
                self.confirmed.set(self.confirmed.get().map(|confirmed| confirmed.min(to)));
                self.chain.read_from(history(&self.ground.store, self.generation, &self.confirmed));
            }
        }
        // Of another generation nothing is known but that it is ahead.
        if let Ok(progress) = self.ground.store.reader_of(self.generation).progress() {
            self.confirmed.set(progress.head.map(|head| head.number));
        }
    }
}

fn history(store: &Store, generation: u64, confirmed: &Arc<Confirmed>) -> Arc<StoredHistory> {
    Arc::new(StoredHistory::new(store.reader_of(generation), confirmed.clone()))
}

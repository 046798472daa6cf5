//! Start of a chain: it loads what the store holds and replays the rest of the journal.
//!
//! ```text
//!   store at block N, applied up to append S   journal:  ... [S: ..., seal N | open N+1 ...] [S+1] ... [end]
//!                                                                           ^ replay begins here
//! ```
//!
//! The journal is authoritative. A store that is ahead of it proves that the journal has lost published data,
//! so the node refuses to start. Once a repair has accepted the loss, the store is unwound to the newest
//! block that it shares with the journal.

use std::sync::Arc;

use foreseal_chain::{
    ArchiveCaches, Chain, GenesisBlock, Resumed, SealedPosition, StoreMeta, UnreplayedJournal,
    datadir::DataDir, replay, sealed_by, sealed_chain,
};
use foreseal_journal::{Disk, Identity, JournalOptions, JournalReader, LocalJournal, Record, Recovery};
use foreseal_store::{Store, StoredHead};

use crate::{
    errors::{chain_loss::ChainLoss, node_error::NodeError, start_error::StartError},
    settings::Settings,
    store::{
        contradiction,
        loss::{common, explain},
        opened_chain::ChainOrigin,
        store_writer::{StoreObservers, StoreWriter},
    },
};

/// A fully replayed chain, with its journal and the writer of its store.
pub(crate) struct Started {
    pub chain: Chain,
    pub journal: LocalJournal,
    pub store_writer: StoreWriter,
}

/// Opens the journal and replays what the store does not have. `report` receives the number of records so
/// far. If `beside` has a watcher, the store gets no thread.
pub(crate) fn start(
    datadir: &DataDir,
    origin: ChainOrigin,
    settings: &Settings,
    (store, disk, observers): (Store, Arc<dyn Disk>, StoreObservers),
    report: &mut dyn FnMut(u64),
) -> Result<Started, NodeError> {
    let identity = Identity { chain_id: origin.spec.chain_id(), genesis: store.options().genesis };
    let options = JournalOptions { identity, segment_bytes: settings.segment_bytes, entropy: rand::random() };
    let journal_reader = JournalReader::new(datadir.journal(), disk.clone(), identity, u64::MAX);
    let opened = LocalJournal::open(&datadir.journal(), disk, options);
    let (mut journal, recovery) = opened.map_err(|error| explain(error, &store, &journal_reader))?;
    check_contradiction(datadir, &journal)?;
    let mut from = begin(&store, &journal, &recovery)?;
    let meta = read_store_meta(&store)?;
    let mut store_writer = StoreWriter::start(store.clone(), &settings.store, &meta, observers)?;
    let mut chain = open_chain(&store, origin, settings, &store_writer, &meta)?;
    chain.remember(UnreplayedJournal::new(journal.reader(), (from.sequence, from.records)), 0);
    let mut followed = store_writer.follow(&mut chain, 0);
    let mut records = 0;
    for append in journal.replay_from(from.sequence)? {
        let append = append?;
        let skipped = std::mem::take(&mut from.records);
        for record in append.records.iter().skip(skipped) {
            records += 1;
            replay(&mut chain, records, record)?;
            if matches!(record, Record::Unwind { .. }) && followed.is_ok() {
                // Later blocks may need trie nodes that the store has discarded and restores during the
                // unwind.
                followed = store_writer.follow(&mut chain, append.sequence);
            }
        }
        if followed.is_ok() {
            followed = store_writer.follow(&mut chain, append.sequence);
        }
        // If the store cannot follow, the whole chain stays in memory.
        if followed.is_ok() {
            drop(chain.remove_expired());
        }
        report(records);
    }
    store_writer.trim(&mut journal);
    tracing::info!(
        records,
        head = chain.latest().number(),
        segments = recovery.segments,
        appends = recovery.appends,
        "journal replayed"
    );
    Ok(Started { chain, journal, store_writer })
}

/// Returns the chain metadata in the store.
pub(crate) fn read_store_meta(store: &Store) -> Result<StoreMeta, NodeError> {
    Ok(StoreMeta::decode(&store.writer_metadata()?).map_err(StartError::from)?)
}

/// Returns the chain that the store holds, up to its newest block.
pub(crate) fn open_chain(
    store: &Store,
    ChainOrigin { spec, genesis }: ChainOrigin,
    settings: &Settings,
    store_writer: &StoreWriter,
    meta: &StoreMeta,
) -> Result<Chain, NodeError> {
    let (history, depth, window) =
        (store_writer.history()?, settings.finality_depth(), settings.store.recent);
    let Some(head) = store.head()?.map(|head| head.number) else {
        let genesis = genesis.unwrap_or_else(|| GenesisBlock::new(spec));
        return Ok(Chain::with_history(&genesis, depth, history, window, &settings.store.caches));
    };
    let record = store.reader()?.record(head)?;
    let total_difficulty = record.map(|(_, record)| record.total_difficulty).unwrap_or_default();
    let resumed = Resumed { head, total_difficulty, meta: meta.chain };
    let caches = ArchiveCaches::new(&settings.store.caches);
    Ok(Chain::resumed(spec, depth, history, (window, caches), resumed)?)
}

/// The append at which replay begins, and the number of its records that the store has applied.
struct ReplayStart {
    sequence: u64,
    records: usize,
}

/// Checks that the journal has the append with which a follower proved a loss, unless a repair has abandoned
/// it.
fn check_contradiction(datadir: &DataDir, journal: &LocalJournal) -> Result<(), NodeError> {
    let next = journal.next_sequence();
    match contradiction::read(datadir.path())? {
        Some(sequence) if sequence >= next && !journal.discarded().contains(&sequence) => {
            Err(StartError::Contradicted { sequence, next }.into())
        }
        _ => Ok(()),
    }
}

/// Finds the store's position in the journal. If the store is ahead and a repair allows it, unwinds the store
/// first.
fn begin(store: &Store, journal: &LocalJournal, recovery: &Recovery) -> Result<ReplayStart, NodeError> {
    let progress = store.progress()?;
    let (sequence, first) = (progress.journal_sequence, journal.first_sequence());
    let Some(head) = progress.head else {
        return if first == 0 {
            Ok(ReplayStart { sequence: 0, records: 0 })
        } else {
            Err(StartError::StoreGone.into())
        };
    };
    if first > sequence {
        return Err(StartError::Gap { head: head.number, sequence, first }.into());
    }
    let StoredHead { number, hash } = head;
    if number == 0 && sequence == 0 {
        return Ok(ReplayStart { sequence, records: 0 });
    }
    if journal.next_sequence() <= sequence {
        return go_back(store, journal, head, recovery);
    }
    let append = journal.replay_from(sequence)?.next().transpose()?;
    let records = append.map(|append| append.records).unwrap_or_default();
    match records.iter().rposition(|record| sealed_by(record) == Some((number, hash))) {
        Some(at) => Ok(ReplayStart { sequence, records: at + 1 }),
        None => Err(StartError::OtherJournal { number, hash, sequence }.into()),
    }
}

/// Unwinds a store that is ahead of the journal, if a repair has accepted the loss of the journal's end.
///
/// # Errors
/// Returns [`StartError::Lost`] if no repair has accepted the loss.
fn go_back(
    store: &Store,
    journal: &LocalJournal,
    head: StoredHead,
    recovery: &Recovery,
) -> Result<ReplayStart, NodeError> {
    let Some(sealed) = sealed_chain(store.options().genesis, journal.replay()?)? else {
        return Err(StartError::JournalGone { head: head.number }.into());
    };
    // The store may have applied an unwind that was abandoned; then the journal has blocks that the store
    // dropped.
    let Some(SealedPosition { number, sequence, records, .. }) = common(store, &sealed)? else {
        return Err(StartError::NothingShared { head: head.number }.into());
    };
    if !recovery.loss_accepted {
        let loss = ChainLoss::find(store, &journal.reader(), journal.next_sequence(), None)?;
        let loss = Box::new(loss.unwrap_or_default());
        return Err(StartError::Lost { position: journal.end(), loss }.into());
    }
    tracing::warn!(from = head.number, to = number, "reverting the store to the end of the journal");
    let mut meta = read_store_meta(store)?;
    meta.chain.finality.unwound(number);
    meta.checkpoints.retain(|checkpoint| checkpoint.number <= number);
    store.unwind(number, sequence, &meta.encode())?;
    Ok(ReplayStart { sequence, records })
}

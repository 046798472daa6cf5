//! A view whose older blocks are in the history returns the same as one that holds them all in memory.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::{ops::ControlFlow, path::Path, sync::Arc};

use alloy_primitives::{Address, B256, Log, U256};
use foreseal_builder::NextBlockAttributes;
use foreseal_chain::{
    BlockId, BlockWindow, CacheSizes, Chain, ExecutedBlock, FinalityDepth, GenesisBlock, HeaderAndState,
    History, LogMatches, ResolveError, View, matching_logs, replay,
};
use foreseal_journal::{Identity, JournalOptions, LocalJournal, RealDisk, Record};
use foreseal_primitives::{ChainSpec, FoundLog, LogFilter, LogPosition};
use foreseal_state::{BlockHashes, StateError, StateReader};
use foreseal_testkit::{TransactionKinds, Wallet, Workload, test_genesis};
use support::{Bench, balance, memory_history::MemoryHistory};

const WINDOW: BlockWindow =
    BlockWindow { blocks: 3, transactions: 12, bytes: usize::MAX, reorged_bytes: usize::MAX };

/// Returns the records of some blocks with all kinds of transactions and with state overrides between them.
fn records(datadir: &Path, wallets: &[Wallet], spec: &ChainSpec) -> Vec<Record> {
    let mut bench = Bench::developing(datadir, wallets);
    let mut workload = Workload::new(wallets.to_vec(), TransactionKinds::WithoutBlobs, 11);
    for round in 0..160 {
        for _ in 0..round % 4_u64 {
            bench.node.submit(&workload.next_transaction()).unwrap();
        }
        bench.tick();
        if round % 5 == 0 {
            bench.node.develop(|development| development.write(&balance(round))).unwrap();
        }
    }
    let genesis = bench.view().sealed(0).unwrap().unwrap().block.hash;
    drop(bench);
    let identity = Identity { chain_id: spec.chain_id(), genesis };
    let options = JournalOptions { identity, segment_bytes: 1 << 20, entropy: [0; 32] };
    let (journal, _) = LocalJournal::open(&datadir.join("journal"), Arc::new(RealDisk), options).unwrap();
    journal.replay().unwrap().flat_map(|append| append.unwrap().records).collect()
}

/// The same chain twice, and an older view of the second.
struct Twins {
    complete: View,
    split: View,
    /// View of the second chain when it was shorter.
    old: View,
    history: Arc<MemoryHistory>,
    wallets: Vec<Wallet>,
}

impl Twins {
    fn new() -> Self {
        let datadir = tempfile::tempdir().unwrap();
        let wallets = Wallet::some(4);
        let spec = Arc::new(ChainSpec::new(test_genesis(&wallets)).unwrap());
        let records = records(datadir.path(), &wallets, &spec);
        let history = Arc::new(MemoryHistory::default());
        let depth = FinalityDepth { safe: 2, finalized: 4 };
        let mut complete = Chain::new(spec.clone(), depth);
        let mut split = Chain::with_history(
            &GenesisBlock::new(spec),
            depth,
            history.clone(),
            WINDOW,
            &CacheSizes::default(),
        );
        history.confirm(split.latest());
        let mut old = None;
        for record in &records {
            replay(&mut complete, 0, record).unwrap();
            replay(&mut split, 0, record).unwrap();
            if matches!(record, Record::Seal { .. }) {
                // The history is one block behind.
                let behind = split.latest().number() - 1;
                history.confirm(&split.block(behind).unwrap().unwrap());
                drop(split.remove_expired());
                if split.latest().number() == 9 {
                    old = Some(split.idle_view(&opening()).unwrap());
                }
            }
        }
        let (complete, split) = (complete.view().unwrap(), split.view().unwrap());
        Self { complete, split, old: old.expect("there are more than 9 blocks"), history, wallets }
    }
}

fn opening() -> NextBlockAttributes {
    NextBlockAttributes {
        merged: true,
        timestamp: 2_000_000_000,
        mix_hash: B256::ZERO,
        beneficiary: Address::ZERO,
        gas_limit: 30_000_000,
        extra_data: alloy_primitives::Bytes::new(),
        exact_gas_limit: None,
        base_fee: None,
        parent_beacon_block_root: B256::ZERO,
        withdrawals: Vec::new(),
        transactions: Vec::new(),
    }
}

/// Returns every identifier of every block and step.
fn names(view: &View) -> Vec<BlockId> {
    let mut ids =
        vec![BlockId::Latest, BlockId::Pending, BlockId::Safe, BlockId::Finalized, BlockId::Earliest];
    for number in 0..=view.pending().number() + 1 {
        ids.push(BlockId::Number(number));
        let Some(block) = view.at(number).unwrap() else { continue };
        let hashes = block.steps.iter().map(|step| step.hash).chain([block.block.hash]);
        for hash in hashes {
            ids.extend([true, false].map(|require_canonical| BlockId::Hash { hash, require_canonical }));
        }
        let steps = u64::try_from(block.steps.len()).unwrap();
        ids.extend((0..=steps).map(|index| BlockId::Step { number, index }));
    }
    ids
}

fn same(a: &ExecutedBlock, b: &ExecutedBlock, id: BlockId) {
    assert_eq!((a.block.hash, &a.block.header), (b.block.hash, &b.block.header), "{id:?}");
    assert_eq!(a.block.receipts, b.block.receipts, "{id:?}");
    let transactions =
        |block: &ExecutedBlock| block.block.transactions.iter().map(|t| t.hash()).collect::<Vec<_>>();
    assert_eq!(transactions(a), transactions(b), "{id:?}");
    assert_eq!(a.block.transactions_length, b.block.transactions_length, "{id:?}");
    assert_eq!(a.state.root(), b.state.root(), "{id:?}");
    assert_eq!(a.state.root(), a.block.header.state_root, "{id:?}");
    assert_eq!(a.steps.len(), b.steps.len(), "{id:?}");
}

#[test]
fn a_view_over_the_store_equals_one_over_memory() {
    let Twins { complete, split, wallets, .. } = Twins::new();
    assert!(split.latest().number() > 12);
    let mut compared = 0;
    for id in names(&complete) {
        match (complete.resolve(id), split.resolve(id)) {
            (Ok(a), Ok(b)) => {
                same(&a, &b, id);
                compared += 1;
            }
            (a, b) => assert_eq!(a.err(), b.err(), "{id:?}"),
        }
        match (complete.header_and_state(id), split.header_and_state(id)) {
            (Ok(a), Ok(b)) => assert_eq!(facts(&a, &wallets), facts(&b, &wallets), "{id:?}"),
            (a, b) => assert_eq!(a.err(), b.err(), "{id:?}"),
        }
    }
    assert!(compared > 300, "{compared} blocks and steps were compared");
    for number in 0..=complete.latest().number() {
        let block = complete.sealed(number).unwrap().unwrap();
        assert_eq!(split.block_hash(number).unwrap(), Some(block.block.hash));
        for (index, transaction) in block.block.transactions.iter().enumerate() {
            let (containing_block, at) = split.transaction(&transaction.hash()).unwrap().unwrap();
            assert_eq!((containing_block.number(), at), (number, index));
        }
    }
}

type Found = (LogPosition, B256, u64, B256, u64, Log);

/// Returns the logs of blocks `from` to `last`, by searches that each end after five logs.
fn logs_of(view: &View, filter: &LogFilter, from: u64, last: u64) -> Result<Vec<Found>, StateError> {
    let (mut logs, mut at) = (Vec::new(), LogPosition::block(from));
    while at.block <= last {
        at = five_logs(view, filter, at, last, &mut logs)?;
    }
    Ok(logs)
}

/// Appends at most five logs. Returns the position from which the search continues.
fn five_logs(
    view: &View,
    filter: &LogFilter,
    from: LogPosition,
    last: u64,
    logs: &mut Vec<Found>,
) -> Result<LogPosition, StateError> {
    let (mut search, before) = (view.search_logs(filter, from, last, 6), logs.len());
    let most = before + 5;
    while let Some(matches) = search.next() {
        let mut full = None;
        let mut visit = |_, entry: &FoundLog<'_>| {
            let FoundLog { block_hash, timestamp, transaction_hash, transaction_index, log, .. } = *entry;
            if logs.len() == most {
                full = Some(entry.position());
                return ControlFlow::Break(());
            }
            let at = entry.position();
            logs.push((at, block_hash, timestamp, transaction_hash, transaction_index, log.clone()));
            ControlFlow::Continue(())
        };
        let read = matches.and_then(|matches| match matches {
            LogMatches::Stored(ordinals) => view.read_logs(filter, &ordinals, &mut visit),
            LogMatches::Block { block, first } => {
                let _ = matching_logs(&block.block, filter, first).try_for_each(|entry| visit(0, &entry));
                Ok(())
            }
        });
        match read {
            Err(StateError::ViewGone) if logs.len() == before && search.retry_in_memory() => {}
            read => read?,
        }
        if let Some(at) = full {
            return Ok(at);
        }
    }
    search.position()
}

#[test]
fn logs_are_equal_from_store_and_memory() {
    let Twins { complete, split, .. } = Twins::new();
    let pending = complete.pending().number();
    let everything = logs_of(&complete, &LogFilter::default(), 0, pending).unwrap();
    assert!(everything.len() > 50, "{} logs", everything.len());
    let mut filters = vec![LogFilter::default()];
    for (.., log) in everything.iter().step_by(7) {
        filters.push(LogFilter::new(vec![log.address], vec![]));
        filters.push(LogFilter::new(vec![], log.topics().iter().map(|topic| vec![*topic]).collect()));
    }
    for filter in &filters {
        for (from, last) in [(0, pending), (0, 3), (2, 8), (5, pending), (pending, pending)] {
            let logs = logs_of(&split, filter, from, last).unwrap();
            let among = everything
                .iter()
                .filter(|(at, .., log)| (from..=last).contains(&at.block) && filter.matches(log));
            assert!(logs.iter().eq(among), "{filter:?} in {from}..={last}");
        }
    }
}

fn facts(snapshot: &HeaderAndState, wallets: &[Wallet]) -> (B256, B256, Vec<U256>) {
    let balance = |wallet: &Wallet| snapshot.state().account(&wallet.address).unwrap().unwrap().balance;
    (snapshot.hash(), snapshot.header().hash_slow(), wallets.iter().map(balance).collect())
}

/// Blocks that left memory later are still visible in an older view; later blocks are not.
#[test]
fn an_older_view_stays_unchanged() {
    let Twins { complete, old, .. } = Twins::new();
    for number in 0..=complete.latest().number() {
        let block = complete.sealed(number).unwrap().unwrap();
        let id = BlockId::Hash { hash: block.block.hash, require_canonical: false };
        let shown = old.resolve(id);
        assert_eq!(shown.is_ok(), number <= 9, "block {number}");
        for transaction in &block.block.transactions {
            assert_eq!(old.transaction(&transaction.hash()).unwrap().is_some(), number <= 9);
        }
    }
}

/// After the history was unwound, blocks in memory are returned correctly, and all others return an error.
#[test]
fn a_view_without_its_history_never_mixes_chains() {
    let Twins { complete, split, history, .. } = Twins::new();
    history.end();
    let (mut right, mut unavailable) = (0, 0);
    for id in names(&complete) {
        match (complete.resolve(id), split.resolve(id)) {
            (Ok(a), Ok(b)) => {
                same(&a, &b, id);
                right += 1;
            }
            (_, Err(ResolveError::Read(error))) => {
                assert_eq!(error, StateError::ViewGone);
                unavailable += 1;
            }
            (a, b) => assert_eq!(a.err(), b.err(), "{id:?}"),
        }
    }
    assert!(right > 10 && unavailable > 300, "{right} answers from memory, {unavailable} gone");
    let (newest, mut log_count) = (complete.latest().number(), 0);
    for number in 0..=newest {
        let filter = LogFilter::default();
        match logs_of(&split, &filter, number, number) {
            Ok(logs) => {
                assert_eq!(logs, logs_of(&complete, &filter, number, number).unwrap(), "block {number}");
                log_count += logs.len();
            }
            Err(error) => assert_eq!(error, StateError::ViewGone),
        }
        assert_eq!(
            logs_of(&split, &filter, number, newest).is_ok(),
            split.sealed(number).is_ok(),
            "from {number}"
        );
    }
    assert!(log_count > 0, "memory has logs");
    assert_eq!(split.transaction(&B256::repeat_byte(1)).err(), Some(StateError::ViewGone));
    assert!(history.block(1).is_err());
}

/// An unwind between the search of a portion and the reading of its logs: blocks in memory are searched again there.
#[test]
fn a_search_continues_in_memory_if_its_history_ends() {
    let Twins { complete, split, history, .. } = Twins::new();
    let (first, newest) = (split.latest().number() - 1, split.latest().number());
    let filter = LogFilter::default();
    let expected = logs_of(&complete, &filter, first, newest).unwrap();
    let mut search = split.search_logs(&filter, LogPosition::block(first), newest, usize::MAX);
    let mut portion = Vec::new();
    while portion.is_empty() {
        let Some(Ok(LogMatches::Stored(ordinals))) = search.next() else { panic!("the store has matches") };
        portion = ordinals;
    }
    history.end();
    let read = split.read_logs(&filter, &portion, &mut |_, _| ControlFlow::Continue(()));
    assert_eq!(read, Err(StateError::ViewGone));
    assert!(search.retry_in_memory());
    let mut logs = Vec::new();
    for matches in search.by_ref() {
        let LogMatches::Block { block, first } = matches.unwrap() else { panic!("no longer in the store") };
        logs.extend(
            matching_logs(&block.block, &filter, first).map(|entry| (entry.position(), entry.log.clone())),
        );
    }
    let expected: Vec<_> = expected.into_iter().map(|(at, .., log)| (at, log)).collect();
    assert!(!expected.is_empty());
    assert_eq!(logs, expected);
    assert!(!search.retry_in_memory(), "only once");
}

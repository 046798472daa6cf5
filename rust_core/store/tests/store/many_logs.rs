//! Compares the log index with a naive scan over very many logs. `FORESEAL_LOGS` sets
//! their number (the default takes seconds).

use std::{
    ops::ControlFlow,
    sync::{Arc, OnceLock},
};

use alloy_primitives::{Address, B256, Bytes, Log};
use foreseal_primitives::{FoundLog, LogFilter, LogPosition};
use foreseal_state::StateChanges;
use foreseal_store::{Reader, SealedBlock, Store, StoreOptions, StoredLogRange};
use foreseal_testkit::{LogChain, numbered_contract, numbered_topic, skewed_log};
use proptest::{collection::vec, prelude::*, sample::Index};
use rand::{Rng, SeedableRng, rngs::StdRng};
use tempfile::{TempDir, tempdir};

/// Number of blocks that are written in one transaction.
const BATCH: usize = 500;

struct Stored {
    logs: Vec<(LogPosition, Log)>,
    blocks: u64,
    reader: Reader,
    _folder: TempDir,
}

/// Returns the chain that all cases search.
fn stored() -> &'static Stored {
    static STORED: OnceLock<Stored> = OnceLock::new();
    STORED.get_or_init(|| {
        let count = std::env::var("FORESEAL_LOGS").map_or(60_000, |number| number.parse().unwrap());
        let mut random = StdRng::seed_from_u64(8);
        let (mut chain, mut logs, mut blocks) = (LogChain::default(), Vec::new(), Vec::new());
        while logs.len() < count {
            let number = blocks.len() as u64;
            let transactions =
                if number == 0 || random.random_bool(0.3) { 0 } else { random.random_range(0..6) };
            let lists: Vec<Vec<Log>> = (0..transactions)
                .map(|_| (0..random.random_range(0..30)).map(|_| skewed_log(&mut random)).collect())
                .collect();
            let all = (0..).zip(lists.iter().flatten().cloned());
            logs.extend(all.map(|(index, log)| (LogPosition { block: number, index }, log)));
            blocks.push(SealedBlock {
                block: chain.next(lists),
                steps: Vec::new(),
                diff: Arc::default(),
                nodes: StateChanges::default(),
                journal_sequence: 0,
                writer_metadata: Bytes::new(),
            });
        }
        let folder = tempdir().unwrap();
        let options = StoreOptions { map_size: 1 << 34, ..StoreOptions::new(1, blocks[0].block.hash) };
        let store = Store::open(folder.path(), options).unwrap();
        for batch in blocks.chunks(BATCH) {
            store.write(batch).unwrap();
        }
        assert_eq!(store.progress().unwrap().logs, logs.len() as u64);
        Stored { logs, blocks: blocks.len() as u64, reader: store.reader().unwrap(), _folder: folder }
    })
}

impl Stored {
    /// Returns the result of a search; with `restarts` it begins again after every portion.
    fn search(
        &self,
        filter: &LogFilter,
        from: LogPosition,
        last: u64,
        restarts: bool,
    ) -> Vec<(LogPosition, Log)> {
        let (mut logs, mut range) = (Vec::new(), StoredLogRange::new(from, last));
        while !range.is_finished() {
            let ordinals = self.reader.match_logs(filter, &mut range, usize::MAX).unwrap();
            let mut visit = |_, entry: &FoundLog<'_>| {
                logs.push((entry.position(), entry.log.clone()));
                ControlFlow::Continue(())
            };
            self.reader.read_logs(filter, &ordinals, &mut visit).unwrap();
            if let Some(ordinals) = range.ordinals.clone().filter(|left| restarts && !left.is_empty()) {
                let from = self.reader.log_position(ordinals.start).unwrap();
                range = StoredLogRange::new(from, last);
            }
        }
        logs
    }

    fn scan(&self, filter: &LogFilter, from: LogPosition, last: u64) -> Vec<(LogPosition, Log)> {
        let inside = |at: &LogPosition| *at >= from && at.block <= last;
        self.logs.iter().filter(|(at, log)| inside(at) && filter.matches(log)).cloned().collect()
    }
}

#[derive(Clone, Debug)]
enum Pick {
    /// Address or topic of an existing log.
    Of(Index),
    Numbered(u64),
}

fn pick() -> impl Strategy<Value = Pick> {
    prop_oneof![3 => any::<Index>().prop_map(Pick::Of), 2 => (0..12u64).prop_map(Pick::Numbered)]
}

fn any_of() -> impl Strategy<Value = Vec<Pick>> {
    prop_oneof![4 => Just(vec![]), 3 => vec(pick(), 1..3), 1 => vec(pick(), 3..60)]
}

fn address(pick: &Pick) -> Address {
    match pick {
        Pick::Of(index) => index.get(&stored().logs).1.address,
        Pick::Numbered(number) => numbered_contract(*number),
    }
}

fn topic(position: usize, pick: &Pick) -> B256 {
    let first = numbered_topic(1 + u8::from(position > 0), 0);
    match pick {
        Pick::Of(index) => index.get(&stored().logs).1.topics().get(position).copied().unwrap_or(first),
        Pick::Numbered(number) => numbered_topic(1 + u8::from(position > 0), *number),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn any_filter_over_any_range_finds_what_a_scan_finds(
        addresses in any_of(), topics in vec(any_of(), 0..=4),
        from in any::<Index>(), index in 0..20u64, length in any::<Index>(), near: bool, pauses: bool,
    ) {
        let stored = stored();
        let lists = topics.iter().enumerate();
        let topics = lists.map(|(position, any)| any.iter().map(|pick| topic(position, pick)).collect());
        let filter = LogFilter::new(addresses.iter().map(address).collect(), topics.collect());
        let blocks = usize::try_from(stored.blocks).unwrap();
        let block = from.index(blocks);
        // Half of the ranges have few blocks, the others any number, unless the filter matches every log.
        let longest = match (near, filter.addresses().is_empty() && filter.topics().iter().all(Vec::is_empty)) {
            (true, _) => 30,
            (false, true) => 300,
            (false, false) => blocks,
        };
        let last = (block + length.index(longest.min(blocks - block))) as u64;
        let from = LogPosition { block: block as u64, index };
        let logs = stored.search(&filter, from, last, pauses);
        prop_assert!(logs == stored.scan(&filter, from, last), "{} of {from:?} to {last}: {filter:?}", logs.len());
    }
}

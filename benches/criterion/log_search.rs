//! Log searches in a store of 200,000 blocks and 1,000,000 logs: ten hits each, for ranges of any length.

use std::{hint::black_box, ops::ControlFlow, slice::from_ref, sync::Arc};

use alloy_primitives::{B256, Bytes, Log};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use foreseal_benches::sized;
use foreseal_primitives::{FoundLog, LogFilter, LogPosition, StateDiff};
use foreseal_state::StateChanges;
use foreseal_store::{Reader, SealedBlock, Store, StoreOptions, StoredLogRange};
use foreseal_testkit::{LogChain, numbered_contract, numbered_topic, skewed_log};
use rand::{SeedableRng, rngs::StdRng};
use tempfile::{TempDir, tempdir};

const LOGS_PER_BLOCK: u64 = 5;
/// Blocks written in one transaction.
const BATCH: usize = 2_000;
const HITS: u64 = 10;
/// First number of the rare contracts, one per range, above the numbers in all other logs.
const RARE: u64 = 1 << 32;

/// Builds a filter whose hits lie in a range of this many blocks.
type MakeFilter = fn(u64) -> LogFilter;

fn blocks() -> u64 {
    sized(200_000, 6_000)
}

/// Returns range lengths in blocks; each range lies in the middle of the chain.
fn ranges() -> [u64; 5] {
    [1, 100, 2_000, blocks() / 2, blocks()]
}

/// Returns the first block of a range.
fn start(range: u64) -> u64 {
    (blocks() - range) / 2
}

/// Returns the blocks of the hits of a range, evenly spread.
fn hits(range: u64) -> impl Iterator<Item = u64> {
    (0..HITS).map(move |hit| start(range) + hit * range / HITS)
}

/// Returns the event of half of all logs.
fn common() -> B256 {
    numbered_topic(1, 0)
}

fn chain() -> impl Iterator<Item = SealedBlock> {
    let (mut random, mut chain) = (StdRng::seed_from_u64(1), LogChain::default());
    let mut rare: Vec<(u64, u64)> =
        ranges().into_iter().flat_map(|range| hits(range).map(move |block| (block, range))).collect();
    rare.sort_unstable();
    let mut rare = rare.into_iter().peekable();
    (0..blocks()).map(move |number| {
        let mut lists: Vec<Vec<Log>> = (0..LOGS_PER_BLOCK).map(|_| vec![skewed_log(&mut random)]).collect();
        while let Some((_, range)) = rare.next_if(|(block, _)| *block == number) {
            let topics = vec![common(), numbered_topic(2, 7)];
            lists.push(vec![Log::new_unchecked(numbered_contract(RARE + range), topics, Bytes::new())]);
        }
        SealedBlock {
            block: chain.next(lists),
            steps: Vec::new(),
            diff: Arc::new(StateDiff::default()),
            nodes: StateChanges::default(),
            journal_sequence: number,
            writer_metadata: Bytes::new(),
        }
    })
}

fn stored() -> (Reader, TempDir) {
    let folder = tempdir().expect("a temporary folder can be made");
    let mut blocks = chain();
    let genesis = blocks.next().expect("a chain has a genesis");
    let options = StoreOptions::new(1, genesis.block.hash);
    let store = Store::open(folder.path(), options).expect("a store can be made");
    store.write(from_ref(&genesis)).expect("genesis is written");
    let mut rest: Vec<SealedBlock> = Vec::with_capacity(BATCH);
    for block in blocks {
        rest.push(block);
        if rest.len() == BATCH {
            store.write(&rest).expect("blocks are written");
            rest.clear();
        }
    }
    store.write(&rest).expect("blocks are written");
    (store.reader().expect("a store can be read"), folder)
}

fn search(reader: &Reader, filter: &LogFilter, range: u64) {
    let from = LogPosition::block(start(range));
    let mut remaining = StoredLogRange::new(from, start(range) + range - 1);
    let mut count = 0;
    while !remaining.is_finished() {
        let ordinals = reader.match_logs(filter, &mut remaining, usize::MAX).expect("the blocks are stored");
        let mut visit = |_, log: &FoundLog<'_>| {
            black_box(log);
            count += 1;
            ControlFlow::Continue(())
        };
        reader.read_logs(filter, &ordinals, &mut visit).expect("the logs are stored");
    }
    assert_eq!(count, HITS);
}

fn searches(criterion: &mut Criterion) {
    let (reader, _folder) = stored();
    let filters: [(&str, MakeFilter); 2] = [
        ("address", |range| LogFilter::new(vec![numbered_contract(RARE + range)], vec![])),
        // A rare address, the topic that half of the logs have, and another topic.
        ("address and topics", |range| {
            let topics = vec![vec![common()], vec![numbered_topic(2, 7)]];
            LogFilter::new(vec![numbered_contract(RARE + range)], topics)
        }),
    ];
    for (name, filter) in filters {
        let mut group = criterion.benchmark_group(format!("ten logs by {name}"));
        for range in ranges() {
            let filter = filter(range);
            group.bench_function(BenchmarkId::from_parameter(range), |bencher| {
                bencher.iter(|| search(&reader, &filter, range));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, searches);
criterion_main!(benches);

//! Sizes of the log index's chunks: the cost of each in bytes, append time and search time. `cargo run
//! --release -p foreseal-benches --example log_chunks`. A JSON line per size.

use std::{fs, hint::black_box, time::Instant};

use alloy_primitives::{Bytes, Log};
use foreseal_primitives::LogFilter;
use foreseal_store::{IndexAdditions, LogIndex, Next};
use foreseal_testkit::{numbered_contract, numbered_topic, skewed_log};
use heed::{CommitOrAbort, Database, Env, EnvFlags, EnvOpenOptions, types};
use rand::{SeedableRng, rngs::StdRng};

const LOGS: u64 = 2_000_000;
/// Logs of a block, which is one transaction.
const BLOCK: u64 = 200;
/// Blocks that contain all logs.
const BLOCKS: u32 = 10_000;
const BITS: [u32; 5] = [12, 13, 14, 15, 16];
/// A contract with ten logs, evenly spread.
const RARE: u64 = 1 << 32;
const HITS: u64 = 10;
const ROUNDS: u32 = 200;

fn log(ordinal: u64, random: &mut StdRng) -> Log {
    let log = skewed_log(random);
    if ordinal % (LOGS / HITS) == LOGS / HITS / 2 {
        let topics = vec![numbered_topic(1, 0), numbered_topic(2, 7)];
        return Log::new_unchecked(numbered_contract(RARE), topics, Bytes::new());
    }
    log
}

fn open(folder: &std::path::Path) -> (Env, Database<'static, types::Bytes, types::Bytes>) {
    let mut options = EnvOpenOptions::new();
    options.map_size(1 << 34).max_dbs(1);
    // SAFETY: the file is not needed after a crash; the benchmark measures computation, not the disk.
    unsafe { options.flags(EnvFlags::NO_SYNC) };
    // SAFETY: the folder is new and nothing else opens it.
    let env = unsafe { options.open(folder) }.expect("an environment can be made");
    let txn = env.write_txn().expect("a transaction can begin");
    let table = env
        .create_databases_and_commit(txn, |databases, txn| {
            databases.create_database(txn, Some("log index")).map(CommitOrAbort::<_, ()>::Commit)
        })
        .expect("a table can be made")
        .unwrap_commit();
    (env, table)
}

/// Returns microseconds of one search, the best of many, and the number of logs that it finds.
fn search(env: &Env, index: &LogIndex, filter: &LogFilter) -> (f64, u64) {
    let (mut best, mut logs) = (f64::MAX, 0);
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let txn = env.read_txn().expect("a transaction can begin");
        let (mut work, mut count) = (0, 0);
        let mut matches = index.search(&txn, filter, 0..LOGS, &mut work).expect("the index is sound");
        while let Next::Found(ordinal) = matches.next_within(&mut work, u64::MAX).expect("the index is sound")
        {
            black_box(ordinal);
            count += 1;
        }
        best = best.min(begun.elapsed().as_secs_f64() * 1e6);
        logs = count;
    }
    (best, logs)
}

fn measure(bits: u32) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let (env, table) = open(folder.path());
    let index = LogIndex::new(table).with_chunk_bits(bits);
    let mut random = StdRng::seed_from_u64(2);
    let mut appending = 0.0;
    for block in 0..u64::from(BLOCKS) {
        let mut additions = IndexAdditions::default();
        for ordinal in block * BLOCK..(block + 1) * BLOCK {
            additions.add(ordinal, &log(ordinal, &mut random));
        }
        let begun = Instant::now();
        let mut txn = env.write_txn().expect("a transaction can begin");
        additions.write(&index, &mut txn).expect("the index is written");
        txn.commit().expect("the index is written");
        appending += begun.elapsed().as_secs_f64() * 1e6;
    }
    let size = fs::metadata(folder.path().join("data.mdb")).expect("the file is there").len();
    let (event, account) = (numbered_topic(1, 0), numbered_topic(2, 7));
    let rare = LogFilter::new(vec![numbered_contract(RARE)], vec![]);
    let mixed = LogFilter::new(vec![numbered_contract(RARE)], vec![vec![event], vec![account]]);
    let common = LogFilter::new(vec![numbered_contract(0)], vec![vec![event], vec![account]]);
    let searches = [("rare", rare), ("rare_and_common", mixed), ("common_and_common", common)]
        .map(|(name, filter)| (name, search(&env, &index, &filter)))
        .map(|(name, (us, logs))| format!(r#""{name}_us": {us:.1}, "{name}_found": {logs}"#))
        .join(", ");
    let append = appending / f64::from(BLOCKS);
    println!(r#"{{"chunk_bits": {bits}, "append_us_per_block": {append:.1}, "bytes": {size}, {searches}}}"#);
}

fn main() {
    for bits in BITS {
        measure(bits);
    }
}

//! One step of ERC-20 transfers over a million accounts: pool order, execution, all roots, journal append and
//! sync.
//!
//! The block is a value, so every iteration makes the same step from the same state. Each iteration appends
//! it to a real journal on the disk under the temporary folder.

use std::{sync::Arc, time::Duration};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use foreseal_benches::{TokenChain, sized};
use foreseal_journal::Record;

fn step(criterion: &mut Criterion) {
    let chain = TokenChain::new(sized(1_000_000, 20_000));
    let (_folder, mut journal) = chain.journal();
    let mut group = criterion.benchmark_group("step of ERC-20 transfers, a million accounts");
    group.sample_size(20).measurement_time(Duration::from_secs(8));
    for count in [1_000, 5_000] {
        let pool = chain.pool(count);
        group.throughput(Throughput::Elements(count));
        group.bench_function(format!("{count}, roots"), |bencher| {
            bencher.iter(|| {
                let (block, flashblock) = chain.step(&pool);
                assert_eq!(flashblock.transactions.len() as u64, count);
                block.hash()
            });
        });
        group.bench_function(format!("{count}, roots and journal sync"), |bencher| {
            bencher.iter(|| {
                let (block, flashblock) = chain.step(&pool);
                journal.append(&[Record::Step(Arc::new(flashblock))]).expect("it is appended");
                block.hash()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, step);
criterion_main!(benches);

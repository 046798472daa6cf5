//! keccak-256: single hashes (the scalar peer) and batches.

use std::{hint::black_box, time::Duration};

use alloy_primitives::{Address, B256, Bytes, Log, keccak256};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use foreseal_keccak::{keccak_batch, logs_bloom};

const BATCH: usize = 256;

fn keccak(c: &mut Criterion) {
    // Lengths of an address, a slot, a leaf of an account, a full branch.
    for length in [20, 32, 110, 532] {
        let inputs: Vec<Vec<u8>> = (0..BATCH).map(|at| vec![at.to_le_bytes()[0]; length]).collect();
        let slices: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
        let mut outputs = vec![B256::ZERO; BATCH];
        keccak_batch(&slices, &mut outputs);
        assert!(slices.iter().zip(&outputs).all(|(input, output)| keccak256(input) == *output));
        let mut group = c.benchmark_group(format!("keccak_{length}_bytes_x{BATCH}"));
        group.throughput(Throughput::Elements(BATCH as u64));
        group.bench_function("single", |b| {
            b.iter(|| {
                for (input, output) in slices.iter().zip(&mut outputs) {
                    *output = keccak256(black_box(input));
                }
            });
        });
        group.bench_function("batch", |b| b.iter(|| keccak_batch(black_box(&slices), &mut outputs)));
        group.finish();
    }
}

/// Measures the bloom filter of the logs of a hundred token transfers.
fn bloom(c: &mut Criterion) {
    let word = |at: u8| keccak256([at]);
    let log = |at: u8| {
        Log::new_unchecked(Address::from_word(word(at)), vec![word(0), word(at), word(!at)], Bytes::new())
    };
    let logs: Vec<Log> = (0..100).map(log).collect();
    assert_eq!(logs_bloom(&logs), alloy_primitives::logs_bloom(&logs));
    let mut group = c.benchmark_group("bloom_of_100_logs");
    group.bench_function("foreseal", |b| b.iter(|| logs_bloom(black_box(&logs))));
    group.bench_function("alloy", |b| b.iter(|| alloy_primitives::logs_bloom(black_box(&logs))));
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .measurement_time(Duration::from_secs(1))
        .warm_up_time(Duration::from_millis(300));
    targets = keccak, bloom
}
criterion_main!(benches);

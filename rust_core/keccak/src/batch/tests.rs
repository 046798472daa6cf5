//! Compares every code path with alloy's keccak-256.

use alloy_primitives::{B256, keccak256};
use proptest::{collection::vec, prelude::*};

use super::{keccak_batch, one_by_one};

type Path = (&'static str, fn(&[&[u8]], &mut [B256]));

/// Distance of the tested lengths. Miri, which takes thousands of times as long, tests two.
const STEP: usize = if cfg!(miri) { 551 } else { 1 };
/// Largest batch.
const MAX_BATCH: usize = if cfg!(miri) { 9 } else { 39 };

/// Returns the code paths that this processor can run.
fn paths() -> Vec<Path> {
    let mut paths: Vec<Path> = vec![("chosen", keccak_batch), ("scalar", one_by_one)];
    #[cfg(target_arch = "x86_64")]
    {
        use super::{avx2, avx512, sponge::hash_groups};
        if is_x86_feature_detected!("avx512f") {
            paths.push(("avx512", |inputs, outputs| {
                // SAFETY: the processor has AVX-512F.
                hash_groups::<8>(inputs, outputs, |state, blocks| unsafe { avx512::absorb(state, blocks) });
            }));
        }
        if is_x86_feature_detected!("avx2") {
            paths.push(("avx2", |inputs, outputs| {
                // SAFETY: the processor has AVX2.
                hash_groups::<4>(inputs, outputs, |state, blocks| unsafe { avx2::absorb(state, blocks) });
            }));
        }
    }
    paths
}

fn assert_hashes(inputs: &[Vec<u8>]) {
    let expected: Vec<B256> = inputs.iter().map(keccak256).collect();
    let slices: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
    for (name, path) in paths() {
        let mut outputs = vec![B256::ZERO; inputs.len()];
        path(&slices, &mut outputs);
        assert_eq!(
            outputs,
            expected,
            "{name}, lengths {:?}",
            inputs.iter().map(Vec::len).collect::<Vec<_>>()
        );
    }
}

fn filled(length: usize, seed: usize) -> Vec<u8> {
    (0..length).map(|at| u8::try_from((at * 7 + seed * 31 + at / 256) % 251).unwrap()).collect()
}

#[test]
fn hashes_match_for_every_length_up_to_nine_blocks() {
    for length in (0..=1100).step_by(STEP) {
        assert_hashes(&(0..9).map(|seed| filled(length, seed)).collect::<Vec<_>>());
    }
}

#[test]
fn hashes_match_for_every_length_in_one_batch() {
    assert_hashes(&(0..=1100).rev().step_by(STEP).map(|length| filled(length, length)).collect::<Vec<_>>());
}

#[test]
fn hashes_match_for_every_batch_size() {
    for size in (0..=MAX_BATCH).step_by(STEP.min(MAX_BATCH)) {
        assert_hashes(&(0..size).map(|seed| filled(seed * 37 % 300, seed)).collect::<Vec<_>>());
    }
}

#[test]
#[should_panic(expected = "one output per input")]
fn a_wrong_number_of_outputs_panics() {
    keccak_batch(&[b"a", b"b"], &mut [B256::ZERO]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    #[cfg_attr(miri, ignore = "too slow")]
    fn hashes_match_for_random_batches(inputs in vec(vec(any::<u8>(), 0..700), 0..40)) {
        assert_hashes(&inputs);
    }
}

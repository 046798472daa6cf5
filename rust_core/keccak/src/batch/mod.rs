//! Batched keccak-256: hashes as many inputs in parallel as the
//! processor has SIMD lanes, detected at run time.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod permutation;
#[cfg(target_arch = "x86_64")]
mod sponge;

use alloy_primitives::{B256, keccak256};

/// Hashes each input into the output at the same position.
///
/// # Panics
/// Panics if the two slices differ in length.
pub fn keccak_batch(inputs: &[&[u8]], outputs: &mut [B256]) {
    assert_eq!(inputs.len(), outputs.len(), "one output per input");
    #[cfg(target_arch = "x86_64")]
    if inputs.len() > 1 {
        if is_x86_feature_detected!("avx512f") {
            return sponge::hash_groups::<8>(inputs, outputs, |state, blocks| {
                // SAFETY: AVX-512F was detected above.
                unsafe { avx512::absorb(state, blocks) }
            });
        }
        if is_x86_feature_detected!("avx2") {
            return sponge::hash_groups::<4>(inputs, outputs, |state, blocks| {
                // SAFETY: AVX2 was detected above.
                unsafe { avx2::absorb(state, blocks) }
            });
        }
    }
    one_by_one(inputs, outputs);
}

fn one_by_one(inputs: &[&[u8]], outputs: &mut [B256]) {
    for (input, output) in inputs.iter().zip(outputs) {
        *output = keccak256(input);
    }
}

#[cfg(test)]
mod tests;

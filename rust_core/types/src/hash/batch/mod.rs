//! Many keccak-256 hashes at once: as many states side by side as the processor has lanes, chosen at run time.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod permutation;
#[cfg(target_arch = "x86_64")]
mod sponge;

use alloy_primitives::{B256, keccak256};

/// Hashes every input into the output of the same position.
///
/// # Panics
/// When the two slices differ in length.
pub fn keccak_batch(inputs: &[&[u8]], outputs: &mut [B256]) {
    assert_eq!(inputs.len(), outputs.len(), "one output per input");
    #[cfg(target_arch = "x86_64")]
    if inputs.len() > 1 {
        if is_x86_feature_detected!("avx512f") {
            return sponge::hash_groups::<8>(inputs, outputs, |state, blocks| {
                // SAFETY: the processor has AVX-512F, as was just found.
                unsafe { avx512::absorb(state, blocks) }
            });
        }
        if is_x86_feature_detected!("avx2") {
            return sponge::hash_groups::<4>(inputs, outputs, |state, blocks| {
                // SAFETY: the processor has AVX2, as was just found.
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

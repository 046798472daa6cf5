//! The sponge over N states in parallel.

use alloy_primitives::{B256, keccak256};

/// Bytes that keccak-256 absorbs per permutation.
pub(super) const RATE: usize = 136;

pub(super) type Block = [u8; RATE];

/// N states, interleaved: the same word of all states forms one vector.
#[repr(align(64))]
pub(super) struct States<const N: usize>(pub [[u64; N]; 25]);

/// Hashes N inputs at a time, grouping those with an equal number of blocks.
pub(super) fn hash_groups<const N: usize>(
    inputs: &[&[u8]],
    outputs: &mut [B256],
    absorb: impl Fn(&mut States<N>, &[&Block; N]),
) {
    let by_blocks = |at: &usize| blocks_of(inputs[*at]);
    let mut order: Vec<usize> = (0..inputs.len()).collect();
    if !order.is_sorted_by_key(by_blocks) {
        order.sort_by_key(by_blocks);
    }
    for group in order.chunks(N) {
        if let [only] = group {
            outputs[*only] = keccak256(inputs[*only]);
        } else {
            hash_group(inputs, group, outputs, &absorb);
        }
    }
}

/// Hashes the inputs at up to N positions.
fn hash_group<const N: usize>(
    inputs: &[&[u8]],
    group: &[usize],
    outputs: &mut [B256],
    absorb: &impl Fn(&mut States<N>, &[&Block; N]),
) {
    let mut last = [[0; RATE]; N];
    let mut whole: [&[Block]; N] = [&[]; N];
    for (lane, &at) in group.iter().enumerate() {
        let (blocks, rest) = inputs[at].as_chunks::<RATE>();
        whole[lane] = blocks;
        last[lane][..rest.len()].copy_from_slice(rest);
        // Keccak's padding, not SHA-3's: a one bit, zeros, a one bit.
        last[lane][rest.len()] = 0x01;
        last[lane][RATE - 1] |= 0x80;
    }
    let mut states = States([[0; N]; 25]);
    let longest = whole.iter().map(|blocks| blocks.len()).max().unwrap_or(0);
    for turn in 0..=longest {
        let blocks: [&Block; N] = std::array::from_fn(|lane| whole[lane].get(turn).unwrap_or(&last[lane]));
        absorb(&mut states, &blocks);
        // A finished lane absorbs its last block again; its state is not read any more.
        for (lane, &at) in group.iter().enumerate().filter(|(lane, _)| whole[*lane].len() == turn) {
            outputs[at] = digest(&states, lane);
        }
    }
}

fn blocks_of(input: &[u8]) -> usize {
    input.len() / RATE
}

fn digest<const N: usize>(states: &States<N>, lane: usize) -> B256 {
    let mut digest = B256::ZERO;
    for (bytes, word) in digest.0.as_chunks_mut::<8>().0.iter_mut().zip(&states.0) {
        *bytes = word[lane].to_le_bytes();
    }
    digest
}

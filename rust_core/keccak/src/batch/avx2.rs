//! Four Keccak states at a time with AVX2.

use std::arch::x86_64::{
    __m256i, _mm256_andnot_si256, _mm256_loadu_si256, _mm256_or_si256, _mm256_set1_epi64x,
    _mm256_setzero_si256, _mm256_slli_epi64, _mm256_srli_epi64, _mm256_storeu_si256, _mm256_xor_si256,
};

use super::{
    permutation::{ROUND_CONSTANTS, permute},
    sponge::{Block, States},
};

/// Absorbs one block into each state.
#[target_feature(enable = "avx2")]
pub(super) fn absorb(states: &mut States<4>, blocks: &[&Block; 4]) {
    for (lane, block) in blocks.iter().enumerate() {
        for (word, bytes) in states.0.iter_mut().zip(block.as_chunks::<8>().0) {
            word[lane] ^= u64::from_le_bytes(*bytes);
        }
    }
    let mut a = [_mm256_setzero_si256(); 25];
    for (vector, words) in a.iter_mut().zip(&states.0) {
        // SAFETY: the array has the 32 bytes that are read; the load needs no alignment.
        *vector = unsafe { _mm256_loadu_si256(words.as_ptr().cast()) };
    }
    macro_rules! rotate {
        ($word:expr, $by:literal) => {{
            let word = $word;
            _mm256_or_si256(_mm256_slli_epi64::<$by>(word), _mm256_srli_epi64::<{ 64 - $by }>(word))
        }};
    }
    permute!(a);
    for (words, vector) in states.0.iter_mut().zip(a) {
        // SAFETY: the array has the 32 bytes that are written; the store needs no alignment.
        unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), vector) };
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn splat(word: i64) -> __m256i {
    _mm256_set1_epi64x(word)
}

#[inline]
#[target_feature(enable = "avx2")]
fn xor(a: __m256i, b: __m256i) -> __m256i {
    _mm256_xor_si256(a, b)
}

#[inline]
#[target_feature(enable = "avx2")]
fn xor5(column: &[__m256i; 5]) -> __m256i {
    let [w0, w1, w2, w3, w4] = *column;
    xor(xor(xor(w0, w1), xor(w2, w3)), w4)
}

#[inline]
#[target_feature(enable = "avx2")]
fn chi(a: __m256i, b: __m256i, c: __m256i) -> __m256i {
    xor(a, _mm256_andnot_si256(b, c))
}

#[inline]
#[target_feature(enable = "avx2")]
fn chi_row(b: &[__m256i; 5]) -> [__m256i; 5] {
    [
        chi(b[0], b[1], b[2]),
        chi(b[1], b[2], b[3]),
        chi(b[2], b[3], b[4]),
        chi(b[3], b[4], b[0]),
        chi(b[4], b[0], b[1]),
    ]
}

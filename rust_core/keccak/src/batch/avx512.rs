//! Eight Keccak states at a time with AVX-512F.

use std::arch::x86_64::{
    __m512i, _mm512_loadu_epi64, _mm512_rol_epi64, _mm512_set_epi64, _mm512_set1_epi64, _mm512_setzero_si512,
    _mm512_shuffle_i64x2, _mm512_storeu_epi64, _mm512_ternarylogic_epi64, _mm512_unpackhi_epi64,
    _mm512_unpacklo_epi64, _mm512_xor_si512,
};

use super::{
    permutation::{ROUND_CONSTANTS, permute},
    sponge::{Block, RATE, States},
};

/// Truth table of `a ^ b ^ c`.
const XOR3: i32 = 0x96;
/// Truth table of `a ^ (!b & c)`.
const CHI: i32 = 0xd2;

/// Shuffle mask that selects quarters 0 and 2 of each of two vectors.
const EVEN: i32 = 0x88;
/// Shuffle mask that selects quarters 1 and 3 of each of two vectors.
const ODD: i32 = 0xdd;

/// Absorbs one block into each state.
#[target_feature(enable = "avx512f")]
pub(super) fn absorb(states: &mut States<8>, blocks: &[&Block; 8]) {
    let mut a = [_mm512_setzero_si512(); 25];
    for (vector, words) in a.iter_mut().zip(&states.0) {
        // SAFETY: the array has the 64 bytes that are read; the load needs no alignment.
        *vector = unsafe { _mm512_loadu_epi64(words.as_ptr().cast()) };
    }
    for (vector, words) in a.iter_mut().zip(words_of::<0>(blocks)) {
        *vector = xor(*vector, words);
    }
    for (vector, words) in a[8..].iter_mut().zip(words_of::<64>(blocks)) {
        *vector = xor(*vector, words);
    }
    a[16] = xor(a[16], last_limbs(blocks));
    macro_rules! rotate {
        ($word:expr, $by:literal) => {
            _mm512_rol_epi64::<$by>($word)
        };
    }
    permute!(a);
    for (words, vector) in states.0.iter_mut().zip(a) {
        // SAFETY: the array has the 64 bytes that are written; the store needs no alignment.
        unsafe { _mm512_storeu_epi64(words.as_mut_ptr().cast(), vector) };
    }
}

/// Returns eight words of each block starting at byte `FROM`; each vector holds the same word of all blocks.
#[inline]
#[target_feature(enable = "avx512f")]
fn words_of<const FROM: usize>(blocks: &[&Block; 8]) -> [__m512i; 8] {
    const { assert!(FROM + 64 <= RATE) };
    let mut rows = [_mm512_setzero_si512(); 8];
    for (row, block) in rows.iter_mut().zip(blocks) {
        // SAFETY: 64 bytes from `FROM` on lie within the block; the load needs no alignment.
        *row = unsafe { _mm512_loadu_epi64(block.as_ptr().add(FROM).cast()) };
    }
    transpose(&rows)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn last_limbs(blocks: &[&Block; 8]) -> __m512i {
    let word = |lane: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&blocks[lane][RATE - 8..]);
        i64::from_le_bytes(bytes)
    };
    _mm512_set_epi64(word(7), word(6), word(5), word(4), word(3), word(2), word(1), word(0))
}

/// Transposes rows to columns: first pairs of words, then pairs of those pairs, then halves.
#[inline]
#[target_feature(enable = "avx512f")]
fn transpose(rows: &[__m512i; 8]) -> [__m512i; 8] {
    let low = |at: usize| _mm512_unpacklo_epi64(rows[at], rows[at + 1]);
    let high = |at: usize| _mm512_unpackhi_epi64(rows[at], rows[at + 1]);
    let [c0, c2, c4, c6] = transpose_quarters(&[low(0), low(2), low(4), low(6)]);
    let [c1, c3, c5, c7] = transpose_quarters(&[high(0), high(2), high(4), high(6)]);
    [c0, c1, c2, c3, c4, c5, c6, c7]
}

#[inline]
#[target_feature(enable = "avx512f")]
fn transpose_quarters(rows: &[__m512i; 4]) -> [__m512i; 4] {
    let even = |a, b| _mm512_shuffle_i64x2::<EVEN>(a, b);
    let odd = |a, b| _mm512_shuffle_i64x2::<ODD>(a, b);
    let (even_upper, even_lower) = (even(rows[0], rows[1]), even(rows[2], rows[3]));
    let (odd_upper, odd_lower) = (odd(rows[0], rows[1]), odd(rows[2], rows[3]));
    [
        even(even_upper, even_lower),
        even(odd_upper, odd_lower),
        odd(even_upper, even_lower),
        odd(odd_upper, odd_lower),
    ]
}

#[inline]
#[target_feature(enable = "avx512f")]
fn splat(word: i64) -> __m512i {
    _mm512_set1_epi64(word)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn xor(a: __m512i, b: __m512i) -> __m512i {
    _mm512_xor_si512(a, b)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn xor5(column: &[__m512i; 5]) -> __m512i {
    let [w0, w1, w2, w3, w4] = *column;
    _mm512_ternarylogic_epi64::<XOR3>(_mm512_ternarylogic_epi64::<XOR3>(w0, w1, w2), w3, w4)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn chi_row(b: &[__m512i; 5]) -> [__m512i; 5] {
    [
        _mm512_ternarylogic_epi64::<CHI>(b[0], b[1], b[2]),
        _mm512_ternarylogic_epi64::<CHI>(b[1], b[2], b[3]),
        _mm512_ternarylogic_epi64::<CHI>(b[2], b[3], b[4]),
        _mm512_ternarylogic_epi64::<CHI>(b[3], b[4], b[0]),
        _mm512_ternarylogic_epi64::<CHI>(b[4], b[0], b[1]),
    ]
}

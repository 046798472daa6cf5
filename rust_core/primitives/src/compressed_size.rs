//! The compressed size of a transaction, which the fee for L1 depends on (OP specification, Fjord).

/// Entries of the table of earlier positions.
const TABLE: usize = 1 << 13;
/// Longest distance of a match, in bytes.
const MAX_DISTANCE: usize = 8192;
/// Bytes at the end that are never the begin of a match.
const TAIL: usize = 13;
/// Longest run of literals with one length byte.
const MAX_LITERALS: usize = 32;
/// Longest match with one group of three bytes.
const MAX_MATCH: usize = 262;
/// Intercept and coefficient of the linear regression, scaled by 10^6.
const INTERCEPT: i64 = -42_585_600;
const COEFFICIENT: i64 = 836_500;
/// Lowest estimate in bytes, scaled by 10^6.
const MIN_SIZE: i64 = 100_000_000;

/// Returns the estimated size in bytes, scaled by 10^6, of a transaction with these EIP-2718 bytes after the
/// batcher's compression.
pub fn estimated_size(encoded: &[u8]) -> u64 {
    let size = i64::try_from(compressed_size(encoded)).unwrap_or(i64::MAX / COEFFICIENT);
    let estimate = INTERCEPT.saturating_add(COEFFICIENT.saturating_mul(size)).max(MIN_SIZE);
    estimate.unsigned_abs()
}

/// Returns the length of `data` after compression by FastLZ at level 1.
pub fn compressed_size(data: &[u8]) -> usize {
    let limit = data.len().saturating_sub(TAIL);
    let mut table = vec![0; TABLE];
    let (mut size, mut anchor, mut at) = (0, 0, 2);
    while at < limit {
        let Some((start, earlier)) = next_match(data, &mut table, at, limit) else { break };
        size += literals(start - anchor);
        let length = match_length(data, earlier + 3, start + 3, limit + 9);
        size += match_size(length);
        // The two positions after the match are entered as well.
        for position in [start + length, start + length + 1] {
            if let Some(word) = three_bytes(data, position) {
                table[slot(word)] = position;
            }
        }
        at = start + length + 2;
        anchor = at;
    }
    size + literals(data.len() - anchor)
}

/// Returns the begin of the next match from `at` on, and the earlier position that it repeats.
fn next_match(data: &[u8], table: &mut [usize], mut at: usize, limit: usize) -> Option<(usize, usize)> {
    while at < limit {
        let word = three_bytes(data, at)?;
        let earlier = std::mem::replace(&mut table[slot(word)], at);
        if at - earlier < MAX_DISTANCE && three_bytes(data, earlier) == Some(word) && at + 1 < limit {
            return Some((at, earlier));
        }
        at += 1;
    }
    None
}

fn three_bytes(data: &[u8], at: usize) -> Option<u32> {
    let bytes = data.get(at..at + 3)?;
    Some(u32::from(bytes[0]) | u32::from(bytes[1]) << 8 | u32::from(bytes[2]) << 16)
}

fn slot(word: u32) -> usize {
    (word.wrapping_mul(2_654_435_769) >> 19) as usize & (TABLE - 1)
}

/// Returns the number of equal bytes, plus one at the first difference, of two positions; `end` bounds the later one.
fn match_length(data: &[u8], earlier: usize, later: usize, end: usize) -> usize {
    let longest = end.saturating_sub(later);
    let equal = (0..longest).take_while(|offset| data[earlier + offset] == data[later + offset]).count();
    if equal < longest { equal + 1 } else { equal }
}

fn literals(count: usize) -> usize {
    let rest = count % MAX_LITERALS;
    count / MAX_LITERALS * (MAX_LITERALS + 1) + if rest == 0 { 0 } else { rest + 1 }
}

fn match_size(length: usize) -> usize {
    let length = length - 1;
    length / MAX_MATCH * 3 + if length % MAX_MATCH >= 6 { 3 } else { 2 }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::hex;
    use proptest::prelude::*;

    use super::*;

    /// A call whose compressed size op-geth's tests name.
    const CALL: &[u8] = &hex!(
        "02f901550a758302df1483be21b88304743f94f80e51afb613d764fa61751affd3313c190a86bb870151bd62fd12adb8e4"
        "1ef24f3f000000000000000000000000000000000000000000000000000000000000006e000000000000000000000000af88d0"
        "65e77c8cc2239327c5edb3a432268e5831000000000000000000000000000000000000000000000000000000000003c1e50000"
        "00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
        "00000000000000000000000000000000000000000000000000a0000000000000000000000000000000000000000000000000"
        "00000000000000148c89ed219d02f1a5be012c689b4f5b731827bebe000000000000000000000000c001a033fd89cb37c31b2c"
        "ba46b6466e040c61fc9b2a3675a7f5f493ebd5ad77c497f8a07cdf65680e238392693019b4092f610222e71b7cec06449cb922"
        "b93b6a12744e"
    );

    #[test]
    fn sizes_equal_those_of_op_geth() {
        assert_eq!(compressed_size(&[]), 0);
        assert_eq!(compressed_size(&[0; 1000]), 21);
        assert_eq!(compressed_size(&[42; 1000]), 21);
        assert_eq!(compressed_size(&hex!("facade")), 4);
        assert_eq!(compressed_size(CALL), 202);
    }

    #[test]
    fn a_short_transaction_has_the_lowest_estimate() {
        assert_eq!(estimated_size(&[]), 100_000_000);
        assert_eq!(estimated_size(CALL), 836_500 * 202 - 42_585_600);
    }

    /// Returns the length that a compressor writes which looks for matches as this one does, but builds its output.
    fn written(data: &[u8]) -> usize {
        let (mut out, mut anchor, mut at) = (Vec::new(), 0, 2);
        let mut last = std::collections::HashMap::new();
        let limit = data.len().saturating_sub(TAIL);
        let flush = |out: &mut Vec<u8>, bytes: &[u8]| {
            for chunk in bytes.chunks(MAX_LITERALS) {
                out.push(0);
                out.extend_from_slice(chunk);
            }
        };
        while at < limit {
            let key = slot(three_bytes(data, at).unwrap());
            let earlier = last.insert(key, at).unwrap_or(0);
            let matches = data[earlier..earlier + 3] == data[at..at + 3];
            if !matches || at - earlier >= MAX_DISTANCE || at + 1 >= limit {
                at += 1;
                continue;
            }
            flush(&mut out, &data[anchor..at]);
            let length = match_length(data, earlier + 3, at + 3, limit + 9);
            let mut rest = length - 1;
            while rest >= MAX_MATCH {
                out.extend_from_slice(&[0; 3]);
                rest -= MAX_MATCH;
            }
            out.extend_from_slice(if rest >= 6 { &[0; 3] } else { &[0; 2] });
            for position in [at + length, at + length + 1] {
                last.insert(slot(three_bytes(data, position).unwrap()), position);
            }
            at += length + 2;
            anchor = at;
        }
        flush(&mut out, &data[anchor..]);
        out.len()
    }

    proptest! {
        #[test]
        fn any_input_has_the_size_of_the_written_output(
            pieces in prop::collection::vec((any::<u8>(), 1_usize..300), 0..60),
            noise in prop::collection::vec(any::<u8>(), 0..600),
        ) {
            let mut data: Vec<u8> = pieces.iter().flat_map(|(byte, count)| vec![*byte; *count]).collect();
            data.extend(&noise);
            data.extend(data.clone());
            prop_assert_eq!(compressed_size(&data), written(&data));
        }
    }
}

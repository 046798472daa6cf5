//! Hex strings, written without intermediate allocations.

use alloy_primitives::{U256, hex};

/// Size in bytes of one encoding step: the size of a hash and of most other data.
const CHUNK_SIZE: usize = 32;

/// Writes `"0x…"` with two digits per byte.
pub fn write_data(out: &mut Vec<u8>, bytes: &[u8]) {
    out.reserve(2 * bytes.len() + 4);
    out.extend_from_slice(b"\"0x");
    // Encodes on the stack: `out` need not be zeroed first, and each copy has a constant length.
    let (pieces, rest) = bytes.as_chunks::<CHUNK_SIZE>();
    let mut digits = [0; 2 * CHUNK_SIZE];
    for piece in pieces {
        hex::encode_to_slice(piece, &mut digits).expect("the buffer has two digits per byte");
        out.extend_from_slice(&digits);
    }
    let digits = &mut digits[..2 * rest.len()];
    hex::encode_to_slice(rest, digits).expect("the buffer has two digits per byte");
    out.extend_from_slice(digits);
    out.push(b'"');
}

/// Writes `"0x…"` without leading zeros; zero is `"0x0"`.
pub fn write_quantity(out: &mut Vec<u8>, value: impl Quantity) {
    out.extend_from_slice(b"\"0x");
    value.write_digits(out);
    out.push(b'"');
}

/// Number that JSON represents in hex.
pub trait Quantity: Copy {
    /// Appends the hex digits, at least one, without leading zeros.
    fn write_digits(self, out: &mut Vec<u8>);
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

impl Quantity for u64 {
    fn write_digits(self, out: &mut Vec<u8>) {
        let (mut digits, mut first, mut rest) = ([0; 16], 16, self);
        loop {
            first -= 1;
            digits[first] = DIGITS[usize::try_from(rest & 0xf).expect("four bits")];
            rest >>= 4;
            if rest == 0 {
                break;
            }
        }
        out.extend_from_slice(&digits[first..]);
    }
}

impl Quantity for u128 {
    fn write_digits(self, out: &mut Vec<u8>) {
        match u64::try_from(self) {
            Ok(small) => small.write_digits(out),
            Err(_) => U256::from(self).write_digits(out),
        }
    }
}

impl Quantity for U256 {
    fn write_digits(self, out: &mut Vec<u8>) {
        if let Ok(small) = u64::try_from(self) {
            return small.write_digits(out);
        }
        let bytes: [u8; 32] = self.to_be_bytes();
        let mut digits = [0; 64];
        hex::encode_to_slice(bytes, &mut digits).expect("64 digits are 32 bytes");
        let first = self.leading_zeros() / 4;
        out.extend_from_slice(&digits[first..]);
    }
}

//! Hex strings, written without an allocation of their own.

use alloy_primitives::{U256, hex};

/// `"0x…"` by whole bytes.
pub fn write_data(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(b"\"0x");
    let start = out.len();
    out.resize(start + 2 * bytes.len(), 0);
    hex::encode_to_slice(bytes, &mut out[start..]).expect("there is room for two digits a byte");
    out.push(b'"');
}

/// `"0x…"` without leading zeros; zero is `"0x0"`.
pub fn write_quantity(out: &mut Vec<u8>, value: impl Quantity) {
    out.extend_from_slice(b"\"0x");
    value.write_digits(out);
    out.push(b'"');
}

/// A number that JSON shows in hex.
pub trait Quantity: Copy {
    /// Appends the hex digits, at least one, without leading zeros.
    fn write_digits(self, out: &mut Vec<u8>);
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

impl Quantity for u64 {
    fn write_digits(self, out: &mut Vec<u8>) {
        let digits = (64 - self.leading_zeros()).div_ceil(4).max(1);
        for position in (0..digits).rev() {
            let digit = usize::try_from((self >> (4 * position)) & 0xf).expect("four bits");
            out.push(DIGITS[digit]);
        }
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

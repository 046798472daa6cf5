//! Hex strings of the execution API: quantities in their shortest form, data with two digits per byte.

use alloy_primitives::{Bytes, FixedBytes, U256, hex};

use super::invalid::Reason;

/// Returns the digits after `0x`.
fn digits(text: &str) -> Result<&str, Reason> {
    text.strip_prefix("0x").ok_or(Reason::NoPrefix)
}

/// Parses a quantity of at most `bits` bits (a multiple of 4): `0x0`, or `0x` and digits without a leading
/// zero.
pub fn quantity(text: &str, bits: usize) -> Result<U256, Reason> {
    let digits = digits(text)?;
    if digits.is_empty() {
        return Err(Reason::NoDigits);
    }
    if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(Reason::NotHex);
    }
    if digits.len() > 1 && digits.starts_with('0') {
        return Err(Reason::LeadingZeros);
    }
    if digits.len() * 4 > bits {
        return Err(Reason::TooLarge { bits });
    }
    U256::from_str_radix(digits, 16).map_err(|_| Reason::NotHex)
}

/// Parses data of any length.
pub fn data(text: &str) -> Result<Bytes, Reason> {
    let digits = digits(text)?;
    if digits.len() % 2 == 1 {
        return Err(Reason::OddLength);
    }
    hex::decode(digits).map(Bytes::from).map_err(|_| Reason::NotHex)
}

/// Parses exactly `N` bytes, such as an address or a hash.
pub fn fixed<const N: usize>(text: &str) -> Result<FixedBytes<N>, Reason> {
    let digits = digits(text)?;
    if digits.len() % 2 == 1 {
        return Err(Reason::OddLength);
    }
    if digits.len() != 2 * N {
        return Err(Reason::Length { want: N, got: digits.len() / 2 });
    }
    let mut bytes = FixedBytes::ZERO;
    hex::decode_to_slice(digits, bytes.as_mut_slice()).map_err(|_| Reason::NotHex)?;
    Ok(bytes)
}

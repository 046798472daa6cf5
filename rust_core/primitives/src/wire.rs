//! Encoding of messages between the processes of a node: serde with postcard.
//!
//! All processes of a node run the same version, and a greeting with another version is rejected. The encoding is
//! therefore derived from the types, and changes with them. What is stored has encodings of its own.

use serde::{Serialize, de::DeserializeOwned};

/// Error of decoding a message.
pub use postcard::Error as DecodeError;

/// Appends the encoding of a message.
pub fn encode<T: Serialize + ?Sized>(message: &T, out: &mut Vec<u8>) {
    postcard::to_io(message, out)
        .expect("a Vec accepts every byte, and messages have sequences of known length");
}

/// Returns the encoding of a message.
pub fn to_vec<T: Serialize + ?Sized>(message: &T) -> Vec<u8> {
    let mut out = Vec::new();
    encode(message, &mut out);
    out
}

/// Decodes a message that fills `bytes`. Never panics; memory grows with the input, not with the lengths in it.
///
/// # Errors
/// Returns an error if `bytes` are malformed or have a rest.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DecodeError> {
    let (message, rest) = postcard::take_from_bytes(bytes)?;
    if rest.is_empty() { Ok(message) } else { Err(DecodeError::DeserializeBadEncoding) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trailing_or_missing_byte_is_an_error() {
        let mut bytes = to_vec(&(7_u64, "name"));
        assert_eq!(decode::<(u64, String)>(&bytes).unwrap(), (7, "name".to_owned()));
        assert!(decode::<(u64, String)>(&bytes[..bytes.len() - 1]).is_err());
        bytes.push(0);
        assert_eq!(decode::<(u64, String)>(&bytes).unwrap_err(), DecodeError::DeserializeBadEncoding);
    }

    #[test]
    fn an_announced_length_reserves_no_memory() {
        // A list of 2^62 numbers, of which none follows.
        let bytes = [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40];
        assert!(decode::<Vec<u64>>(&bytes).is_err());
    }
}

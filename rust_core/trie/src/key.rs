//! Trie keys, read nibble by nibble.
//!
//! Functions are marked `inline` because the generic code that calls them is compiled in other crates.

use std::fmt;

use alloy_primitives::{B256, hex};

/// Longest key in bytes. It bounds the depth of a trie, and so every recursion over it.
pub const MAX_KEY_BYTES: usize = 255;

const INLINE: usize = 32;

/// The key is longer than [`MAX_KEY_BYTES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("trie key of {length} bytes is longer than {MAX_KEY_BYTES}")]
pub struct KeyTooLong {
    pub length: usize,
}

/// A key of up to [`MAX_KEY_BYTES`] bytes; up to 32 bytes are stored inline.
#[derive(Clone)]
pub struct Key(Repr);

#[derive(Clone)]
enum Repr {
    Inline { length: u8, bytes: [u8; INLINE] },
    Heap(Box<[u8]>),
}

impl Key {
    /// Returns a key with any bytes.
    ///
    /// # Errors
    /// Returns an error if there are more than [`MAX_KEY_BYTES`] bytes.
    pub fn new(key: &[u8]) -> Result<Self, KeyTooLong> {
        let length = key.len();
        if length > MAX_KEY_BYTES {
            return Err(KeyTooLong { length });
        }
        if length > INLINE {
            return Ok(Self(Repr::Heap(key.into())));
        }
        let mut bytes = [0; INLINE];
        bytes[..length].copy_from_slice(key);
        let length = u8::try_from(length).map_err(|_| KeyTooLong { length })?;
        Ok(Self(Repr::Inline { length, bytes }))
    }

    /// Returns the key with these nibbles, one per byte; `None` if their number is odd or too large.
    pub(crate) fn from_nibbles(nibbles: &[u8]) -> Option<Self> {
        let (pairs, rest) = nibbles.as_chunks::<2>();
        let bytes: Vec<u8> = pairs.iter().map(|[high, low]| high << 4 | low).collect();
        rest.is_empty().then(|| Self::new(&bytes).ok())?
    }

    /// Returns the key's bytes.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        match &self.0 {
            Repr::Inline { length, bytes } => &bytes[..usize::from(*length)],
            Repr::Heap(bytes) => bytes,
        }
    }

    #[inline]
    pub(crate) fn nibble_count(&self) -> usize {
        self.as_slice().len() * 2
    }

    #[inline]
    pub(crate) fn nibble(&self, at: usize) -> u8 {
        nibble(self.as_slice(), at)
    }

    /// Returns the nibbles from `from` to `to`, one per byte.
    pub(crate) fn nibbles(&self, from: usize, to: usize) -> Box<[u8]> {
        (from..to).map(|at| self.nibble(at)).collect()
    }

    /// Returns the number of nibbles, starting at `from`, that are equal in `other`.
    #[inline]
    pub(crate) fn shared_with(&self, other: &Self, from: usize) -> usize {
        let (a, b) = (self.as_slice(), other.as_slice());
        let end = a.len().min(b.len()) * 2;
        (from..end).take_while(|&at| nibble(a, at) == nibble(b, at)).count()
    }

    /// Returns the number of leading nibbles of `prefix` that this key has, starting at `from`.
    #[inline]
    pub(crate) fn shared_prefix(&self, prefix: &[u8], from: usize) -> usize {
        shared_prefix(self.as_slice(), prefix, from)
    }
}

/// Returns the nibble at position `at` of a key: the high half of a byte comes first.
#[inline]
pub(crate) fn nibble(key: &[u8], at: usize) -> u8 {
    let byte = key[at / 2];
    if at.is_multiple_of(2) { byte >> 4 } else { byte & 0x0f }
}

/// Returns the number of leading nibbles of `prefix` that the key has, starting at `from`.
#[inline]
pub(crate) fn shared_prefix(key: &[u8], prefix: &[u8], from: usize) -> usize {
    let end = key.len() * 2;
    prefix.iter().enumerate().take_while(|&(i, &n)| from + i < end && nibble(key, from + i) == n).count()
}

impl From<B256> for Key {
    #[inline]
    fn from(hash: B256) -> Self {
        Self(Repr::Inline { length: 32, bytes: hash.0 })
    }
}

impl PartialEq for Key {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Key {}

impl PartialOrd for Key {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    #[inline]
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        if let (Repr::Inline { bytes: ours, .. }, Repr::Inline { bytes: theirs, .. }) = (&self.0, &other.0) {
            // The zeros that pad a short key sort first, as the end of a key does.
            let order = first_limb(ours).cmp(&first_limb(theirs));
            if order.is_ne() {
                return order;
            }
        }
        self.as_slice().cmp(other.as_slice())
    }
}

#[inline]
fn first_limb(bytes: &[u8; INLINE]) -> u64 {
    bytes.first_chunk().copied().map_or(0, u64::from_be_bytes)
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({})", hex::encode_prefixed(self.as_slice()))
    }
}

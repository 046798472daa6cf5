//! The memory of a table: a head with its secret, then slots.

use std::{
    fs::File,
    io,
    sync::atomic::{AtomicU64, Ordering},
};

use memmap2::{MmapMut, MmapOptions, MmapRaw};

/// Bytes before the first slot: one cache line.
pub const HEAD: usize = 64;
/// Bytes of the secret, with which the head begins.
pub const SECRET: usize = 32;

const SLOT: usize = size_of::<u64>();

/// Why there is no table.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    #[error("a table of buckets has a multiple of 8 slots, at least 8, not {slots}")]
    Slots { slots: usize },
    #[error("the shared memory has {found} bytes, not the {expected} of a table with {slots} slots")]
    Size { slots: usize, expected: usize, found: u64 },
    #[error("the shared memory has no secret in its first 32 bytes")]
    NoSecret,
    #[error("cannot map the memory of the buckets: {0}")]
    Map(#[from] io::Error),
}

/// Mapped memory, as atomic words.
#[derive(Debug)]
pub struct Memory {
    map: MmapRaw,
}

impl Memory {
    /// Memory of this process alone.
    pub fn private(slots: usize, secret: &[u8; SECRET]) -> Result<Self, TableError> {
        let mut map = MmapMut::map_anon(size(slots)?)?;
        map[..SECRET].copy_from_slice(secret);
        Ok(Self { map: map.into() })
    }

    /// The memory behind `file`, which every process that maps it changes, and the secret that its maker put there.
    pub fn shared(file: &File, slots: usize) -> Result<(Self, [u8; SECRET]), TableError> {
        let (expected, found) = (size(slots)?, file.metadata()?.len());
        if usize::try_from(found) != Ok(expected) {
            return Err(TableError::Size { slots, expected, found });
        }
        let memory = Self { map: MmapOptions::new().len(expected).map_raw(file)? };
        let mut secret = [0; SECRET];
        for (bytes, word) in secret.chunks_exact_mut(SLOT).zip(memory.words()) {
            bytes.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
        }
        if secret == [0; SECRET] {
            return Err(TableError::NoSecret);
        }
        Ok((memory, secret))
    }

    /// The slots.
    pub fn slots(&self) -> &[AtomicU64] {
        &self.words()[HEAD / SLOT..]
    }

    fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping begins at a page and lives as long as `self`; any bits are a u64; and all who map it, in
        // this process or another, use it through atomic operations alone once it was made.
        unsafe { std::slice::from_raw_parts(self.map.as_ptr().cast(), self.map.len() / SLOT) }
    }
}

fn size(slots: usize) -> Result<usize, TableError> {
    let bytes = slots.checked_mul(SLOT).and_then(|bytes| bytes.checked_add(HEAD));
    bytes.filter(|_| slots > 0 && slots.is_multiple_of(crate::LINE)).ok_or(TableError::Slots { slots })
}

//! Memory layout of a table: a header with its secret, then slots.

use std::{fs::File, io};

use memmap2::{MmapMut, MmapOptions, MmapRaw};

use crate::sync::{AtomicU64, Ordering};

/// Size of the header in bytes: one cache line before the first slot.
pub const HEAD: usize = 64;
/// Length in bytes of the secret at the start of the header.
pub const SECRET: usize = 32;

/// Slots per line. A line fills one cache line.
pub const LINE: usize = 8;

const SLOT: usize = size_of::<u64>();

/// Error from creating or mapping a table.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    #[error("a table of buckets has a multiple of 8 slots, at least 8, not {slots}")]
    Slots { slots: usize },
    #[error("the shared memory has {length} bytes, not the {expected} of a table with {slots} slots")]
    Size { slots: usize, expected: usize, length: u64 },
    #[error("the shared memory has no secret in its first 32 bytes")]
    NoSecret,
    #[error("cannot map the memory of the buckets: {0}")]
    Map(#[from] io::Error),
}

/// Mapped memory, accessed as atomic words.
#[derive(Debug)]
pub struct SharedMemory {
    map: MmapRaw,
}

impl SharedMemory {
    /// Allocates memory that is private to this process.
    pub fn private(slots: usize, secret: &[u8; SECRET]) -> Result<Self, TableError> {
        let mut map = MmapMut::map_anon(size(slots)?)?;
        map[..SECRET].copy_from_slice(secret);
        Ok(Self { map: map.into() })
    }

    /// Maps the memory behind `file` and reads the secret that its creator stored in the header.
    ///
    /// Every process that maps the file modifies the same memory.
    pub fn shared(file: &File, slots: usize) -> Result<(Self, [u8; SECRET]), TableError> {
        let (expected, length) = (size(slots)?, file.metadata()?.len());
        if usize::try_from(length) != Ok(expected) {
            return Err(TableError::Size { slots, expected, length });
        }
        let memory = Self { map: MmapOptions::new().len(expected).map_raw(file)? };
        let mut secret = [0; SECRET];
        for (bytes, word) in secret.chunks_exact_mut(SLOT).zip(memory.cells()) {
            bytes.copy_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
        }
        if secret == [0; SECRET] {
            return Err(TableError::NoSecret);
        }
        Ok((memory, secret))
    }

    /// Returns the slots after the header.
    pub fn slots(&self) -> &[AtomicU64] {
        &self.cells()[HEAD / SLOT..]
    }

    fn cells(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is page-aligned and lives as long as `self`; any bit pattern is a valid u64;
        // after its creation, every process that maps it uses atomic operations only.
        unsafe { std::slice::from_raw_parts(self.map.as_ptr().cast(), self.map.len() / SLOT) }
    }
}

fn size(slots: usize) -> Result<usize, TableError> {
    let bytes = slots.checked_mul(SLOT).and_then(|bytes| bytes.checked_add(HEAD));
    bytes.filter(|_| slots > 0 && slots.is_multiple_of(LINE)).ok_or(TableError::Slots { slots })
}

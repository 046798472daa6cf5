//! Sparse file content and a random generator.

use std::{collections::BTreeMap, ops::Range};

pub(crate) const SECTOR: u64 = SECTOR_BYTES as u64;
const SECTOR_BYTES: usize = 512;

/// A sparse file: missing sectors read as zeros.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) size: u64,
    pub(crate) sectors: BTreeMap<u64, Box<[u8; SECTOR_BYTES]>>,
}

impl Content {
    pub(crate) fn read(&self, buffer: &mut [u8], offset: u64) -> usize {
        let left = usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let length = left.min(buffer.len());
        for (sector, inside, part) in sectors(offset, length) {
            match self.sectors.get(&sector) {
                Some(bytes) => buffer[part.clone()].copy_from_slice(&bytes[inside..inside + part.len()]),
                None => buffer[part].fill(0),
            }
        }
        length
    }

    pub(crate) fn write(&mut self, bytes: &[u8], offset: u64) {
        self.size = self.size.max(offset + bytes.len() as u64);
        for (sector, inside, part) in sectors(offset, bytes.len()) {
            let target = self.sectors.entry(sector).or_insert_with(|| Box::new([0; SECTOR_BYTES]));
            target[inside..inside + part.len()].copy_from_slice(&bytes[part]);
        }
    }
}

/// Splits `length` bytes at `offset` by sector: the sector's number, the offset inside it, and the range of
/// the bytes.
fn sectors(offset: u64, length: usize) -> impl Iterator<Item = (u64, usize, Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done == length {
            return None;
        }
        let at = offset + done as u64;
        let inside = usize::try_from(at % SECTOR).expect("less than a sector");
        let end = length.min(done + (SECTOR_BYTES - inside));
        let part = done..end;
        done = end;
        Some((at / SECTOR, inside, part))
    })
}

/// A small random generator (splitmix64): the same seed produces the same disk.
pub(crate) struct SplitMix64(u64);

impl SplitMix64 {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn coin(&mut self) -> bool {
        self.next() & 1 == 1
    }

    /// Returns a number below `limit`, which must not be zero.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        let limit = limit as u64;
        usize::try_from(self.next() % limit).expect("below a usize")
    }
}

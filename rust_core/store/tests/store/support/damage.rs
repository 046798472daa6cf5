//! Changes to the file of a closed store.

use std::{fs, path::Path};

/// Page size in bytes.
pub const PAGE: usize = 4_096;

/// Removes the checksum of every page, as if LMDB without checksums had written it.
pub fn without_checksums(folder: &Path) {
    let data = folder.join("data.mdb");
    let mut bytes = fs::read(&data).unwrap();
    for (number, page) in bytes.chunks_exact_mut(PAGE).enumerate() {
        if number < 2 {
            page[16 + 136..16 + 144].fill(0);
        } else if u64::from_ne_bytes(page[..8].try_into().unwrap()) == number as u64 {
            page[8..10].fill(0);
            page[10] &= 0x7f;
            page[11] = 0;
        }
    }
    fs::write(data, bytes).unwrap();
}

/// Changes one bit of the file.
pub fn flip(folder: &Path, byte: usize, bit: u8) {
    let data = folder.join("data.mdb");
    let mut bytes = fs::read(&data).unwrap();
    bytes[byte] ^= 1 << bit;
    fs::write(data, bytes).unwrap();
}

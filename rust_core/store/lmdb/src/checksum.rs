//! Checksums of pages, called from `mdb.c`.

/// Bits of the checksum in a page's header.
const BITS: u32 = 22;

/// Returns the CRC-32C of `size` bytes at `data`, continuing `seed`.
///
/// # Safety
/// `data` points to `size` readable bytes.
#[no_mangle]
unsafe extern "C" fn foreseal_crc32c(seed: u32, data: *const u8, size: usize) -> u32 {
    // SAFETY: the caller's promise.
    crc32c::crc32c_append(seed, unsafe { std::slice::from_raw_parts(data, size) })
}

/// Returns the 22 bits of a CRC-32C for which a page's header has room. They are linear: a change of the page changes
/// them unless its own pattern folds to zero. That of no single bit does in pages of up to 64 KiB.
#[no_mangle]
pub extern "C" fn foreseal_fold(sum: u32) -> u32 {
    (sum ^ (sum >> BITS)) & ((1 << BITS) - 1)
}

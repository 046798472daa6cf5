//! Pages of the file that are mapped into this process.

use std::io;

use crate::{open::page_bytes, shared_open::open_stores, store::Store};

impl Store {
    /// Unmaps the pages of the file from this process. They remain in the page cache, from which the next access
    /// maps them again, 16 at a time. Reads and writes in progress are not affected.
    ///
    /// # Errors
    /// Returns the kernel's error. Then no page, or a part of them, is unmapped.
    pub fn release_mapped_pages(&self) -> io::Result<()> {
        let env = self.env();
        let (address, bytes) = (env.info().map_addr, usize::try_from(page_bytes(env)).unwrap_or(usize::MAX));
        // SAFETY: the environment maps the file shared and read-only at this address until its last handle is
        // dropped, so each page that is read later has the content of the file.
        match unsafe { libc::madvise(address, bytes, libc::MADV_DONTNEED) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Unmaps the pages of all stores that this process has open. Does nothing while one is being opened.
///
/// # Errors
/// Returns the kernel's error for the first store that has one.
pub fn release_mapped_pages() -> io::Result<()> {
    open_stores().iter().try_for_each(Store::release_mapped_pages)
}

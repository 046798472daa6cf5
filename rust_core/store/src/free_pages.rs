//! Detection of data loss in a file that is shorter than its map.
//!
//! LMDB does not write pages at the end that were allocated and freed in one transaction. An intact
//! file may therefore end before the last page that was ever allocated. All missing pages are then
//! listed as free. The list is read from the file, not through the map: reading a page of the map
//! beyond the end of the file kills the process.
//!
//! The layout is that of LMDB's data format 1 (`struct MDB_meta`, `MDB_page` and
//! `MDB_node` in `mdb.c`) on a 64-bit machine.

use std::{fs::File, io, os::unix::fs::FileExt};

/// Length in bytes of a page's header.
const HEADER: usize = 16;
const BRANCH: u16 = 0x01;
const LEAF: u16 = 0x02;
/// Node flag: the value is on pages of its own.
const BIG: u16 = 0x01;
/// Depth limit: more than any tree of 2^64 pages has.
const MAX_DEPTH: u32 = 64;
const NO_PAGE: u64 = u64::MAX;

/// Returns `true` if all pages from `first_missing` to `last` are free.
pub(crate) fn trailing_pages_are_free(
    file: &File,
    page_size: usize,
    first_missing: u64,
    last: u64,
) -> io::Result<bool> {
    let pages = Pages { file, page_size, end: first_missing };
    let Some(root) = pages.free_root()? else { return Ok(false) };
    // A damaged list may reference itself: an intact one has no more pages than the file.
    let mut count = FreePageCount { free: 0, pages_left: first_missing };
    let is_complete = root == NO_PAGE || pages.count_free(root, MAX_DEPTH, &mut count)?;
    Ok(is_complete && first_missing.checked_add(count.free) == last.checked_add(1))
}

/// State of a count.
struct FreePageCount {
    free: u64,
    /// Number of pages that may still be read.
    pages_left: u64,
}

struct Pages<'f> {
    file: &'f File,
    page_size: usize,
    /// The file ends before this page.
    end: u64,
}

impl Pages<'_> {
    /// Returns `count` bytes from the start of a page; `None` if the file does not have them.
    fn read(&self, page: u64, count: usize) -> io::Result<Option<Vec<u8>>> {
        let Some(offset) = page.checked_mul(self.page_size as u64).filter(|_| page < self.end) else {
            return Ok(None);
        };
        let mut bytes = vec![0; count];
        match self.file.read_exact_at(&mut bytes, offset) {
            Ok(()) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the root of the table of free pages, as of the newest transaction.
    fn free_root(&self) -> io::Result<Option<u64>> {
        let mut newest = None;
        for page in 0..2 {
            let Some(meta) = self.read(page, self.page_size)? else { return Ok(None) };
            let (Some(root), Some(transaction)) = (u64_at(&meta, HEADER + 64), u64_at(&meta, HEADER + 128))
            else {
                return Ok(None);
            };
            newest = newest.max(Some((transaction, root)));
        }
        Ok(newest.map(|(_, root)| root))
    }

    /// Counts the listed free pages after the end of the file in the subtree of a page. Returns `false`
    /// if a part of the list itself is missing.
    fn count_free(&self, page: u64, depth_left: u32, count: &mut FreePageCount) -> io::Result<bool> {
        let Some(left) = count.pages_left.checked_sub(1).filter(|_| depth_left > 0) else { return Ok(false) };
        count.pages_left = left;
        let Some(bytes) = self.read(page, self.page_size)? else { return Ok(false) };
        let (Some(flags), Some(lower)) = (u16_at(&bytes, 10), u16_at(&bytes, 12)) else { return Ok(false) };
        let nodes = usize::from(lower).saturating_sub(HEADER) / 2;
        for node in 0..nodes {
            let Some(node) = u16_at(&bytes, HEADER + node * 2).map(usize::from) else { return Ok(false) };
            let fields = [0, 2, 4, 6].map(|field| u16_at(&bytes, node + field));
            let [Some(low), Some(high), Some(upper), Some(key)] = fields else { return Ok(false) };
            let low = u64::from(low) | u64::from(high) << 16;
            let is_counted = if flags & BRANCH != 0 {
                self.count_free(low | u64::from(upper) << 32, depth_left - 1, count)?
            } else if flags & LEAF != 0 {
                let value = node + 8 + usize::from(key);
                self.count_listed(
                    &bytes,
                    value,
                    usize::try_from(low).unwrap_or(usize::MAX),
                    upper,
                    &mut count.free,
                )?
            } else {
                false
            };
            if !is_counted {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Counts the free pages of one list: their number, then the page numbers.
    fn count_listed(
        &self,
        leaf: &[u8],
        value: usize,
        length: usize,
        flags: u16,
        free: &mut u64,
    ) -> io::Result<bool> {
        let outside;
        let list = if flags & BIG != 0 {
            let Some(page) = u64_at(leaf, value) else { return Ok(false) };
            let Some(bytes) = self.read(page, HEADER.saturating_add(length).min(1 << 32))? else {
                return Ok(false);
            };
            outside = bytes;
            outside.get(HEADER..)
        } else {
            leaf.get(value..value.saturating_add(length))
        };
        let Some((_, pages)) = list.and_then(|list| list.split_at_checked(8)) else { return Ok(false) };
        let (pages, _) = pages.as_chunks();
        *free += pages.iter().filter(|page| u64::from_le_bytes(**page) >= self.end).count() as u64;
        Ok(true)
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at.checked_add(2)?).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..at.checked_add(8)?)?;
    bytes.try_into().ok().map(u64::from_le_bytes)
}

//! Layout of pages in bytes.

use std::{fs::File, io, os::unix::fs::FileExt};

use lmdb_master_sys::foreseal_fold;

/// Length in bytes of a page's header.
const HEADER: usize = 16;
/// Offset of the part of the header that the checksum covers.
const SUMMED: usize = 12;
/// Length in bytes of the checksum at the end of a run of overflow pages.
const RUN_SUM: usize = 4;
/// Seed of the checksums of runs, and upper half of the checksums of meta pages.
const MARK: u32 = 0x5355;

const BRANCH: u16 = 0x01;
const LEAF: u16 = 0x02;
const OVERFLOW: u16 = 0x04;
const META: u16 = 0x08;
const SUM: u16 = 0x80;
const SUM_BITS: u16 = 0x3f00;

/// Node flag: the value is on pages of its own.
const BIG: u16 = 0x01;
/// Node flag: the value is the root of a table.
const TABLE: u16 = 0x02;

/// Error number of a failed disk read, on every Unix.
const EIO: i32 = 5;

/// First word of the content of a meta page.
const MAGIC: u32 = 0xbeef_c0de;
/// Version of LMDB's data format.
const VERSION: u32 = 1;

/// Root page number of an empty tree.
pub(super) const NO_PAGE: u64 = u64::MAX;

/// Checked bytes of a page, or of a run of overflow pages.
pub(super) struct Page {
    bytes: Vec<u8>,
    flags: u16,
}

/// Error for a page whose content is not what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bad;

/// Value of a leaf entry.
pub(super) enum PageValue<'p> {
    Inline(&'p [u8]),
    /// On a run of overflow pages that begins with this page.
    Run {
        page: u64,
        length: usize,
    },
    /// The root page of a table.
    Table {
        root: u64,
    },
}

/// Content of a meta page.
pub(super) struct Meta {
    pub transaction: u64,
    pub free_root: u64,
    pub main_root: u64,
    pub pages: u64,
}

/// The file from which pages are read.
pub(super) struct PageFile {
    pub file: File,
    pub page_size: usize,
    /// Number of pages that the read transaction sees.
    pub pages: u64,
}

impl PageFile {
    fn read(&self, page: u64, pages: u64) -> io::Result<Result<Vec<u8>, Bad>> {
        let within = page >= 2 && page.checked_add(pages).is_some_and(|end| end <= self.pages);
        let length = usize::try_from(pages).ok().and_then(|pages| pages.checked_mul(self.page_size));
        let (Some(offset), Some(length), true) = (page.checked_mul(self.page_size as u64), length, within)
        else {
            return Ok(Err(Bad));
        };
        let mut bytes = vec![0; length];
        match self.file.read_exact_at(&mut bytes, offset) {
            Ok(()) => Ok(Ok(bytes)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(Err(Bad)),
            // The disk can no longer read these bytes; other pages may still be readable.
            Err(error) if error.raw_os_error() == Some(EIO) => Ok(Err(Bad)),
            Err(error) => Err(error),
        }
    }

    /// Reads and checks a page, or the run of overflow pages that begins with it.
    pub fn page(&self, number: u64) -> io::Result<Result<Page, Bad>> {
        let Ok(bytes) = self.read(number, 1)? else { return Ok(Err(Bad)) };
        let Some(flags) = checked_header(&bytes, number) else { return Ok(Err(Bad)) };
        if flags & OVERFLOW == 0 {
            return Ok(Ok(Page { bytes, flags }));
        }
        let Some(pages) = u32_at(&bytes, SUMMED).filter(|pages| *pages > 0) else { return Ok(Err(Bad)) };
        let Ok(bytes) = self.read(number, pages.into())? else { return Ok(Err(Bad)) };
        let data = bytes.len() - RUN_SUM;
        let sum = crc32c::crc32c_append(MARK, &bytes[HEADER..data]).to_ne_bytes();
        let sound = flags & SUM == 0 || bytes[data..] == sum;
        Ok(if sound { Ok(Page { bytes, flags }) } else { Err(Bad) })
    }

    /// Reads and checks a meta page.
    pub fn meta(&self, number: u64) -> io::Result<Result<Meta, Bad>> {
        let mut bytes = [0; HEADER + 144];
        self.file.read_exact_at(&mut bytes, number * self.page_size as u64)?;
        let word = |at: usize| u64_at(&bytes, HEADER + at).expect("it is inside");
        let sum = u64::from(crc32c::crc32c(&bytes[HEADER + 16..HEADER + 136]));
        let sound = word(136) == 0 || word(136) == sum | u64::from(MARK) << 32;
        let meta = Meta {
            transaction: word(128),
            free_root: word(64),
            main_root: word(112),
            pages: word(120).saturating_add(1),
        };
        Ok(if sound { Ok(meta) } else { Err(Bad) })
    }
}

/// Returns `true` if a page is an undamaged LMDB meta page of a file with this page size.
pub(crate) fn is_sound_meta(bytes: &[u8], page_size: usize) -> bool {
    let word = |at: usize| u64_at(bytes, HEADER + at);
    let (Some(covered), Some(stored)) = (bytes.get(HEADER + 16..HEADER + 136), word(136)) else {
        return false;
    };
    let sum = u64::from(crc32c::crc32c(covered)) | u64::from(MARK) << 32;
    u16_at(bytes, 10) == Some(META)
        && u32_at(bytes, HEADER) == Some(MAGIC)
        && u32_at(bytes, HEADER + 4) == Some(VERSION)
        && u32_at(bytes, HEADER + 24).map(|size| size as usize) == Some(page_size)
        && (stored == 0 || stored == sum)
}

/// Returns the flags of a page if its header is as written; unless it is a run
/// of overflow pages, also checks the rest.
fn checked_header(bytes: &[u8], number: u64) -> Option<u16> {
    let (pad, flags) = (u16_at(bytes, 8)?, u16_at(bytes, 10)?);
    let kind = flags & !(SUM | SUM_BITS);
    if u64_at(bytes, 0)? != number || ![BRANCH, LEAF, OVERFLOW].contains(&kind) {
        return None;
    }
    if flags & SUM == 0 {
        // Written by a program without page checksums.
        return (pad == 0 && flags & SUM_BITS == 0).then_some(flags);
    }
    let end = if kind == OVERFLOW { HEADER } else { bytes.len() };
    let sum = foreseal_fold(crc32c::crc32c_append(u32::from(flags & 0xff), &bytes[SUMMED..end]));
    (sum == u32::from(pad) | u32::from(flags & SUM_BITS) << 8).then_some(flags)
}

impl Page {
    pub fn is_branch(&self) -> bool {
        self.flags & BRANCH != 0
    }

    pub fn is_leaf(&self) -> bool {
        self.flags & LEAF != 0
    }

    /// Returns `true` if the page was written with a checksum.
    pub fn has_checksum(&self) -> bool {
        self.flags & SUM != 0
    }

    /// Returns the length in bytes in the file.
    pub fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Returns the number of nodes in the page.
    pub fn nodes(&self) -> usize {
        u16_at(&self.bytes, 12).map_or(0, |lower| usize::from(lower).saturating_sub(HEADER) / 2)
    }

    /// Returns the data of a run of overflow pages.
    pub fn run(&self, length: usize) -> Option<&[u8]> {
        if self.flags & OVERFLOW == 0 {
            return None;
        }
        self.bytes.get(HEADER..)?.get(..length)
    }

    fn node(&self, index: usize) -> Option<(usize, [u16; 4])> {
        let at = usize::from(u16_at(&self.bytes, HEADER + index * 2)?);
        let [Some(low), Some(high), Some(flags), Some(key)] =
            [0, 2, 4, 6].map(|field| u16_at(&self.bytes, at + field))
        else {
            return None;
        };
        Some((at + 8, [low, high, flags, key]))
    }

    /// Returns key and page number of a branch page's child. The key of the first child is empty.
    pub fn child(&self, index: usize) -> Option<(&[u8], u64)> {
        let (at, [low, high, upper, key]) = self.node(index)?;
        let page = u64::from(low) | u64::from(high) << 16 | u64::from(upper) << 32;
        let key = if index == 0 { &[] } else { self.bytes.get(at..at + usize::from(key))? };
        Some((key, page))
    }

    /// Returns key and value of a leaf page's entry.
    pub fn entry(&self, index: usize) -> Option<(&[u8], PageValue<'_>)> {
        let (at, [low, high, flags, key]) = self.node(index)?;
        let length = usize::from(low) | usize::from(high) << 16;
        let value = at + usize::from(key);
        let value = if flags & BIG != 0 {
            PageValue::Run { page: u64_at(&self.bytes, value)?, length }
        } else if flags & TABLE != 0 {
            PageValue::Table { root: u64_at(&self.bytes, value + 40)? }
        } else {
            PageValue::Inline(self.bytes.get(value..value.checked_add(length)?)?)
        };
        Some((self.bytes.get(at..at + usize::from(key))?, value))
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at.checked_add(2)?).map(|bytes| u16::from_ne_bytes([bytes[0], bytes[1]]))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at.checked_add(4)?)?.try_into().ok().map(u32::from_ne_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at.checked_add(8)?)?.try_into().ok().map(u64::from_ne_bytes)
}

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    /// Unmapped memory reads like a sector that the disk cannot read.
    #[test]
    fn a_page_that_cannot_be_read_is_bad() {
        let file = File::open("/proc/self/mem").unwrap();
        let mut byte = [0];
        assert_eq!(file.read_exact_at(&mut byte, 8192).unwrap_err().raw_os_error(), Some(EIO));
        let pages = PageFile { file, page_size: 4096, pages: 10 };
        assert!(matches!(pages.page(2), Ok(Err(Bad))));
    }
}

//! Reading of one segment.

use std::path::{Path, PathBuf};

use crate::{
    disk::{Disk, DiskFile, read_up_to},
    error::JournalError,
    layout::{APPEND_HEADER, AppendHeader, SECTOR, SegmentHeader, SegmentSector, segment_name},
};

/// Number of bytes read at a time; a larger append is read at once.
const WINDOW: u64 = 1 << 20;

/// A segment's file, read through a window that moves forward.
pub(crate) struct SegmentFile {
    path: PathBuf,
    file: Box<dyn DiskFile>,
    /// Number of bytes that belong to the journal: the size of the file, or less.
    pub(crate) size: u64,
    window: Vec<u8>,
    window_start: u64,
}

impl SegmentFile {
    pub(crate) fn open(disk: &dyn Disk, dir: &Path, number: u64) -> Result<Self, JournalError> {
        let path = dir.join(segment_name(number));
        let file = disk.open(&path, false).map_err(JournalError::io("open", &path))?;
        let size = file.size().map_err(JournalError::io("read the size of", &path))?;
        Ok(Self { path, file, size, window: Vec::new(), window_start: 0 })
    }

    /// Decodes the first sector.
    pub(crate) fn header(&mut self) -> Result<SegmentSector, JournalError> {
        let Some(sector) = self.read(0, SECTOR)? else { return Ok(SegmentSector::Bad) };
        let sector = sector.try_into().expect("a sector was asked for");
        Ok(SegmentHeader::decode(sector))
    }

    /// Returns the `length` bytes at `offset`, or `None` if the file ends earlier.
    pub(crate) fn read(&mut self, offset: u64, length: u64) -> Result<Option<&[u8]>, JournalError> {
        match offset.checked_add(length) {
            Some(end) if end <= self.size => {}
            _ => return Ok(None),
        }
        let inside =
            offset >= self.window_start && offset + length <= self.window_start + self.window.len() as u64;
        if !inside {
            self.fill(offset, length.max(WINDOW).min(self.size - offset))?;
        }
        let start = index(offset - self.window_start);
        Ok(Some(&self.window[start..start + index(length)]))
    }

    fn fill(&mut self, offset: u64, length: u64) -> Result<(), JournalError> {
        self.window.clear();
        self.window.resize(index(length), 0);
        self.window_start = offset;
        let read = read_up_to(&*self.file, &mut self.window, offset);
        if read.map_err(JournalError::io("read", &self.path))? < self.window.len() {
            let ended = std::io::ErrorKind::UnexpectedEof.into();
            return Err(JournalError::io("read", &self.path)(ended));
        }
        Ok(())
    }

    /// Returns the append at `offset`, header and records, if it is complete.
    pub(crate) fn append_at(
        &mut self,
        offset: u64,
        salt: &[u8; 32],
    ) -> Result<Option<(AppendHeader, &[u8])>, JournalError> {
        let Some(front) = self.read(offset, APPEND_HEADER as u64)? else { return Ok(None) };
        let Some(header) = AppendHeader::decode(front, salt) else { return Ok(None) };
        let length = APPEND_HEADER as u64 + u64::from(header.length);
        let Some(append) = self.read(offset, length)? else { return Ok(None) };
        Ok(header.is_whole(append, salt).then_some((header, append)))
    }

    /// Returns the position of the first complete append at or after `offset`, on any sector boundary.
    pub(crate) fn find_append(
        &mut self,
        mut offset: u64,
        salt: &[u8; 32],
    ) -> Result<Option<(u64, AppendHeader)>, JournalError> {
        while offset < self.size {
            if let Some((header, _)) = self.append_at(offset, salt)? {
                return Ok(Some((offset, header)));
            }
            offset += SECTOR;
        }
        Ok(None)
    }

    /// Returns the end of the last byte that is not zero, at or after `offset`; returns `offset` if all are
    /// zero.
    pub(crate) fn content_end(&mut self, offset: u64) -> Result<u64, JournalError> {
        let (mut at, mut end) = (offset, offset);
        while at < self.size {
            let length = WINDOW.min(self.size - at);
            let bytes = self.read(at, length)?.unwrap_or_default();
            if let Some(last) = bytes.iter().rposition(|&b| b != 0) {
                end = at + last as u64 + 1;
            }
            at += length;
        }
        Ok(end)
    }
}

/// Converts an offset inside the window to an index.
fn index(bytes: u64) -> usize {
    usize::try_from(bytes).expect("a segment fits in the address space")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use alloy_primitives::B256;

    use super::*;
    use crate::{layout::ChainLink, real_disk::RealDisk};

    /// A wrong length with a valid checksum allocates no memory.
    #[test]
    fn an_append_length_beyond_the_file_is_rejected() {
        let salt = [1; 32];
        let mut bytes = vec![0; 2048];
        let chain = ChainLink { sequence: 0, previous: B256::ZERO };
        AppendHeader::seal(&mut bytes[512..], chain, 1000, 1, &salt);
        let folder = tempfile::tempdir().unwrap();
        let (dir, path) = (folder.path(), folder.path().join("0000000001.segment"));
        fs::write(&path, &bytes).unwrap();
        let is_complete =
            SegmentFile::open(&RealDisk, dir, 1).unwrap().append_at(512, &salt).unwrap().is_some();
        assert!(is_complete);

        let mut sealed = vec![0; 1 << 20];
        AppendHeader::seal(&mut sealed, chain, 1 << 19, 1, &salt);
        bytes[512..1024].copy_from_slice(&sealed[..512]);
        fs::write(&path, &bytes).unwrap();
        let mut file = SegmentFile::open(&RealDisk, dir, 1).unwrap();
        assert!(AppendHeader::decode(file.read(512, 512).unwrap().unwrap(), &salt).is_some());
        assert!(file.append_at(512, &salt).unwrap().is_none());
        assert_eq!(file.read(2048, 1).unwrap(), None);
        assert_eq!(file.read(u64::MAX, 2).unwrap(), None);
    }

    #[test]
    fn reading_continues_across_windows() {
        let bytes: Vec<u8> = (0..3_000_000_u32).map(|i| i.to_le_bytes()[1]).collect();
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("0000000001.segment"), &bytes).unwrap();
        let mut file = SegmentFile::open(&RealDisk, folder.path(), 1).unwrap();
        for (offset, length) in [(0, 100), (1_048_500, 200), (50, 2_000_000), (2_999_999, 1), (0, 3_000_000)]
        {
            let read = file.read(offset, length).unwrap().unwrap();
            assert!(read == &bytes[index(offset)..index(offset + length)]);
        }
        assert_eq!(file.content_end(0).unwrap(), 3_000_000);
    }
}

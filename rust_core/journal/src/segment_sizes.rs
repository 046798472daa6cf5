//! Sizes of the journal's segments.

use std::{collections::BTreeMap, path::Path};

use crate::{disk::Disk, error::JournalError, layout::segment_name};

/// Sizes of segment files in bytes, by number. A segment never changes its size, so its file is opened once.
#[derive(Debug, Default)]
pub(crate) struct SegmentSizes(BTreeMap<u64, u64>);

impl SegmentSizes {
    /// Returns the size of a segment.
    pub fn read(&mut self, number: u64, disk: &dyn Disk, dir: &Path) -> Result<u64, JournalError> {
        if let Some(size) = self.0.get(&number) {
            return Ok(*size);
        }
        let path = dir.join(segment_name(number));
        let size = disk.open(&path, false).and_then(|file| file.size());
        let size = size.map_err(JournalError::io("read", path))?;
        self.0.insert(number, size);
        Ok(size)
    }

    /// Forgets a removed segment.
    pub fn remove(&mut self, number: u64) {
        self.0.remove(&number);
    }
}

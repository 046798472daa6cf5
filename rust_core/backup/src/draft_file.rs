//! A file of a data directory that is being prepared.

use std::path::{Path, PathBuf};

use foreseal_journal::{Disk, DiskFile, RealDisk, segment_size};

use crate::{
    error::BackupError,
    file_names::is_segment,
    files::{ContentHash, ManifestFile, Written, io_error},
};

const SECTOR: usize = 512;

/// A file that is written chunk by chunk.
pub(crate) enum DraftFile {
    Plain(Written),
    Segment(SegmentDraft),
}

impl DraftFile {
    /// Creates the file `path` in `folder`.
    pub fn create(folder: &Path, path: &str) -> Result<Self, BackupError> {
        if !is_segment(path) {
            return Ok(Self::Plain(Written::create(folder, path)?));
        }
        let (name, path) = (path.to_owned(), folder.join(path));
        Ok(Self::Segment(SegmentDraft { name, path, content: ContentHash::default(), file: None, offset: 0 }))
    }

    /// Appends to the file.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), BackupError> {
        match self {
            Self::Plain(file) => file.write(bytes),
            Self::Segment(segment) => segment.write(bytes),
        }
    }

    /// Makes the file durable; returns its size and hashes.
    pub fn finish(self) -> Result<ManifestFile, BackupError> {
        match self {
            Self::Plain(file) => file.finish(),
            Self::Segment(segment) => segment.finish(),
        }
    }
}

/// A journal segment, written at its full size. A segment has free space for later appends; the copy holds only
/// its content.
pub(crate) struct SegmentDraft {
    name: String,
    path: PathBuf,
    content: ContentHash,
    /// The file, once its size is known from the header.
    file: Option<Box<dyn DiskFile>>,
    offset: u64,
}

impl SegmentDraft {
    fn write(&mut self, bytes: &[u8]) -> Result<(), BackupError> {
        let file = if let Some(file) = &mut self.file {
            file
        } else {
            let size = bytes.first_chunk::<SECTOR>().and_then(segment_size);
            let why = "it has no segment header".to_owned();
            let size = size.ok_or(BackupError::Damaged { file: self.name.clone(), why })?;
            let created = RealDisk.create(&self.path, size).map_err(io_error("create", &self.path))?;
            self.file.insert(created)
        };
        let mut rest = bytes;
        while !rest.is_empty() {
            let written = file.write_at(rest, self.offset).map_err(io_error("write", &self.path))?;
            self.offset += written as u64;
            rest = &rest[written..];
        }
        self.content.update(bytes);
        Ok(())
    }

    fn finish(self) -> Result<ManifestFile, BackupError> {
        let why = "it is empty".to_owned();
        let file = self.file.ok_or_else(|| BackupError::Damaged { file: self.name.clone(), why })?;
        file.sync().map_err(io_error("sync", &self.path))?;
        Ok(self.content.finish(self.name))
    }
}

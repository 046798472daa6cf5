//! A folder as the destination of a copy.

use std::path::Path;

use crate::{
    copy_sink::{CopySink, CopyStart},
    error::BackupError,
    file_names::JOURNAL,
    files::{ManifestFile, Written, make_folder},
};

/// Folder to which files are copied.
pub(crate) struct FolderSink<'a> {
    folder: &'a Path,
    file: Option<Written>,
}

impl<'a> FolderSink<'a> {
    pub fn new(folder: &'a Path) -> Self {
        Self { folder, file: None }
    }
}

impl CopySink for FolderSink<'_> {
    fn start(&mut self, _: CopyStart) -> Result<(), BackupError> {
        make_folder(self.folder)?;
        make_folder(&self.folder.join(JOURNAL))
    }

    fn create(&mut self, path: &str) -> Result<(), BackupError> {
        self.file = Some(Written::create(self.folder, path)?);
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), BackupError> {
        self.file.as_mut().expect("a file was created before").write(bytes)
    }

    fn finish(&mut self) -> Result<ManifestFile, BackupError> {
        self.file.take().expect("a file was created before").finish()
    }
}

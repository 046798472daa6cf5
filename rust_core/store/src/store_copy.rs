//! Copying a store while it is read and written.

use std::{
    fs::File,
    io::{self, Read},
    os::fd::OwnedFd,
    path::Path,
};

use heed::{CompactionOption, Env, WithoutTls};

use crate::{
    Progress, Store, StoreError, StoreOptions, meta,
    open::{open_to_copy, page_bytes},
    table::Table,
};

/// Chunk size in bytes.
const CHUNK_SIZE: usize = 1 << 20;

/// A store to be copied in its state at one moment. It may have an older schema than this program.
pub struct StoreCopy {
    env: Env<WithoutTls>,
    meta: Table,
}

impl StoreCopy {
    /// Returns a handle to copy a store that this process has open.
    pub fn from_store(store: &Store) -> Self {
        Self { env: store.env().clone(), meta: store.tables().meta }
    }

    /// Opens the store in the folder `path`, which this process must not
    /// have open. Only the lock file is written.
    ///
    /// # Errors
    /// Returns an error if it is not the store of the chain that
    /// `options` names, or is newer than this program.
    pub fn open(path: &Path, options: &StoreOptions) -> Result<Self, StoreError> {
        let (env, meta) = open_to_copy(path, &StoreOptions { read_only: true, ..*options })?;
        Ok(Self { env, meta })
    }

    /// Returns the schema version of the store.
    pub fn schema(&self) -> Result<u32, StoreError> {
        meta::schema(&self.meta, &*self.env.read_txn()?)
    }

    /// Returns the progress of the store.
    pub fn progress(&self) -> Result<Progress, StoreError> {
        meta::read(&self.meta, &*self.env.read_txn()?)
    }

    /// Returns the maximum size of a copy in bytes.
    pub fn bytes(&self) -> u64 {
        page_bytes(&self.env)
    }

    /// Passes `sink` the bytes of a file that holds the store as of the start of the call, without free
    /// pages. Later writes are not included. No page of the copied version is reused before the copy ends.
    ///
    /// # Errors
    /// An error of `sink` ends the copy and is returned as [`StoreError::Io`].
    pub fn copy(&self, sink: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> Result<(), StoreError> {
        let (mut reader, writer) = io::pipe().map_err(|error| pipe_error(&error))?;
        std::thread::scope(|scope| {
            // LMDB writes into the pipe; it stops when the reader is dropped.
            let mut end = File::from(OwnedFd::from(writer));
            let copied = scope.spawn(move || self.env.copy_to_file(&mut end, CompactionOption::Enabled));
            let read = read_all(&mut reader, sink);
            drop(reader);
            let copied =
                copied.join().map_err(|_| StoreError::Lmdb("the copying thread panicked".to_owned()))?;
            read.map_err(|error| pipe_error(&error))?;
            Ok(copied?)
        })
    }
}

fn read_all(reader: &mut impl Read, sink: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut piece = vec![0; CHUNK_SIZE];
    loop {
        match reader.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(read) => sink(&piece[..read])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn pipe_error(error: &io::Error) -> StoreError {
    StoreError::Io { action: "copy", path: "the store".into(), why: error.to_string() }
}

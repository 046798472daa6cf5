//! Copying a store while it is read and written.

use std::{
    fs::File,
    io::{self, Read},
    os::fd::OwnedFd,
    path::Path,
};

use heed::{CompactionOption, Env, WithoutTls};

use crate::{
    error::StoreError,
    meta,
    meta::Progress,
    open::{open_to_copy, page_bytes},
    options::StoreOptions,
    store::Store,
    table::Table,
};

/// Chunk size in bytes.
const CHUNK_SIZE: usize = 1 << 20;
/// Maximum number of times that a copy starts over because the store was written meanwhile.
const ATTEMPTS: u32 = 100;

/// A store to be copied in its state at one moment.
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

    /// Returns the progress of the store.
    pub fn progress(&self) -> Result<Progress, StoreError> {
        meta::read(&self.meta, &*self.env.read_txn()?)
    }

    /// Returns the maximum size of a copy in bytes.
    pub fn bytes(&self) -> u64 {
        page_bytes(&self.env)
    }

    /// Passes `sink` the bytes of a file that holds the store as of the start of the call, without free
    /// pages, and returns the progress of that state. Later writes are not included. No page of the copied
    /// version is reused before the copy ends.
    ///
    /// # Errors
    /// An error of `sink` ends the copy and is returned as [`StoreError::Io`].
    pub fn copy(&self, sink: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> Result<Progress, StoreError> {
        for _ in 0..ATTEMPTS {
            if let Some(progress) = self.copy_unchanged(sink)? {
                return Ok(progress);
            }
        }
        Err(pipe_error(&io::Error::other("it was written at the start of each attempt: try again")))
    }

    /// Copies the store; returns `None`, before `sink` receives a byte, if the store is written while the copy
    /// starts. LMDB does not report which version it copies: it is the one that is current both before the start
    /// and after the first byte.
    fn copy_unchanged(
        &self,
        sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<Option<Progress>, StoreError> {
        let current = self.env.read_txn()?;
        let progress = meta::read(&self.meta, &current)?;
        let (mut reader, writer) = io::pipe().map_err(|error| pipe_error(&error))?;
        std::thread::scope(|scope| {
            // LMDB writes into the pipe; it stops when the reader is dropped.
            let mut end = File::from(OwnedFd::from(writer));
            let copied = scope.spawn(move || self.env.copy_to_file(&mut end, CompactionOption::Enabled));
            let mut piece = vec![0; CHUNK_SIZE];
            let first = read_piece(&mut reader, &mut piece);
            let unchanged = self.env.read_txn()?.id() == current.id();
            drop(current);
            let read = match first {
                Ok(length) if unchanged => pass_on(&mut reader, piece, length, sink),
                first => first.map(drop),
            };
            drop(reader);
            let copied =
                copied.join().map_err(|_| StoreError::Lmdb("the copying thread panicked".to_owned()))?;
            read.map_err(|error| pipe_error(&error))?;
            if !unchanged {
                return Ok(None);
            }
            copied?;
            Ok(Some(progress))
        })
    }
}

/// Passes `sink` the first `length` bytes of `piece`, then the rest of the pipe.
fn pass_on(
    reader: &mut impl Read,
    mut piece: Vec<u8>,
    mut length: usize,
    sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    while length > 0 {
        sink(&piece[..length])?;
        length = read_piece(reader, &mut piece)?;
    }
    Ok(())
}

fn read_piece(reader: &mut impl Read, piece: &mut [u8]) -> io::Result<usize> {
    loop {
        match reader.read(piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

fn pipe_error(error: &io::Error) -> StoreError {
    StoreError::Io { action: "copy", path: "the store".into(), why: error.to_string() }
}

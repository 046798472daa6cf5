//! Copying a store while it is read and written.

use std::{
    fs::File,
    io::{self, Read},
    os::fd::OwnedFd,
    path::Path,
};

use heed::{CompactionOption, Env, WithoutTls};

use crate::{
    Options, Progress, Store, StoreError, meta,
    open::{open_to_copy, page_bytes},
    table::Table,
};

/// Bytes that are handed on at a time.
const PIECE: usize = 1 << 20;

/// A store that is copied as it stands at one moment. It may have an older schema than this program's.
pub struct Copying {
    env: Env<WithoutTls>,
    meta: Table,
}

impl Copying {
    /// One that this process has open.
    pub fn of(store: &Store) -> Self {
        Self { env: store.env().clone(), meta: store.tables().meta }
    }

    /// The one in the folder `path`, which this process does not have open. Nothing is written but the file of locks.
    ///
    /// # Errors
    /// Whatever is not the store of the chain that `options` names, or is newer than this program.
    pub fn open(path: &Path, options: &Options) -> Result<Self, StoreError> {
        let (env, meta) = open_to_copy(path, &Options { read_only: true, ..*options })?;
        Ok(Self { env, meta })
    }

    /// Version of its tables.
    pub fn schema(&self) -> Result<u32, StoreError> {
        meta::schema(&self.meta, &*self.env.read_txn()?)
    }

    /// How far it has come.
    pub fn progress(&self) -> Result<Progress, StoreError> {
        meta::read(&self.meta, &*self.env.read_txn()?)
    }

    /// Bytes that a copy has at most.
    pub fn bytes(&self) -> u64 {
        page_bytes(&self.env)
    }

    /// Gives `sink` the bytes of a file that holds the store as it stands when this begins, without free pages. What is written
    /// meanwhile is not in it, and no page that it holds is used again before it ends.
    ///
    /// # Errors
    /// What `sink` answers ends it, as [`StoreError::Io`].
    pub fn copy(&self, sink: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> Result<(), StoreError> {
        let (mut reader, writer) = io::pipe().map_err(|error| pipe_error(&error))?;
        std::thread::scope(|scope| {
            // LMDB writes into the pipe; whoever stops reading ends that.
            let mut end = File::from(OwnedFd::from(writer));
            let copied = scope.spawn(move || self.env.copy_to_file(&mut end, CompactionOption::Enabled));
            let read = read_all(&mut reader, sink);
            drop(reader);
            let copied = copied.join().map_err(|_| StoreError::Lmdb("the copying broke off".to_owned()))?;
            read.map_err(|error| pipe_error(&error))?;
            Ok(copied?)
        })
    }
}

fn read_all(reader: &mut impl Read, sink: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
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

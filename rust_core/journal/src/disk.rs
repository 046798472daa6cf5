//! What the journal asks of a disk.

use std::{
    io,
    path::{Path, PathBuf},
};

/// Files and directories. The real one is [`RealDisk`](crate::RealDisk); the simulated one,
/// [`SimulatedDisk`](crate::simulated::SimulatedDisk), loses what was not synced.
pub trait Disk: Send + Sync {
    /// Creates the directory and those above it that are missing, durably. One that exists is left alone.
    fn create_dir(&self, dir: &Path) -> io::Result<()>;

    /// Names of the files in `dir`, in any order.
    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>>;

    /// Opens an existing file; for reading only unless `write`.
    fn open(&self, path: &Path, write: bool) -> io::Result<Box<dyn DiskFile>>;

    /// Creates a file that must not exist, with `size` bytes of zeros and their blocks reserved.
    fn create(&self, path: &Path, size: u64) -> io::Result<Box<dyn DiskFile>>;

    /// Removes a file. Durable after [`Self::sync_dir`].
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Gives a file another name in the same directory, in place of a file that has it. Durable after
    /// [`Self::sync_dir`].
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Makes creations, removals and renames in `dir` durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
}

/// An open file. Nothing here moves a cursor.
pub trait DiskFile: Send {
    /// Returns `true` if the file at `path` is this one.
    fn is_at(&self, path: &Path) -> io::Result<bool>;

    /// Size in bytes.
    fn size(&self) -> io::Result<u64>;

    /// Reads at most `buffer.len()` bytes at `offset`; 0 at the end of the file.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// One write. Fewer bytes than asked may be written; the answer says how many.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;

    /// Returns when everything written to this file so far, and its size, is on stable storage. After an
    /// error nothing is known about those bytes, and calling it again proves nothing.
    fn sync(&self) -> io::Result<()>;
}

/// Fills `buffer` from `offset` on, as far as the file goes; how many bytes that are.
pub(crate) fn read_up_to(file: &dyn DiskFile, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < buffer.len() {
        match file.read_at(&mut buffer[done..], offset + done as u64) {
            Ok(0) => break,
            Ok(n) => done += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(done)
}

//! The disk interface that the journal uses.

use std::{
    io,
    path::{Path, PathBuf},
};

/// Files and directories.
///
/// [`RealDisk`](crate::RealDisk) is the machine's file system. Tests use the `SimulatedDisk` of
/// `foreseal-simulated-disk`, which loses data that was not synced.
pub trait Disk: Send + Sync {
    /// Creates the directory and its missing parents, durably. Leaves an existing directory unchanged.
    fn create_dir(&self, dir: &Path) -> io::Result<()>;

    /// Returns the names of the files in `dir`, in any order.
    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>>;

    /// Opens an existing file; read-only unless `write` is set.
    fn open(&self, path: &Path, write: bool) -> io::Result<Box<dyn DiskFile>>;

    /// Creates a file that must not exist, with `size` bytes of zeros and their blocks reserved.
    fn create(&self, path: &Path, size: u64) -> io::Result<Box<dyn DiskFile>>;

    /// Removes a file. The removal is durable after [`Self::sync_dir`].
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Renames a file within its directory and replaces a file of that name. The rename is durable after
    /// [`Self::sync_dir`].
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Makes creations, removals and renames in `dir` durable.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;
}

/// An open file, accessed by offset; it has no cursor.
pub trait DiskFile: Send {
    /// Returns `true` if the file at `path` is this one.
    fn is_at(&self, path: &Path) -> io::Result<bool>;

    /// Returns the size in bytes.
    fn size(&self) -> io::Result<u64>;

    /// Reads at most `buffer.len()` bytes at `offset`; returns 0 at the end of the file.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Performs one write at `offset`. Returns the number of bytes written, which may be fewer than given.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize>;

    /// Returns when everything written to this file so far, and its size, is on stable storage. After an
    /// error the state of those bytes is undefined, and another call proves nothing.
    fn sync(&self) -> io::Result<()>;
}

/// Fills `buffer` from `offset` on, up to the end of the file. Returns the number of bytes read.
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

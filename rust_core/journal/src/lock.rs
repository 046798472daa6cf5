//! One writer for a data directory.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read, Seek, Write},
    path::{Path, PathBuf},
};

use foreseal_types::mutant;

const LOCK_FILE: &str = "LOCK";

/// Why the lock could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("data directory {} is in use{}", dir.display(), in_use_by(*pid))]
    DataDirInUse {
        dir: PathBuf,
        /// The process that wrote its id into the lock file, when it can be read.
        pid: Option<u32>,
    },
    #[error("data directory {} cannot be locked: {source}", dir.display())]
    Io { dir: PathBuf, source: io::Error },
}

fn in_use_by(pid: Option<u32>) -> String {
    pid.map(|pid| format!(" by process {pid}")).unwrap_or_default()
}

/// The exclusive right to write in a data directory, until it is dropped or the process ends, however it ends.
///
/// It is taken before anything in the directory is opened. The file is closed on exec, but a fork without exec
/// shares the lock: do not fork while holding it.
#[derive(Debug)]
pub struct DirLock {
    file: File,
}

impl Drop for DirLock {
    fn drop(&mut self) {
        // Closing would not do: a process that is being started has the file too, for a moment after its parent goes on. What
        // cannot be unlocked is closed.
        let _ = self.file.unlock();
    }
}

impl DirLock {
    /// Takes the lock of `dir`, which must exist. Never waits.
    pub fn acquire(dir: &Path) -> Result<Self, LockError> {
        let failed = |source| LockError::Io { dir: dir.to_owned(), source };
        // Never truncated on opening: until the lock is ours the content belongs to its holder.
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(dir.join(LOCK_FILE))
            .map_err(failed)?;
        match if mutant!("two-writers") { Ok(()) } else { file.try_lock() } {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(LockError::DataDirInUse { dir: dir.to_owned(), pid: read_pid(&mut file) });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        write_pid(&mut file).map_err(failed)?;
        Ok(Self { file })
    }
}

fn write_pid(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

fn read_pid(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(16).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_given_back_although_a_child_has_the_file_still() {
        let dir = tempfile::tempdir().unwrap();
        let lock = DirLock::acquire(dir.path()).unwrap();
        let child = lock.file.try_clone().unwrap();
        drop(lock);
        DirLock::acquire(dir.path()).unwrap();
        drop(child);
    }
}

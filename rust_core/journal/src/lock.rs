//! Exclusive lock of a data directory.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Seek, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

const LOCK_FILE: &str = "LOCK";

/// Errors of acquiring the lock.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("data directory {} is in use{}", dir.display(), in_use_by(*pid))]
    DataDirInUse {
        dir: PathBuf,
        /// The process that wrote its id into the lock file, if it can be read.
        pid: Option<u32>,
    },
    #[error("data directory {} cannot be locked: {source}", dir.display())]
    Io { dir: PathBuf, source: io::Error },
}

fn in_use_by(pid: Option<u32>) -> String {
    pid.map(|pid| format!(" by process {pid}")).unwrap_or_default()
}

/// The exclusive right to write in a data directory, until it is dropped or the process ends for any reason.
///
/// Acquire it before you open anything in the directory. It locks both the directory and the file `LOCK` in
/// it. So the file may be removed and the directory renamed, and a program that locks only the file is
/// excluded too. Both are closed on exec, but a fork without exec shares the lock: do not fork while you hold
/// it.
#[derive(Debug)]
pub struct DirLock {
    folder: File,
    file: File,
}

impl Drop for DirLock {
    fn drop(&mut self) {
        // Closing is not enough: a child process shares the files for a moment after its parent has started
        // it. A file that cannot be unlocked is closed.
        let _ = self.file.unlock();
        let _ = self.folder.unlock();
    }
}

impl DirLock {
    /// Acquires the lock of `dir`, which must exist. Never blocks.
    ///
    /// # Errors
    /// [`LockError::DataDirInUse`] while another process, or another owner in this one, holds the lock.
    pub fn acquire(dir: &Path) -> Result<Self, LockError> {
        let failed = |source| LockError::Io { dir: dir.to_owned(), source };
        let folder = File::open(dir).map_err(failed)?;
        if !try_lock(&folder).map_err(failed)? {
            let pid = File::open(dir.join(LOCK_FILE)).ok().and_then(|mut file| read_pid(&mut file));
            let pid = pid.or_else(|| lock_holder(&folder));
            return Err(LockError::DataDirInUse { dir: dir.to_owned(), pid });
        }
        // Not truncated on opening: until this process has the lock, the content belongs to the holder.
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(dir.join(LOCK_FILE))
            .map_err(failed)?;
        if !try_lock(&file).map_err(failed)? {
            return Err(LockError::DataDirInUse { dir: dir.to_owned(), pid: read_pid(&mut file) });
        }
        write_pid(&mut file).map_err(failed)?;
        Ok(Self { folder, file })
    }
}

/// Returns `true` if this process now holds the lock.
fn try_lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(source)) => Err(source),
    }
}

/// Returns the process that holds the lock on a file, from the kernel's list; `None` if the kernel lists
/// none.
fn lock_holder(file: &File) -> Option<u32> {
    let inode = file.metadata().ok()?.ino().to_string();
    let locks = fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| {
        // 1: FLOCK  ADVISORY  WRITE 4711 08:01:131 0 EOF
        let fields: Vec<_> = line.split_whitespace().collect();
        let position = fields.iter().find(|field| field.matches(':').count() == 2)?;
        let holds = fields.contains(&"FLOCK") && position.rsplit(':').next() == Some(inode.as_str());
        holds.then(|| fields.get(4)?.parse().ok().filter(|pid| *pid > 0))?
    })
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

    fn in_use(dir: &Path) -> Option<u32> {
        match DirLock::acquire(dir) {
            Err(LockError::DataDirInUse { pid, .. }) => pid,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_removed_lock_file_excludes_a_second_owner() {
        let dir = tempfile::tempdir().unwrap();
        let lock = DirLock::acquire(dir.path()).unwrap();
        fs::remove_file(dir.path().join(LOCK_FILE)).unwrap();
        assert_eq!(in_use(dir.path()), Some(std::process::id()), "as the kernel lists it");
        assert!(!dir.path().join(LOCK_FILE).exists(), "an attempt leaves nothing behind");
        drop(lock);
        DirLock::acquire(dir.path()).unwrap();
    }

    #[test]
    fn a_renamed_directory_stays_locked() {
        let above = tempfile::tempdir().unwrap();
        let (old, new) = (above.path().join("old"), above.path().join("new"));
        fs::create_dir(&old).unwrap();
        let lock = DirLock::acquire(&old).unwrap();
        fs::rename(&old, &new).unwrap();
        assert_eq!(in_use(&new), Some(std::process::id()));
        drop(lock);
        DirLock::acquire(&new).unwrap();
    }

    #[test]
    fn a_program_that_locks_the_file_alone_is_excluded() {
        let dir = tempfile::tempdir().unwrap();
        let other = File::create(dir.path().join(LOCK_FILE)).unwrap();
        other.try_lock().unwrap();
        assert_eq!(in_use(dir.path()), None);
        drop(other);
        DirLock::acquire(dir.path()).unwrap();
    }

    #[test]
    fn the_lock_is_released_although_a_child_inherited_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let lock = DirLock::acquire(dir.path()).unwrap();
        let child = (lock.file.try_clone().unwrap(), lock.folder.try_clone().unwrap());
        drop(lock);
        DirLock::acquire(dir.path()).unwrap();
        drop(child);
    }
}

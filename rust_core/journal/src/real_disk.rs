//! The machine's file system.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use crate::disk::{Disk, DiskFile};

/// The machine's file system. Every file it opens is closed on exec.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        if dir.is_dir() {
            return Ok(());
        }
        let parent = dir.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        self.create_dir(parent)?;
        match fs::create_dir(dir) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => Ok(()),
            other => other,
        }?;
        self.sync_dir(parent)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        fs::read_dir(dir)?.map(|entry| Ok(PathBuf::from(entry?.file_name()))).collect()
    }

    fn open(&self, path: &Path, write: bool) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(RealFile(OpenOptions::new().read(true).write(write).open(path)?)))
    }

    fn create(&self, path: &Path, size: u64) -> io::Result<Box<dyn DiskFile>> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        preallocate(&file, size)?;
        Ok(Box::new(RealFile(file)))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        File::open(dir)?.sync_all()
    }
}

struct RealFile(File);

impl DiskFile for RealFile {
    fn size(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.0.write_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}

/// Reserves `size` bytes of zeros, so that an append changes no file metadata and can't find the disk full.
fn preallocate(file: &File, size: u64) -> io::Result<()> {
    match reserve(file, size) {
        Err(e) if e.kind() == io::ErrorKind::Unsupported => write_zeros(file, size),
        other => other,
    }
}

#[cfg(target_os = "linux")]
fn reserve(file: &File, size: u64) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let size = i64::try_from(size).map_err(|_| io::ErrorKind::FileTooLarge)?;
    // SAFETY: the descriptor is open for the whole call, which touches no memory of ours.
    if unsafe { libc::fallocate(file.as_raw_fd(), 0, 0, size) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(not(target_os = "linux"))]
fn reserve(_file: &File, _size: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// For file systems without fallocate.
fn write_zeros(file: &File, size: u64) -> io::Result<()> {
    let zeros = vec![0; 1 << 20];
    let mut offset = 0;
    while offset < size {
        let length = usize::try_from(size - offset).unwrap_or(usize::MAX).min(zeros.len());
        file.write_all_at(&zeros[..length], offset)?;
        offset += length as u64;
    }
    Ok(())
}

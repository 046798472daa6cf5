//! The machine's file system.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{FileExt, MetadataExt},
    path::{Path, PathBuf},
    sync::OnceLock,
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
        Ok(Box::new(RealFile::new(OpenOptions::new().read(true).write(write).open(path)?)))
    }

    fn create(&self, path: &Path, size: u64) -> io::Result<Box<dyn DiskFile>> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        preallocate(&file, size)?;
        Ok(Box::new(RealFile::new(file)))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
        File::open(dir)?.sync_all()
    }
}

struct RealFile {
    file: File,
    /// Device and inode, read once.
    inode: OnceLock<(u64, u64)>,
}

impl RealFile {
    fn new(file: File) -> Self {
        Self { file, inode: OnceLock::new() }
    }

    fn inode(&self) -> io::Result<(u64, u64)> {
        if let Some(inode) = self.inode.get() {
            return Ok(*inode);
        }
        let metadata = self.file.metadata()?;
        Ok(*self.inode.get_or_init(|| (metadata.dev(), metadata.ino())))
    }
}

impl DiskFile for RealFile {
    fn is_at(&self, path: &Path) -> io::Result<bool> {
        let metadata = fs::metadata(path)?;
        Ok(self.inode()? == (metadata.dev(), metadata.ino()))
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.file.write_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// Reserves `size` bytes of zeros, so that an append changes no file metadata and cannot hit a full disk.
fn preallocate(file: &File, size: u64) -> io::Result<()> {
    match reserve(file, size) {
        Err(e) if e.kind() == io::ErrorKind::Unsupported => write_zeros(file, size),
        other => other,
    }
}

#[cfg(target_os = "linux")]
fn reserve(file: &File, size: u64) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    Ok(fallocate(file, FallocateFlags::empty(), 0, size)?)
}

#[cfg(not(target_os = "linux"))]
fn reserve(_file: &File, _size: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Writes `size` bytes of zeros, for file systems without fallocate.
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

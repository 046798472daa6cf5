//! The two meta pages of a store's file. Each commit writes one of them; the
//! other still refers to the previous commit.
//!
//! LMDB does not open a file with one damaged meta page. While no process has the store open,
//! the sound page can replace it. The store is then as of the newest commit or the one before,
//! and the journal has the blocks that follow.

use std::{
    fmt,
    fs::{File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use crate::{error::StoreError, open::DATA_FILE, pages::is_sound_meta};

/// Page sizes that LMDB can use: the memory page size of the machine that created the file.
const PAGE_SIZES: [usize; 5] = [4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10];

/// The only damaged meta page of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetaFault {
    pub path: PathBuf,
    /// Number of the page, 0 or 1.
    pub page: u64,
    /// Offset in the file.
    pub offset: u64,
    page_size: usize,
}

impl MetaFault {
    /// Checks the store in `folder`, which no process may have open, for a damaged meta page. Returns
    /// `None` if both are sound or both are damaged.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn find(folder: &Path) -> Result<Option<Self>, StoreError> {
        let path = folder.join(DATA_FILE);
        let file = File::open(&path).map_err(StoreError::io("read", &path))?;
        for page_size in PAGE_SIZES {
            let sound =
                [0, 1].map(|page| read(&file, page, page_size).map(|bytes| is_sound_meta(&bytes, page_size)));
            let page = match sound {
                [Ok(true), Ok(false)] => 1,
                [Ok(false), Ok(true)] => 0,
                [Err(error), _] | [_, Err(error)] if error.kind() != io::ErrorKind::UnexpectedEof => {
                    return Err(StoreError::io("read", &path)(error));
                }
                _ => continue,
            };
            return Ok(Some(Self { path, page, offset: page * page_size as u64, page_size }));
        }
        Ok(None)
    }

    /// Copies the sound meta page over the damaged one in `folder`, which holds
    /// a copy of the store, and syncs the file.
    pub fn repair(&self, folder: &Path) -> Result<(), StoreError> {
        let path = folder.join(DATA_FILE);
        let file =
            OpenOptions::new().read(true).write(true).open(&path).map_err(StoreError::io("open", &path))?;
        let mut bytes = read(&file, 1 - self.page, self.page_size).map_err(StoreError::io("read", &path))?;
        // A page begins with its own number.
        bytes[..8].copy_from_slice(&self.page.to_ne_bytes());
        let written = file.write_all_at(&bytes, self.offset).and_then(|()| file.sync_all());
        written.map_err(StoreError::io("write", &path))
    }
}

impl fmt::Display for MetaFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, page, offset, .. } = self;
        write!(f, "meta page {page} of {} at offset {offset} is not what was written there", path.display())
    }
}

fn read(file: &File, page: u64, page_size: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; page_size];
    file.read_exact_at(&mut bytes, page * page_size as u64)?;
    Ok(bytes)
}

//! The two meta pages of a store's file. Each commit writes one of them; the other one still leads to the commit before.
//!
//! LMDB opens no file of which one is damaged. At rest the sound one can replace it: the store is then as of the newest commit or
//! as of the one before, and the journal has what follows.

use std::{
    fmt,
    fs::{File, OpenOptions},
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use crate::{StoreError, open::DATA_FILE, pages::is_sound_meta};

/// Sizes that LMDB's pages can have: that of the machine's memory pages when the file was made.
const PAGE_SIZES: [usize; 5] = [4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10];

/// The one meta page of a file that is damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetaFault {
    pub path: PathBuf,
    /// 0 or 1.
    pub page: u64,
    /// Offset in the file.
    pub offset: u64,
    page_size: usize,
}

impl MetaFault {
    /// Looks for a damaged meta page in the store in `folder`, which no process has open; `None` if both are sound or both
    /// are damaged.
    ///
    /// # Errors
    /// When the file cannot be read.
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

    /// Copies the sound meta page over the damaged one in `folder`, a copy of the store's, and syncs it.
    pub fn repair(&self, folder: &Path) -> Result<(), StoreError> {
        let path = folder.join(DATA_FILE);
        let file =
            OpenOptions::new().read(true).write(true).open(&path).map_err(StoreError::io("open", &path))?;
        let mut bytes = read(&file, 1 - self.page, self.page_size).map_err(StoreError::io("read", &path))?;
        // A page begins with its number.
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

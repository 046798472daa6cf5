//! Registry of the stores that this process has open. LMDB maps a file once per process, so a store that is
//! still in use is shared with later callers instead of being opened again.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::Weak,
    time::Duration,
};

use parking_lot::Mutex;

use crate::{
    error::StoreError,
    options::StoreOptions,
    store::{Store, StoreInner},
};

/// Time to wait for a store that another thread is closing.
const CLOSING: Duration = Duration::from_secs(5);

static STORES: Mutex<Vec<(PathBuf, Weak<StoreInner>)>> = Mutex::new(Vec::new());

/// Returns the stores that this process has open; none while one is being opened.
pub(crate) fn open_stores() -> Vec<Store> {
    let Some(stores) = STORES.try_lock() else { return Vec::new() };
    stores.iter().filter_map(|(_, store)| store.upgrade()).map(|shared| Store { shared }).collect()
}

impl Store {
    /// Opens the store in the folder `path`, or creates it there. A store that this process has open
    /// is shared if it was opened with the same options, or with the same options and write access.
    /// The caller decides which handles may write.
    ///
    /// # Errors
    /// Rejects a store that does not match `options`, and leaves it unchanged.
    pub fn open(path: impl AsRef<Path>, options: StoreOptions) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let mut stores = STORES.lock();
        stores.retain(|(_, store)| store.strong_count() > 0);
        let canonical = fs::canonicalize(path).ok();
        let open_store = stores.iter().find(|(known, _)| Some(known) == canonical.as_ref());
        if let Some(shared) = open_store.and_then(|(_, store)| store.upgrade()) {
            let store = Self { shared };
            // For a reader, a handle that may also write is equally suitable.
            let writable = StoreOptions { read_only: false, ..options };
            let is_compatible =
                [&options, &writable].into_iter().any(|requested| store.options().has_same_layout(requested));
            return if store.is_file_of(path) && is_compatible {
                Ok(store)
            } else {
                Err(StoreError::InUse { path: path.to_owned() })
            };
        }
        if let Some(closing) = canonical.and_then(heed::env_closing_event) {
            closing.wait_timeout(CLOSING);
        }
        let store = Self::open_new(path, options)?;
        let canonical = fs::canonicalize(path).map_err(StoreError::io("read", path))?;
        stores.push((canonical, store.downgrade()));
        Ok(store)
    }

    /// Returns `true` if the open file is the one that is in the folder now, not a removed one.
    fn is_file_of(&self, path: &Path) -> bool {
        let opened = self.env().try_clone_inner_file().ok().and_then(|file| file.metadata().ok());
        let at_path = fs::metadata(path.join(crate::open::DATA_FILE)).ok();
        let name = |file: fs::Metadata| (file.dev(), file.ino());
        opened.is_some() && opened.map(name) == at_path.map(name)
    }
}

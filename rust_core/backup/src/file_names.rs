//! Names of files in a data directory and in a backup of it.

pub(crate) use foreseal_chain::datadir::{GENESIS, IDENTITY, JOURNAL, KEY, STORE};

pub(crate) const MANIFEST: &str = "MANIFEST.json";
pub(crate) const STORE_FILE: &str = "store/data.mdb";
pub(crate) const STORE_LOCK: &str = "store/lock.mdb";

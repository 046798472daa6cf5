//! Names of files in a data directory and in a backup of it.

pub(crate) use foreseal_chain::datadir::IDENTITY;

pub(crate) const GENESIS: &str = "genesis.json";
pub(crate) const KEY: &str = "sequencer.key";
pub(crate) const MANIFEST: &str = "MANIFEST.json";
pub(crate) const STORE: &str = "store/data.mdb";
pub(crate) const STORE_LOCK: &str = "store/lock.mdb";

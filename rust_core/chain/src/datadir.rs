//! The data directory: its lock, the files in it that are neither journal nor store, and backups of it.

pub mod checked_file;
mod data_dir;
mod error;
mod genesis;
mod genesis_summary;
mod identity;
mod store_backup;

pub use checked_file::{Checksum, DamagedFile, Mismatch};
pub use data_dir::{DataDir, GENESIS, JOURNAL, KEY, STORE, SavedPool, agreed_spec, stored_spec};
pub use error::DataDirError;
pub use genesis::genesis_hash;
pub(crate) use genesis_summary::without_allocation;
pub use genesis_summary::{GENESIS_SUMMARY, record_summary, summarized_spec};
pub use identity::{DirIdentity, IDENTITY, SignerSince};
pub use store_backup::{BackupEnd, BackupFailure, CopiedComponent, CopyCallback, CopyProgress, StoreBackup};

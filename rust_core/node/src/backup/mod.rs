//! Backups of a data directory, made while a node runs on it, and their restoration.
//!
//! ```text
//!   hold the journal's segments -> copy the store (one snapshot, S)
//!                               -> hold newer segments -> copy the journal from S on
//! ```
//!
//! A store is always behind its journal, so the store is copied first: the journal that is copied after it
//! continues from the store's state. The segments that exist at the beginning are held open. So every step
//! that was durable then is in the copy, even if the node removes segments meanwhile.

mod errors;
mod files;
mod make;
mod manifest;
mod restore;
mod source;

pub use errors::BackupError;
pub use files::ManifestFile;
pub use make::{BackupSource, back_up};
pub use manifest::Manifest;
pub use restore::restore;
pub use source::Backup;

use crate::identity::IDENTITY;

/// File names in a data directory and in a backup of it.
const GENESIS: &str = "genesis.json";
const KEY: &str = "sequencer.key";
const MANIFEST: &str = "MANIFEST.json";
const STORE: &str = "store/data.mdb";
const STORE_LOCK: &str = "store/lock.mdb";

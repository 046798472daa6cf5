//! Copies of a data directory, made while a node runs on it, and nodes made of them.
//!
//! ```text
//!   hold the journal's segments -> copy the store (one moment, S) -> hold what came since -> copy the journal from S on
//! ```
//!
//! A store is always behind its journal, so the store goes first: whatever it holds, the journal that is copied after it goes on
//! from there. The segments that were there at the beginning are held open, so that every step that was durable then is in
//! the copy, however much the node removes meanwhile.

mod errors;
mod files;
mod make;
mod manifest;
mod restore;

pub use errors::BackupError;
pub use make::{Source, back_up};
pub use manifest::{Manifest, ManifestFile};
pub use restore::restore;

use std::ops::ControlFlow;

use crate::identity::IDENTITY;

/// How far a copy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    pub part: CopiedPart,
    /// Bytes so far, and how many there will be at most.
    pub done: u64,
    pub of: u64,
}

/// What is being copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopiedPart {
    Store,
    Journal,
}

/// Hears how far a copy is, and may end it.
pub type Watching<'a> = &'a mut dyn FnMut(Copied) -> ControlFlow<()>;

/// File names in a data directory and in a backup of it.
const GENESIS: &str = "genesis.json";
const KEY: &str = "sequencer.key";
const MANIFEST: &str = "MANIFEST.json";
const STORE: &str = "store/data.mdb";
const STORE_LOCK: &str = "store/lock.mdb";

#![doc = include_str!("../README.md")]

mod block;
mod copying;
mod damage;
mod error;
mod key;
mod log_index;
mod log_search;
mod meta;
mod nodes;
mod open;
mod open_here;
mod options;
mod pages;
mod pieces;
mod puts;
mod reader;
mod repair;
mod rewrite;
mod sealed;
mod snapshot;
mod state;
mod stats;
mod store;
mod table;
mod tail;
mod unwind;
mod unwinds;
mod upgrade;
#[doc(hidden)]
pub mod values;
mod verify;

pub use block::{BlockRecord, StoredLog, StoredStep};
pub use copying::Copying;
pub use damage::DamageReport;
pub use error::StoreError;
pub use log_index::{Additions, Criterion, LogIndex, LogIndexError, Matches, Next};
pub use meta::{Head, Origin, Progress, SCHEMA};
pub use options::Options;
pub use pages::{PageFault, ScrubPosition, Scrubbed};
pub use reader::Reader;
pub use repair::{Rewriting, Survey};
pub use sealed::SealedBlock;
pub use stats::{Stats, StoreSize, TableStats};
pub use store::Store;
pub use upgrade::Upgrading;
pub use verify::{Fault, Part, Verified, Verifying};

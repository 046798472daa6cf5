#![doc = include_str!("../README.md")]

mod check;
mod copying;
mod disk;
mod error;
mod journal;
mod layout;
mod lock;
mod offline;
mod past;
mod real_disk;
mod record;
mod recovery;
mod repair;
mod replay;
mod segment;
mod show;
pub mod simulated;
mod stretch;
mod walk;
mod whole;

pub use check::{Fault, Head, Report, StepHead, check};
pub use copying::{Extent, Held, HeldSegment, segment_size};
pub use disk::{Disk, DiskFile};
pub use error::{JournalError, Place};
pub use journal::{Journal, Options};
pub use layout::Identity;
pub use lock::{DirLock, LockError};
pub use offline::{OfflineError, OfflineJournal, journal_folder};
pub use past::Past;
pub use real_disk::RealDisk;
pub use record::{Outline, Record, decode_records, encode_records, outline_records};
pub use recovery::{Recovery, TornTail};
pub use repair::{Loss, Repair, plan_repair};
pub use replay::{Append, Replay};
pub use show::{ShownAppend, ShownRecord, ShownStep, show};
pub use whole::{NotRecords, Whole, Wholes};

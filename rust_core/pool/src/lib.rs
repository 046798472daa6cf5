#![doc = include_str!("../README.md")]

mod admission;
mod answer;
mod arrivals;
mod best;
mod config;
mod contents;
mod departed;
mod error;
mod event;
mod eviction;
mod fees;
mod forwarded;
mod locked;
mod order;
mod pool;
mod queue;
mod replica;
mod rules;
mod saved;
mod status;
mod submission;
mod transaction;
mod wire;

pub use admission::{Added, Admission, PendingHead};
pub use arrivals::Arrived;
pub use best::Best;
pub use config::PoolConfig;
pub use error::PoolError;
pub use event::{PoolEvent, PoolSink};
pub use fees::Fees;
pub use pool::{Pool, PoolCounts, PoolSnapshot, SenderContent};
pub use rules::Rules;
pub use saved::{RestoreError, Restored};
pub use status::{DropReason, Dropped, Status, Waiting};
pub use submission::{decode_many, decode_submission, impersonated_submission};
pub use transaction::{PooledTransaction, Sidecar, Submission};

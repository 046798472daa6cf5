#![doc = include_str!("../README.md")]

mod additional_fees;
mod admission;
mod apply_events;
mod arrival_log;
mod best_transactions;
mod config;
mod contents;
mod costs;
mod dropped_history;
mod error;
mod eviction;
mod eviction_order;
mod fees;
mod forwarded_transaction;
mod locked;
mod metrics;
mod origin;
mod pool;
mod pool_event;
mod priority_order;
mod rules;
mod saved;
mod sender_queue;
mod status;
mod submission;
mod transaction;

pub use additional_fees::AdditionalFees;
pub use admission::{AddedTransaction, Admission, OptimismHead, PendingHead};
pub use arrival_log::PendingLogPage;
pub use best_transactions::BestTransactions;
pub use config::PoolConfig;
pub use error::PoolError;
pub use fees::Fees;
pub use metrics::PoolMetrics;
pub use pool::{Pool, PoolCounts, PoolSnapshot, SenderContent};
pub use pool_event::{PoolEvent, PoolEventSink};
pub use rules::Rules;
pub use saved::{RestoreError, Restored};
pub use status::{DropReason, Dropped, QueuedReason, Status};
pub use submission::{
    UnverifiedTransaction, decode_many, decode_submission, decode_unverified, impersonated_submission,
    load_trusted_setup,
};
pub use transaction::{CheckedTransaction, PooledTransaction, Sidecar};

//! A process that follows the sequencer: it applies the journal's appends and executes nothing.
//!
//! ```text
//!   store (read-only) --> WorkerChain: chain, views --> FollowerBackend: newest view, feed, pool --> readers
//!                             ^
//!   sequencer --> socket -----+---- Append, Pool, Heartbeat, SequencerReport
//! ```
//!
//! The follower starts from the store, receives later appends from the sequencer, and publishes a view once
//! it is up to date. After a lost connection it resumes from its cursor. Meanwhile it serves its last view,
//! whose age shows in the status. A follower whose cursor is no longer valid starts again from the store.

mod chain_copy;
mod client;
mod directory_copy_client;
mod follower_backend;
mod follower_profile;
#[cfg(feature = "simulation")]
mod manual_follower;
mod outbox;
mod pending_requests;
mod sequencer_status;
mod session;
mod shared_store_chain;
mod thread;
mod upstream;
mod upstream_ticks;
mod worker_chain;

pub use chain_copy::{ApplyError, ChainCopy, CopyError, CopyProgress, RestartCause};
pub use client::{FollowerClient, FollowerConfig};
pub use directory_copy_client::{DirectoryCopyError, fetch_directory_copy};
pub use follower_backend::FollowerBackend;
pub use follower_profile::FollowerProfile;
#[cfg(feature = "simulation")]
pub use manual_follower::ManualFollower;
pub use outbox::{SubmissionCallback, SubmissionHandle};
pub use sequencer_status::CatchingUp;
pub use session::ConnectionError;
pub use shared_store_chain::SharedStoreChain;
pub use upstream::Upstream;
pub use worker_chain::WorkerChainConfig;

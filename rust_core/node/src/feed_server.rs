//! The server that feeds followers, on the sequencer's side.
//!
//! ```text
//!   writer, pool -- append, pool event --> FrameLog (bounded ring) --> connection per follower --> socket
//!                                                                 journal (backlog) -->|
//! ```
//!
//! The writer never waits for a follower. A follower that falls behind by more than the ring holds is
//! disconnected. It reconnects with its cursor and receives the missing appends from the journal.

mod answers;
mod backend;
mod connection;
mod frames;
mod manual;
mod pace;
mod peers;
mod request_reader;
mod server;
mod source;

pub use backend::SequencerBackend;
pub use frames::{FrameLog, LogStatus, RingLimits};
pub use manual::ManualServer;
pub use pace::Pace;
pub use peers::FollowerStatus;
pub use server::FeedServer;
pub use source::{FeedConfig, FeedSource};

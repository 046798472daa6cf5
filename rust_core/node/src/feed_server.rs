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
mod connection;
mod frames;
mod manual;
mod pace;
mod peers;
mod request_reader;
mod server;
mod source;

pub(crate) use frames::FrameLog;
pub use frames::RingLimits;
pub use manual::ManualServer;
pub(crate) use pace::Pace;
pub use peers::FollowerStatus;
pub(crate) use peers::Peers;
pub(crate) use server::FeedServer;
pub(crate) use source::FeedSource;

//! The server that feeds followers, on the sequencer's side.
//!
//! ```text
//!   writer, pool -- append, pool event --> FrameLog (bounded ring) --> connection per follower --> socket
//!                                                                 journal (backlog) -->|
//! ```
//!
//! The writer never waits for a follower. A follower that falls behind by more than the ring holds is
//! disconnected. It reconnects with its cursor and receives the missing appends from the journal.

mod connection_origin;
mod directory_copy_session;
mod directory_copy_source;
mod directory_copy_writer;
mod disconnect_reason;
mod feed_server;
mod feed_source;
mod follower_session;
mod frame_log;
#[cfg(feature = "simulation")]
mod manual_server;
mod pace;
mod peers;
mod replies;
mod request_reader;
mod sequencer_backend;
mod served_connections;
mod socket_listener;

pub use connection_origin::ConnectionOrigin;
pub use directory_copy_source::DirectoryCopySource;
pub use feed_server::FeedServer;
pub use feed_source::{FeedConfig, FeedSource};
pub use frame_log::{FrameLog, LogStatus, RingLimits};
#[cfg(feature = "simulation")]
pub use manual_server::ManualServer;
pub use pace::Pace;
pub use peers::FollowerStatus;
pub use sequencer_backend::SequencerBackend;

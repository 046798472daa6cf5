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
mod snapshot_session;
mod snapshot_source;
mod snapshot_writer;
mod socket_listener;

pub use connection_origin::ConnectionOrigin;
pub use feed_server::FeedServer;
pub use feed_source::{FeedConfig, FeedSource};
pub use frame_log::{FrameLog, LogStatus, RingLimits};
#[cfg(feature = "simulation")]
pub use manual_server::ManualServer;
pub use pace::Pace;
pub use peers::FollowerStatus;
pub use sequencer_backend::SequencerBackend;
pub use snapshot_source::SnapshotSource;

//! The sequencer's side of its followers.
//!
//! ```text
//!   writer, pool -- append, pool event --> FrameLog (a ring, bounded) --> one connection per follower --> its socket
//!                                                                    journal (backlog) -->|
//! ```
//!
//! Nobody who writes ever waits for a follower: one that is slower than the ring is long is cut, and comes back by its
//! cursor. What it then lacks is in the journal.

mod answers;
mod by_hand;
mod connection;
mod ears;
mod frames;
mod pace;
mod peers;
mod server;

pub use by_hand::Serves;
pub(crate) use connection::{BEAT, SILENCE};
pub(crate) use frames::FrameLog;
pub use frames::Room;
pub(crate) use pace::Pace;
pub use peers::FollowerStatus;
pub(crate) use peers::Peers;
pub(crate) use server::{FeedServer, Source};

//! Protocol between sequencer and followers over a stream: a Unix socket, or a connection of `transport`.
//!
//! ```text
//!   follower                                   sequencer
//!     Hello (version, chain, cursor)   ----->
//!                                      <-----  Welcome (how blocks are produced), or End with a reason
//!                                      <-----  Append ... Append          the backlog, from the journal
//!                                      <-----  Pool (all of it)           up to date from here on
//!                                      <-----  Append, Pool, Heartbeat, SequencerReport, Answer ... in the
//!                                              order of events
//!     Alive, Submit, Query, Report ... ----->
//! ```
//!
//! A new machine first sends DirectoryCopy instead of Hello. The sequencer responds with DirectoryCopy and then the
//! bytes of a [`DirectoryCopySource`](crate::DirectoryCopySource), or with End.
//!
//! A frame is its length (4 bytes, little-endian), a byte for its kind, and its body. Decoding trusts no
//! length, never panics, and reports what is wrong. The sequencer's frames after the Welcome are numbered
//! from 0 on, in four bytes after the body. A frame is valid only at its position in the sequence.

mod error;
mod frame;
mod outcome;
mod request;
mod response;

pub use error::WireError;
pub use frame::{
    HEARTBEAT_INTERVAL, MAX_COPY_SILENCE, MAX_GREETING_SIZE, MAX_REMOTE_SILENCE, MAX_REQUEST_SIZE,
    MAX_RESPONSE_SIZE, MAX_SILENCE, read_frame, strip_number, write_numbered,
};
pub use outcome::Outcome;
pub use request::{Cursor, FollowerRole, Hello, Request};
pub use response::{Ending, Heartbeat, OwnerReport, Response, SequencerReport, Welcome};

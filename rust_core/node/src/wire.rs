//! What sequencer and followers say to each other over a Unix socket.
//!
//! ```text
//!   follower                                   sequencer
//!     Hello (version, chain, cursor)   ----->
//!                                      <-----  Welcome (how blocks are produced), or End with a reason
//!                                      <-----  Append ... Append          the backlog, from the journal
//!                                      <-----  Pool (all of it)           up to date from here on
//!                                      <-----  Append, Pool, Pulse, Status, Answer ... in the order in which they happened
//!     Alive, Submit, Ask, Report ...   ----->
//! ```
//!
//! A frame is its length (4 bytes, little-endian), a byte for its kind, and its body. Decoding believes no length, never
//! panics, and names what is wrong. Behind the Welcome the sequencer's frames are numbered from 0 on, with four bytes behind
//! their bodies: what is told is true in its place only.

mod down;
mod error;
mod frame;
mod outcome;
mod up;

pub use down::{Down, Ending, Pulse, Said, Welcome};
pub use error::WireError;
pub use frame::{GREATEST_DOWN, GREATEST_UP, read_frame, take_number, write_numbered};
pub use outcome::Outcome;
pub use up::{Cursor, Hello, Up};

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
//! panics, and names what is wrong.

mod down;
mod error;
mod frame;
mod outcome;
mod up;

pub use down::{Down, Ending, Pulse, Said, Welcome};
pub use error::WireError;
pub use frame::{GREATEST_DOWN, GREATEST_UP, read_frame};
pub use outcome::Outcome;
pub use up::{Cursor, Hello, Up};

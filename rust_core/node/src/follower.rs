//! A process that follows the sequencer: it has the chain by the journal's appends, and executes nothing.
//!
//! ```text
//!   store (read-only) --> Replica: chain, undone, views --> Shared: newest view, feed, pool --> readers
//!                             ^
//!   sequencer --> socket -----+---- Append, Pool, Pulse, Said
//! ```
//!
//! It begins with what the store holds, has the appends behind that from the sequencer, and shows a view once it is up to
//! date. After a lost connection it goes on by its cursor, and shows what it has meanwhile; its age tells. One whose cursor
//! is gone begins again with the store.

mod by_hand;
mod connection;
mod following;
mod known;
mod outbox;
mod questions;
mod replica;

pub use by_hand::Follows;
pub(crate) use following::Following;
pub use outbox::Underway;
pub(crate) use replica::Ground;

//! Flashblocks in the format of the OP stack, over WebSocket.
//!
//! ```text
//!   writer --> PayloadFeed --> FlashblockPublisher (own thread: renders each step once)
//!                                      |  one queue per reader, bounded
//!                                      v
//!   reader <-- WebSocket <-- reader connection (tokio task)
//! ```
//!
//! A reader joins between two steps: its queue begins with all messages of the open block, and the next messages
//! follow without a gap. Neither the writer nor the publisher waits for a reader.

mod connection;
mod handshake;
mod message;
mod publisher;
mod reader_queue;
mod server;

pub use server::FlashblocksServer;

//! The feed between machines: admission, limits and ends of its connections, with real TLS on loopback.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod admission;
mod authority;
mod credentials;
mod echo;
mod feed_server;
mod limits;
mod sequencer;

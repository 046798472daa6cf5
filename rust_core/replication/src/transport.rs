//! Transport of the feed between machines: addresses, TLS, and the authentication of followers.
//!
//! ```text
//!   follower                                                                        sequencer
//!     session <-- Unix pair --> bridge <-- TCP, TLS, preamble --> bridge <-- Unix pair --> session
//!                            (FeedConnector)                  (FeedListener)
//! ```
//!
//! The sessions on both sides read and write a Unix stream. A bridge copies between such a stream and the
//! network in a bounded buffer; closing one side closes the other. A connection reaches a session only after
//! the listener has admitted it: by a client certificate, or by the token in the preamble.

mod bridge;
mod credential_error;
mod feed_address;
mod feed_connector;
mod feed_credentials;
mod feed_listener;
mod feed_security;
mod feed_token;
mod first_of;
mod handshake;
mod listener_limits;
mod network_runtime;
mod pending_handshakes;
mod preamble;
mod rejection_log;

pub use credential_error::CredentialError;
pub use feed_address::{FeedAddress, InvalidFeedAddress};
pub use feed_connector::FeedConnector;
pub use feed_credentials::FeedCredentials;
pub use feed_listener::FeedListener;
pub use feed_security::FeedSecurity;
pub use listener_limits::ListenerLimits;

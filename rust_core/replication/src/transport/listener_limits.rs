//! Limits of a listener.

use std::time::Duration;

/// Limits of a listener.
#[derive(Clone, Copy, Debug)]
pub struct ListenerLimits {
    /// Maximum number of admitted connections.
    pub connections: u32,
    /// Maximum number of connections that are not admitted yet. A new one replaces the oldest.
    pub handshakes: usize,
    /// Time within which a connection must be admitted.
    pub handshake_timeout: Duration,
}

impl Default for ListenerLimits {
    fn default() -> Self {
        Self { connections: 1_024, handshakes: 64, handshake_timeout: Duration::from_secs(5) }
    }
}

//! Log of rejected connections, limited in rate.

use std::{
    fmt,
    net::SocketAddr,
    time::{Duration, Instant},
};

use crate::log_limiter::LogLimiter;

/// Minimum time between two log lines.
const LOG_INTERVAL: Duration = Duration::from_secs(1);

/// Writes at most one line per second.
#[derive(Debug)]
pub(super) struct RejectionLog {
    began: Instant,
    limiter: LogLimiter,
}

impl RejectionLog {
    /// Returns a log that begins at the time `now`.
    pub fn new(now: Instant) -> Self {
        Self { began: now, limiter: LogLimiter::new(LOG_INTERVAL) }
    }

    /// Logs that the connection of `peer` was rejected at the time `now`.
    pub fn record(&self, peer: SocketAddr, reason: &dyn fmt::Display, now: Instant) {
        if let Some(repeated) = self.limiter.log(now.saturating_duration_since(self.began)) {
            tracing::warn!(%peer, %reason, repeated, "rejected a connection to the feed");
        }
    }
}

//! Log of rejected connections, limited in rate.

use std::{
    fmt,
    net::SocketAddr,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

/// Minimum time between two log lines.
const LOG_INTERVAL: Duration = Duration::from_secs(1);

/// Writes at most one line per second, so that peers cannot fill the disk.
#[derive(Debug, Default)]
pub(super) struct RejectionLog(Mutex<RejectionCount>);

#[derive(Debug, Default)]
struct RejectionCount {
    last: Option<Instant>,
    /// Number of rejections since the last line.
    suppressed: u64,
}

impl RejectionLog {
    /// Logs that the connection of `peer` was rejected at the time `now`.
    pub fn record(&self, peer: SocketAddr, reason: &dyn fmt::Display, now: Instant) {
        if let Some(suppressed) = self.0.lock().admit(now) {
            tracing::warn!(%peer, %reason, suppressed, "rejected a connection to the feed");
        }
    }
}

impl RejectionCount {
    /// Returns the number of rejections without a line if a line may be written now.
    fn admit(&mut self, now: Instant) -> Option<u64> {
        if self.last.is_some_and(|last| now.saturating_duration_since(last) < LOG_INTERVAL) {
            self.suppressed = self.suppressed.saturating_add(1);
            return None;
        }
        self.last = Some(now);
        Some(std::mem::take(&mut self.suppressed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_per_second_counts_the_others() {
        let (mut count, start) = (RejectionCount::default(), Instant::now());
        assert_eq!(count.admit(start), Some(0));
        for millis in [1, 500, 999] {
            assert_eq!(count.admit(start + Duration::from_millis(millis)), None);
        }
        assert_eq!(count.admit(start + LOG_INTERVAL), Some(3));
        assert_eq!(count.admit(start + 3 * LOG_INTERVAL), Some(0));
    }
}

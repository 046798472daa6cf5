//! A limit on repeated log lines.

use std::time::Duration;

use parking_lot::Mutex;

/// Interval between lines.
const INTERVAL: Duration = Duration::from_mins(1);

/// Limits a kind of log line to one per minute.
#[derive(Debug, Default)]
pub(super) struct LogLimiter(Mutex<LimiterState>);

#[derive(Debug, Default)]
struct LimiterState {
    /// Monotonic time of the newest line.
    logged: Option<Duration>,
    /// Number of events since then.
    repeated: u64,
}

impl LogLimiter {
    /// Returns the number of events since the last line if this event, at the monotonic time `now`, is to be logged.
    pub fn log(&self, now: Duration) -> Option<u64> {
        let mut state = self.0.lock();
        if state.logged.is_some_and(|at| now.saturating_sub(at) < INTERVAL) {
            state.repeated += 1;
            return None;
        }
        state.logged = Some(now);
        Some(std::mem::take(&mut state.repeated))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_per_minute_counts_the_others() {
        let limiter = LogLimiter::default();
        let at = Duration::from_secs;
        assert_eq!(limiter.log(at(5)), Some(0));
        assert_eq!((limiter.log(at(6)), limiter.log(at(64))), (None, None));
        assert_eq!(limiter.log(at(65)), Some(2));
        assert_eq!(limiter.log(at(200)), Some(0));
    }
}

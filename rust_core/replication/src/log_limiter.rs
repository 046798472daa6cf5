//! A limit on repeated log lines.

use std::time::Duration;

use parking_lot::Mutex;

/// Limits a kind of log line to one per interval, so that peers cannot fill the disk.
#[derive(Debug)]
pub(crate) struct LogLimiter {
    interval: Duration,
    state: Mutex<LimiterState>,
}

#[derive(Debug)]
struct LimiterState {
    /// Monotonic time of the newest line.
    logged: Option<Duration>,
    /// Number of events since then.
    repeated: u64,
}

impl LogLimiter {
    pub const fn new(interval: Duration) -> Self {
        Self { interval, state: Mutex::new(LimiterState { logged: None, repeated: 0 }) }
    }

    /// Returns the number of events since the last line if this event, at the monotonic time `now`, is to be logged.
    pub fn log(&self, now: Duration) -> Option<u64> {
        let mut state = self.state.lock();
        if state.logged.is_some_and(|at| now.saturating_sub(at) < self.interval) {
            state.repeated = state.repeated.saturating_add(1);
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
    fn one_line_per_interval_counts_the_others() {
        let limiter = LogLimiter::new(Duration::from_mins(1));
        let at = Duration::from_secs;
        assert_eq!(limiter.log(at(5)), Some(0));
        assert_eq!((limiter.log(at(6)), limiter.log(at(64))), (None, None));
        assert_eq!(limiter.log(at(65)), Some(2));
        assert_eq!(limiter.log(at(200)), Some(0));
    }
}

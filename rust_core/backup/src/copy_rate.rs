//! The rate at which a copy of a data directory is sent.

use std::{num::NonZeroU64, time::Duration};

use foreseal_chain::Clock;

/// Largest chunk of a file in the stream, in bytes.
pub(crate) const CHUNK_SIZE: usize = 1 << 20;
/// Lowest rate in bytes per second; with a lower one the receiver would take the connection for lost.
const MIN_RATE: u64 = 64 << 10;
/// Number of chunks per second at the limit: the shorter they are, the steadier is the rate.
const CHUNKS_PER_SECOND: u64 = 10;

/// Limit on the rate of a copy, so that it does not delay the steps of the node.
pub struct CopyRate<'a> {
    /// Maximum rate in bytes per second, at least 64 KiB; `None` is unlimited.
    pub limit: Option<NonZeroU64>,
    pub clock: &'a dyn Clock,
    /// Blocks for this time.
    pub sleep: &'a dyn Fn(Duration),
}

impl<'a> CopyRate<'a> {
    /// Returns a rate without a limit.
    pub fn unlimited(clock: &'a dyn Clock) -> Self {
        Self { limit: None, clock, sleep: &std::thread::sleep }
    }
}

/// Token bucket that holds at most the bytes of one chunk.
pub(crate) struct ByteBucket<'a> {
    rate: &'a CopyRate<'a>,
    limit: Option<u64>,
    /// Monotonic time at which the bytes so far are paid for.
    due: Duration,
}

impl<'a> ByteBucket<'a> {
    pub fn new(rate: &'a CopyRate<'a>) -> Self {
        let limit = rate.limit.map(|limit| limit.get().max(MIN_RATE));
        Self { rate, limit, due: rate.clock.monotonic() }
    }

    /// Returns the maximum size of a chunk.
    pub fn chunk_size(&self) -> usize {
        let size = self.limit.map(|limit| usize::try_from(limit / CHUNKS_PER_SECOND).unwrap_or(CHUNK_SIZE));
        size.map_or(CHUNK_SIZE, |size| size.min(CHUNK_SIZE))
    }

    /// Blocks until the bytes before may have been sent, then counts `bytes` more.
    pub fn pay(&mut self, bytes: usize) {
        let Some(limit) = self.limit else { return };
        let now = self.rate.clock.monotonic();
        if let Some(wait) = self.due.checked_sub(now).filter(|wait| !wait.is_zero()) {
            (self.rate.sleep)(self.rate.clock.real(wait));
        }
        let cost = u128::from(bytes as u64) * 1_000_000_000 / u128::from(limit);
        let cost = Duration::from_nanos(u64::try_from(cost).unwrap_or(u64::MAX));
        self.due = self.due.max(now).saturating_add(cost);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use foreseal_chain::SteppedClock;

    use super::*;

    #[test]
    fn a_limited_rate_is_met_over_many_chunks() {
        let (clock, slept) = (SteppedClock::default(), Cell::new(Duration::ZERO));
        let sleep = |wait| {
            slept.set(slept.get() + wait);
            clock.advance(wait);
        };
        let rate = CopyRate { limit: NonZeroU64::new(1_000_000), clock: &clock, sleep: &sleep };
        let mut bucket = ByteBucket::new(&rate);
        assert_eq!(bucket.chunk_size(), 100_000);
        (0..101).for_each(|_| bucket.pay(100_000));
        assert_eq!(slept.get(), Duration::from_secs(10));
        // Idle time is not saved up.
        clock.advance(Duration::from_mins(1));
        bucket.pay(100_000);
        bucket.pay(100_000);
        assert_eq!(slept.get(), Duration::from_millis(10_100));
    }

    #[test]
    fn an_unlimited_rate_never_sleeps() {
        let clock = SteppedClock::default();
        let rate = CopyRate { limit: None, clock: &clock, sleep: &|_| panic!("it sleeps") };
        let mut bucket = ByteBucket::new(&rate);
        assert_eq!(bucket.chunk_size(), CHUNK_SIZE);
        (0..10).for_each(|_| bucket.pay(CHUNK_SIZE));
    }

    #[test]
    fn a_very_low_limit_is_raised() {
        let clock = SteppedClock::default();
        let rate = CopyRate { limit: NonZeroU64::new(1), clock: &clock, sleep: &|_| {} };
        assert_eq!(ByteBucket::new(&rate).chunk_size(), 6_553);
    }
}

//! Results of a run.

use hdrhistogram::Histogram;
use serde::Serialize;

/// Nanoseconds in an hour: the maximum latency that the histogram distinguishes.
const MAX_LATENCY: u64 = 3_600_000_000_000;
const DIGITS: u8 = 3;
/// Number of bytes of a wrong response that are stored.
const MAX_FAILURES: usize = 1000;

/// Histogram of request latencies in nanoseconds.
#[derive(Clone, Debug)]
pub struct Latency(Histogram<u64>);

impl Default for Latency {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(1, MAX_LATENCY, DIGITS);
        Self(histogram.expect("the bounds are those that the histogram allows"))
    }
}

impl Latency {
    /// Records one latency.
    pub fn record(&mut self, nanoseconds: u64) {
        self.0.saturating_record(nanoseconds);
    }

    /// Returns the number of recorded latencies.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// Returns the latency in nanoseconds at the quantile `part`, from 0 to 1.
    pub fn at(&self, part: f64) -> u64 {
        self.0.value_at_quantile(part)
    }

    /// Returns pairs of a latency in nanoseconds and its count, shortest first, with the precision of the
    /// histogram.
    pub fn counts(&self) -> Vec<(u64, u64)> {
        self.0
            .iter_recorded()
            .map(|step| (step.value_iterated_to(), step.count_since_last_iteration()))
            .collect()
    }
}

/// Response that is not a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailedResponse {
    /// Index of the body that was sent, from 0.
    pub body: usize,
    /// HTTP status, or 0 if the head was incomplete.
    pub status: u16,
    pub why: String,
    /// Start of the response.
    pub answer: String,
}

impl FailedResponse {
    /// Creates a `FailedResponse` that stores the first `MAX_FAILURES` bytes of `answer`.
    pub fn new(body: usize, status: u16, why: String, answer: &[u8]) -> Self {
        let kept = String::from_utf8_lossy(&answer[..answer.len().min(MAX_FAILURES)]).into_owned();
        Self { body, status, why, answer: kept }
    }
}

/// Request counts, latencies and errors of a run.
#[derive(Clone, Debug, Default)]
pub struct RunMetrics {
    /// Responses that were results.
    pub answered: u64,
    /// Responses that were wrong or cut, and requests whose connection failed.
    pub errors: u64,
    /// Requests that were due and had no response when the run ended.
    pub unanswered: u64,
    /// Seconds from the first request to the last response.
    pub seconds: f64,
    /// Latencies of results in nanoseconds; in the open loop also the waiting times of unanswered requests.
    pub latency: Latency,
    /// Nanoseconds between the due time and the sending of requests in the open loop.
    pub late: Latency,
    pub first_wrong: Option<FailedResponse>,
    /// Bytes of the bodies of results: smallest, largest, sum.
    pub smallest: usize,
    pub largest: usize,
    pub received: u64,
    /// Connections that the server closed between two responses and that were reopened.
    pub reopened: u64,
}

impl RunMetrics {
    /// Records a result with its latency and its size in bytes.
    pub fn result(&mut self, nanoseconds: u64, size: usize) {
        self.smallest = if self.answered == 0 { size } else { self.smallest.min(size) };
        self.largest = self.largest.max(size);
        self.received += size as u64;
        self.answered += 1;
        self.latency.record(nanoseconds);
    }

    /// Records a wrong response or a failure; stores only the first.
    pub fn wrong(&mut self, wrong: FailedResponse) {
        self.errors += 1;
        self.first_wrong.get_or_insert(wrong);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_are_precise_to_three_digits() {
        let mut latency = Latency::default();
        for nanoseconds in 1..=1000 {
            latency.record(nanoseconds * 1000);
        }
        latency.record(u64::MAX);
        assert_eq!(latency.count(), 1001);
        assert!((499_000..=502_000).contains(&latency.at(0.5)), "{}", latency.at(0.5));
        assert!((MAX_LATENCY..MAX_LATENCY + MAX_LATENCY / 500).contains(&latency.at(1.0)));
        assert_eq!(latency.counts().iter().map(|(_, count)| count).sum::<u64>(), 1001);
    }

    #[test]
    fn the_first_wrong_response_is_stored_and_truncated() {
        let mut metrics = RunMetrics::default();
        metrics.wrong(FailedResponse::new(3, 500, "one".to_owned(), &[b'x'; 5000]));
        metrics.wrong(FailedResponse::new(4, 500, "two".to_owned(), b""));
        let first = metrics.first_wrong.unwrap();
        assert_eq!((metrics.errors, first.body, first.answer.len()), (2, 3, MAX_FAILURES));
    }
}

//! What came of a run.

use hdrhistogram::Histogram;
use serde::Serialize;

/// Nanoseconds in an hour: the longest latency that is told from others.
const LONGEST: u64 = 3_600_000_000_000;
const DIGITS: u8 = 3;
/// Bytes of a wrong answer that are kept.
const KEPT: usize = 1000;

/// Latencies of many requests, in nanoseconds.
#[derive(Clone, Debug)]
pub struct Latency(Histogram<u64>);

impl Default for Latency {
    fn default() -> Self {
        let histogram = Histogram::new_with_bounds(1, LONGEST, DIGITS);
        Self(histogram.expect("the bounds are those that the histogram allows"))
    }
}

impl Latency {
    /// One more.
    pub fn record(&mut self, nanoseconds: u64) {
        self.0.saturating_record(nanoseconds);
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The latency, in nanoseconds, that so large a part of all do not exceed.
    pub fn at(&self, part: f64) -> u64 {
        self.0.value_at_quantile(part)
    }

    /// Pairs of a latency in nanoseconds and how many had it, to the histogram's exactness, shortest first.
    pub fn counts(&self) -> Vec<(u64, u64)> {
        self.0
            .iter_recorded()
            .map(|step| (step.value_iterated_to(), step.count_since_last_iteration()))
            .collect()
    }
}

/// An answer that is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Wrong {
    /// Number of the body that was sent, from 0.
    pub body: usize,
    /// 0 where there was no whole head.
    pub status: u16,
    pub why: String,
    /// The beginning of what came.
    pub answer: String,
}

impl Wrong {
    /// `answer` is cut to what is kept.
    pub fn new(body: usize, status: u16, why: String, answer: &[u8]) -> Self {
        let kept = String::from_utf8_lossy(&answer[..answer.len().min(KEPT)]).into_owned();
        Self { body, status, why, answer: kept }
    }
}

/// Requests, their latencies, and what was wrong.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// Answers that were results.
    pub answered: u64,
    /// Answers that were wrong, cut, or whose connection could not be had.
    pub errors: u64,
    /// Requests that were due and had no answer when patience ended.
    pub unanswered: u64,
    /// Seconds from the first request to the last answer.
    pub seconds: f64,
    /// Nanoseconds, of results; in the open loop of what was never answered as well.
    pub latency: Latency,
    /// Nanoseconds by which requests of the open loop were sent after they were due.
    pub late: Latency,
    pub first_wrong: Option<Wrong>,
    /// Bytes of the bodies of results: least, greatest, all together.
    pub smallest: usize,
    pub largest: usize,
    pub received: u64,
    /// Connections that the server ended between two answers and that were opened again.
    pub reopened: u64,
}

impl Figures {
    /// A result of so many bytes that took so long.
    pub fn result(&mut self, nanoseconds: u64, size: usize) {
        self.smallest = if self.answered == 0 { size } else { self.smallest.min(size) };
        self.largest = self.largest.max(size);
        self.received += size as u64;
        self.answered += 1;
        self.latency.record(nanoseconds);
    }

    /// Something else.
    pub fn wrong(&mut self, wrong: Wrong) {
        self.errors += 1;
        self.first_wrong.get_or_insert(wrong);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_keep_three_digits() {
        let mut latency = Latency::default();
        for nanoseconds in 1..=1000 {
            latency.record(nanoseconds * 1000);
        }
        latency.record(u64::MAX);
        assert_eq!(latency.count(), 1001);
        assert!((499_000..=502_000).contains(&latency.at(0.5)), "{}", latency.at(0.5));
        assert!((LONGEST..LONGEST + LONGEST / 500).contains(&latency.at(1.0)));
        assert_eq!(latency.counts().iter().map(|(_, count)| count).sum::<u64>(), 1001);
    }

    #[test]
    fn the_first_wrong_answer_is_kept_and_cut() {
        let mut figures = Figures::default();
        figures.wrong(Wrong::new(3, 500, "one".to_owned(), &[b'x'; 5000]));
        figures.wrong(Wrong::new(4, 500, "two".to_owned(), b""));
        let first = figures.first_wrong.unwrap();
        assert_eq!((figures.errors, first.body, first.answer.len()), (2, 3, KEPT));
    }
}

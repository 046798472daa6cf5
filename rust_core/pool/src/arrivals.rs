//! The order in which transactions entered the pool, for those who ask now and then.

use std::collections::VecDeque;

use alloy_primitives::B256;

/// How many arrivals are remembered: 8 MB of hashes.
pub const KEPT_ARRIVALS: usize = 1 << 18;

/// Hashes of the transactions that entered last, whatever became of them.
#[derive(Clone, Debug)]
pub(crate) struct Arrivals {
    hashes: VecDeque<B256>,
    /// Number of the next arrival. Never goes back, not even when the pool does.
    next: u64,
    kept: usize,
}

/// Arrivals from a number on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrived {
    pub hashes: Vec<B256>,
    /// Number of the arrival after these.
    pub next: u64,
    /// How many were asked for that are no longer remembered.
    pub missed: u64,
}

impl Arrivals {
    pub fn new(kept: usize) -> Self {
        Self { hashes: VecDeque::new(), next: 0, kept }
    }

    pub fn push(&mut self, hash: B256) {
        self.hashes.push_back(hash);
        self.next += 1;
        if self.hashes.len() > self.kept {
            self.hashes.pop_front();
        }
    }

    pub fn next(&self) -> u64 {
        self.next
    }

    /// At most `most` arrivals, from number `from` on, or from the oldest one that is remembered.
    pub fn since(&self, from: u64, most: usize) -> Arrived {
        let oldest = self.next.saturating_sub(self.hashes.len() as u64);
        let first = from.clamp(oldest, self.next);
        let skip = usize::try_from(first - oldest).unwrap_or(usize::MAX);
        let hashes: Vec<B256> = self.hashes.iter().skip(skip).take(most).copied().collect();
        let next = first + hashes.len() as u64;
        Arrived { hashes, next, missed: oldest.saturating_sub(from) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashes(numbers: std::ops::Range<u8>) -> Vec<B256> {
        numbers.map(B256::with_last_byte).collect()
    }

    #[test]
    fn arrivals_are_given_in_order_and_what_is_forgotten_is_counted() {
        let mut arrivals = Arrivals::new(4);
        assert_eq!(arrivals.since(0, 9), Arrived { hashes: vec![], next: 0, missed: 0 });
        for hash in hashes(0..6) {
            arrivals.push(hash);
        }
        assert_eq!(arrivals.next(), 6);
        assert_eq!(arrivals.since(3, 9), Arrived { hashes: hashes(3..6), next: 6, missed: 0 });
        assert_eq!(arrivals.since(3, 2), Arrived { hashes: hashes(3..5), next: 5, missed: 0 });
        assert_eq!(arrivals.since(0, 9), Arrived { hashes: hashes(2..6), next: 6, missed: 2 });
        assert_eq!(arrivals.since(6, 9), Arrived { hashes: vec![], next: 6, missed: 0 });
        assert_eq!(arrivals.since(u64::MAX, 9), Arrived { hashes: vec![], next: 6, missed: 0 });
    }
}

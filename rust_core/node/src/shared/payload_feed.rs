//! The steps of a driver's payloads, for a reader that publishes them with the ids of the payloads.
//!
//! ```text
//!   writer -- begin(id, steps), extend(steps), close() --> [payload, payload, ...] -- wait --> one reader
//! ```
//!
//! The writer adds a step after the view with it is published, so the step is durable and visible. After a restart,
//! an open block has no payload until the driver continues it.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use alloy_primitives::B64;
use foreseal_chain::{Recorded, flashblock_size};
use foreseal_primitives::Flashblock;
use imbl::Vector;
use parking_lot::{Condvar, Mutex};

/// Maximum number of payloads for a reader that is behind; the oldest is dropped first.
const MAX_PAYLOADS: usize = 4;

/// Payload of a driver, with the visible steps of its block.
#[derive(Clone, Debug)]
pub struct PayloadSteps {
    /// Number of the payload, ascending by one. A payload that is withdrawn and begun again has another number.
    pub sequence: u64,
    pub id: B64,
    /// `true` while its block is the block being built.
    pub is_open: bool,
    steps: Vector<Recorded>,
    /// Size of the steps in memory.
    bytes: usize,
}

impl PayloadSteps {
    fn new(sequence: u64, id: B64, steps: Vector<Recorded>) -> Self {
        let mut payload = Self { sequence, id, is_open: true, steps: Vector::new(), bytes: 0 };
        payload.extend(steps);
        payload
    }

    /// Replaces the steps by these and further ones.
    fn extend(&mut self, steps: Vector<Recorded>) {
        let added = steps.iter().skip(self.steps.len());
        self.bytes += added.map(|recorded| flashblock_size(&recorded.step)).sum::<usize>();
        self.steps = steps;
    }

    /// Returns the steps from index `first` on.
    pub fn steps_from(&self, first: usize) -> impl Iterator<Item = &Arc<Flashblock>> {
        self.steps.iter().skip(first).map(|recorded| &recorded.step)
    }
}

/// The newest payloads of a driver, oldest first.
#[derive(Debug)]
pub struct PayloadFeed {
    /// Maximum size of the payloads in memory, besides the newest.
    max_bytes: usize,
    state: Mutex<FeedState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct FeedState {
    /// Counter of changes and wake-ups.
    count: u64,
    /// Number of the next payload.
    next: u64,
    payloads: VecDeque<PayloadSteps>,
}

impl PayloadFeed {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { max_bytes, state: Mutex::default(), changed: Condvar::new() }
    }

    /// Returns the size of the payloads in memory, besides the newest.
    pub(crate) fn bytes(&self) -> usize {
        self.state.lock().older_bytes()
    }

    /// Returns the newest payloads, oldest first, and a counter for the next call. Blocks until the counter differs
    /// from `seen`, or until `timeout` has elapsed.
    pub fn wait(&self, seen: u64, timeout: Duration) -> (u64, Vec<PayloadSteps>) {
        let mut state = self.state.lock();
        if state.count == seen {
            self.changed.wait_for(&mut state, timeout);
        }
        (state.count, state.payloads.iter().cloned().collect())
    }

    /// Ends the current or the next blocking call of [`Self::wait`].
    pub fn wake(&self) {
        self.update(|_| {});
    }

    /// Adds the payload that is being built from now on, with the steps so far.
    pub(crate) fn begin(&self, id: B64, steps: Vector<Recorded>) {
        self.update(|state| {
            state.close();
            let sequence = state.next;
            state.next += 1;
            state.payloads.push_back(PayloadSteps::new(sequence, id, steps));
            while state.payloads.len() > MAX_PAYLOADS || state.older_bytes() > self.max_bytes {
                state.payloads.pop_front();
            }
        });
    }

    /// Replaces the steps of the payload that is being built, if there is one, by these and further ones.
    pub(crate) fn extend(&self, steps: Vector<Recorded>) {
        self.update(|state| {
            if let Some(open) = state.payloads.back_mut().filter(|newest| newest.is_open) {
                open.extend(steps);
            }
        });
    }

    /// Ends the payload that is being built: its block is sealed or withdrawn.
    pub(crate) fn close(&self) {
        self.update(FeedState::close);
    }

    fn update(&self, change: impl FnOnce(&mut FeedState)) {
        let mut state = self.state.lock();
        change(&mut state);
        state.count += 1;
        drop(state);
        self.changed.notify_all();
    }
}

impl FeedState {
    /// Returns the size of the payloads besides the newest, whose steps the block being built holds as well.
    fn older_bytes(&self) -> usize {
        self.payloads.iter().rev().skip(1).map(|payload| payload.bytes).sum()
    }

    fn close(&mut self) {
        if let Some(newest) = self.payloads.back_mut() {
            newest.is_open = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use alloy_consensus::Header;
    use alloy_primitives::B256;
    use foreseal_testkit::receipt_of_size;

    use super::*;

    fn newest(feed: &PayloadFeed) -> Vec<(u64, B64, bool)> {
        let (_, payloads) = feed.wait(u64::MAX, Duration::ZERO);
        payloads.iter().map(|payload| (payload.sequence, payload.id, payload.is_open)).collect()
    }

    #[test]
    fn only_the_newest_payload_is_open() {
        let feed = PayloadFeed::new(usize::MAX);
        feed.begin(B64::with_last_byte(1), Vector::new());
        feed.begin(B64::with_last_byte(1), Vector::new());
        let id = B64::with_last_byte(1);
        assert_eq!(newest(&feed), [(0, id, false), (1, id, true)]);
        feed.close();
        feed.extend(Vector::new());
        assert_eq!(newest(&feed), [(0, id, false), (1, id, false)]);
    }

    #[test]
    fn the_oldest_payloads_are_dropped() {
        let feed = PayloadFeed::new(usize::MAX);
        (0..9).for_each(|id| feed.begin(B64::with_last_byte(id), Vector::new()));
        let sequences: Vec<u64> = newest(&feed).iter().map(|(sequence, ..)| *sequence).collect();
        assert_eq!(sequences, [5, 6, 7, 8]);
    }

    /// Returns a step whose receipt has a log of this many bytes.
    fn step(bytes: usize) -> Recorded {
        let step = Flashblock {
            number: 1,
            index: 1,
            previous: B256::ZERO,
            header: Header::default(),
            hash: B256::ZERO,
            time: 0,
            signature: None,
            transactions: Vec::new(),
            receipts: vec![Arc::new(receipt_of_size(bytes))],
            diff: Arc::default(),
            end_of_block_diff: Arc::default(),
        };
        Recorded { step: Arc::new(step), change: None }
    }

    #[test]
    fn older_payloads_are_bounded_in_bytes() {
        let feed = PayloadFeed::new(100_000);
        let sequences =
            |feed: &PayloadFeed| newest(feed).into_iter().map(|(sequence, ..)| sequence).collect::<Vec<_>>();
        for id in 0..3 {
            feed.begin(B64::with_last_byte(id), Vector::new());
            feed.extend([step(40_000)].into_iter().collect());
        }
        assert_eq!(sequences(&feed), [0, 1, 2]);
        assert!((80_000..100_000).contains(&feed.bytes()));
        // The newest payload is counted once another one is begun.
        feed.extend([step(40_000), step(50_000)].into_iter().collect());
        feed.begin(B64::with_last_byte(3), Vector::new());
        assert_eq!(sequences(&feed), [2, 3]);
        assert!((90_000..100_000).contains(&feed.bytes()));
    }

    #[test]
    fn a_change_ends_the_wait_at_once() {
        let feed = PayloadFeed::new(usize::MAX);
        let (seen, _) = feed.wait(u64::MAX, Duration::ZERO);
        feed.wake();
        let (count, _) = feed.wait(seen, Duration::from_hours(1));
        assert_ne!(count, seen);
    }
}

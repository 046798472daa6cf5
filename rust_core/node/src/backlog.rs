//! Work for the store that is not on the disk yet.

use std::collections::VecDeque;

use parking_lot::{Condvar, Mutex};

/// What a block counts in a backlog beside its transactions: an empty one changes state too, and nodes of the state are
/// kept for so many blocks only.
const BLOCK_WEIGHT: usize = 500;
/// The backlog holds so many times its limit at most; beyond that whoever adds to it waits.
const MOST: usize = 4;

/// Blocks that wait at most in a backlog with this limit.
pub(crate) const fn most_blocks(limit: usize) -> usize {
    limit.saturating_mul(MOST) / BLOCK_WEIGHT + 1
}

/// Something to do for the store.
pub(crate) trait Job {
    /// Transactions of the block that it writes; `None` when it is something else, which is done by itself.
    fn transactions(&self) -> Option<usize>;

    /// What it counts.
    fn weight(&self) -> usize {
        self.transactions().map_or(0, |transactions| BLOCK_WEIGHT.saturating_add(transactions))
    }
}

/// Why the store takes nothing more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the store cannot be written: {0}")]
pub struct StoreFailed(pub String);

/// A queue from the one who writes the chain to the one who writes the store, with a bound. What was taken from it counts
/// until it is done.
#[derive(Debug)]
pub(crate) struct Backlog<J> {
    inner: Mutex<Inner<J>>,
    /// Something was added, or nothing more will be.
    added: Condvar,
    /// Something was done.
    done: Condvar,
    limit: usize,
}

#[derive(Debug)]
struct Inner<J> {
    jobs: VecDeque<J>,
    /// Of the jobs in the queue and in hand.
    weight: usize,
    /// Jobs in hand.
    taken: usize,
    closed: bool,
    failure: Option<StoreFailed>,
}

impl<J: Job> Backlog<J> {
    /// A backlog that asks to be spared from a weight of `limit` on.
    pub fn new(limit: usize) -> Self {
        let jobs = VecDeque::new();
        let inner = Inner { jobs, weight: 0, taken: 0, closed: false, failure: None };
        Self { inner: Mutex::new(inner), added: Condvar::new(), done: Condvar::new(), limit: limit.max(1) }
    }

    /// Adds a job; waits while there is far too much.
    pub fn add(&self, job: J) -> Result<(), StoreFailed> {
        let mut inner = self.inner.lock();
        while inner.failure.is_none() && self.is_full(&inner) {
            self.done.wait(&mut inner);
        }
        inner.refused()?;
        inner.weight += job.weight();
        inner.jobs.push_back(job);
        self.added.notify_all();
        Ok(())
    }

    /// Whether somebody who adds would wait.
    pub fn has_no_room(&self) -> bool {
        let inner = self.inner.lock();
        inner.failure.is_none() && self.is_full(&inner)
    }

    /// Whether there is something to take.
    pub fn has_jobs(&self) -> bool {
        !self.inner.lock().jobs.is_empty()
    }

    fn is_full(&self, inner: &Inner<J>) -> bool {
        inner.weight > self.limit.saturating_mul(MOST)
    }

    /// The next blocks to write, or one other job. Of blocks at least one and at most so many, with at most so many
    /// transactions. Waits for one; empty when nothing more comes.
    pub fn take(&self, blocks: usize, transactions: usize) -> Vec<J> {
        let mut inner = self.inner.lock();
        while inner.jobs.is_empty() && !inner.closed {
            self.added.wait(&mut inner);
        }
        let mut count = 0_usize;
        let fits = |(at, job): &(usize, &J)| {
            count += job.transactions().unwrap_or(0);
            *at == 0 || (*at < blocks && job.transactions().is_some() && count <= transactions)
        };
        let mut taken = inner.jobs.iter().enumerate().take_while(fits).count();
        if inner.jobs.front().is_some_and(|first| first.transactions().is_none()) {
            taken = 1;
        }
        inner.taken = taken;
        inner.jobs.drain(..taken).collect()
    }

    /// What was taken is done: it weighed `weight`.
    pub fn finish(&self, weight: usize) {
        let mut inner = self.inner.lock();
        inner.weight -= weight;
        inner.taken = 0;
        self.done.notify_all();
    }

    /// What was taken cannot be done, and nothing that comes after it.
    pub fn fail(&self, why: String) {
        let dropped = {
            let mut inner = self.inner.lock();
            inner.failure.get_or_insert(StoreFailed(why));
            (inner.taken, inner.closed) = (0, true);
            std::mem::take(&mut inner.jobs)
        };
        drop(dropped);
        self.added.notify_all();
        self.done.notify_all();
    }

    /// Nothing more will be added or taken: what is there is left undone.
    pub fn abandon(&self) {
        let mut inner = self.inner.lock();
        inner.failure.get_or_insert_with(|| StoreFailed("it is being closed".to_owned()));
        inner.closed = true;
        let dropped = std::mem::take(&mut inner.jobs);
        drop(inner);
        drop(dropped);
        self.added.notify_all();
    }

    /// Waits until everything is done.
    pub fn drained(&self) -> Result<(), StoreFailed> {
        let mut inner = self.inner.lock();
        while inner.failure.is_none() && (inner.taken > 0 || !inner.jobs.is_empty()) {
            self.done.wait(&mut inner);
        }
        inner.refused()
    }

    /// What is not done yet.
    pub fn weight(&self) -> usize {
        self.inner.lock().weight
    }

    /// `Err` once something could not be done.
    pub fn check(&self) -> Result<(), StoreFailed> {
        self.inner.lock().refused()
    }

    /// How much of what it could do the other side should do, in thousandths: all of it up to the limit, nothing from twice
    /// the limit on, and in between in proportion.
    pub fn share(&self) -> u32 {
        let over = self.weight().saturating_sub(self.limit);
        let room = self.limit.saturating_sub(over);
        u32::try_from(room.saturating_mul(1000) / self.limit).unwrap_or(1000)
    }
}

impl<J> Inner<J> {
    fn refused(&self) -> Result<(), StoreFailed> {
        self.failure.clone().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};
    use std::time::Duration;

    use super::*;

    /// A block of so many transactions, or something else.
    #[derive(Debug, PartialEq, Eq)]
    struct Item(Option<usize>);

    impl Job for Item {
        fn transactions(&self) -> Option<usize> {
            self.0
        }
    }

    fn block(transactions: usize) -> Item {
        Item(Some(transactions))
    }

    #[test]
    fn blocks_are_taken_together_and_other_things_alone() {
        let backlog = Backlog::new(1_000_000);
        for item in [block(10), block(20), Item(None), block(30), block(5_000), block(1), block(0), block(0)]
        {
            backlog.add(item).unwrap();
        }
        assert_eq!(backlog.weight(), 5_061 + 7 * BLOCK_WEIGHT);
        assert_eq!(backlog.take(9, 400), [block(10), block(20)]);
        assert_eq!(backlog.take(9, 400), [Item(None)]);
        assert_eq!(backlog.take(9, 400), [block(30)]);
        assert_eq!(backlog.take(9, 400), [block(5_000)], "one is always taken");
        assert_eq!(backlog.take(2, 400), [block(1), block(0)]);
        assert_eq!(backlog.take(9, 400), [block(0)]);
    }

    #[test]
    fn what_is_in_hand_counts_and_less_is_asked_for_beyond_the_limit() {
        let backlog = Backlog::new(10_000);
        backlog.add(block(9_000)).unwrap();
        assert_eq!(backlog.share(), 1_000);
        backlog.add(block(2_500)).unwrap();
        assert_eq!(backlog.share(), 750);
        let taken = backlog.take(9, 100_000);
        assert_eq!(backlog.share(), 750);
        backlog.add(block(20_000)).unwrap();
        assert_eq!(backlog.share(), 0);
        backlog.finish(weight(&taken));
        assert_eq!(backlog.weight(), 20_500);
    }

    fn weight(jobs: &[Item]) -> usize {
        jobs.iter().map(Job::weight).sum()
    }

    #[test]
    fn far_beyond_the_limit_whoever_adds_waits() {
        let backlog = Arc::new(Backlog::new(1_000));
        backlog.add(block(5_000)).unwrap();
        assert!(backlog.is_full(&backlog.inner.lock()));
        let (added, hear) = mpsc::channel();
        let other = backlog.clone();
        std::thread::spawn(move || {
            other.add(block(1)).unwrap();
            added.send(()).unwrap();
        });
        let finish = || backlog.finish(weight(&backlog.take(1, 1)));
        finish();
        hear.recv_timeout(Duration::from_secs(30)).expect("there is room");
        finish();
        backlog.drained().unwrap();
        assert!(!backlog.is_full(&backlog.inner.lock()));
    }

    #[test]
    fn after_a_failure_everything_is_refused_with_its_reason() {
        let backlog = Backlog::new(10_000);
        backlog.add(block(1)).unwrap();
        backlog.take(1, 1);
        backlog.add(block(1)).unwrap();
        backlog.fail("the disk is full".to_owned());
        backlog.fail("later".to_owned());
        let why = StoreFailed("the disk is full".to_owned());
        assert_eq!(backlog.add(block(1)), Err(why.clone()));
        assert_eq!(backlog.drained(), Err(why.clone()));
        assert_eq!(backlog.check(), Err(why.clone()));
        assert_eq!(why.to_string(), "the store cannot be written: the disk is full");
        assert_eq!(backlog.take(1, 1), []);
    }

    #[test]
    fn what_is_abandoned_is_never_taken() {
        let backlog = Backlog::new(10_000);
        backlog.add(block(1)).unwrap();
        backlog.abandon();
        assert_eq!(backlog.take(1, 1), []);
    }
}

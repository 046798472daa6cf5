//! The queue of work for the store that is not on the disk yet.

use std::collections::VecDeque;

use parking_lot::{Condvar, Mutex};

use crate::{
    errors::store_failed::StoreFailed,
    settings::queue_limits::{BLOCK_WEIGHT, MAX_BYTES_FACTOR, MAX_WEIGHT_FACTOR, QueueLimits},
};

/// Weight of jobs in the queue, and their size in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load {
    pub weight: usize,
    pub bytes: usize,
}

impl Load {
    /// Returns the load of a block with this number of transactions.
    pub fn block(transactions: usize, bytes: usize) -> Self {
        Self { weight: BLOCK_WEIGHT.saturating_add(transactions), bytes }
    }
}

impl std::iter::Sum for Load {
    fn sum<I: Iterator<Item = Self>>(loads: I) -> Self {
        loads.fold(Self::default(), |sum, load| Self {
            weight: sum.weight.saturating_add(load.weight),
            bytes: sum.bytes.saturating_add(load.bytes),
        })
    }
}

/// A job for the store.
pub(crate) trait Job {
    /// Returns the number of transactions in the block that the job writes; `None` for another kind of job,
    /// which is taken alone.
    fn transactions(&self) -> Option<usize>;

    /// Returns the load of the job.
    fn load(&self) -> Load;
}

/// Bounded queue from the writer of the chain to the writer of the store. A job that was taken counts until
/// it is finished.
#[derive(Debug)]
pub(crate) struct WriteQueue<J> {
    inner: Mutex<Inner<J>>,
    /// Signals that a job was added or that the queue is closed.
    added: Condvar,
    /// Signals that taken jobs are finished.
    done: Condvar,
    limits: QueueLimits,
}

#[derive(Debug)]
struct Inner<J> {
    jobs: VecDeque<J>,
    /// Load of the jobs in the queue and in progress.
    load: Load,
    /// Number of jobs in progress.
    taken: usize,
    closed: bool,
    failure: Option<StoreFailed>,
}

impl<J: Job> WriteQueue<J> {
    /// Creates a queue that throttles the builder from these limits on.
    pub fn new(limits: QueueLimits) -> Self {
        let limits = QueueLimits { weight: limits.weight.max(1), bytes: limits.bytes.max(1) };
        let inner =
            Inner { jobs: VecDeque::new(), load: Load::default(), taken: 0, closed: false, failure: None };
        Self { inner: Mutex::new(inner), added: Condvar::new(), done: Condvar::new(), limits }
    }

    /// Adds a job. Blocks while the load is above its maximum.
    pub fn add(&self, job: J) -> Result<(), StoreFailed> {
        let mut inner = self.inner.lock();
        while inner.failure.is_none() && self.is_full(&inner) {
            self.done.wait(&mut inner);
        }
        inner.refused()?;
        inner.load = [inner.load, job.load()].into_iter().sum();
        inner.jobs.push_back(job);
        self.added.notify_all();
        Ok(())
    }

    /// Returns `true` if [`Self::add`] would block.
    pub fn has_no_room(&self) -> bool {
        let inner = self.inner.lock();
        inner.failure.is_none() && self.is_full(&inner)
    }

    /// Returns `true` if the queue holds a job that is not taken.
    pub fn has_jobs(&self) -> bool {
        !self.inner.lock().jobs.is_empty()
    }

    fn is_full(&self, inner: &Inner<J>) -> bool {
        inner.load.weight > self.limits.weight.saturating_mul(MAX_WEIGHT_FACTOR)
            || inner.load.bytes > self.limits.bytes.saturating_mul(MAX_BYTES_FACTOR)
    }

    /// Takes the next blocks to write, or one other job. Takes at least one block, and at most `blocks`
    /// blocks with at most `transactions` transactions together; the first block may exceed that. Blocks
    /// until there is a job; returns nothing once the queue is closed.
    pub fn pop_batch(&self, blocks: usize, transactions: usize) -> Vec<J> {
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

    /// Marks the taken jobs, whose load is `load` together, as finished.
    pub fn finish(&self, load: Load) {
        let mut inner = self.inner.lock();
        inner.load.weight -= load.weight;
        inner.load.bytes -= load.bytes;
        inner.taken = 0;
        self.done.notify_all();
    }

    /// Marks the taken jobs as failed, drops all others and closes the queue.
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

    /// Closes the queue and drops the jobs that are not taken.
    pub fn abandon(&self) {
        let mut inner = self.inner.lock();
        inner.failure.get_or_insert_with(|| StoreFailed("it is being closed".to_owned()));
        inner.closed = true;
        let dropped = std::mem::take(&mut inner.jobs);
        drop(inner);
        drop(dropped);
        self.added.notify_all();
    }

    /// Waits until all jobs are finished.
    pub fn drained(&self) -> Result<(), StoreFailed> {
        let mut inner = self.inner.lock();
        while inner.failure.is_none() && (inner.taken > 0 || !inner.jobs.is_empty()) {
            self.done.wait(&mut inner);
        }
        inner.refused()
    }

    /// Returns the load of the unfinished jobs.
    pub fn load(&self) -> Load {
        self.inner.lock().load
    }

    /// Returns an error once a job has failed.
    pub fn check(&self) -> Result<(), StoreFailed> {
        self.inner.lock().refused()
    }

    /// Returns the builder throttle in thousandths: 1000 up to each limit, 0 from twice a limit on, and
    /// linear in between.
    pub fn share(&self) -> u32 {
        let load = self.load();
        let within = |used: usize, limit: usize| {
            let room = limit.saturating_sub(used.saturating_sub(limit));
            u32::try_from(room as u128 * 1000 / limit as u128).unwrap_or(1000)
        };
        within(load.weight, self.limits.weight).min(within(load.bytes, self.limits.bytes))
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

    /// Test job: a block with this number of transactions, or another kind of job.
    #[derive(Debug, PartialEq, Eq)]
    struct Item(Option<usize>);

    /// Size of a transaction of a test job.
    const TRANSACTION_SIZE: usize = 100;

    impl Job for Item {
        fn transactions(&self) -> Option<usize> {
            self.0
        }

        fn load(&self) -> Load {
            self.0.map_or(Load::default(), |transactions| {
                Load::block(transactions, TRANSACTION_SIZE * transactions)
            })
        }
    }

    fn new_queue(weight: usize) -> WriteQueue<Item> {
        WriteQueue::new(QueueLimits { weight, bytes: usize::MAX })
    }

    fn block(transactions: usize) -> Item {
        Item(Some(transactions))
    }

    #[test]
    fn blocks_are_popped_in_batches_and_other_entries_alone() {
        let queue = new_queue(1_000_000);
        for item in [block(10), block(20), Item(None), block(30), block(5_000), block(1), block(0), block(0)]
        {
            queue.add(item).unwrap();
        }
        assert_eq!(queue.load().weight, 5_061 + 7 * BLOCK_WEIGHT);
        assert_eq!(queue.pop_batch(9, 400), [block(10), block(20)]);
        assert_eq!(queue.pop_batch(9, 400), [Item(None)]);
        assert_eq!(queue.pop_batch(9, 400), [block(30)]);
        assert_eq!(queue.pop_batch(9, 400), [block(5_000)], "one is always taken");
        assert_eq!(queue.pop_batch(2, 400), [block(1), block(0)]);
        assert_eq!(queue.pop_batch(9, 400), [block(0)]);
    }

    #[test]
    fn entries_in_progress_count_and_shrink_the_share() {
        let queue = new_queue(10_000);
        queue.add(block(9_000)).unwrap();
        assert_eq!(queue.share(), 1_000);
        queue.add(block(2_500)).unwrap();
        assert_eq!(queue.share(), 750);
        let popped = queue.pop_batch(9, 100_000);
        assert_eq!(queue.share(), 750);
        queue.add(block(20_000)).unwrap();
        assert_eq!(queue.share(), 0);
        queue.finish(load(&popped));
        assert_eq!(queue.load().weight, 20_500);
    }

    fn load(jobs: &[Item]) -> Load {
        jobs.iter().map(Job::load).sum()
    }

    #[test]
    fn few_large_blocks_throttle_the_builder_and_fill_the_queue() {
        let queue = WriteQueue::new(QueueLimits { weight: 1_000_000, bytes: 100 * TRANSACTION_SIZE });
        queue.add(block(100)).unwrap();
        assert_eq!((queue.share(), queue.has_no_room()), (1_000, false));
        queue.add(block(50)).unwrap();
        assert_eq!((queue.share(), queue.has_no_room()), (500, false));
        queue.add(block(60)).unwrap();
        assert_eq!((queue.share(), queue.has_no_room()), (0, true), "the next block waits");
        assert_eq!(queue.load().bytes, 210 * TRANSACTION_SIZE);
        queue.finish(load(&queue.pop_batch(1, 1)));
        assert_eq!((queue.share(), queue.has_no_room()), (900, false));
    }

    #[test]
    fn push_waits_far_above_the_limit() {
        let queue = Arc::new(new_queue(1_000));
        queue.add(block(5_000)).unwrap();
        assert!(queue.is_full(&queue.inner.lock()));
        let (added, hear) = mpsc::channel();
        let other = queue.clone();
        std::thread::spawn(move || {
            other.add(block(1)).unwrap();
            added.send(()).unwrap();
        });
        let finish = || queue.finish(load(&queue.pop_batch(1, 1)));
        finish();
        hear.recv_timeout(Duration::from_secs(30)).expect("there is room");
        finish();
        queue.drained().unwrap();
        assert!(!queue.is_full(&queue.inner.lock()));
    }

    #[test]
    fn after_a_failure_every_push_is_rejected_with_its_reason() {
        let queue = new_queue(10_000);
        queue.add(block(1)).unwrap();
        queue.pop_batch(1, 1);
        queue.add(block(1)).unwrap();
        queue.fail("the disk is full".to_owned());
        queue.fail("later".to_owned());
        let why = StoreFailed("the disk is full".to_owned());
        assert_eq!(queue.add(block(1)), Err(why.clone()));
        assert_eq!(queue.drained(), Err(why.clone()));
        assert_eq!(queue.check(), Err(why.clone()));
        assert_eq!(why.to_string(), "cannot write the store: the disk is full");
        assert_eq!(queue.pop_batch(1, 1), []);
    }

    #[test]
    fn abandoned_entries_are_never_popped() {
        let queue = new_queue(10_000);
        queue.add(block(1)).unwrap();
        queue.abandon();
        assert_eq!(queue.pop_batch(1, 1), []);
    }
}

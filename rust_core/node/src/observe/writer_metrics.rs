//! Metrics of a node since it was opened. Counting never blocks.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use foreseal_cache::CacheMetrics;
use foreseal_chain::Clock;
use foreseal_journal::{LocalJournal, Record};
use foreseal_pool::PoolMetrics;
use foreseal_primitives::Flashblock;
use foreseal_store::StoreSize;

/// Upper bounds of the buckets of a [`Histogram`].
pub const BOUNDS: [Duration; 16] = [
    Duration::from_micros(100),
    Duration::from_micros(250),
    Duration::from_micros(500),
    Duration::from_millis(1),
    Duration::from_micros(2_500),
    Duration::from_millis(5),
    Duration::from_millis(10),
    Duration::from_millis(25),
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(250),
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_millis(2_500),
    Duration::from_secs(5),
    Duration::from_secs(10),
];

/// Histogram of durations.
#[derive(Debug, Default)]
pub struct Histogram {
    /// Counts by bucket; the last bucket has no bound.
    counts: [AtomicU64; BOUNDS.len() + 1],
    nanoseconds: AtomicU64,
}

impl Histogram {
    /// Adds a duration.
    pub fn add(&self, time: Duration) {
        let bucket = BOUNDS.partition_point(|bound| *bound < time);
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    /// Returns the cumulative count for each bound, and last the total count.
    pub fn cumulative(&self) -> Vec<u64> {
        let counts = self.counts.iter().map(|count| count.load(Ordering::Relaxed));
        counts
            .scan(0, |sum, count| {
                *sum += count;
                Some(*sum)
            })
            .collect()
    }

    /// Returns the sum of all durations.
    pub fn total(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed))
    }
}

/// Stages of building a step, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepStage {
    /// Selection of transactions from the pool, in its order.
    Select,
    Execute,
    /// State tries, end-of-block processing and the header.
    Roots,
    /// Journal append, until it is durable.
    Sync,
    /// Building and publishing the view.
    Publish,
    /// Notifying the pool of the included transactions.
    Pool,
}

impl StepStage {
    /// All stages.
    pub const ALL: [Self; 6] =
        [Self::Select, Self::Execute, Self::Roots, Self::Sync, Self::Publish, Self::Pool];

    /// Returns the name of the stage in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Select => "select",
            Self::Execute => "execute",
            Self::Roots => "roots",
            Self::Sync => "sync",
            Self::Publish => "publish",
            Self::Pool => "pool",
        }
    }
}

/// Metrics of the writer.
#[derive(Debug, Default)]
pub struct WriterMetrics {
    /// Durations by stage, in the order of [`StepStage`].
    parts: [Histogram; StepStage::ALL.len()],
    /// Durations of whole steps, from the pool query to the end.
    pub step: Histogram,
    /// Durations of journal appends, until they are durable.
    pub append: Histogram,
    /// Durations of the part of appends that the engine of a quorum journal takes.
    pub quorum_append: Histogram,
    /// Durations of store commits.
    pub commit: Histogram,
    /// Number of steps with transactions; `transactions` and `gas` count their transactions and gas used.
    pub steps: AtomicU64,
    pub transactions: AtomicU64,
    pub gas: AtomicU64,
    /// Number of sealed blocks.
    pub blocks: AtomicU64,
    /// Bytes written to the journal.
    pub journal_written: AtomicU64,
    /// Number of journal segment files.
    pub journal_segments: AtomicU64,
}

impl WriterMetrics {
    /// Returns the durations of a stage of the step.
    pub fn stage(&self, part: StepStage) -> &Histogram {
        &self.parts[part as usize]
    }

    pub(crate) fn committed(&self, records: &[Record]) {
        let sealed = records.iter().filter(|record| matches!(record, Record::Seal { .. })).count();
        self.blocks.fetch_add(sealed as u64, Ordering::Relaxed);
    }

    pub(crate) fn journal_is(&self, journal: &LocalJournal) {
        self.journal_written.store(journal.written(), Ordering::Relaxed);
        self.journal_segments.store(journal.segments() as u64, Ordering::Relaxed);
    }

    pub(crate) fn stepped(&self, step: &Flashblock) {
        self.steps.fetch_add(1, Ordering::Relaxed);
        self.transactions.fetch_add(step.transactions.len() as u64, Ordering::Relaxed);
        let gas: u64 = step.receipts.iter().map(|receipt| receipt.gas_used).sum();
        self.gas.fetch_add(gas, Ordering::Relaxed);
    }
}

/// Snapshot of all metrics of a node.
pub struct NodeMetrics {
    pub work: Arc<WriterMetrics>,
    pub pool: PoolMetrics,
    pub store: StoreSize,
    /// Caches of the store and of the chain's history, and the other uses of the memory budget, without hits.
    pub caches: Vec<CacheMetrics>,
}

/// Stopwatch for consecutive intervals.
pub(crate) struct Stopwatch<'a> {
    clock: &'a dyn Clock,
    begun: Duration,
    last: Duration,
}

impl<'a> Stopwatch<'a> {
    pub fn begin(clock: &'a dyn Clock) -> Self {
        let begun = clock.monotonic();
        Self { clock, begun, last: begun }
    }

    /// Returns the time since the last call.
    pub fn lap(&mut self) -> Duration {
        let now = self.clock.monotonic();
        let lap = now.saturating_sub(self.last);
        self.last = now;
        lap
    }

    /// Returns the time from the start to the last lap.
    pub fn whole(&self) -> Duration {
        self.last.saturating_sub(self.begun)
    }
}

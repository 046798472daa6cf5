//! The part of a quorum journal that its owner changes: fence, position in the hash chain, and health.

use std::{sync::Arc, time::Duration};

use alloy_primitives::B256;
use foreseal_chain::Clock;
use foreseal_journal::{JournalError, PreparedAppend, Record};
use parking_lot::Mutex;

use crate::{
    append_error::{AppendError, FenceError},
    beat_sender::BeatSender,
    fence::{Fence, QuorumAppend, Wait},
    quorum_error::QuorumStoreError,
    quorum_log::QuorumLog,
    quorum_record::{QuorumRecord, RecordLink},
    record_hash::chain_hash,
    record_trimmer::RecordTrimmer,
    run_id::RunId,
};

/// Number of rounds in which a release is tried.
const RELEASE_ATTEMPTS: u32 = 3;
/// Time without an append after which the owner writes a beat.
pub const BEAT_INTERVAL: Duration = Duration::from_millis(200);

/// Health of the quorum store as the writer sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuorumHealth {
    /// Monotonic time since which no write was answered; `None` if the last one was.
    pub unanswered_since: Option<Duration>,
    /// Newest error of the quorum store; `None` if the last write was answered.
    pub last_error: Option<String>,
    /// Number of rounds over the endpoints that had no answer.
    pub unanswered_rounds: u64,
    /// Bytes of retained records.
    pub retained_bytes: u64,
}

/// Writer of a quorum journal: it can append while it has the fence.
pub struct QuorumWriter {
    log: QuorumLog,
    clock: Arc<dyn Clock>,
    /// Returns `true` once the node is stopping.
    stop: Box<dyn Fn() -> bool + Send>,
    /// Receives the duration of each append to the quorum store.
    on_append: Box<dyn Fn(Duration) + Send>,
    fence: Option<Fence>,
    /// Chain hash of the newest append.
    hash: B256,
    /// Block and step after the newest append.
    position: (u64, u64),
    last_write: Duration,
    trimmer: RecordTrimmer,
    health: Arc<Mutex<QuorumHealth>>,
    beats: Arc<Mutex<Option<BeatSender>>>,
}

impl QuorumWriter {
    /// Creates a writer without a fence. `stop` returns `true` once the node is stopping; `on_append` receives the
    /// duration of each append to the quorum store.
    pub fn new(
        log: QuorumLog,
        clock: Arc<dyn Clock>,
        stop: Box<dyn Fn() -> bool + Send>,
        on_append: Box<dyn Fn(Duration) + Send>,
    ) -> Self {
        Self {
            log,
            clock,
            stop,
            on_append,
            fence: None,
            hash: B256::ZERO,
            position: (0, 0),
            last_write: Duration::ZERO,
            trimmer: RecordTrimmer::default(),
            health: Arc::default(),
            beats: Arc::default(),
        }
    }

    /// Returns the sender of beats, `None` without a fence, for the time in which this writer is busy.
    pub fn beats(&self) -> Arc<Mutex<Option<BeatSender>>> {
        self.beats.clone()
    }

    /// Returns the health, which is updated during a wait too.
    pub fn health(&self) -> Arc<Mutex<QuorumHealth>> {
        self.health.clone()
    }

    /// Begins to append after the append with chain hash `hash`, under this fence.
    pub fn lead(&mut self, fence: Fence, hash: B256) {
        *self.beats.lock() = Some(fence.beat_sender());
        self.position = fence.head().map_or((0, 0), |head| (head.block, head.index));
        (self.fence, self.hash) = (Some(fence), hash);
        self.trimmer = RecordTrimmer::default();
        self.last_write = self.clock.monotonic();
        self.answered();
    }

    /// Gives the fence up.
    pub fn follow(&mut self) {
        *self.beats.lock() = None;
        self.fence = None;
    }

    /// Ends the ownership, preferably in favour of `successor`. The fence is given up even after an error.
    ///
    /// # Errors
    /// Returns an error if the quorum store did not confirm the release; standbys then wait for the usual silence.
    pub fn release(&mut self, successor: Option<RunId>) -> Result<(), FenceError> {
        *self.beats.lock() = None;
        let Some(mut fence) = self.fence.take() else { return Ok(()) };
        let mut released = fence.release(successor);
        for _ in 1..RELEASE_ATTEMPTS {
            if !matches!(released, Err(FenceError::QuorumStore(_))) {
                break;
            }
            released = fence.release(successor);
        }
        released
    }

    /// Makes an append durable on a majority of the quorum store.
    pub(crate) fn append(
        &mut self,
        prepared: &PreparedAppend,
        records: &[Record],
    ) -> Result<(), JournalError> {
        let no_fence = || JournalError::Superseded { leader: "this process has no fence".to_owned() };
        let (sequence, previous) = (prepared.sequence, self.hash);
        let link = RecordLink { sequence, previous, hash: chain_hash(previous, prepared.hash) };
        let record = QuorumRecord::encode(&link, records);
        let bytes = record.len() as u64;
        let (block, index) = position_after(records).unwrap_or(self.position);
        let append = QuorumAppend { sequence, hash: link.hash, block, index, record: record.into() };
        let (health, clock) = (&self.health, &self.clock);
        let wait = Wait {
            stop: &*self.stop,
            on_wait: &|error, waited| note_silence(&mut health.lock(), error, clock.monotonic(), waited),
            clock: &|| clock.monotonic(),
        };
        let fence = self.fence.as_mut().ok_or_else(no_fence)?;
        let started = clock.monotonic();
        fence.append(&append, &wait).map_err(journal_error)?;
        (self.on_append)(clock.monotonic().saturating_sub(started));
        self.hash = link.hash;
        self.position = (block, index);
        self.trimmer.push(sequence, bytes);
        self.answered();
        Ok(())
    }

    /// Writes a beat if the last write is too long ago, and removes old records if that is due. Returns `false`
    /// if no majority confirmed that this process is still the owner.
    pub(crate) fn beat(&mut self) -> Result<bool, JournalError> {
        self.trim()?;
        let now = self.clock.monotonic();
        let Some(fence) = &mut self.fence else {
            return Err(JournalError::Superseded { leader: "this process has no fence".to_owned() });
        };
        // Ticks are a step apart; half a step early is soon enough.
        if now.saturating_sub(self.last_write) + BEAT_INTERVAL / 2 < BEAT_INTERVAL {
            return Ok(true);
        }
        match fence.beat() {
            Ok(()) => {
                self.answered();
                Ok(true)
            }
            Err(FenceError::Fenced { owner }) => Err(superseded(owner.as_deref())),
            Err(FenceError::QuorumStore(error)) => {
                note_silence(&mut self.health.lock(), &error, now, Duration::ZERO);
                Ok(false)
            }
        }
    }

    /// Removes old records if that is due.
    fn trim(&mut self) -> Result<(), JournalError> {
        let Some(fence) = &mut self.fence else { return Ok(()) };
        let trimmed = self.trimmer.run(&self.log, fence, self.clock.monotonic());
        self.health.lock().retained_bytes = self.trimmer.bytes();
        match trimmed {
            Err(FenceError::Fenced { owner }) => Err(superseded(owner.as_deref())),
            // The trimmer repeats it.
            Ok(()) | Err(FenceError::QuorumStore(_)) => Ok(()),
        }
    }

    fn answered(&mut self) {
        self.last_write = self.clock.monotonic();
        let mut health = self.health.lock();
        if let Some(since) = health.unanswered_since.take() {
            let silent_ms = self.last_write.saturating_sub(since).as_millis();
            tracing::info!(silent_ms, "the engine of the quorum journal answers again");
        }
        health.last_error = None;
        health.retained_bytes = self.trimmer.bytes();
    }
}

fn note_silence(health: &mut QuorumHealth, error: &QuorumStoreError, now: Duration, waited: Duration) {
    if health.unanswered_since.is_none() {
        tracing::warn!(%error, "the engine of the quorum journal does not answer: nothing becomes visible");
        health.unanswered_since = Some(now.saturating_sub(waited));
    }
    health.unanswered_rounds += 1;
    health.last_error = Some(error.to_string());
}

/// Returns block and step after these records; `None` if they change neither.
pub(crate) fn position_after(records: &[Record]) -> Option<(u64, u64)> {
    records.iter().rev().find_map(|record| match record {
        Record::Step(step) | Record::Override { step, .. } => Some((step.number, step.index)),
        _ => None,
    })
}

fn superseded(owner: Option<&crate::owner::Owner>) -> JournalError {
    let leader = owner.map_or_else(|| "no owner is recorded".to_owned(), ToString::to_string);
    JournalError::Superseded { leader }
}

fn journal_error(error: AppendError) -> JournalError {
    match error {
        AppendError::Fenced { owner } => superseded(owner.as_deref()),
        AppendError::Stopped => JournalError::Interrupted,
        AppendError::TooLarge { bytes, max, .. } => JournalError::TooLarge { bytes, limit: max },
        error
        @ (AppendError::Diverged { .. } | AppendError::Unresolved { .. } | AppendError::Rejected(_)) => {
            JournalError::Quorum { reason: error.to_string() }
        }
    }
}

//! Signs of life of the thread that writes the chain, or follows it, for a supervisor that replaces a wedged process.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use crate::{Node, Phase, feed_server::SILENCE, node::Part};

/// Progress of the writing thread at one moment. Compare two of them to find a thread that is wedged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Liveness {
    pub phase: Phase,
    /// Changes with each tick, with each replayed record, and on a follower with each frame of the sequencer.
    pub count: i64,
    /// Longest normal time between two changes of `count`; `None` if no change is expected.
    pub interval: Option<Duration>,
    /// `true` while a write to the disk is in progress, or the store is waited for.
    pub on_disk: bool,
    /// Kernel id of the thread that works on the chain at this moment.
    pub thread: Option<u32>,
}

impl Node {
    /// Progress of the writing thread. Takes no lock that this thread holds while it works.
    pub fn liveness(&self) -> Liveness {
        let (phase, shared) = (self.shared.phase(), &self.shared);
        let (count, interval) = match (&self.part, &phase) {
            (_, Phase::Replaying { records }) => (i64::try_from(*records).unwrap_or(i64::MAX), None),
            (Part::Writer(_), Phase::Producing) => (shared.ticked(), Some(self.settings().production.step)),
            // A connection that is silent for longer breaks off, unless the thread that reads it is wedged.
            (Part::Follower(_), Phase::Following) => (shared.heard_at(), Some(SILENCE)),
            (Part::Writer(_) | Part::Follower(_), _) => (0, None),
        };
        let (on_disk, thread) = (shared.activity.is_on_disk(), shared.activity.thread());
        Liveness { phase, count, interval, on_disk, thread }
    }
}

/// Work of the writing thread at this moment.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    disk_waits: AtomicU32,
    /// Kernel id of the thread; 0 for none.
    thread: AtomicU32,
}

impl Activity {
    /// Marks the calling thread as the one that works on the chain.
    pub fn work(&self) -> Working<'_> {
        self.thread.store(thread_id(), Ordering::Relaxed);
        Working(&self.thread)
    }

    /// Marks a write to the disk.
    pub fn wait_for_disk(&self) -> DiskWait<'_> {
        self.disk_waits.fetch_add(1, Ordering::Relaxed);
        DiskWait(&self.disk_waits)
    }

    pub fn is_on_disk(&self) -> bool {
        self.disk_waits.load(Ordering::Relaxed) > 0
    }

    pub fn thread(&self) -> Option<u32> {
        match self.thread.load(Ordering::Relaxed) {
            0 => None,
            thread => Some(thread),
        }
    }
}

/// A thread that works on the chain, until it is dropped.
#[must_use]
pub(crate) struct Working<'a>(&'a AtomicU32);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// A write to the disk that is in progress, until it is dropped.
#[must_use]
pub(crate) struct DiskWait<'a>(&'a AtomicU32);

impl Drop for DiskWait<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

thread_local! {
    static THREAD_ID: u32 = read_thread_id();
}

fn thread_id() -> u32 {
    THREAD_ID.with(|id| *id)
}

/// Reads the kernel's id of the calling thread; 0 where the kernel does not show it.
fn read_thread_id() -> u32 {
    let link = std::fs::read_link("/proc/thread-self").ok();
    link.and_then(|link| link.file_name()?.to_str()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_end_with_their_guards() {
        let activity = Activity::default();
        assert_eq!((activity.thread(), activity.is_on_disk()), (None, false));
        let working = activity.work();
        let (first, second) = (activity.wait_for_disk(), activity.wait_for_disk());
        drop(first);
        assert!(activity.is_on_disk());
        let found = activity.thread().expect("Linux shows the ids of threads");
        assert!(std::path::Path::new(&format!("/proc/self/task/{found}")).exists());
        drop((second, working));
        assert_eq!((activity.thread(), activity.is_on_disk()), (None, false));
    }
}

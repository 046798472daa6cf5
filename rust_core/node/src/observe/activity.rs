//! Activity of the thread that writes or follows the chain.

use std::sync::atomic::{AtomicU32, Ordering};

/// Current activity of the writing thread.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    disk_waits: AtomicU32,
    /// Kernel id of the thread; 0 for none.
    thread: AtomicU32,
}

impl Activity {
    /// Marks the calling thread as the one that works on the chain, until the guard is dropped.
    pub fn work(&self) -> Working<'_> {
        self.thread.store(thread_id(), Ordering::Relaxed);
        Working(&self.thread)
    }

    /// Marks a write to the disk, until the guard is dropped.
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

/// Guard that marks a thread as working on the chain.
#[must_use]
pub(crate) struct Working<'a>(&'a AtomicU32);

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// Guard that marks a write to the disk in progress.
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

/// Returns the kernel's id of the calling thread; 0 if the kernel does not expose it.
fn read_thread_id() -> u32 {
    let link = std::fs::read_link("/proc/thread-self").ok();
    link.and_then(|link| link.file_name()?.to_str()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn activity_ends_when_its_guards_are_dropped() {
        let activity = Activity::default();
        assert_eq!((activity.thread(), activity.is_on_disk()), (None, false));
        let working = activity.work();
        let (first, second) = (activity.wait_for_disk(), activity.wait_for_disk());
        drop(first);
        assert!(activity.is_on_disk());
        let thread = activity.thread().expect("Linux shows the ids of threads");
        assert!(std::path::Path::new(&format!("/proc/self/task/{thread}")).exists());
        drop((second, working));
        assert_eq!((activity.thread(), activity.is_on_disk()), (None, false));
    }
}

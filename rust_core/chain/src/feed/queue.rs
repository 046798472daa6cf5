//! The queue between the writer and the subscriber.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use crate::{
    sync::{ArcSwapOption, AtomicBool, Condvar, Mutex, Ordering},
    view::View,
};

/// Maximum number of queued views; there are at most as many ticks and as many arrivals. A view holds the
/// state of its step in memory.
const VIEWS: usize = 256;

/// Default of the maximum size of the blocks that queued views alone hold in memory, in bytes.
const MAX_BYTES: u64 = 32 << 20;

/// An event in the queue.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Ascending number, with gaps after dropped entries.
    pub sequence: u64,
    pub what: EventKind,
}

/// Kind of event.
#[derive(Clone, Debug)]
pub enum EventKind {
    /// This became the newest view.
    View(Arc<View>),
    /// The node ticked. Ticks between two views are merged.
    Tick,
    /// Transactions entered the pool. Arrivals between two views are merged.
    Arrivals,
}

impl EventKind {
    fn is_view(&self) -> bool {
        matches!(self, Self::View(_))
    }
}

/// The newest view, and a queue of the events that led to it, for one subscriber.
///
/// Before the first call of [`Feed::drain`], only the newest view is queued. If the subscriber falls behind,
/// views that their successors contain are dropped first. Only if none is left, the oldest views before a
/// reorg are dropped one by one; then a step that was published and reorged in between is not seen.
#[derive(Debug, Default)]
pub struct Feed {
    newest: ArcSwapOption<View>,
    queue: Mutex<Queue>,
    changed: Condvar,
    arrivals_wanted: AtomicBool,
}

#[derive(Debug)]
struct Queue {
    /// Maximum size of the blocks that only queued views hold in memory, in bytes.
    max_bytes: u64,
    /// Sequence number of the newest entry.
    sequence: u64,
    entries: VecDeque<Entry>,
    views: usize,
    /// `true` once a subscriber has called [`Feed::drain`].
    taken: bool,
    woken: bool,
}

impl Default for Queue {
    fn default() -> Self {
        let entries = VecDeque::new();
        Self { max_bytes: MAX_BYTES, sequence: 0, entries, views: 0, taken: false, woken: false }
    }
}

impl Feed {
    /// Sets the maximum size of the blocks that only queued views hold in memory, in bytes. Blocks that left the
    /// chain's memory remain while a queued view has them.
    pub fn set_max_bytes(&self, max_bytes: u64) {
        self.queue.lock().max_bytes = max_bytes;
    }

    /// Returns the size of the blocks that only queued views hold in memory, in bytes.
    pub fn bytes(&self) -> u64 {
        let newest = self.view();
        newest.map_or(0, |newest| self.queue.lock().bytes(&newest))
    }

    /// Returns the newest view; `None` before the first one.
    pub fn view(&self) -> Option<Arc<View>> {
        self.newest.load_full()
    }

    /// Returns the newest view and the sequence number of the newest entry, read atomically; `None` before
    /// the first view. Later entries have greater numbers.
    pub fn newest(&self) -> Option<(u64, Arc<View>)> {
        let queue = self.queue.lock();
        self.view().map(|view| (queue.sequence, view))
    }

    /// Publishes a view as the newest one.
    pub fn publish(&self, view: Arc<View>) {
        let mut queue = self.queue.lock();
        let folded = queue.push_view(view.clone());
        let before = self.newest.swap(Some(view));
        drop(queue);
        self.changed.notify_one();
        // Dropped outside the lock.
        drop((folded, before));
    }

    /// Queues a tick.
    pub fn tick(&self) {
        self.push_event(EventKind::Tick);
    }

    /// Queues the arrival of transactions in the pool.
    pub fn arrived(&self) {
        if self.arrivals_wanted.load(Ordering::SeqCst) {
            self.push_event(EventKind::Arrivals);
        }
    }

    fn push_event(&self, what: EventKind) {
        let mut queue = self.queue.lock();
        if queue.taken && self.newest.load().is_some() {
            queue.push_event(what);
            drop(queue);
            self.changed.notify_one();
        }
    }

    /// Enables or disables arrival events. Every arrival after this returns is queued if enabled.
    pub fn want_arrivals(&self, wanted: bool) {
        self.arrivals_wanted.store(wanted, Ordering::SeqCst);
    }

    /// Returns the entries since the last call, in order. Blocks for at most `wait` until there is one. The
    /// first call also returns the newest view if there is one.
    pub fn drain(&self, wait: Duration) -> Vec<Entry> {
        let mut queue = self.queue.lock();
        queue.taken = true;
        if queue.entries.is_empty() && !queue.woken {
            self.changed.wait_for(&mut queue, wait);
        }
        queue.woken = false;
        queue.views = 0;
        std::mem::take(&mut queue.entries).into()
    }

    /// Ends the current or the next blocking call of [`Feed::drain`].
    pub fn wake(&self) {
        self.queue.lock().woken = true;
        self.changed.notify_one();
    }
}

impl Queue {
    fn push(&mut self, what: EventKind) {
        self.sequence += 1;
        self.entries.push_back(Entry { sequence: self.sequence, what });
    }

    /// Queues a view; returns the entries dropped for it.
    fn push_view(&mut self, view: Arc<View>) -> Vec<Entry> {
        let max_views = if self.taken { VIEWS } else { 1 };
        let mut dropped = Vec::new();
        while self.views >= max_views || self.views > 0 && self.bytes(&view) > self.max_bytes {
            let Some(folded) = self.fold(&view) else { break };
            self.views -= 1;
            dropped.push(folded);
        }
        self.views += 1;
        self.push(EventKind::View(view));
        dropped
    }

    /// Returns the size of the blocks that the oldest queued view holds in memory and `newest` does not, in bytes.
    fn bytes(&self, newest: &View) -> u64 {
        let oldest = self.entries.iter().find_map(|entry| match &entry.what {
            EventKind::View(view) => Some(view),
            EventKind::Tick | EventKind::Arrivals => None,
        });
        oldest.map_or(0, |oldest| oldest.bytes_released_since(newest))
    }

    /// Removes a view that its successor contains, or the oldest one if there is none.
    fn fold(&mut self, newest: &Arc<View>) -> Option<Entry> {
        let views = || {
            let view = |(at, entry): (usize, &'_ Entry)| match &entry.what {
                EventKind::View(view) => Some((at, view.reorged.count())),
                EventKind::Tick | EventKind::Arrivals => None,
            };
            self.entries.iter().enumerate().filter_map(view)
        };
        let after = views().skip(1).map(|(_, reorged)| reorged).chain([newest.reorged.count()]);
        let contained = views().zip(after).find(|((_, reorged), after)| reorged == after);
        let at = contained.map(|((at, _), _)| at).or_else(|| views().next().map(|(at, _)| at))?;
        let folded = self.entries.remove(at);
        self.join();
        folded
    }

    /// Merges the ticks between two views into the last one, and likewise the arrivals.
    fn join(&mut self) {
        let (mut seen, mut kept) = (Vec::new(), VecDeque::with_capacity(self.entries.len()));
        for entry in std::mem::take(&mut self.entries).into_iter().rev() {
            let kind = std::mem::discriminant(&entry.what);
            if entry.what.is_view() {
                seen.clear();
            } else if seen.contains(&kind) {
                continue;
            } else {
                seen.push(kind);
            }
            kept.push_front(entry);
        }
        self.entries = kept;
    }

    /// Queues an entry that is not a view. It replaces an entry of the same kind since the newest view.
    fn push_event(&mut self, what: EventKind) {
        let kind = std::mem::discriminant(&what);
        let mut since = (0..self.entries.len()).rev().take_while(|at| !self.entries[*at].what.is_view());
        if let Some(same) = since.find(|at| std::mem::discriminant(&self.entries[*at].what) == kind) {
            self.entries.remove(same);
        }
        self.push(what);
    }
}

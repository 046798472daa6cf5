//! The queue between the writer and the one who takes.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwapOption;
use foreseal_types::mutant;
use parking_lot::{Condvar, Mutex};

use crate::View;

/// Views that wait at most; behind them are as many ticks and arrivals at most. A view keeps the state of its step in memory.
const VIEWS: usize = 256;

/// One thing that happened.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Rises from entry to entry, with gaps where one was overtaken.
    pub sequence: u64,
    pub what: What,
}

/// What happened.
#[derive(Clone, Debug)]
pub enum What {
    /// This became the newest view.
    View(Arc<View>),
    /// The node ticked. Ticks between two views are one.
    Tick,
    /// Transactions entered the pool. Arrivals between two views are one.
    Arrivals,
}

impl What {
    fn is_view(&self) -> bool {
        matches!(self, Self::View(_))
    }
}

/// The newest view, and what led there, for one taker.
///
/// Before anybody takes, only the newest view waits. A taker that falls behind loses views that the one after them contains;
/// only beyond that, one by one and the oldest first, views before a way back, so that a step that was shown and undone in
/// between goes unseen.
#[derive(Debug, Default)]
pub struct Feed {
    newest: ArcSwapOption<View>,
    queue: Mutex<Queue>,
    changed: Condvar,
    arrivals_wanted: AtomicBool,
}

#[derive(Debug, Default)]
struct Queue {
    /// Of the newest entry.
    sequence: u64,
    entries: VecDeque<Entry>,
    views: usize,
    /// Whether somebody takes.
    taken: bool,
    woken: bool,
}

impl Feed {
    /// The newest view; `None` until there is one.
    pub(crate) fn view(&self) -> Option<Arc<View>> {
        self.newest.load_full()
    }

    /// The newest view and the sequence number of the newest entry, as of one moment; `None` until there is a view. What
    /// comes after it has a greater number.
    pub fn newest(&self) -> Option<(u64, Arc<View>)> {
        let queue = self.queue.lock();
        self.view().map(|view| (queue.sequence, view))
    }

    /// Makes a view the newest one.
    pub(crate) fn publish(&self, view: Arc<View>) {
        let mut queue = self.queue.lock();
        let folded = queue.push_view(view.clone());
        let before = self.newest.swap(Some(view));
        drop(queue);
        self.changed.notify_one();
        // Freed outside of the lock.
        drop((folded, before));
    }

    /// The node ticked.
    pub(crate) fn tick(&self) {
        self.note(What::Tick);
    }

    /// Transactions entered the pool.
    pub(crate) fn arrived(&self) {
        if self.arrivals_wanted.load(Ordering::SeqCst) {
            self.note(What::Arrivals);
        }
    }

    fn note(&self, what: What) {
        let mut queue = self.queue.lock();
        if queue.taken && self.newest.load().is_some() {
            queue.note(what);
            drop(queue);
            self.changed.notify_one();
        }
    }

    /// Whether arrivals in the pool are to be told. Those that come after this returns are.
    pub fn want_arrivals(&self, wanted: bool) {
        self.arrivals_wanted.store(wanted, Ordering::SeqCst);
    }

    /// What happened since the last call, in order. Waits for something to happen, at most for `wait`. The first call also
    /// gets the newest view if there is one.
    pub fn take(&self, wait: Duration) -> Vec<Entry> {
        let mut queue = self.queue.lock();
        queue.taken = true;
        if queue.entries.is_empty() && !queue.woken {
            self.changed.wait_for(&mut queue, wait);
        }
        queue.woken = false;
        queue.views = 0;
        std::mem::take(&mut queue.entries).into()
    }

    /// Ends the wait of the one who takes, or the next one.
    pub fn wake(&self) {
        self.queue.lock().woken = true;
        self.changed.notify_one();
    }
}

impl Queue {
    fn push(&mut self, what: What) {
        self.sequence += 1;
        self.entries.push_back(Entry { sequence: self.sequence, what });
    }

    /// Adds a view; answers what went for it.
    fn push_view(&mut self, view: Arc<View>) -> Option<Entry> {
        let full = self.views >= if self.taken { VIEWS } else { 1 };
        let folded = if full { self.fold(&view) } else { None };
        self.views += usize::from(folded.is_none());
        self.push(What::View(view));
        folded
    }

    /// Takes out a view that the one after it contains; the oldest if there is none.
    fn fold(&mut self, newest: &Arc<View>) -> Option<Entry> {
        let views = || {
            let view = |(at, entry): (usize, &'_ Entry)| match &entry.what {
                What::View(view) => Some((at, view.undone.count())),
                What::Tick | What::Arrivals => None,
            };
            self.entries.iter().enumerate().filter_map(view)
        };
        let after = views().skip(1).map(|(_, undone)| undone).chain([newest.undone.count()]);
        let contains = |undone: &u64, after: &u64| undone == after || mutant!("fold-what-was-undone");
        let contained = views().zip(after).find(|((_, undone), after)| contains(undone, after));
        let at = contained.map(|((at, _), _)| at).or_else(|| views().next().map(|(at, _)| at))?;
        let folded = self.entries.remove(at);
        self.join();
        folded
    }

    /// Keeps of the ticks between two views the last one, and so of the arrivals.
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

    /// Adds what is no view, in place of the same since the newest one.
    fn note(&mut self, what: What) {
        let kind = std::mem::discriminant(&what);
        let mut since = (0..self.entries.len()).rev().take_while(|at| !self.entries[*at].what.is_view());
        if let Some(same) = since.find(|at| std::mem::discriminant(&self.entries[*at].what) == kind) {
            self.entries.remove(same);
        }
        self.push(what);
    }
}

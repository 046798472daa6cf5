//! Data that the writer of the chain has published: views, their freshness, and the appends behind them.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use foreseal_chain::{Clock, Feed, View};
use foreseal_replication::FrameLog;

use crate::observe::{
    changes::Changes,
    points::{InspectionPoint, Watcher},
};

/// Newest view, its freshness, and everything that notifies of a newer one.
pub(crate) struct Publication {
    pub feed: Feed,
    /// Counter of events that waiting readers re-check on: a new view, the end of production, damage, answers
    /// from the sequencer.
    pub changes: Changes,
    clock: Arc<dyn Clock>,
    /// Monotonic time of the last tick, in microseconds; negative if the tick was before this clock began.
    ticked: AtomicI64,
    /// Monotonic time of the last frame from the sequencer, in microseconds.
    last_frame: AtomicI64,
    /// Log of frames for followers; unset if this process serves none.
    frames: OnceLock<Arc<FrameLog>>,
    watcher: OnceLock<Arc<dyn Watcher>>,
}

impl Publication {
    /// Returns a publication without a view, whose queued views hold at most `max_bytes`.
    pub fn new(clock: Arc<dyn Clock>, max_bytes: u64) -> Self {
        let now = micros(clock.monotonic());
        let feed = Feed::default();
        feed.set_max_bytes(max_bytes);
        Self {
            feed,
            changes: Changes::default(),
            clock,
            ticked: AtomicI64::new(now),
            last_frame: AtomicI64::new(now),
            frames: OnceLock::new(),
            watcher: OnceLock::new(),
        }
    }

    /// Returns the newest view; `None` until the journal is replayed.
    pub fn view(&self) -> Option<Arc<View>> {
        self.feed.view()
    }

    /// Publishes a view to readers. Its content must be durable already.
    pub fn publish(&self, view: Arc<View>) {
        self.reached(InspectionPoint::BeforePublish);
        self.feed.publish(view);
        self.changes.notify();
        self.reached(InspectionPoint::Published);
    }

    /// Records a tick, which renews the freshness that readers see.
    pub fn tick(&self, at: Duration) {
        self.ticked.store(micros(at), Ordering::Release);
        self.notify_tick();
    }

    /// Records that the last tick of the sequencer was `age` ago. `ticked` is `true` if that tick is a new
    /// one.
    pub fn record_sequencer_tick(&self, age: Duration, ticked: bool) {
        let now = micros(self.clock.monotonic());
        self.ticked.store(now.saturating_sub(micros(age)), Ordering::Release);
        if ticked {
            self.notify_tick();
        }
    }

    fn notify_tick(&self) {
        self.feed.tick();
        if let Some(frames) = self.frames() {
            frames.tick();
        }
    }

    /// Records that a frame from the sequencer arrived.
    pub fn record_frame(&self) {
        self.last_frame.store(micros(self.clock.monotonic()), Ordering::Release);
    }

    /// Returns the time since the last tick.
    pub fn age(&self) -> Duration {
        self.since(&self.ticked)
    }

    /// Returns the time since the last frame from the sequencer.
    pub fn time_since_frame(&self) -> Duration {
        self.since(&self.last_frame)
    }

    /// Returns a value that changes with each tick.
    pub fn ticked(&self) -> i64 {
        self.ticked.load(Ordering::Acquire)
    }

    /// Returns a value that changes with each frame from the sequencer.
    pub fn last_frame(&self) -> i64 {
        self.last_frame.load(Ordering::Acquire)
    }

    fn since(&self, then: &AtomicI64) -> Duration {
        let now = micros(self.clock.monotonic());
        Duration::from_micros(now.saturating_sub(then.load(Ordering::Acquire)).try_into().unwrap_or(0))
    }

    /// Returns the log of frames for followers; `None` if this process serves none.
    pub fn frames(&self) -> Option<&Arc<FrameLog>> {
        self.frames.get()
    }

    pub fn set_frames(&self, frames: Arc<FrameLog>) {
        self.frames.get_or_init(|| frames);
    }

    /// Lets followers learn a new phase of this process at once.
    pub fn wake_followers(&self) {
        if let Some(frames) = self.frames() {
            frames.wake();
        }
    }

    /// Notifies `watcher` of every point that is reached from now on.
    pub fn set_watcher(&self, watcher: Arc<dyn Watcher>) {
        self.watcher.get_or_init(|| watcher);
    }

    pub fn watcher(&self) -> Option<&Arc<dyn Watcher>> {
        self.watcher.get()
    }

    pub fn reached(&self, point: InspectionPoint) {
        if let Some(watcher) = self.watcher() {
            watcher.reached(point);
        }
    }
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

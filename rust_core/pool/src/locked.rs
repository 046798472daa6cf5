//! Lock around the pool's data. Its release notifies the listener of the changes.

use std::{
    fmt,
    ops::{Deref, DerefMut},
    sync::Arc,
};

use parking_lot::{Mutex, MutexGuard};

use crate::{
    contents::Contents,
    pool_event::{PoolContents, PoolEvent, PoolEventKind, PoolEventSink},
};

/// The pool's data and its listener.
pub(crate) struct ContentsAndSink {
    contents: Contents,
    sink: Option<Arc<dyn PoolEventSink>>,
}

impl ContentsAndSink {
    pub(crate) fn new(contents: Contents) -> Self {
        Self { contents, sink: None }
    }
}

impl fmt::Debug for ContentsAndSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { contents, sink } = self;
        f.debug_struct("Guarded").field("contents", contents).field("listens", &sink.is_some()).finish()
    }
}

/// The pool's data, locked.
///
/// All changes go to the listener as one event, just before the lock is released. So a copy never shows a
/// state that was not visible here.
pub(crate) struct Locked<'a>(MutexGuard<'a, ContentsAndSink>);

impl<'a> Locked<'a> {
    pub(crate) fn new(guarded: &'a Mutex<ContentsAndSink>) -> Self {
        Self(guarded.lock())
    }

    pub(crate) fn set_sink(&mut self, sink: Option<Arc<dyn PoolEventSink>>) {
        self.0.contents.changes = sink.is_some().then(Vec::new);
        self.0.sink = sink;
    }

    /// Replaces the contents, emits them as one event and returns the old ones.
    ///
    /// The arrivals, the counters, what the builder holds and the listener carry over, as they also cover the time
    /// before.
    pub(crate) fn replace(
        &mut self,
        mut new: Contents,
        event_kind: impl FnOnce(Box<PoolContents>) -> PoolEventKind,
    ) -> Contents {
        self.send_events();
        let ContentsAndSink { contents, sink } = &mut *self.0;
        std::mem::swap(&mut new.arrivals, &mut contents.arrivals);
        std::mem::swap(&mut new.changes, &mut contents.changes);
        std::mem::swap(&mut new.metrics, &mut contents.metrics);
        new.held = std::mem::take(&mut contents.held);
        new.held.retain(|hash| new.by_hash.contains_key(hash));
        let old = std::mem::replace(contents, new);
        if let Some(sink) = sink {
            sink.event(&PoolEvent(event_kind(Box::new(contents.full_contents()))));
        }
        old
    }

    fn send_events(&mut self) {
        let ContentsAndSink { contents, sink: Some(sink) } = &mut *self.0 else { return };
        if let Some(changes) = contents.changes.as_mut().filter(|changes| !changes.is_empty()) {
            sink.event(&PoolEvent(PoolEventKind::Changes(std::mem::take(changes))));
        }
    }
}

impl Deref for Locked<'_> {
    type Target = Contents;

    fn deref(&self) -> &Contents {
        &self.0.contents
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut Contents {
        &mut self.0.contents
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        self.send_events();
    }
}

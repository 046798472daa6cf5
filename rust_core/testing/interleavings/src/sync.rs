//! Primitives of loom, with the interfaces of parking_lot and arc-swap where the sources use those.

use std::{
    fmt,
    ops::{Deref, DerefMut},
    sync::Arc,
    time::Duration,
};

pub use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Lock with the interface of parking_lot.
#[derive(Debug, Default)]
pub struct Mutex<T>(loom::sync::Mutex<T>);

/// Guard of a [`Mutex`]; `None` while a [`Condvar`] waits.
pub struct MutexGuard<'a, T>(Option<loom::sync::MutexGuard<'a, T>>);

impl<T> Mutex<T> {
    pub fn new(value: T) -> Self {
        Self(loom::sync::Mutex::new(value))
    }

    pub fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard(Some(self.0.lock().expect("no thread panics with the lock")))
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("no thread uses the guard while it waits")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect("no thread uses the guard while it waits")
    }
}

/// Condition variable with the interface of parking_lot. No wait ends by time: a lost notification is a deadlock, which
/// loom reports.
#[derive(Default)]
pub struct Condvar(loom::sync::Condvar);

impl Condvar {
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, _: Duration) {
        let locked = guard.0.take().expect("no thread uses the guard while it waits");
        guard.0 = Some(self.0.wait(locked).expect("no thread panics with the lock"));
    }
}

impl fmt::Debug for Condvar {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Condvar")
    }
}

/// Shared value that is swapped, with the interface of arc-swap.
#[derive(Debug)]
pub struct ArcSwapOption<T>(loom::sync::RwLock<Option<Arc<T>>>);

impl<T> Default for ArcSwapOption<T> {
    fn default() -> Self {
        Self(loom::sync::RwLock::new(None))
    }
}

impl<T> ArcSwapOption<T> {
    pub fn load_full(&self) -> Option<Arc<T>> {
        self.0.read().expect("no thread panics with the lock").clone()
    }

    pub fn load(&self) -> Option<Arc<T>> {
        self.load_full()
    }

    pub fn swap(&self, value: Option<Arc<T>>) -> Option<Arc<T>> {
        std::mem::replace(&mut *self.0.write().expect("no thread panics with the lock"), value)
    }
}

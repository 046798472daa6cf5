//! Token buckets shared by the processes of a node.

use std::collections::HashMap;
use std::fs::File;
use std::mem::ManuallyDrop;
use std::os::fd::{FromRawFd, RawFd};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Weak};

use foreseal_rate_limit::{Quota, RateLimitTable, TableError};
use parking_lot::Mutex;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

/// Rate limits of callers: token buckets in one lock-free table.
///
/// `slots`, a multiple of 8, is the number of callers that have a bucket at a time. Without `fd` the table is
/// private to this process. With `fd` it lies in the shared memory behind that descriptor, `64 + 8 * slots`
/// bytes that begin with 32 random ones. All processes that map it share its buckets; the descriptor may be
/// closed afterwards.
///
/// Raises ValueError for an invalid number of slots or memory of another size, OSError if it cannot be
/// mapped.
#[pyclass(name = "Buckets", module = "foreseal._core", frozen)]
pub struct PyBuckets {
    pub table: Arc<RateLimitTable>,
    /// Numbers of calls on worker threads of this process, by caller, while there are any.
    running: Mutex<HashMap<u64, Weak<AtomicUsize>>>,
}

impl PyBuckets {
    /// Returns the number of a caller's calls on worker threads. All callers with this `key` share it, also one that
    /// Python creates again while calls of the earlier one still run.
    pub fn running(&self, key: u64) -> Arc<AtomicUsize> {
        let mut running = self.running.lock();
        if let Some(counter) = running.get(&key).and_then(Weak::upgrade) {
            return counter;
        }
        if running.len() == running.capacity() {
            running.retain(|_, counter| counter.strong_count() > 0);
        }
        let counter = Arc::default();
        running.insert(key, Arc::downgrade(&counter));
        counter
    }
}

#[pymethods]
impl PyBuckets {
    #[new]
    fn new(fd: Option<RawFd>, slots: usize) -> PyResult<Self> {
        let table = match fd {
            None => RateLimitTable::private(slots, rand::random()),
            Some(fd) => shared(fd, slots),
        };
        Ok(Self { table: Arc::new(table.map_err(raised)?), running: Mutex::default() })
    }

    /// Returns the bucket key of the caller with this name: a keyed hash.
    fn key(&self, name: &[u8]) -> u64 {
        self.table.key(name)
    }

    /// Takes `cost` tokens from the bucket at `key`, which holds at most `burst` tokens and gains one every
    /// `interval` us.
    ///
    /// Returns 0 if the tokens were available. Otherwise it takes none and returns the us until they are. A
    /// cost above `burst` takes `burst`. `now` is the us of a clock that never goes back and is the same for
    /// all processes that share the table.
    ///
    /// Raises ValueError if interval or burst is 0, or an empty bucket would take more than two years to
    /// fill.
    fn consume(&self, key: u64, now: u64, interval: u64, burst: u64, cost: u64) -> PyResult<u64> {
        Ok(self.table.consume(key, now, &quota(interval, burst)?, cost))
    }

    /// Returns the same as `consume` without taking tokens.
    fn wait(&self, key: u64, now: u64, interval: u64, burst: u64, cost: u64) -> PyResult<u64> {
        Ok(self.table.wait(key, now, &quota(interval, burst)?, cost))
    }
}

fn shared(fd: RawFd, slots: usize) -> Result<RateLimitTable, TableError> {
    // SAFETY: the descriptor is borrowed and not closed here. If it is not open, the calls on it fail.
    let file = ManuallyDrop::new(unsafe { File::from_raw_fd(fd) });
    RateLimitTable::shared(&file, slots)
}

pub fn quota(interval: u64, burst: u64) -> PyResult<Quota> {
    Quota::new(interval, burst).ok_or_else(|| {
        PyValueError::new_err(format!("a bucket cannot have {burst} tokens and one more every {interval} us"))
    })
}

fn raised(error: TableError) -> PyErr {
    match error {
        TableError::Slots { .. } | TableError::Size { .. } | TableError::NoSecret => {
            PyValueError::new_err(error.to_string())
        }
        TableError::Map(_) => PyOSError::new_err(error.to_string()),
    }
}

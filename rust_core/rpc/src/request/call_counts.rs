//! Number, time and errors of calls, by method.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use alloy_primitives::map::HashMap;
use bytes::Bytes;
use parking_lot::Mutex;

use crate::errors::rpc_error::RpcError;

/// Name under which calls of unknown methods are counted: callers could invent any number of names.
pub(super) const UNKNOWN: &str = "";

/// Calls that were not quick, of one method and of the same time.
#[derive(Clone, Debug, PartialEq)]
pub struct SlowCall {
    /// Name of the method; empty if it is unknown.
    pub method: &'static str,
    pub time: Duration,
    /// Bytes of the results; 0 for an error.
    pub size: usize,
    pub calls: usize,
}

/// Quick calls of one method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedCalls {
    /// Name of the method; empty if it is unknown.
    pub method: &'static str,
    pub calls: u64,
    /// Time of all of them.
    pub time: Duration,
}

/// Failed calls of one method with one code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedCalls {
    /// Name of the method; empty if it is unknown.
    pub method: &'static str,
    pub code: i64,
    pub calls: u64,
}

/// Number and time of quick calls since the last [`CallCounter::drain`].
#[derive(Debug, Default)]
pub(super) struct CallCounter {
    calls: AtomicU64,
    nanos: AtomicU64,
}

impl CallCounter {
    pub(super) fn add(&self, time: Duration) {
        self.calls.fetch_add(1, Relaxed);
        self.nanos.fetch_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Relaxed);
    }

    pub(super) fn drain(&self, method: &'static str) -> CountedCalls {
        let (calls, nanos) = (self.calls.swap(0, Relaxed), self.nanos.swap(0, Relaxed));
        CountedCalls { method, calls, time: Duration::from_nanos(nanos) }
    }
}

/// Failed calls since the last [`FailureCounter::drain`].
#[derive(Debug, Default)]
pub(super) struct FailureCounter(Mutex<HashMap<(&'static str, i64), u64>>);

impl FailureCounter {
    pub(super) fn add(&self, method: &'static str, code: i64) {
        *self.0.lock().entry((method, code)).or_default() += 1;
    }

    pub(super) fn drain(&self) -> Vec<FailedCalls> {
        let failed = std::mem::take(&mut *self.0.lock());
        failed.into_iter().map(|((method, code), calls)| FailedCalls { method, code, calls }).collect()
    }
}

/// Time, size and error code of a call.
pub(super) struct CallMeasurement {
    pub(super) time: Duration,
    pub(super) size: usize,
    pub(super) code: Option<i64>,
}

impl CallMeasurement {
    pub(super) fn new(time: Duration, outcome: &Result<Bytes, RpcError>) -> Self {
        Self {
            time,
            size: outcome.as_ref().map_or(0, Bytes::len),
            code: outcome.as_ref().err().map(|error| error.code),
        }
    }
}

/// Adds a call to `slow`, together with the call before it if that was part of the same work.
pub(super) fn add_slow(slow: &mut Vec<SlowCall>, call: SlowCall) {
    if let Some(last) = slow.last_mut()
        && (last.method, last.time) == (call.method, call.time)
    {
        last.calls += call.calls;
        last.size += call.size;
    } else {
        slow.push(call);
    }
}

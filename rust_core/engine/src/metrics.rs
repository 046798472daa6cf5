//! Metrics of engine calls.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use foreseal_node::Histogram;
use parking_lot::Mutex;

/// Calls of the methods of a driver, by method.
#[derive(Debug, Default)]
pub struct EngineMetrics {
    calls: Mutex<BTreeMap<&'static str, CallMetrics>>,
}

/// Calls of one method.
#[derive(Clone, Debug, Default)]
pub struct CallMetrics {
    pub time: Arc<Histogram>,
    pub errors: u64,
}

impl EngineMetrics {
    /// Records a call.
    pub fn record(&self, method: &'static str, time: Duration, failed: bool) {
        let mut calls = self.calls.lock();
        let entry = calls.entry(method).or_default();
        entry.time.add(time);
        entry.errors += u64::from(failed);
    }

    /// Returns the calls since the start.
    pub fn calls(&self) -> Vec<(&'static str, CallMetrics)> {
        self.calls.lock().iter().map(|(method, calls)| (*method, calls.clone())).collect()
    }
}

//! Repeated check of the quorum store's members, for status, metrics and health.

use std::{sync::Arc, time::Duration};

use foreseal_chain::Clock;
use foreseal_quorum::{QuorumFinding, QuorumStore, check_members, compare_hashes, read_hashes};

use crate::cluster::{cluster_monitor::ClusterMonitor, interval_thread::IntervalThread};

/// Interval between reads of the members' status, and between comparisons of data that seems to differ.
const CHECK_INTERVAL: Duration = Duration::from_secs(10);
/// Interval between comparisons of the members' data, which each member reads completely.
const COMPARE_INTERVAL: Duration = Duration::from_hours(24);
/// Successive comparisons that must differ: members compact one after the other.
const MIN_DIFFERENCES: u32 = 2;

/// Checks the quorum store's members at intervals.
pub(crate) struct QuorumWatch {
    quorum: Arc<dyn QuorumStore>,
    monitor: Arc<ClusterMonitor>,
    /// Monotonic time of the last complete comparison.
    compared: Option<Duration>,
    /// Number of successive comparisons that differed.
    differences: u32,
    /// Findings that were logged last.
    logged: Vec<QuorumFinding>,
}

impl QuorumWatch {
    pub fn new(quorum: Arc<dyn QuorumStore>, monitor: Arc<ClusterMonitor>) -> Self {
        Self { quorum, monitor, compared: None, differences: 0, logged: Vec::new() }
    }

    /// Starts a thread that checks until the returned value is dropped.
    pub fn start(mut self, clock: Arc<dyn Clock>) -> IntervalThread {
        let now = clock.clone();
        let task = move || self.check(now.monotonic());
        IntervalThread::start("foreseal-engine", CHECK_INTERVAL, clock, task)
    }

    /// Checks the members once, at the monotonic time `now`. Without a majority the last findings stay.
    fn check(&mut self, now: Duration) {
        let Ok(membership) = check_members(&*self.quorum) else { return };
        let mut findings = membership.findings;
        findings.extend(self.compare(now));
        for finding in &findings {
            if !self.logged.contains(finding) {
                tracing::warn!(%finding, "the engine of the quorum journal needs attention");
            }
        }
        self.logged.clone_from(&findings);
        self.monitor.set_findings(findings);
    }

    /// Compares the data of the members if that is due.
    fn compare(&mut self, now: Duration) -> Option<QuorumFinding> {
        let is_due = self.compared.is_none_or(|at| now.saturating_sub(at) >= COMPARE_INTERVAL);
        if !is_due && self.differences == 0 {
            return None;
        }
        let hashes = read_hashes(&*self.quorum).ok()?;
        let difference = compare_hashes(&hashes);
        self.differences = if difference.is_some() { self.differences.saturating_add(1) } else { 0 };
        if hashes.iter().all(|entry| entry.hash.is_ok()) {
            self.compared = Some(now);
        }
        difference.filter(|_| self.differences >= MIN_DIFFERENCES)
    }
}

#[cfg(test)]
mod tests {
    use foreseal_simulated_quorum::{FaultRates, SimulatedStore};

    use super::*;

    fn watch(quorum: &Arc<SimulatedStore>) -> (QuorumWatch, Arc<ClusterMonitor>) {
        let monitor = Arc::<ClusterMonitor>::default();
        (QuorumWatch::new(quorum.clone(), monitor.clone()), monitor)
    }

    fn codes(monitor: &ClusterMonitor) -> Vec<&'static str> {
        let status = monitor.status(true, Duration::ZERO, Duration::MAX);
        status.quorum.unwrap().findings.iter().map(QuorumFinding::code).collect()
    }

    #[test]
    fn different_data_is_found_at_the_second_comparison_and_until_it_is_repaired() {
        let quorum = Arc::new(SimulatedStore::new(1, FaultRates::default()));
        let (mut watch, monitor) = watch(&quorum);
        let mut now = Duration::ZERO;
        let mut check = |after: Duration| {
            now += after;
            watch.check(now);
            codes(&monitor)
        };
        assert!(check(Duration::ZERO).is_empty());
        quorum.set_damaged(Some(1));
        assert!(check(CHECK_INTERVAL).is_empty(), "the next comparison is a day later");
        assert!(check(COMPARE_INTERVAL).is_empty(), "it must differ again");
        assert_eq!(check(CHECK_INTERVAL), ["different_hashes"]);
        assert_eq!(check(CHECK_INTERVAL), ["different_hashes"]);
        quorum.set_damaged(None);
        assert!(check(CHECK_INTERVAL).is_empty());
    }

    #[test]
    fn data_is_compared_at_the_start() {
        let quorum = Arc::new(SimulatedStore::new(1, FaultRates::default()));
        quorum.set_damaged(Some(2));
        let (mut watch, monitor) = watch(&quorum);
        watch.check(Duration::ZERO);
        watch.check(CHECK_INTERVAL);
        assert_eq!(codes(&monitor), ["different_hashes"]);
    }

    #[test]
    fn configuration_is_a_finding_at_once() {
        let quorum = Arc::new(SimulatedStore::new(1, FaultRates::default()));
        quorum.set_versions(&["3.4.23"]);
        let (mut watch, monitor) = watch(&quorum);
        watch.check(Duration::ZERO);
        assert_eq!(codes(&monitor), ["single_node", "version"]);
    }
}

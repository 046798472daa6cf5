//! Counts of what cluster runs tried.

use std::collections::BTreeMap;

use serde::Serialize;

/// Number of occurrences of each event of cluster runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClusterCounts {
    pub seeds: u64,
    /// Simulated time, in milliseconds.
    pub simulated_ms: u64,
    /// Calls of the quorum store.
    pub calls: u64,
    /// Appends that the quorum store accepted.
    pub appends: u64,
    /// Appends with more than one key.
    pub large_appends: u64,
    /// Removals of old records by an owner.
    pub trims: u64,
    /// Accepted submissions.
    pub submissions: u64,
    /// Submissions that were forwarded to another process.
    pub forwarded: u64,
    /// Published views of all processes.
    pub views: u64,
    /// Steps in them that were compared with the same step of other processes and with the quorum store.
    pub steps: u64,
    /// Steps that were compared with the final chain of each process.
    pub final_steps: u64,
    pub starts: u64,
    /// Connections of followers.
    pub connections: u64,
    /// Changes of the owner, by reason.
    pub takeovers: BTreeMap<&'static str, u64>,
    /// Appends that were fenced.
    pub fenced: u64,
    pub faults: BTreeMap<&'static str, u64>,
    /// Greatest simulated time from the end of the faults until all processes agreed, in milliseconds.
    pub slowest_recovery_ms: u64,
}

impl ClusterCounts {
    pub fn fault(&mut self, kind: &'static str) {
        *self.faults.entry(kind).or_default() += 1;
    }

    pub fn takeover(&mut self, reason: &'static str) {
        *self.takeovers.entry(reason).or_default() += 1;
    }

    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &Self) {
        self.seeds += other.seeds;
        self.simulated_ms += other.simulated_ms;
        self.calls += other.calls;
        self.appends += other.appends;
        self.large_appends += other.large_appends;
        self.trims += other.trims;
        self.submissions += other.submissions;
        self.forwarded += other.forwarded;
        self.views += other.views;
        self.steps += other.steps;
        self.final_steps += other.final_steps;
        self.starts += other.starts;
        self.connections += other.connections;
        self.fenced += other.fenced;
        self.slowest_recovery_ms = self.slowest_recovery_ms.max(other.slowest_recovery_ms);
        for (kind, count) in &other.faults {
            *self.faults.entry(kind).or_default() += count;
        }
        for (reason, count) in &other.takeovers {
            *self.takeovers.entry(reason).or_default() += count;
        }
    }
}

impl std::fmt::Display for ClusterCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            seeds, simulated_ms, calls, appends, large_appends, trims, submissions, forwarded, ..
        } = self;
        let Self { views, steps, final_steps, starts, connections, fenced, slowest_recovery_ms, .. } = self;
        writeln!(
            f,
            "{seeds} cluster seeds: {} s simulated, {calls} calls of the quorum, {appends} appends ({large_appends} of \
             several keys, {fenced} fenced), {trims} removals of old records; {submissions} submissions and {forwarded} forwarded ones, {views} views \
             with {steps} steps compared, {final_steps} steps found in final chains, {starts} starts, {connections} \
             connections; slowest recovery {slowest_recovery_ms} ms",
            simulated_ms / 1_000
        )?;
        for (what, counts) in [("takeovers", &self.takeovers), ("faults", &self.faults)] {
            writeln!(f, "{} {what}:", counts.values().sum::<u64>())?;
            for (name, count) in counts {
                writeln!(f, "  {count:>8}  {name}")?;
            }
        }
        Ok(())
    }
}

//! Result of a check of the quorum store.

use std::{fmt, time::Duration};

use crate::{
    quorum_error::QuorumStoreError,
    quorum_store::{EndpointHash, EndpointStatus, QuorumMember},
};

/// The oldest accepted version of etcd; older ones can return inconsistent data after a crash (etcd #14211).
pub const MIN_ETCD_VERSION: [u64; 3] = [3, 5, 14];

/// Alarm of a member whose database has reached its quota. Every member then rejects writes.
const NO_SPACE: &str = "NOSPACE";

/// Measured duration of appends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppendLatency {
    pub p50: Duration,
    pub p99: Duration,
    pub max: Duration,
}

/// A fault of the quorum store or of its configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuorumFinding {
    /// The member is older than [`MIN_ETCD_VERSION`], or its version is unreadable.
    Version { endpoint: String, version: String },
    /// The cluster has one voting member, so the loss of one machine loses the journal.
    SingleNode,
    /// The members hold different data.
    DifferentHashes { endpoints: Vec<String> },
    /// A member has an alarm. All members report it; `member` is the one that has it: name, URLs and id.
    Alarm { member: String, alarm: String },
    /// The member behind an endpoint reports an error that is no alarm.
    ReportedError { endpoint: String, error: String },
    /// The member did not answer.
    Unreachable { endpoint: String, error: QuorumStoreError },
}

/// Strictness of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckMode {
    Strict,
    /// Accepts old versions and a single node.
    Forced,
}

/// Members of the quorum store with their status, and what is wrong with them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuorumMembership {
    pub members: Vec<QuorumMember>,
    pub statuses: Vec<EndpointStatus>,
    pub findings: Vec<QuorumFinding>,
}

/// Result of a check of the quorum store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuorumReport {
    pub members: Vec<QuorumMember>,
    pub statuses: Vec<EndpointStatus>,
    pub hashes: Vec<EndpointHash>,
    pub appends: AppendLatency,
    pub findings: Vec<QuorumFinding>,
}

impl AppendLatency {
    /// Returns the percentiles of at least one duration, by the nearest rank.
    pub(crate) fn measure(mut durations: Vec<Duration>) -> Option<Self> {
        durations.sort_unstable();
        let rank =
            |percent: usize| durations.get((durations.len() * percent).div_ceil(100).saturating_sub(1));
        Some(Self { p50: *rank(50)?, p99: *rank(99)?, max: *durations.last()? })
    }
}

impl QuorumFinding {
    /// Returns the code of the finding.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Version { .. } => "version",
            Self::SingleNode => "single_node",
            Self::DifferentHashes { .. } => "different_hashes",
            Self::Alarm { .. } | Self::ReportedError { .. } => "alarm",
            Self::Unreachable { .. } => "unreachable",
        }
    }

    /// Returns `true` if the finding concerns how the cluster was set up. Such a finding rejects a start; an alarm
    /// or an unreachable member may pass while the node runs.
    pub fn is_configuration(&self) -> bool {
        matches!(self, Self::Version { .. } | Self::SingleNode)
    }

    /// Returns `true` if a chain must not be produced on this quorum store.
    pub fn is_rejected(&self, mode: CheckMode) -> bool {
        match self {
            Self::Version { .. } | Self::SingleNode => mode == CheckMode::Strict,
            Self::DifferentHashes { .. } | Self::Alarm { .. } | Self::ReportedError { .. } => true,
            Self::Unreachable { .. } => false,
        }
    }
}

impl fmt::Display for QuorumFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version { endpoint, version } => {
                let [major, minor, patch] = MIN_ETCD_VERSION;
                write!(
                    f,
                    "etcd at {endpoint} has version {version}: upgrade to {major}.{minor}.{patch} or newer"
                )
            }
            Self::SingleNode => {
                f.write_str("the etcd cluster has one voting member: add two, so that one machine can fail")
            }
            Self::DifferentHashes { endpoints } => {
                let endpoints = endpoints.join(", ");
                write!(f, "the members of etcd hold different data ({endpoints}): replace the damaged member")
            }
            Self::Alarm { member, alarm } if alarm == NO_SPACE => write!(
                f,
                "the database of etcd member {member} is full ({alarm}), so etcd rejects writes: compact, defragment \
                 this member, then run `etcdctl alarm disarm`"
            ),
            Self::Alarm { member, alarm } => write!(f, "etcd member {member} has the alarm {alarm}"),
            Self::ReportedError { endpoint, error } => write!(f, "etcd at {endpoint} reports: {error}"),
            Self::Unreachable { endpoint, error } => write!(f, "etcd at {endpoint} is not usable: {error}"),
        }
    }
}

impl QuorumReport {
    /// Returns the findings because of which the quorum store is rejected.
    pub fn rejections(&self, mode: CheckMode) -> Vec<&QuorumFinding> {
        self.findings.iter().filter(|finding| finding.is_rejected(mode)).collect()
    }

    /// Returns the size of the largest member's database in bytes.
    pub fn database_bytes(&self) -> u64 {
        let statuses = self.statuses.iter().filter_map(|status| status.status.as_ref().ok());
        statuses.map(|status| status.database_bytes).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let latency = AppendLatency::measure((1..=100).rev().map(Duration::from_millis).collect()).unwrap();
        let milliseconds = Duration::from_millis;
        let expected = AppendLatency { p50: milliseconds(50), p99: milliseconds(99), max: milliseconds(100) };
        assert_eq!(latency, expected);
        assert_eq!(AppendLatency::measure(Vec::new()), None);
    }
}

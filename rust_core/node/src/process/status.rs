//! Status of a node, for `foreseal_status` and health checks.

use std::time::Duration;

use alloy_primitives::{Address, B256};
use foreseal_chain::View;
use foreseal_quorum::QuorumFinding;
use foreseal_replication::{Phase, PoolStart, StoreStatus};

use crate::{clock::clock_lead::MAX_UNREPORTED, cluster::cluster_monitor::ClusterStatus};

/// Status of the node process. The position of the chain is a [`Head`].
#[derive(Clone, Debug)]
pub struct Status {
    pub phase: Phase,
    /// Time since the last tick.
    pub age: Duration,
    pub pool_start: PoolStart,
    /// `true` if ticks are expected.
    pub produces: bool,
    /// `true` if a driver builds the blocks.
    pub driver: bool,
    /// Address that signs the steps made here; `None` if this process makes none.
    pub signer: Option<Address>,
    /// Damage of the store that this process found or that was reported to it. If set, the phase is `Failed`;
    /// reads are still served.
    pub damage: Option<String>,
    /// `None` while the node starts.
    pub store: Option<StoreStatus>,
    /// `true` if a view is published.
    pub shown: bool,
    /// `None` on the process that writes the chain.
    pub following: Option<FollowingStatus>,
    /// `None` if the process works alone.
    pub cluster: Option<ClusterStatus>,
    /// Time by which the newest block that this process sealed is ahead of its clock, as of the last tick.
    pub clock_lead: Duration,
}

/// Condition that an operator should correct although the node works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Warning {
    #[error("the newest block is {} s ahead of the clock; the lead is being worked off", lead.as_secs())]
    AheadOfClock { lead: Duration },
    #[error("the clock is {ahead_ms} ms ahead of those of most members, so that this one does not take over")]
    ClockDiffers { ahead_ms: i64 },
}

impl Warning {
    /// Returns the code of the warning in JSON.
    pub fn code(&self) -> &'static str {
        match self {
            Self::AheadOfClock { .. } => "ahead_of_clock",
            Self::ClockDiffers { .. } => "clock_differs",
        }
    }
}

/// Status of the connection from a follower to its sequencer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FollowingStatus {
    /// Number of appends that the sequencer has announced and that are not applied yet.
    pub lag: u64,
    /// Number of times the replica was loaded from the store: once at first, then again whenever its cursor
    /// became invalid.
    pub chain_loads: u64,
    /// Phase of the sequencer in its newest status message.
    pub sequencer: Option<Phase>,
    /// Time since the last frame from the sequencer.
    pub time_since_frame: Duration,
}

impl FollowingStatus {
    /// Returns the status of a node that starts: it will follow another one, and has no connection.
    pub(crate) fn starting(time_since_frame: Duration) -> Self {
        Self { lag: 0, chain_loads: 0, sequencer: None, time_since_frame }
    }
}

/// Position of the newest step of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Number of the block being built.
    pub block: u64,
    /// Index of its newest step.
    pub index: u64,
    pub hash: B256,
    pub latest: u64,
    pub safe: u64,
    pub finalized: u64,
}

impl From<&View> for Head {
    fn from(view: &View) -> Self {
        Self {
            block: view.pending().number(),
            index: view.pending_index(),
            hash: view.pending().block.hash,
            latest: view.latest().number(),
            safe: view.safe(),
            finalized: view.finalized(),
        }
    }
}

impl Status {
    /// Returns the conditions that an operator should correct.
    pub fn warnings(&self) -> Vec<Warning> {
        let lead = Some(self.clock_lead).filter(|lead| *lead > MAX_UNREPORTED);
        let difference = self.cluster.as_ref().and_then(|cluster| cluster.clock_difference);
        let lead = lead.map(|lead| Warning::AheadOfClock { lead });
        lead.into_iter().chain(difference.map(|ahead_ms| Warning::ClockDiffers { ahead_ms })).collect()
    }

    /// Checks that the node can be relied on. A node that only serves has no ticks, so it cannot be late.
    ///
    /// # Errors
    /// Returns the reason if production failed, the node is stopped, the last tick is older than `limit`, or the
    /// members of the quorum store hold different data.
    pub fn healthy(&self, limit: Duration) -> Result<(), String> {
        let quorum = self.cluster.as_ref().and_then(|cluster| cluster.quorum.as_ref());
        let mut findings = quorum.iter().flat_map(|quorum| &quorum.findings);
        // An alarm alone stops nothing, but it is the cause of what it stops.
        let alarm = findings.clone().find(|finding| matches!(finding, QuorumFinding::Alarm { .. }));
        self.current(limit).map_err(|reason| match alarm {
            Some(alarm) => format!("{reason}; {alarm}"),
            None => reason,
        })?;
        let damage = findings.find(|finding| matches!(finding, QuorumFinding::DifferentHashes { .. }));
        damage.map_or(Ok(()), |finding| Err(finding.to_string()))
    }

    /// Checks that the node does its work.
    fn current(&self, limit: Duration) -> Result<(), String> {
        match &self.phase {
            Phase::Failed(reason) => Err(format!("production stopped: {reason}")),
            Phase::Stopped => Err("the node is stopped".to_owned()),
            Phase::Producing if self.age > limit => {
                let what = if self.driver { "last call of the driver" } else { "last tick" };
                Err(format!("{what} {} ms ago, limit {} ms", self.age.as_millis(), limit.as_millis()))
            }
            Phase::Following | Phase::Disconnected(_) => self.followed(limit),
            Phase::Producing | Phase::Serving | Phase::Replaying { .. } => Ok(()),
        }
    }

    /// Performs the checks of [`Self::current`] that concern a follower: its data is as fresh as the frames
    /// that it receives.
    fn followed(&self, limit: Duration) -> Result<(), String> {
        let Some(following) = &self.following else { return Ok(()) };
        if let Some(Phase::Failed(reason)) = &following.sequencer {
            return Err(format!("production stopped: {reason}"));
        }
        let lost = match (&self.phase, &following.sequencer) {
            (Phase::Disconnected(reason), _) => format!("; the sequencer is not reachable: {reason}"),
            (_, Some(Phase::Disconnected(reason))) => {
                format!("; the followed node does not reach the sequencer: {reason}")
            }
            _ => String::new(),
        };
        let (late, what) = if self.produces {
            (self.age, "last tick")
        } else {
            (following.time_since_frame, "last heartbeat of the sequencer")
        };
        if late <= limit {
            return Ok(());
        }
        Err(format!("{what} {} ms ago, limit {} ms{lost}", late.as_millis(), limit.as_millis()))
    }

    /// Checks that the node answers with current data. It does so even if the members of the quorum store hold
    /// different data.
    pub fn ready(&self, limit: Duration) -> Result<(), String> {
        if let Phase::Replaying { records } = self.phase {
            return Err(format!("replaying the journal: {records} records so far"));
        }
        if let (Phase::Disconnected(reason), false) = (&self.phase, self.shown) {
            return Err(format!("the sequencer is not reachable: {reason}"));
        }
        self.current(limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::cluster_monitor::{ClusterRole, QuorumStatus};

    const LIMIT: Duration = Duration::from_secs(1);

    fn leader(findings: Vec<QuorumFinding>) -> Status {
        let quorum = QuorumStatus {
            is_answering: true,
            silence: Duration::ZERO,
            last_error: None,
            retained_bytes: 0,
            findings,
        };
        let cluster = ClusterStatus {
            role: ClusterRole::Leader,
            name: "a".to_owned(),
            owner: None,
            head: None,
            quorum: Some(quorum),
            last_takeover: None,
            clock_difference: None,
        };
        Status {
            phase: Phase::Producing,
            age: Duration::ZERO,
            pool_start: PoolStart::New,
            produces: true,
            driver: false,
            signer: None,
            damage: None,
            store: None,
            shown: true,
            following: None,
            cluster: Some(cluster),
            clock_lead: Duration::ZERO,
        }
    }

    #[test]
    fn members_with_different_data_turn_health_red_and_leave_the_node_ready() {
        let status = leader(vec![QuorumFinding::DifferentHashes { endpoints: vec!["a:2379".to_owned()] }]);
        let reason = status.healthy(LIMIT).unwrap_err();
        assert!(reason.contains("a:2379"), "{reason}");
        assert_eq!(status.ready(LIMIT), Ok(()));
    }

    #[test]
    fn an_alarm_is_named_as_the_cause_of_late_ticks() {
        let member = "a (http://a:2379, 8e9e)".to_owned();
        let status = leader(vec![QuorumFinding::Alarm { member, alarm: "NOSPACE".to_owned() }]);
        assert_eq!(status.healthy(LIMIT), Ok(()));
        let late = Status { age: Duration::from_millis(1001), ..status };
        let reason = late.healthy(LIMIT).unwrap_err();
        let cause = "the database of etcd member a (http://a:2379, 8e9e) is full (NOSPACE)";
        assert!(reason.starts_with("last tick 1001 ms ago") && reason.contains(cause), "{reason}");
    }

    #[test]
    fn a_stale_follower_names_the_lost_connection_here_or_at_the_followed_node() {
        let lost = Phase::Disconnected("no valid token".to_owned());
        let following = |sequencer| FollowingStatus {
            lag: 0,
            chain_loads: 1,
            sequencer: Some(sequencer),
            time_since_frame: Duration::ZERO,
        };
        let follower = |phase, sequencer, age| Status {
            phase,
            age,
            following: Some(following(sequencer)),
            ..leader(Vec::new())
        };
        let late = Duration::from_millis(1001);
        for status in
            [follower(lost.clone(), Phase::Producing, late), follower(Phase::Following, lost.clone(), late)]
        {
            let reason = status.healthy(LIMIT).unwrap_err();
            assert!(
                reason.starts_with("last tick 1001 ms ago") && reason.contains("no valid token"),
                "{reason}"
            );
            assert_eq!(status.ready(LIMIT), Err(reason));
        }
        assert_eq!(follower(Phase::Following, lost, LIMIT).healthy(LIMIT), Ok(()), "its steps are new");
    }

    #[test]
    fn other_findings_leave_health_green() {
        assert_eq!(leader(vec![QuorumFinding::SingleNode]).healthy(LIMIT), Ok(()));
    }
}

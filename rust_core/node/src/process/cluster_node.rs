//! A node as a part of a cluster: status and planned handover.

use std::time::Duration;

use foreseal_quorum::RunId;
use foreseal_replication::{FollowerStatus, wire::FollowerRole};

use crate::{
    cluster::{
        cluster_monitor::{ClusterRole, ClusterStatus, newest_epoch},
        takeover::demote,
    },
    errors::production_error::ControlError,
    process::node::{Node, NodeRole},
    settings::Role,
};

/// Time that a handover waits for the append in progress.
const HANDOVER_WAIT: Duration = Duration::from_secs(1);

/// Result of a planned handover.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handover {
    /// Name of the standby that takes over; `None` if none was connected and up to date.
    pub successor: Option<String>,
    /// `false` if the quorum has not confirmed the release: then standbys take over after the usual silence.
    pub confirmed: bool,
}

impl Node {
    /// Returns the status of this process in its cluster; `None` if it works alone.
    pub fn cluster_status(&self) -> Option<ClusterStatus> {
        let now = self.now().monotonic;
        if let NodeRole::Writer(writing) = &self.part
            && let Some(monitor) = writing.monitor.get()
        {
            let limit = self.shared.leadership.max_unconfirmed().unwrap_or_default();
            return Some(monitor.status(self.shared.leadership.leads(), now, limit));
        }
        let owner = self.following().and_then(|client| client.sequencer_report()?.owner);
        let role = match &self.settings().role {
            Role::Replica { .. } => ClusterRole::Replica,
            // A member that starts follows until it acquires the ownership.
            Role::Sequencer { .. } if self.settings().cluster.quorum.is_some() => ClusterRole::Standby,
            Role::Worker { .. } if owner.is_some() => ClusterRole::Worker,
            Role::Sequencer { .. } | Role::Worker { .. } => return None,
        };
        Some(ClusterStatus {
            role,
            name: self.settings().cluster.name.clone(),
            owner,
            head: None,
            quorum: None,
            last_takeover: None,
            clock_difference: None,
        })
    }

    /// Returns the number of the ownership under which the newest view was made, as far as this process has
    /// heard; 0 without a quorum journal.
    pub fn owner_epoch(&self) -> u64 {
        let monitor = match &self.part {
            NodeRole::Writer(writing) => writing.monitor.get(),
            NodeRole::Worker(_) => None,
        };
        newest_epoch(monitor, self.following())
    }

    /// Hands the chain over to the standby that is most up to date, and follows it from then on. Without a
    /// connected standby, any member may take over at once.
    ///
    /// # Errors
    /// Returns [`ControlError::NoQuorum`] without a quorum journal, and [`ControlError::Follower`] if this
    /// process does not write the chain.
    pub fn hand_over(&self) -> Result<Handover, ControlError> {
        let NodeRole::Writer(writing) = &self.part else { return Err(ControlError::Follower) };
        if writing.monitor.get().is_none() {
            return Err(ControlError::NoQuorum);
        }
        let mut standbys = self.followers();
        standbys.retain(|follower| follower.role == FollowerRole::Standby);
        standbys.sort_by_key(|standby| standby.lag);
        let successor: Option<&FollowerStatus> = standbys.first();
        let released = writing.control.run_within(HANDOVER_WAIT, &self.shared, |sequencer| {
            let released = sequencer.producer.writer.release(successor.map(|standby| RunId(standby.run_id)));
            demote(sequencer, "handed over");
            Ok(released)
        })?;
        let confirmed = released.is_ok();
        if let Err(error) = released {
            tracing::warn!(%error, "the release of the chain was not confirmed");
        }
        Ok(Handover { successor: successor.map(|standby| standby.name.clone()), confirmed })
    }
}

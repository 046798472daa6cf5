//! The loop of a member of a cluster: ticks while it leads, polls while it follows.

use std::{sync::Arc, time::Duration};

use foreseal_chain::ClockReading;
use foreseal_quorum::BeatSender;
use parking_lot::Mutex;

use crate::{
    cluster::member::ClusterMember,
    control::producer::Producer,
    errors::{node_error::NodeError, production_error::ProductionError},
};

/// Loop of a member of a cluster. [`Node::start`](crate::Node::start) runs it on a thread; a test that owns
/// the clock runs it itself.
pub struct MemberLoop {
    member: ClusterMember,
    producer: Producer,
}

impl MemberLoop {
    pub(crate) fn new(member: ClusterMember, producer: Producer) -> Self {
        Self { member, producer }
    }

    /// Returns `true` while this member writes the chain: then it is ticked, otherwise polled.
    pub fn leads(&self) -> bool {
        self.member.leads()
    }

    /// Watches the owner of the chain once, and takes over from a silent one. Returns the time until the next
    /// call.
    ///
    /// # Errors
    /// Returns an error that only an operator can solve.
    pub fn poll(&mut self) -> Result<Duration, NodeError> {
        Ok(self.member.poll()?)
    }

    /// Runs one tick: see [`Producer::tick`]. A member that lost the ownership follows from then on.
    ///
    /// # Errors
    /// An error ends production.
    pub fn tick(&mut self, now: ClockReading, keep_going: &mut dyn FnMut() -> bool) -> Result<(), NodeError> {
        match self.producer.tick(now, keep_going) {
            Err(error) if error.is_loss_of_ownership() => self.member.demote(&error.to_string()),
            // Another member may have the right time.
            Err(error @ ProductionError::AheadOfClock { .. }) => self.member.resign(&error.to_string()),
            ticked => ticked?,
        }
        self.member.register();
        Ok(())
    }

    /// Proves between two ticks that this member still writes the chain.
    ///
    /// # Errors
    /// An error ends production.
    pub fn beat(&mut self) -> Result<(), NodeError> {
        match self.producer.beat() {
            Err(error) if error.is_loss_of_ownership() => self.member.demote(&error.to_string()),
            done => done?,
        }
        Ok(())
    }

    /// Returns the sender of beats for long ticks.
    pub(crate) fn beats(&self) -> Arc<Mutex<Option<BeatSender>>> {
        self.member.beats()
    }

    /// Limits the time of a transaction: see [`Producer::limit_transaction_time`].
    pub fn limit_transaction_time(&self, limit: Duration) {
        self.producer.limit_transaction_time(limit);
    }

    /// Returns the time budget for selecting transactions within a step.
    pub(crate) fn budget(&self) -> Duration {
        self.producer.budget()
    }

    /// Gives the ownership up after an error, so that a standby need not wait for the silence.
    pub(crate) fn resign(&mut self, reason: &str) {
        if self.leads() {
            self.member.resign(reason);
        }
    }

    /// Removes the entry of this member from the cluster at a clean stop.
    pub(crate) fn unregister(&self) {
        self.member.unregister();
    }
}

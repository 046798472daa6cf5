//! A member of a cluster while it follows: it watches the owner and takes over from a silent one.

use std::{fmt, sync::Arc, time::Duration};

use foreseal_journal::JournalReader;
use foreseal_quorum::{
    BeatSender, FeedPort, MemberClocks, MemberEntry, Observation, Owner, QuorumLog, QuorumWriter, Silence,
    SilenceDetector, SilenceReason,
};
use foreseal_replication::{FeedAddress, FollowerClient};
use parking_lot::Mutex;

use crate::{
    cluster::{cluster_monitor::ClusterMonitor, feed_probe::FeedProbe},
    control::sequencer::Sequencer,
    errors::{cluster_error::ClusterError, production_error::ProductionError},
    shared::shared_state::SharedState,
};

/// Interval between reads of owner, beat and head.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Interval between updates of the entry of this member.
const REGISTER_INTERVAL: Duration = Duration::from_secs(5);
/// Interval between readings of the clocks of the others, while the owner is active.
const CLOCK_INTERVAL: Duration = Duration::from_millis(500);
/// Time without the feed after which the member executes the quorum's tail.
const FEED_GRACE: Duration = Duration::from_millis(300);

/// Components of a member.
pub(crate) struct MemberParts {
    pub log: QuorumLog,
    pub writer: Arc<Mutex<QuorumWriter>>,
    pub sequencer: Arc<Mutex<Sequencer>>,
    pub client: Arc<FollowerClient>,
    pub shared: Arc<SharedState>,
    pub monitor: Arc<ClusterMonitor>,
    /// Reader of the own journal.
    pub journal_reader: JournalReader,
    /// This process as an owner; the epoch is set when it acquires the ownership.
    pub profile: Owner,
    /// `true` only takes over from an owner.
    pub standby: bool,
    /// Probe of the feed of a silent owner; `None` in a simulation, which has no ports.
    pub probe: Option<FeedProbe>,
}

/// A member of a cluster.
pub(crate) struct ClusterMember {
    pub(crate) parts: MemberParts,
    detector: SilenceDetector,
    registered: Option<Duration>,
    /// Time since which nothing was added here although the quorum has more, and the next sequence number since then.
    behind: Option<(Duration, u64)>,
    /// Reason that was logged last.
    warned: Option<String>,
    /// Feed address of an owner that was logged as unusable.
    unusable: Option<String>,
    /// Clocks of the other members, and the time of their last reading.
    clocks: MemberClocks,
    clocks_read: Option<Duration>,
}

impl ClusterMember {
    pub fn new(parts: MemberParts) -> Self {
        let detector = SilenceDetector::new(parts.profile.run_id);
        let clocks = MemberClocks::new(parts.profile.run_id);
        Self {
            parts,
            detector,
            registered: None,
            behind: None,
            warned: None,
            unusable: None,
            clocks,
            clocks_read: None,
        }
    }

    /// Returns `true` while this member writes the chain.
    pub fn leads(&self) -> bool {
        self.parts.shared.leadership.leads()
    }

    fn now(&self) -> Duration {
        self.parts.shared.clock.monotonic()
    }

    /// Watches the owner once, and takes over from a silent one. Returns the time until the next call.
    ///
    /// # Errors
    /// Returns an error that only an operator can solve.
    pub fn poll(&mut self) -> Result<Duration, ClusterError> {
        if let Some(reason) = self.parts.shared.health.failure() {
            // A member that cannot write its own journal must not become the owner.
            return Err(ProductionError::Halted(reason).into());
        }
        let began = self.now();
        let observed = match self.parts.log.observe() {
            Ok(observed) => observed,
            Err(error) => {
                self.warn(&error);
                return Ok(POLL_INTERVAL);
            }
        };
        let answered = self.now();
        let (owner, head) = (observed.owner.as_ref(), observed.head.map(|entry| entry.head));
        self.parts.monitor.observed(owner.map(|entry| entry.owner.clone()), head, self.now());
        let port = self.follow_owner(owner.map(|entry| &entry.owner));
        let silence = self.detector.record(answered, &observed, port);
        let done = match silence {
            Silence::Active { .. } => {
                self.read_clocks();
                self.stay_current(&observed)
            }
            // An acquisition whose outcome was unknown has succeeded.
            Silence::Own => self.attempt(&observed, SilenceReason::NoWrites),
            Silence::Silent(SilenceReason::NoOwner) if self.parts.standby => {
                self.warn(&"the chain has no owner, and a standby does not begin it");
                return Ok(POLL_INTERVAL);
            }
            Silence::Silent(reason) => match self.unfit_clock() {
                None => self.attempt(&observed, reason),
                Some(reason) => {
                    self.warn(&reason);
                    self.register();
                    return Ok(POLL_INTERVAL);
                }
            },
        };
        self.register();
        match done {
            Err(error) if error.is_transient() => self.warn(&error),
            Err(error) => return Err(error),
            Ok(()) => {
                self.parts.monitor.set_error(None);
                self.warned = None;
            }
        }
        Ok(POLL_INTERVAL.saturating_sub(self.now().saturating_sub(began)))
    }

    /// Logs a reason for which this member waits, once for a series of equal ones.
    fn warn(&mut self, reason: &dyn fmt::Display) {
        let reason = reason.to_string();
        if self.warned.as_ref() != Some(&reason) {
            tracing::warn!(reason, "waiting for the quorum journal");
        }
        self.parts.monitor.set_error(Some(reason.clone()));
        self.warned = Some(reason);
    }

    fn attempt(&mut self, observed: &Observation, reason: SilenceReason) -> Result<(), ClusterError> {
        self.take_over(observed, reason)?;
        if self.leads() {
            self.detector = SilenceDetector::new(self.parts.profile.run_id);
            self.registered = None;
            self.register();
        }
        Ok(())
    }

    /// Returns the reason for which the clock of this member must not time blocks.
    fn unfit_clock(&self) -> Option<String> {
        let now = self.parts.shared.clock.now();
        if let Some(error) = self.parts.sequencer.lock().producer.excessive_lead(now) {
            return Some(error.to_string());
        }
        let ahead_ms = self.clocks.disagreement(now)?;
        Some(format!("the clock of this member is {ahead_ms} ms ahead of those of most members: correct it"))
    }

    /// Compares the clock with those of the other members, if that is due. Not while the owner is silent: a slow answer
    /// would delay the takeover.
    fn read_clocks(&mut self) {
        let began = self.now();
        if self.clocks_read.is_some_and(|at| began.saturating_sub(at) < CLOCK_INTERVAL) {
            return;
        }
        self.clocks_read = Some(began);
        match self.parts.log.members() {
            Ok(members) => self.clocks.record(members, began, self.parts.shared.clock.now()),
            Err(error) => tracing::debug!(%error, "cannot read the clocks of the members"),
        }
        let ahead_ms = self.clocks.disagreement(self.parts.shared.clock.now());
        self.parts.monitor.set_clock_difference(ahead_ms);
    }

    /// Follows the feed of the owner, unless that is this process. Returns the state of its port.
    fn follow_owner(&mut self, owner: Option<&Owner>) -> FeedPort {
        let followed = owner.filter(|owner| !self.is_own_feed(owner));
        let address = followed.and_then(|owner| self.feed_address(owner));
        self.parts.client.set_addresses(address.iter().cloned().collect());
        let is_connected = self.parts.client.connected_address().is_some();
        match (&mut self.parts.probe, address) {
            // An earlier run of this process has ended.
            (Some(_), None) if owner.is_some() && followed.is_none() => FeedPort::Refused,
            (Some(probe), Some(address)) if !is_connected => probe.probe(&address),
            _ => FeedPort::Unknown,
        }
    }

    /// Returns the address of the owner's feed; `None`, logged once, if it is not usable.
    fn feed_address(&mut self, owner: &Owner) -> Option<FeedAddress> {
        match FeedAddress::parse(&owner.feed) {
            Ok(address) => Some(address),
            Err(error) => {
                if self.unusable.as_ref() != Some(&owner.feed) {
                    tracing::warn!(%error, "the owner of the chain has no usable feed address");
                    self.unusable = Some(owner.feed.clone());
                }
                None
            }
        }
    }

    /// Returns `true` if the owner is this process, or an earlier run of it.
    fn is_own_feed(&self, owner: &Owner) -> bool {
        let own = &self.parts.profile;
        let is_earlier_run = owner.name == own.name && !own.feed.is_empty() && owner.feed == own.feed;
        owner.run_id == own.run_id || is_earlier_run
    }

    /// Returns the sender of beats for long ticks.
    pub fn beats(&self) -> Arc<Mutex<Option<BeatSender>>> {
        self.parts.writer.lock().beats()
    }

    /// Executes the quorum's tail while the feed of the owner adds nothing, connected or not.
    fn stay_current(&mut self, observed: &Observation) -> Result<(), ClusterError> {
        let Some(head) = observed.head.map(|entry| entry.head) else { return Ok(()) };
        let now = self.now();
        let next = self.parts.sequencer.lock().producer.writer.next_sequence();
        if next > head.sequence.saturating_add(1) {
            // An error, unless the feed was faster than the observation.
            self.is_current(Some(head))?;
        }
        if next > head.sequence {
            self.behind = None;
            return Ok(());
        }
        let (since, _) =
            *self.behind.insert(self.behind.filter(|(_, at)| *at == next).unwrap_or((now, next)));
        if now.saturating_sub(since) < FEED_GRACE { Ok(()) } else { self.catch_up(head.sequence) }
    }

    /// Updates the entry of this member if that is due. Failures are repeated at the next call.
    pub fn register(&mut self) {
        let now = self.now();
        if self.registered.is_some_and(|at| now.saturating_sub(at) < REGISTER_INTERVAL) {
            return;
        }
        let entry = self.entry();
        match self.parts.log.register(&entry) {
            Ok(()) => self.registered = Some(now),
            Err(error) => tracing::debug!(%error, "cannot register this member"),
        }
    }

    /// Returns the entry of this member.
    fn entry(&self) -> MemberEntry {
        let Owner { run_id, name, feed, rpc, version, .. } = self.parts.profile.clone();
        let role = if self.leads() { "leader" } else { "standby" };
        let next = self.parts.sequencer.lock().producer.writer.next_sequence();
        let unix = self.parts.shared.clock.now().unix.as_millis();
        let updated = u64::try_from(unix).unwrap_or(u64::MAX);
        MemberEntry { run_id, name, role: role.to_owned(), feed, rpc, version, next, updated }
    }

    /// Removes the entry of this member, which no longer needs any records.
    pub fn unregister(&self) {
        if let Err(error) = self.parts.log.unregister(&self.entry().key_name()) {
            tracing::debug!(%error, "cannot remove the entry of this member");
        }
    }
}

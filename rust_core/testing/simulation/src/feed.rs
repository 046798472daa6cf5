//! Followers, their connections to the sequencer, and the order in which their threads run.

use std::sync::{Arc, Mutex};

use foreseal_node::{Node, NodeEnvironment, Role, Settings};
use foreseal_replication::{
    ConnectionError, ManualServer, RingLimits,
    wire::{Ending, WireError},
};
use foreseal_simulated_disk::SimulatedDisk;
use foreseal_state::StateError;
use rand::{Rng, rngs::StdRng};

use crate::{
    counts::Counts,
    follower::{Follower, Sent, SubmissionOutcome},
    ledger::Check,
    pipe::{Pipe, Ready},
    readers::{Client, HeldView},
    view_digests::ViewDigests,
    world::{Clocks, FaultPlan, NodeProbe},
};

/// Maximum number of frames that a thread receives in a round.
const HEARD: usize = 64;

/// Both directions of a connection.
#[derive(Clone)]
pub struct Connection {
    pub down: Pipe,
    pub up: Pipe,
}

/// A connection on the sequencer's side.
struct Link {
    slot: usize,
    connection: Connection,
    /// Server of the follower; `None` until its greeting has arrived.
    serves: Option<ManualServer>,
}

/// Slot for a follower and its readers.
#[derive(Default)]
pub struct FollowerSlot {
    pub follower: Option<Follower>,
    pub connection: Option<Connection>,
    /// Number of rounds in which nothing arrives at the follower.
    pub slow: u64,
    pub client: Option<Client>,
    pub held: Vec<HeldView>,
    pub answered: Vec<(Sent, SubmissionOutcome)>,
}

/// Environment of the followers.
pub struct FeedEnvironment<'w> {
    /// The sequencer, while it runs.
    pub sequencer: Option<&'w Arc<Node>>,
    pub settings: &'w Settings,
    pub clocks: &'w Arc<Clocks>,
    pub disk: &'w SimulatedDisk,
    pub fault_plan: &'w Arc<Mutex<FaultPlan>>,
    /// `true` while the store has no block.
    pub empty: bool,
    /// `true` if the journal no longer contains the beginning of the chain.
    pub trimmed: bool,
}

/// All followers and their connections.
pub struct Feed {
    pub ring: RingLimits,
    pub slots: Vec<FollowerSlot>,
    links: Vec<Link>,
    pub published: Arc<ViewDigests>,
    /// `true` if a transaction, once it is in the pool or the view, stays in one of the two.
    lasting: bool,
    pub counts: Counts,
    pub notes: Vec<String>,
}

/// Draws the number of bytes that arrive in a round; `usize::MAX` delivers all of them.
fn some(random: &mut StdRng, all: bool, most: usize) -> usize {
    if all || random.random_bool(0.4) { usize::MAX } else { random.random_range(0..=most) }
}

impl Feed {
    pub fn new(followers: usize, frames: usize, published: Arc<ViewDigests>, lasting: bool) -> Self {
        Self {
            ring: RingLimits { bytes: 1 << 20, frames },
            slots: (0..followers).map(|_| FollowerSlot::default()).collect(),
            links: Vec::new(),
            published,
            lasting,
            counts: Counts::default(),
            notes: Vec::new(),
        }
    }

    fn record(&mut self, at: usize, what: &str) {
        self.notes.push(format!("  follower {at}: {what}"));
    }

    /// Runs a round in which every thread may run one iteration. With `all`, every thread runs as long as it
    /// has work.
    pub fn round(&mut self, world: &FeedEnvironment<'_>, random: &mut StdRng, all: bool) -> Check {
        for at in 0..self.slots.len() {
            // A store that was first opened read-only cannot be opened for writing in the same process. The
            // sequencer therefore opens it first.
            let may_begin = self.slots[at].follower.is_none() && world.sequencer.is_some();
            if may_begin && (all || random.random_bool(0.4)) {
                self.begin(at, world)?;
            }
            if all || random.random_bool(0.85) {
                self.flow(at, world, random, all)?;
            }
        }
        Ok(())
    }

    /// Starts a follower's process.
    pub fn begin(&mut self, at: usize, world: &FeedEnvironment<'_>) -> Check {
        let role = Role::Worker { feed: "feed".into(), name: format!("follower {at}") };
        let settings = Settings { role, ..world.settings.clone() };
        let none = || Box::new(|| alloy_primitives::B256::ZERO);
        let environment = NodeEnvironment {
            clock: world.clocks.clone(),
            randomness: none(),
            secret: none(),
            disk: Arc::new(world.disk.clone()),
        };
        let node = Node::open(settings, environment).map_err(|error| format!("a follower: {error}"))?;
        let watch = Arc::new(NodeProbe::for_follower(world.disk.clone(), world.fault_plan.clone()));
        self.slots[at].follower = Some(Follower::new(node, watch, self.ring)?);
        self.counts.followers += 1;
        Ok(())
    }

    /// Runs both sides of a follower's connection for one round.
    fn flow(&mut self, at: usize, world: &FeedEnvironment<'_>, random: &mut StdRng, all: bool) -> Check {
        if self.slots[at].follower.is_some() && self.slots[at].connection.is_none() {
            self.connect(at, world, random)?;
        }
        if let Some(connection) = &self.slots[at].connection {
            connection.up.arrive(some(random, all, 60));
        }
        self.serve(at, world, random, all);
        let slot = &mut self.slots[at];
        slot.slow = if all { 0 } else { slot.slow.saturating_sub(1) };
        if let (Some(connection), 0) = (&slot.connection, slot.slow) {
            connection.down.arrive(some(random, all, 900));
        }
        self.receive(at, world, random, all)?;
        if all || random.random_bool(0.5) {
            self.send_due(at);
        }
        self.answers(at)
    }

    fn connect(&mut self, at: usize, world: &FeedEnvironment<'_>, random: &mut StdRng) -> Check {
        let slot = &mut self.slots[at];
        let Some(follower) = &mut slot.follower else { return Ok(()) };
        if world.sequencer.is_none() {
            follower.follows.connection_failed(std::io::ErrorKind::ConnectionRefused.into());
            return follower.poll(&self.published);
        }
        let hello = match follower.follows.greet() {
            Ok(hello) => hello,
            Err(why) if world.empty => {
                self.record(at, &why.to_string());
                return Ok(());
            }
            Err(why) => return Err(format!("a follower cannot begin: {why}")),
        };
        let connection = Connection { down: Pipe::new(random.random()), up: Pipe::new(random.random()) };
        std::io::Write::write_all(&mut connection.up.clone(), &hello).map_err(|error| error.to_string())?;
        self.links.push(Link { slot: at, connection: connection.clone(), serves: None });
        slot.connection = Some(connection);
        self.counts.connections += 1;
        Ok(())
    }

    /// Runs the sequencer's threads for the connections of a slot.
    fn serve(&mut self, at: usize, world: &FeedEnvironment<'_>, random: &mut StdRng, all: bool) {
        let Some(sequencer) = world.sequencer else { return };
        let mut links = std::mem::take(&mut self.links);
        links.retain_mut(|link| {
            if link.slot != at {
                return true;
            }
            let ended = link.run_once(sequencer, random, all).err();
            if let Some(why) = &ended {
                self.record(at, &format!("the sequencer leaves it: {why}"));
                if why.contains(&Ending::FellBehind.to_string()) {
                    self.counts.fault("follower falls behind the ring");
                }
                if why.contains(&Ending::CursorGone.to_string()) {
                    self.counts.fault("follower's cursor is gone");
                }
                link.hang_up();
            }
            ended.is_none()
        });
        self.links = links;
    }

    /// Runs the receiving thread of a follower, and checks its view after every frame.
    fn receive(&mut self, at: usize, world: &FeedEnvironment<'_>, random: &mut StdRng, all: bool) -> Check {
        for _ in 0..HEARD {
            let slot = &mut self.slots[at];
            let (Some(follower), Some(connection)) = (&mut slot.follower, &slot.connection) else { break };
            if connection.down.ready() == Ready::Not || !(all || random.random_bool(0.9)) {
                break;
            }
            let connection = connection.clone();
            let heard = follower.receive(&mut connection.down.clone(), self.lasting)?;
            self.counts.frames += 1;
            match heard {
                None => self.end(at, usize::MAX),
                Some(Ok(())) => follower.poll(&self.published)?,
                Some(Err(why)) => {
                    follower.poll(&self.published)?;
                    self.lose(at, &why.to_string());
                    explain(&why, connection.down.is_mangled(), world.trimmed)?;
                }
            }
        }
        Ok(())
    }

    /// Runs one iteration of the sending thread of a follower.
    fn send_due(&mut self, at: usize) {
        let slot = &mut self.slots[at];
        let (Some(follower), Some(connection)) = (&mut slot.follower, &slot.connection) else { return };
        if connection.up.is_full() {
            return;
        }
        if let Err(why) = follower.follows.send_due(&mut connection.up.clone()) {
            self.lose(at, &why.to_string());
        }
    }

    /// Closes the connection of a follower.
    fn lose(&mut self, at: usize, why: &str) {
        self.record(at, why);
        if let Some(connection) = self.slots[at].connection.take() {
            connection.up.close();
            connection.down.close();
        }
    }

    fn answers(&mut self, at: usize) -> Check {
        let slot = &mut self.slots[at];
        if let Some(follower) = &mut slot.follower {
            slot.answered.extend(follower.answers(self.lasting)?);
        }
        Ok(())
    }

    /// Ends a follower's process; at most `retained` of its bytes in flight to the sequencer still arrive.
    pub fn end(&mut self, at: usize, retained: usize) {
        if let Some(follower) = self.slots[at].follower.take() {
            let unknown = follower.into_sent().map(|sent| (sent, SubmissionOutcome::Unknown));
            self.slots[at].answered.extend(unknown);
            self.record(at, "its process ends");
        }
        let slot = &mut self.slots[at];
        slot.held.clear();
        if let Some(connection) = slot.connection.take() {
            connection.up.cut(retained, false);
            connection.down.close();
        }
    }

    /// Ends the sequencer's process. Its threads may run one more iteration, and some of the bytes in flight
    /// arrive.
    pub fn sequencer_ends(&mut self, random: &mut StdRng) {
        for link in &mut self.links {
            if let Some(serves) = &mut link.serves
                && random.random_bool(0.5)
            {
                let _ = crate::quietly(|| serves.run_once());
            }
            let retained = link.connection.down.in_flight();
            let retained = some(random, false, retained);
            if link.connection.down.cut(retained, random.random_bool(0.3)) {
                self.counts.fault("sequencer ends in the middle of a frame");
            } else {
                self.counts.fault("sequencer ends under a follower");
            }
            link.connection.up.close();
        }
        self.links.clear();
    }

    /// Ends all followers' processes, as the machine stops.
    pub fn machine_ends(&mut self) {
        for at in 0..self.slots.len() {
            self.end(at, 0);
        }
    }

    /// Lets every wait on a silent connection time out.
    pub fn time_out(&mut self) {
        for connection in self.links.iter().map(|link| &link.connection) {
            connection.down.time_out();
            connection.up.time_out();
        }
        for connection in self.slots.iter().filter_map(|slot| slot.connection.as_ref()) {
            connection.down.time_out();
            connection.up.time_out();
        }
    }
}

/// Checks that a connection ended for an allowed reason. `mangled` is `true` if frames of it were lost,
/// duplicated or reordered.
pub fn explain(why: &ConnectionError, mangled: bool, trimmed: bool) -> Check {
    let allowed = match why {
        ConnectionError::Ended(Ending::CursorGone) => trimmed,
        ConnectionError::Ended(_)
        | ConnectionError::Io(_)
        | ConnectionError::Closed
        | ConnectionError::Wire(WireError::Io(_) | WireError::Silent { .. }) => true,
        // The store was unwound before the follower received the unwind.
        ConnectionError::Copy(error) => {
            mangled || error.to_string().contains(&StateError::ViewGone.to_string())
        }
        _ => mangled,
    };
    if allowed { Ok(()) } else { Err(format!("a follower leaves its sequencer: {why}")) }
}

impl Link {
    fn run_once(&mut self, sequencer: &Node, random: &mut StdRng, all: bool) -> Result<(), String> {
        let Connection { down, up } = &self.connection;
        let Some(serves) = &mut self.serves else {
            if up.ready() == Ready::Yes {
                let greeted = sequencer.serve_manual(&mut up.clone(), Box::new(down.clone()));
                self.serves = Some(greeted?);
            }
            return Ok(());
        };
        let mut open = true;
        for _ in 0..HEARD {
            if !open || up.ready() == Ready::Not || !(all || random.random_bool(0.8)) {
                break;
            }
            open = serves.receive(&mut up.clone());
        }
        if down.is_full() {
            // The writer waits, and fails once the wait has timed out.
            return if open && !down.is_timed_out() { Ok(()) } else { Err("it does not take".to_owned()) };
        }
        if !open || all || random.random_bool(0.8) { serves.run_once() } else { Ok(()) }
    }

    fn hang_up(&self) {
        self.connection.down.close();
        self.connection.up.close();
    }
}

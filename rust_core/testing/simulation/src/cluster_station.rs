//! A machine of a cluster run: its clock, its disk, its process, and its faults.

use std::{
    cell::{Cell, RefCell},
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use alloy_primitives::keccak256;
use foreseal_node::{ClusterSettings, InspectionPoint, MemberLoop, Node, Randomness, Role, Settings};
use foreseal_replication::{FeedAddress, ManualFollower, ManualServer};
use foreseal_simulated_disk::SimulatedDisk;

use crate::{
    action::{ProcessEnd, Setup},
    cluster_event::ClusterSetup,
    node_setup,
    pipe::Pipe,
    world::{Clocks, FaultPlan},
};

/// Watcher of the points that a process reaches, which can end the process at one of them.
pub trait ProcessProbe {
    /// Ends the process when `point` is reached after it was passed `after` more times; `None` cancels it.
    fn arm(&self, armed: Option<(InspectionPoint, u32)>);

    /// Returns `true` if the process ended at a point.
    fn has_ended(&self) -> bool;
}

/// A running process.
pub struct StationProcess {
    pub node: Arc<Node>,
    pub probe: Arc<dyn ProcessProbe>,
    /// `false` once the process has ended: its calls have no effect.
    pub alive: Arc<AtomicBool>,
}

/// A connection to the feed of another station.
pub struct FeedLink {
    pub to: usize,
    pub down: Pipe,
    pub up: Pipe,
    /// The serving side; `None` until the greeting has arrived.
    pub server: Option<ManualServer>,
    /// Time since which no byte can arrive; `None` if bytes can.
    pub silent_since: Option<u64>,
}

/// The following side of a station.
#[derive(Default)]
pub struct FollowEnd {
    pub follower: Option<ManualFollower>,
    pub link: Option<FeedLink>,
    /// Time of the next attempt to connect.
    pub retry_at: u64,
    pub attempts: usize,
}

/// A machine. Times are simulated milliseconds.
pub struct Station {
    pub at: usize,
    pub is_member: bool,
    pub settings: Settings,
    pub clocks: Arc<Clocks>,
    pub disk: SimulatedDisk,
    fault_plan: Arc<Mutex<FaultPlan>>,
    drawn: Arc<AtomicU64>,
    /// Driver of a member; borrowed while it runs.
    pub driver: RefCell<Option<MemberLoop>>,
    pub process: RefCell<Option<StationProcess>>,
    pub follow: RefCell<FollowEnd>,
    /// Time of the next turn.
    pub due: Cell<u64>,
    /// Time of the next start, while there is no process.
    pub restart_at: Cell<u64>,
    pub paused_until: Cell<u64>,
    /// End of the time in which the quorum store cannot be reached.
    pub cut_until: Cell<u64>,
    /// How the process ended, until it is removed.
    pub ending: Cell<Option<ProcessEnd>>,
    /// `true` changes a byte of the next record that the process reads from the quorum store.
    pub tampers: Cell<bool>,
    /// `true` if a fault allows the process to stop with an error.
    pub excused: Cell<bool>,
}

/// Returns the address of the feed of a station.
pub fn feed_address(at: usize) -> FeedAddress {
    FeedAddress::Unix(format!("/station-{at}").into())
}

/// Returns the station with this address.
pub fn station_at(address: &FeedAddress) -> Option<usize> {
    let FeedAddress::Unix(path) = address else { return None };
    path.to_str()?.strip_prefix("/station-")?.parse().ok()
}

impl Station {
    pub fn new(setup: &ClusterSetup, at: usize, folder: &Path, base: &Settings) -> Self {
        let clocks = Arc::new(Clocks::default());
        let fault_plan = Arc::new(Mutex::new(FaultPlan::new(clocks.clone())));
        let disk = SimulatedDisk::default();
        disk.set_fault_policy(fault_plan.clone());
        let is_member = at < setup.members;
        let role = if is_member {
            Role::Sequencer { feed: None }
        } else {
            let upstream = (0..setup.members).map(feed_address).collect();
            Role::Replica { upstream, feed: None }
        };
        let cluster = ClusterSettings {
            name: format!("station-{at}"),
            advertise: Some(feed_address(at)),
            ..ClusterSettings::default()
        };
        let settings =
            Settings { datadir: folder.join(format!("station-{at}")), role, cluster, ..base.clone() };
        Self {
            at,
            is_member,
            settings,
            clocks,
            disk,
            fault_plan,
            drawn: Arc::new(AtomicU64::new((at as u64 + 1) << 32)),
            driver: RefCell::default(),
            process: RefCell::default(),
            follow: RefCell::default(),
            due: Cell::new(0),
            restart_at: Cell::new(at as u64),
            paused_until: Cell::new(0),
            cut_until: Cell::new(0),
            ending: Cell::new(None),
            tampers: Cell::new(false),
            excused: Cell::new(false),
        }
    }

    pub fn fault_plan(&self) -> MutexGuard<'_, FaultPlan> {
        self.fault_plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the node; `None` while no process runs.
    pub fn node(&self) -> Option<Arc<Node>> {
        self.process.borrow().as_ref().filter(|_| self.ending.get().is_none()).map(|one| one.node.clone())
    }

    /// Returns `true` while the thread that writes or polls is in the middle of its work.
    pub fn is_busy(&self) -> bool {
        self.driver.try_borrow().is_err()
    }

    /// Returns `true` if the process writes the chain.
    pub fn leads(&self) -> bool {
        self.is_member && self.node().is_some_and(|node| !node.forwards_submissions())
    }

    /// Returns a source of random values that differs from that of every other station.
    pub fn randomness(&self) -> Randomness {
        let drawn = self.drawn.clone();
        Box::new(move || keccak256(drawn.fetch_add(1, Ordering::SeqCst).to_be_bytes()))
    }
}

/// Returns the common settings of all stations.
pub fn base_settings(setup: &ClusterSetup, folder: &Path, wallets: &[foreseal_testkit::Wallet]) -> Settings {
    let single = Setup {
        seed: setup.seed,
        development: false,
        block_time: setup.block_time,
        segment_bytes: setup.segment_bytes,
        retention: setup.retention,
        recent: setup.recent,
        backlog: 50_000,
        followers: 0,
        ring: setup.ring,
    };
    node_setup::settings(&single, folder, wallets)
}

//! The stations of a cluster run, their quorum store, and the time, which all of them share.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    panic::resume_unwind,
    rc::Rc,
    sync::Arc,
};

use foreseal_chain::datadir::genesis_hash;
use foreseal_journal::Identity;
use foreseal_quorum::QuorumKeys;
use foreseal_replication::RingLimits;
use foreseal_simulated_quorum::SimulatedStore;
use rand::{Rng, SeedableRng, rngs::StdRng};
use tempfile::TempDir;

use crate::{
    cluster_checker::ShownChain,
    cluster_counts::ClusterCounts,
    cluster_event::{ClusterEvent, ClusterSetup},
    cluster_history::QuorumHistory,
    cluster_station::{Station, base_settings},
    node_setup,
    senders::Senders,
};

/// Prefix of the keys in the quorum store.
pub const PREFIX: &str = "/simulated";

/// A cluster run. Each process runs on the caller's thread: a call of the quorum store lets the others run until its
/// answer arrives.
pub struct ClusterWorld {
    pub setup: ClusterSetup,
    /// Data directories, removed when the run is dropped.
    folder: TempDir,
    now: Cell<u64>,
    random: RefCell<StdRng>,
    pub quorum: Arc<SimulatedStore>,
    pub stations: Vec<Station>,
    pub events: RefCell<VecDeque<(u64, ClusterEvent)>>,
    pub network_due: Cell<u64>,
    /// End of the time in which the quorum store answers no process.
    pub silent_until: Cell<u64>,
    /// End of the time in which the quorum store has no space.
    pub full_until: Cell<u64>,
    /// Pairs of stations between which no byte of the feed arrives, with the end of that time.
    pub cuts: RefCell<Vec<(usize, usize, u64)>>,
    pub history: RefCell<QuorumHistory>,
    pub shown: RefCell<ShownChain>,
    pub senders: RefCell<Senders>,
    pub counts: RefCell<ClusterCounts>,
    pub trace: RefCell<Vec<String>>,
    /// The first violated property.
    broken: RefCell<Option<String>>,
    pub ring: RingLimits,
}

thread_local! {
    static CURRENT: RefCell<Option<Rc<ClusterWorld>>> = const { RefCell::new(None) };
}

/// Something that happens next.
enum Next {
    Event,
    Network,
    Turn(usize),
    Start(usize),
}

impl ClusterWorld {
    pub fn new(setup: ClusterSetup, events: Vec<(u64, ClusterEvent)>) -> Result<Rc<Self>, String> {
        let folder = node_setup::temp_folder()?;
        let senders = Senders::default();
        let base = base_settings(&setup, folder.path(), senders.funded());
        let stations =
            (0..setup.stations()).map(|at| Station::new(&setup, at, folder.path(), &base)).collect();
        let quorum = Arc::new(SimulatedStore::new(setup.seed, setup.weather.rates()));
        let spec = foreseal_primitives::ChainSpec::new(base.genesis.ok_or("no genesis")?)
            .map_err(|error| error.to_string())?;
        let identity = Identity { chain_id: spec.chain_id(), genesis: genesis_hash(&spec) };
        let world = Rc::new(Self {
            setup,
            folder,
            now: Cell::new(0),
            random: RefCell::new(StdRng::seed_from_u64(setup.seed)),
            quorum,
            stations,
            events: RefCell::new(events.into()),
            network_due: Cell::new(0),
            silent_until: Cell::new(0),
            full_until: Cell::new(0),
            cuts: RefCell::default(),
            history: RefCell::new(QuorumHistory::new(QuorumKeys::new(PREFIX, &identity))),
            shown: RefCell::default(),
            senders: RefCell::new(senders),
            counts: RefCell::new(ClusterCounts { seeds: 1, ..ClusterCounts::default() }),
            trace: RefCell::default(),
            broken: RefCell::default(),
            ring: RingLimits { bytes: 4 << 20, frames: setup.ring },
        });
        CURRENT.set(Some(world.clone()));
        Ok(world)
    }

    /// Returns the run on this thread.
    pub fn current() -> Option<Rc<Self>> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Ends the run on this thread. All processes end, without effects.
    pub fn leave(&self) {
        for station in &self.stations {
            Self::discard(station);
        }
        CURRENT.set(None);
    }

    pub fn now(&self) -> u64 {
        self.now.get()
    }

    pub fn trace(&self, line: &str) {
        let mut trace = self.trace.borrow_mut();
        // The path of the data directories differs between runs.
        let line = line.replace(&self.folder.path().display().to_string(), "");
        if trace.last().is_none_or(|last| !last.ends_with(&line)) {
            trace.push(format!("{:>6} ms  {line}", self.now()));
        }
    }

    /// Draws a number below `limit`.
    pub fn below(&self, limit: u64) -> u64 {
        self.random.borrow_mut().random_range(0..limit.max(1))
    }

    /// Records a violated property. Only the first one counts.
    pub fn violated(&self, what: String) {
        let mut broken = self.broken.borrow_mut();
        if broken.is_none() {
            self.trace(&format!("BROKEN: {what}"));
            *broken = Some(what);
        }
    }

    pub fn is_broken(&self) -> bool {
        self.broken.borrow().is_some()
    }

    /// Returns the first violated property.
    pub fn verdict(&self) -> Result<(), String> {
        self.broken.borrow().clone().map_or(Ok(()), Err)
    }

    /// Lets time pass for a process in the middle of a call, while the others run. Unwinds if the process ends
    /// meanwhile.
    pub fn elapse(&self, at: usize, ms: u64) {
        self.run_until(self.now() + ms);
        let station = &self.stations[at];
        while station.paused_until.get() > self.now() && !self.is_broken() {
            self.run_until(station.paused_until.get());
        }
        if self.is_broken() || station.ending.get().is_some() {
            // Unlike `panic!`, this prints nothing.
            resume_unwind(Box::new("the process has ended"));
        }
    }

    /// Runs everything that is due until `end`.
    pub fn run_until(&self, end: u64) {
        while !self.is_broken() {
            let (time, next) = self.next();
            if time > end {
                break;
            }
            self.advance(time);
            match next {
                Next::Event => self.run_event(),
                Next::Network => self.run_network(),
                Next::Turn(at) => self.turn(&self.stations[at]),
                Next::Start(at) => self.start(&self.stations[at]),
            }
        }
        self.advance(end);
    }

    fn advance(&self, time: u64) {
        let Some(passed) = time.checked_sub(self.now()).filter(|passed| *passed > 0) else { return };
        self.now.set(time);
        for station in &self.stations {
            station.clocks.pass(passed);
        }
    }

    fn next(&self) -> (u64, Next) {
        let mut first = (self.network_due.get(), Next::Network);
        if let Some((time, _)) = self.events.borrow().front()
            && *time < first.0
        {
            first = (*time, Next::Event);
        }
        for station in &self.stations {
            if station.is_busy() {
                continue;
            }
            let next = if station.process.borrow().is_none() {
                (station.restart_at.get(), Next::Start(station.at))
            } else if station.is_member {
                (station.due.get().max(station.paused_until.get()), Next::Turn(station.at))
            } else {
                continue;
            };
            if next.0 < first.0 {
                first = next;
            }
        }
        first
    }

    fn run_event(&self) {
        let event = self.events.borrow_mut().pop_front();
        if let Some((_, event)) = event {
            self.perform(event);
        }
    }

    fn run_network(&self) {
        self.network_due.set(self.now() + 5 + self.below(35));
        for at in 0..self.stations.len() {
            self.flow(at);
        }
    }
}

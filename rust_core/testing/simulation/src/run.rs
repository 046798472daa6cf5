//! Run of one seed: a node, its environment, and the checks after every act.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicU64};

use foreseal_chain::{Clock, View, datadir::DataDirError};
use foreseal_node::{Node, NodeError, Producer, Settings};
use foreseal_replication::{Phase, SubmitError};
use foreseal_simulated_disk::SimulatedDisk;
use tempfile::TempDir;

use crate::{
    action::{Action, ProcessEnd, Setup},
    counts::Counts,
    feed::Feed,
    ledger::{Check, Ledger, Rules},
    node_setup::{self, StartOutcome},
    readers::{Client, HeldView},
    senders::{Senders, TransactionSpec},
    timing::{self, Timing},
    view_digests::ViewDigests,
    world::{Clocks, FaultPlan, NodeProbe},
};

/// A running node.
pub struct Process {
    pub node: Arc<Node>,
    pub producer: Producer,
    pub watch: Arc<NodeProbe>,
}

/// Run of one seed.
pub struct Run {
    pub setup: Setup,
    /// Data directory, removed when the run is dropped.
    _folder: TempDir,
    pub settings: Settings,
    pub clocks: Arc<Clocks>,
    pub disk: SimulatedDisk,
    pub fault_plan: Arc<Mutex<FaultPlan>>,
    /// Number of `mixHash` values drawn so far.
    pub mixes: Arc<AtomicU64>,
    /// The current process; `None` between two processes.
    pub process: Option<Process>,
    pub ledger: Ledger,
    /// Part of the chain that remains if the requested change takes effect; `None` if all of it remains.
    pub instead: Option<Ledger>,
    pub senders: Senders,
    pub feed: Feed,
    pub held: Vec<HeldView>,
    pub clients: Vec<Client>,
    /// Number of changes that may have unwound the chain.
    pub unwinds: u64,
    pub snapshots: Vec<(u64, Ledger)>,
    /// `true` once state was overwritten: different histories of a step may then have the same hash.
    pub written: bool,
    pub time: Timing,
    pub counts: Counts,
    /// One line per event.
    pub trace: Vec<String>,
}

impl Run {
    /// Starts the first process of a seed on an empty disk, without faults.
    pub fn new(setup: Setup) -> Result<Self, String> {
        let folder = node_setup::temp_folder()?;
        let senders = Senders::default();
        let settings = node_setup::settings(&setup, folder.path(), senders.funded());
        let clocks = Arc::new(Clocks::default());
        let (disk, fault_plan) =
            (SimulatedDisk::default(), Arc::new(Mutex::new(FaultPlan::new(clocks.clone()))));
        disk.set_fault_policy(fault_plan.clone());
        let published = Arc::new(ViewDigests::new(senders.addresses()));
        let feed = Feed::new(setup.followers, setup.ring, published, !setup.development);
        let mut run = Self {
            setup,
            feed,
            _folder: folder,
            settings,
            clocks,
            disk,
            fault_plan,
            mixes: Arc::default(),
            process: None,
            ledger: Ledger::default(),
            instead: None,
            senders,
            held: Vec::new(),
            clients: Vec::new(),
            unwinds: 0,
            snapshots: Vec::new(),
            written: false,
            time: Timing::default(),
            counts: Counts { seeds: 1, ..Counts::default() },
            trace: Vec::new(),
        };
        let began = run.clocks.now();
        match run.start()? {
            StartOutcome::Yes => {}
            StartOutcome::No(why) => return Err(format!("the first process does not start: {why}")),
        }
        let mut ledger = Ledger::default();
        ledger.survive(&*run.view()?, Self::rules())?;
        run.go_on(ledger, began)?;
        run.clients.push(Client::new(&run.ledger, &*run.view()?));
        Ok(run)
    }

    pub fn fault_plan(&self) -> MutexGuard<'_, FaultPlan> {
        self.fault_plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn process(&mut self) -> Result<&mut Process, String> {
        self.process.as_mut().ok_or_else(|| "no process runs".to_owned())
    }

    pub fn node(&self) -> Result<&Arc<Node>, String> {
        self.process.as_ref().map(|process| &process.node).ok_or_else(|| "no process runs".to_owned())
    }

    pub fn view(&self) -> Result<Arc<View>, String> {
        self.node()?.view().ok_or_else(|| "there is no view".to_owned())
    }

    /// Returns the rules of the chain. Blocks are less than a block time apart while a lead is worked off.
    pub fn rules() -> Rules {
        Rules { apart: 1, sealed_as_shown: true }
    }

    /// Adds a line to the trace. The path of the data directory is replaced, as it differs between runs.
    pub fn trace(&mut self, line: &str) {
        self.trace.push(line.replace(&self.settings.datadir.display().to_string(), "data"));
    }

    /// Performs one act and checks all properties afterwards.
    pub fn apply(&mut self, act: &Action) -> Check {
        self.counts.acts += 1;
        let done = self.perform(act);
        let shown = self.ledger.pending().map(super::ledger::Block::name).unwrap_or_default();
        match done {
            Ok(()) => self.trace(&format!("{act:?}  ->  {shown}")),
            Err(ref what) => self.trace(&format!("{act:?}  ->  {shown}\n  BROKEN: {what}")),
        }
        done
    }

    fn perform(&mut self, act: &Action) -> Check {
        match *act {
            Action::Submit { submission, sender, chance } => self.submit(submission, sender, chance)?,
            Action::Tick { ms } => return self.tick(ms),
            Action::Stall { ms } => self.clocks.pass(ms),
            Action::JumpClock { ms } => {
                self.clocks.jump(ms);
                self.fault_plan().counts.fault(if ms < 0 {
                    "wall clock set back"
                } else {
                    "wall clock set forward"
                });
            }
            Action::HoldView { chance } => self.hold_view(chance)?,
            Action::CheckViews { chance } => self.check_views(chance)?,
            Action::CatchUpSubscriber { chance } => self.catch_up_subscriber(chance)?,
            Action::WriteStore => {
                self.node()?.write_store();
                return self.settle();
            }
            Action::SecondWriter => self.second_writer()?,
            Action::Disk { class, after, fault } => self.fault_plan().arm(class, after, fault),
            Action::DiskFull(full) => self.fault_plan().set_full(full),
            Action::SlowDisk { operations, ms } => self.fault_plan().set_slow(operations, ms),
            Action::Crash { point, after, end } => self.process()?.watch.arm(point, after, end),
            Action::Restart { end, fault, damage } => return self.restart(end, fault, damage),
            Action::Change(change) => return self.change(change),
            Action::Network(network) => self.network(network)?,
        }
        self.check_age()
    }

    /// Checks that age and health match the time of the last tick.
    pub fn check_age(&self) -> Check {
        let (node, now) = (self.node()?, self.clocks.now().monotonic);
        let age = now.checked_sub(self.time.ticked).ok_or("a tick in the future")?;
        if node.age() != age {
            return Err(format!("the age is {:?}, the last tick was {age:?} ago", node.age()));
        }
        let (limit, healthy) = (node.tick_limit(), node.status().healthy(node.tick_limit()));
        if healthy.is_ok() == (age <= limit) || self.failure().is_some() {
            Ok(())
        } else {
            Err(format!("{age:?} after the last tick its health is {healthy:?}"))
        }
    }

    /// Returns the reason why production ended; `None` while it continues.
    pub fn failure(&self) -> Option<String> {
        match self.process.as_ref()?.node.status().phase {
            Phase::Failed(why) => Some(why),
            _ => None,
        }
    }

    /// Advances the clocks by `ms` milliseconds and ticks the node.
    pub fn tick(&mut self, ms: u64) -> Check {
        self.clocks.pass(ms);
        let now = self.clocks.now();
        self.time.fixed = Some(now);
        let latest = self.view()?.latest().number();
        let development = self.setup.development;
        let process = self.process()?;
        if !development {
            process
                .watch
                .set_retained(process.node.pool().all().iter().map(|pooled| pooled.hash()).collect());
        }
        let done = crate::quietly(|| process.producer.tick(now, &mut || true));
        process.watch.set_retained(Vec::new());
        if matches!(done, Some(Ok(()))) && self.is_up() {
            self.time.ticked = now.monotonic;
            let due = now.monotonic >= self.time.due;
            let sealed = self.view()?.latest().number() - latest;
            if !development && sealed != u64::from(due) {
                return Err(format!("a tick sealed {sealed} blocks, the block was due: {due}"));
            }
        }
        self.settle()
    }

    /// Returns `true` if both the process and the machine are running.
    pub fn is_up(&self) -> bool {
        self.process.as_ref().is_some_and(|process| !process.watch.ended()) && !self.disk.is_down()
    }

    /// Checks the result of an act. Restarts the process if it, the machine or production has ended.
    pub fn settle(&mut self) -> Check {
        if let Some(missed) = self.process()?.watch.missed() {
            return Err(missed);
        }
        self.observe()?;
        if !self.is_up() {
            return self.restart(self.chosen_ending(), None, None);
        }
        if let Some(why) = self.failure() {
            self.check_failed(&why)?;
            return self.restart(self.chosen_ending(), None, None);
        }
        self.instead = None;
        self.check_age()
    }

    /// Draws from the seed how a failed process ends.
    fn chosen_ending(&self) -> ProcessEnd {
        let chance = self.setup.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17)
            ^ (self.counts.acts << 7)
            ^ self.counts.restarts;
        if chance.is_multiple_of(3) { ProcessEnd::Kill } else { ProcessEnd::PowerLoss(chance) }
    }

    /// Records the current view, which must extend everything that was published before.
    fn observe(&mut self) -> Check {
        let view = self.view()?;
        let rules = Self::rules();
        let mut ledger = self.ledger.clone();
        let mut followed = ledger.follow(&view, rules);
        if let (Err(_), Some(instead)) = (&followed, &self.instead) {
            ledger = instead.clone();
            followed = ledger.follow(&view, Rules { sealed_as_shown: false, ..rules });
        }
        followed?;
        self.count(&ledger);
        if !self.setup.development
            && let Some(now) = self.time.fixed
        {
            self.check_opened(&ledger, now)?;
        }
        self.ledger = ledger;
        Ok(())
    }

    fn count(&mut self, ledger: &Ledger) {
        let (old, new) = (self.ledger.size(), ledger.size());
        self.counts.steps += new.0.saturating_sub(old.0);
        self.counts.sealed_blocks += new.1.saturating_sub(old.1);
    }

    /// Checks that a new block in `ledger`, opened at `now`, has the timestamp of its slot. Records when it
    /// is due.
    pub fn check_opened(&mut self, ledger: &Ledger, now: foreseal_chain::ClockReading) -> Check {
        let Some((open, sealed)) = ledger.blocks.split_last() else { return Ok(()) };
        if self.ledger.pending().is_some_and(|pending| pending.number == open.number) {
            return Ok(());
        }
        let block_time = self.setup.block_time;
        let parent = sealed.last().map_or(0, |parent| parent.timestamp);
        let expected = timing::slot(now, parent, block_time);
        if open.timestamp != expected.timestamp {
            let name = open.name();
            return Err(format!("block {name} has timestamp {}, its slot is {expected:?}", open.timestamp));
        }
        self.time.due = expected.due;
        Ok(())
    }

    /// Checks a node after a failure: it publishes nothing, rejects submissions, reports bad health and
    /// serves reads.
    fn check_failed(&mut self, why: &str) -> Check {
        self.trace(&format!("  production stopped: {why}"));
        if !self.fault_plan().drain_struck() && !self.store_failed()? {
            return Err(format!("production stopped without a fault: {why}"));
        }
        self.process()?.watch.disarm();
        let before = self.view()?;
        let now = self.clocks.now();
        let ticked = self.process()?.producer.tick(now, &mut || true);
        if ticked.is_ok() {
            return Err("a tick after a failure is done".to_owned());
        }
        if !Arc::ptr_eq(&before, &self.view()?) {
            return Err("something is shown after a failure".to_owned());
        }
        let node = self.node()?;
        let order = TransactionSpec { wallet: 0, nonce: 0, kind: 0, tip: 1 };
        if !matches!(node.submit(&self.senders.sign(order)), Err(SubmitError::Stopped(_))) {
            return Err("a submission is taken after a failure".to_owned());
        }
        if node.status().healthy(node.tick_limit()).is_ok() {
            return Err("health is green after a failure".to_owned());
        }
        self.check_views(0)
    }

    /// Returns `true` if writing to the store has failed.
    pub fn store_failed(&self) -> Result<bool, String> {
        Ok(self.node()?.status().store.is_some_and(|store| store.failure.is_some()))
    }

    /// Checks that a second writer is rejected with `DataDirError::InUse`.
    fn second_writer(&mut self) -> Check {
        self.fault_plan().counts.fault("second writer");
        match node_setup::open(&self.settings, self.clocks.clone(), self.disk.clone(), Arc::default()) {
            Err(NodeError::DataDir(DataDirError::InUse(_))) => Ok(()),
            Err(error) => Err(format!("a second writer is refused for another reason: {error}")),
            Ok(_) => Err("there are two writers".to_owned()),
        }
    }

    /// Checks that the node makes progress without faults, and that everything published exists after a last
    /// loss of power.
    pub fn finish(&mut self) -> Check {
        self.fault_plan().clear();
        self.process()?.watch.disarm();
        // An earlier fault may become visible only at this tick.
        self.tick(0)?;
        for _ in 0..3 {
            let before = self.view()?.latest().number();
            // A block of a chain that is ahead of the clock lasts up to two block times.
            self.tick(self.setup.block_time * 2_000)?;
            if self.view()?.latest().number() <= before {
                return Err("no block is sealed in fair weather".to_owned());
            }
        }
        let left = self.node()?.pool().counts().pooled;
        if left > 0 {
            return Err(format!("{left} transactions that can run are left in the pool"));
        }
        self.catch_up()?;
        self.restart(ProcessEnd::PowerLoss(self.setup.seed), None, None)?;
        self.catch_up()?;
        for at in 0..self.clients.len() as u64 {
            self.catch_up_subscriber(at)?;
        }
        let included = self.ledger.blocks.iter().flat_map(|block| &block.transactions);
        if let Some(stranger) = included.map(|one| one.hash).find(|hash| !self.senders.is_accepted(hash)) {
            return Err(format!("transaction {stranger} was never submitted, or was refused"));
        }
        self.replay_all()?;
        if self.setup.development { Ok(()) } else { self.lose_acknowledged() }
    }
}

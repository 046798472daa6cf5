//! Start, work and end of the processes of a cluster run.

use std::{
    panic::resume_unwind,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use alloy_primitives::B256;
use foreseal_node::{MemberLoop, Node, NodeEnvironment, NodeError, QuorumSettings, Settings};
use foreseal_replication::Phase;

use crate::{
    action::ProcessEnd,
    cluster_probe::ClusterProbe,
    cluster_station::{FollowEnd, Station, StationProcess},
    cluster_store::MemberStore,
    cluster_world::{ClusterWorld, PREFIX},
};

/// Interval between two ticks of the leader, in milliseconds.
const STEP: u64 = 200;
/// Time until a process that has failed is started again, in milliseconds.
const RESTART: u64 = 300;

impl ClusterWorld {
    /// Starts the process of a station, which has none.
    pub fn start(&self, station: &Station) {
        station.fault_plan().drain_struck();
        let started = crate::quietly(|| self.try_start(station));
        let struck = station.fault_plan().drain_struck();
        self.counts.borrow_mut().starts += 1;
        match started {
            Some(Ok(())) => return,
            Some(Err(error)) => {
                self.trace(&format!("  station {} does not start: {error}", station.at));
                if !struck {
                    self.violated(format!("station {} does not start: {error}", station.at));
                }
            }
            None if struck => {}
            None => self.violated(format!("station {} panics at its start", station.at)),
        }
        station.fault_plan().clear();
        self.end(station, ProcessEnd::Kill, RESTART);
    }

    fn try_start(&self, station: &Station) -> Result<(), NodeError> {
        let alive = Arc::new(AtomicBool::new(true));
        let quorum = station.is_member.then(|| Arc::new(MemberStore::new(station.at, alive.clone())));
        let probe = Arc::new(ClusterProbe::new(station.at, quorum.clone()));
        let mut cluster = station.settings.cluster.clone();
        cluster.quorum = quorum.map(|store| QuorumSettings {
            store,
            prefix: PREFIX.to_owned(),
            standby: station.at > 0 && self.setup.standbys,
        });
        let environment = NodeEnvironment {
            clock: station.clocks.clone(),
            randomness: station.randomness(),
            // The operator installs the same key on all members.
            secret: Box::new(|| B256::repeat_byte(1)),
            disk: Arc::new(station.disk.clone()),
        };
        let settings = Settings { cluster, ..station.settings.clone() };
        let node = Arc::new(Node::open(settings, environment)?);
        let driver = if station.is_member {
            node.start_member_manual(probe.clone(), self.ring)?
        } else {
            node.start_manual(probe.clone(), self.ring)?;
            None
        };
        probe.begin(&node);
        let follower = node.follow_manual();
        *station.follow.borrow_mut() = FollowEnd { follower, ..FollowEnd::default() };
        *station.driver.borrow_mut() = driver;
        *station.process.borrow_mut() = Some(StationProcess { node, probe, alive });
        station.due.set(self.now());
        Ok(())
    }

    /// Runs the writing thread of a member once.
    pub fn turn(&self, station: &Station) {
        let mut driver = station.driver.borrow_mut();
        let Some(running) = driver.as_mut() else { return station.due.set(self.now() + STEP) };
        let began = self.now();
        let led = running.leads();
        let done = crate::quietly(|| work(running, station));
        let wait = match &done {
            Some(Ok(wait)) => *wait,
            _ => STEP,
        };
        station.due.set((began + wait).max(self.now() + 1));
        if led && matches!(done, Some(Ok(_))) && !running.leads() {
            self.counts.borrow_mut().fenced += 1;
            self.trace(&format!("  station {} is demoted", station.at));
        } else if !led && running.leads() {
            station.due.set(self.now());
            self.trace(&format!("  station {} leads", station.at));
        }
        drop(driver);
        match done {
            Some(Ok(_)) => self.settle(station),
            Some(Err(error)) => self.stopped(station, &error.to_string()),
            None => self.unwound(station),
        }
    }

    /// Handles the end of a process or a failure of its machine, if there was one.
    pub fn settle(&self, station: &Station) {
        if let Some(end) = station.ending.take() {
            return Self::remove(station, end);
        }
        if station.disk.is_down() {
            self.end(station, self.draw_end(), RESTART);
        } else if let Some(Phase::Failed(reason)) = station.node().map(|node| node.status().phase) {
            self.stopped(station, &reason);
        }
    }

    /// Handles a process that reports an error which only an operator can solve.
    fn stopped(&self, station: &Station, reason: &str) {
        // The store reports the end of its thread as an error.
        if station.process.borrow().as_ref().is_some_and(|process| process.probe.has_ended()) {
            return self.unwound(station);
        }
        self.trace(&format!("  station {} stops: {reason}", station.at));
        let struck = station.fault_plan().drain_struck() || station.disk.is_down();
        if !struck && !station.excused.get() && station.ending.get().is_none() {
            self.violated(format!("station {} stops without a fault: {reason}", station.at));
        }
        station.fault_plan().clear();
        self.end(station, self.draw_end(), RESTART);
    }

    /// Handles a process that ended in the middle of its work.
    pub fn unwound(&self, station: &Station) {
        if self.is_broken() {
            return;
        }
        let at_point = station.process.borrow().as_ref().is_some_and(|process| process.probe.has_ended());
        match station.ending.take() {
            Some(end) => Self::remove(station, end),
            None if at_point || station.disk.is_down() => {
                self.counts.borrow_mut().fault("process ends at a point of its work");
                self.end(station, self.draw_end(), RESTART);
            }
            None => self.violated(format!("station {} panics", station.at)),
        }
    }

    /// Draws how a process that failed ends.
    fn draw_end(&self) -> ProcessEnd {
        if self.below(2) == 0 { ProcessEnd::Kill } else { ProcessEnd::PowerLoss(self.below(u64::MAX)) }
    }

    /// Ends the process of a station, which restarts after `ms`. Nothing that it does later has an effect.
    pub fn end(&self, station: &Station, end: ProcessEnd, ms: u64) {
        station.restart_at.set(self.now() + ms);
        station.disk.stop();
        if let Some(process) = station.process.borrow().as_ref() {
            process.alive.store(false, Ordering::SeqCst);
        }
        self.hang_up(station.at);
        if station.is_busy() {
            // It is removed once its thread unwinds.
            station.ending.set(Some(end));
        } else {
            Self::remove(station, end);
        }
    }

    fn remove(station: &Station, end: ProcessEnd) {
        station.ending.set(None);
        Self::discard(station);
        match end {
            ProcessEnd::Stop | ProcessEnd::Kill => station.disk.kill(),
            ProcessEnd::PowerLoss(seed) => station.disk.lose_power(seed),
        }
        station.excused.set(false);
        station.tampers.set(false);
        station.paused_until.set(0);
    }

    /// Drops a process without effects.
    pub fn discard(station: &Station) {
        if let Some(process) = station.process.borrow().as_ref() {
            process.alive.store(false, Ordering::SeqCst);
        }
        *station.follow.borrow_mut() = FollowEnd::default();
        let driver = station.driver.take();
        let process = station.process.take();
        drop((driver, process));
    }

    /// Stops a process cleanly: a leader hands over, and the pool is saved.
    pub fn stop(&self, station: &Station, ms: u64) {
        let Some(node) = station.node() else { return };
        if station.is_busy() {
            return;
        }
        if station.leads() {
            self.hand_over(station);
        }
        if station.ending.get().is_none() && station.node().is_some() {
            station.fault_plan().clear();
            if let Some(process) = station.process.borrow().as_ref() {
                process.probe.arm(None);
            }
            if let Some(Err(error)) = crate::quietly(|| node.save()) {
                self.violated(format!("station {} does not stop cleanly: {error}", station.at));
            }
            drop(node);
            self.end(station, ProcessEnd::Stop, ms);
        }
    }

    /// Hands the chain over. The process is busy meanwhile.
    pub fn hand_over(&self, station: &Station) {
        let Some(node) = station.node() else { return };
        let Ok(driver) = station.driver.try_borrow_mut() else { return };
        let done = crate::quietly(|| node.hand_over());
        drop(driver);
        drop(node);
        match done {
            Some(Ok(handover)) => self.trace(&format!("  handed over: {handover:?}")),
            Some(Err(error)) => self.trace(&format!("  not handed over: {error}")),
            None => return self.unwound(station),
        }
        self.settle(station);
    }
}

/// Runs one tick or one poll. Returns the time until the next one, in milliseconds.
fn work(driver: &mut MemberLoop, station: &Station) -> Result<u64, NodeError> {
    let clock: &dyn foreseal_chain::Clock = &*station.clocks;
    if !driver.leads() {
        let wait = driver.poll()?;
        return Ok(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
    }
    driver.tick(clock.now(), &mut || true)?;
    if station.ending.get().is_some() {
        resume_unwind(Box::new("the process has ended"));
    }
    Ok(STEP)
}

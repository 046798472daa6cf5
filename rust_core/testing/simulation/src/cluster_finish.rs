//! The end of a cluster run: without faults, one leader continues the chain, and all agree.

use crate::{cluster_station::Station, cluster_world::ClusterWorld, ledger::Check};

/// Maximum simulated time until all processes agree again, in milliseconds. A connection to a station that is
/// gone may have to time out first.
const BOUND: u64 = 20_000;
/// Interval between two comparisons, in milliseconds.
const INTERVAL: u64 = 50;

impl ClusterWorld {
    /// Ends all faults, and checks that the cluster recovers.
    pub fn finish(&self) -> Check {
        self.verdict()?;
        self.end_faults();
        let began = self.now();
        let next = self.history.borrow().next();
        loop {
            self.run_until(self.now() + INTERVAL);
            self.verdict()?;
            let Some(missing) = self.disagreement(next) else { break };
            if self.now() - began > BOUND {
                return Err(format!("{BOUND} ms after the last fault, {missing}"));
            }
        }
        self.counts.borrow_mut().slowest_recovery_ms = self.now() - began;
        self.check_final()
    }

    fn end_faults(&self) {
        self.trace("faults end");
        self.events.borrow_mut().clear();
        self.cuts.borrow_mut().clear();
        self.silent_until.set(0);
        self.full_until.set(0);
        self.quorum.restore_majority();
        self.quorum.disarm();
        self.quorum.set_faults(foreseal_simulated_quorum::FaultRates::default());
        self.quorum.deliver_late();
        self.read_history();
        for station in &self.stations {
            station.fault_plan().clear();
            station.paused_until.set(0);
            station.cut_until.set(0);
            station.tampers.set(false);
            station.restart_at.set(self.now());
            if let Some(process) = station.process.borrow().as_ref() {
                process.probe.arm(None);
            }
        }
    }

    /// Returns what is missing until the cluster has recovered; `None` if nothing is. `next` is the number of
    /// appends when the faults ended.
    fn disagreement(&self, next: u64) -> Option<String> {
        let leaders: Vec<&Station> = self.stations.iter().filter(|one| one.leads()).collect();
        let [leader] = leaders.as_slice() else {
            let names: Vec<usize> = leaders.iter().map(|leader| leader.at).collect();
            return Some(format!("the leaders are {names:?}"));
        };
        if self.history.borrow().next() < next + 2 {
            return Some(format!("station {} leads and appends nothing", leader.at));
        }
        let wanted = leader.node()?.view()?;
        for station in &self.stations {
            let node = station.node();
            let view = node.as_ref().and_then(|node| node.view());
            let own = view.map(|view| (view.cursor(), view.pending().block.hash, view.latest().block.hash));
            let pending = wanted.pending().block.hash;
            if own != Some((wanted.cursor(), pending, wanted.latest().block.hash)) {
                let phase = node.map(|node| node.status().phase);
                return Some(format!(
                    "station {} is at {:?} in phase {phase:?}, the leader {} at {:?}",
                    station.at,
                    own.map(|own| own.0),
                    leader.at,
                    wanted.cursor()
                ));
            }
        }
        None
    }

    /// Checks the chain of each process against everything that was ever shown.
    fn check_final(&self) -> Check {
        for station in &self.stations {
            let view = station.node().and_then(|node| node.view());
            let view = view.ok_or_else(|| format!("station {} shows nothing", station.at))?;
            let checked = self.shown.borrow_mut().check_final(&view);
            checked.map_err(|what| format!("at the end, at station {}: {what}", station.at))?;
        }
        let (shown, history) = (self.shown.borrow(), self.history.borrow());
        let mut counts = self.counts.borrow_mut();
        counts.simulated_ms = self.now();
        (counts.views, counts.steps, counts.final_steps) = (shown.views, shown.compared, shown.final_steps);
        (counts.appends, counts.large_appends) = (history.appends, history.large_appends);
        counts.trims = history.trims;
        Ok(())
    }
}

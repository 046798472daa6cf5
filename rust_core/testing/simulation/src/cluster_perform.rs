//! Execution of the events of a cluster run.

use alloy_primitives::{Bytes, TxKind, U256};
use foreseal_node::Sent;
use foreseal_quorum::{QuorumRequest, QuorumStore};
use foreseal_state::StateReader;
use foreseal_testkit::Fees;

use crate::{
    action::ProcessEnd, cluster_event::ClusterEvent, cluster_station::Station, cluster_world::ClusterWorld,
    pipe::Ready, senders::TransactionSpec,
};

/// Number and size of the transactions whose step needs more than one key of the quorum store.
const LARGE: (u64, usize) = (10, 120 << 10);
const GWEI: u128 = 1_000_000_000;

impl ClusterWorld {
    /// Executes an event now.
    pub fn perform(&self, event: ClusterEvent) {
        use ClusterEvent as E;
        if !matches!(event, E::Submit { .. } | E::WriteStore { .. }) {
            self.trace(&format!("{event:?}"));
        }
        let until = |ms: u64| self.now() + ms;
        match event {
            E::Submit { at, sender, chance } => self.submit_at(&self.stations[at], sender, chance),
            E::Burst { at, sender } => self.submit_large(&self.stations[at], sender),
            E::CutFromQuorum { at, ms } => {
                self.stations[at].cut_until.set(until(ms));
                self.tried("member cut from the engine");
            }
            E::Silence { ms } => {
                self.silent_until.set(until(ms));
                self.tried(if ms < 1_600 {
                    "leader of the engine changes"
                } else {
                    "majority of the engine lost"
                });
            }
            E::DeliverLate => {
                self.quorum.deliver_late();
                self.read_history();
                self.tried("late requests executed");
            }
            E::Compact => {
                let revision = self.quorum.revision();
                if self.quorum.call(&QuorumRequest::Compact { revision }).is_ok() {
                    self.tried("engine compacted");
                }
                self.read_history();
            }
            E::ExhaustSpace { ms } => {
                self.full_until.set(until(ms));
                self.quorum.exhaust_space();
                self.tried("space of the engine exhausted");
            }
            E::Rates(weather) => {
                self.quorum.set_faults(weather.rates());
                self.tried(match weather {
                    crate::cluster_event::QuorumWeather::Fair => "answers of the engine: none lost",
                    crate::cluster_event::QuorumWeather::Lossy => "answers of the engine: lost and late",
                    crate::cluster_event::QuorumWeather::Doubling => {
                        "answers of the engine: doubled and reordered"
                    }
                    crate::cluster_event::QuorumWeather::Stormy => "answers of the engine: all faults",
                });
            }
            E::Tamper { at } => {
                self.stations[at].tampers.set(true);
                // Without the feed it reads the quorum store's records.
                let others = (0..self.stations.len()).map(|other| (at, other, until(3_000)));
                self.cuts.borrow_mut().extend(others);
                self.break_feed(at, 0, true);
            }
            E::CutFeed { from, to, ms } => {
                self.cuts.borrow_mut().push((from, to, until(ms)));
                self.tried("feed cut");
            }
            E::BreakFeed { at, retained, reset } => self.break_feed(at, retained, reset),
            event => self.perform_on_process(event),
        }
    }

    fn perform_on_process(&self, event: ClusterEvent) {
        use ClusterEvent as E;
        match event {
            E::Crash { at, end, ms } => {
                let station = &self.stations[at];
                if station.node().is_some() {
                    self.tried(match (end, station.is_busy()) {
                        (ProcessEnd::PowerLoss(_), false) => "power lost",
                        (ProcessEnd::PowerLoss(_), true) => "power lost during a call of the engine",
                        (_, false) => "process killed",
                        (_, true) => "process killed during a call of the engine",
                    });
                    self.end(station, end, ms);
                }
            }
            E::CrashAt { at, point, after } => {
                if let Some(process) = self.stations[at].process.borrow().as_ref() {
                    process.probe.arm(Some((point, after)));
                }
            }
            E::Disk { at, class, after, fault } => self.stations[at].fault_plan().arm(class, after, fault),
            E::Pause { at, ms } => {
                let station = &self.stations[at];
                station.paused_until.set(self.now() + ms);
                self.tried(match (station.is_busy(), ms < 800) {
                    (false, true) => "process paused for less than the silence",
                    (false, false) => "process paused for longer than the silence",
                    (true, true) => "process paused for less than the silence during a call of the engine",
                    (true, false) => "process paused for longer than the silence during a call of the engine",
                });
            }
            E::JumpClock { at, ms } => {
                self.stations[at].clocks.jump(ms);
                self.tried(if ms < 0 { "wall clock set back" } else { "wall clock set forward" });
            }
            E::HandOver => {
                let leader =
                    self.stations.iter().find(|one| one.leads() && !one.is_busy() && !self.is_paused(one));
                if let Some(leader) = leader {
                    self.tried("handover");
                    self.hand_over(leader);
                }
            }
            E::Stop { at, ms }
                if self.stations[at].node().is_some() && !self.is_paused(&self.stations[at]) =>
            {
                self.tried("clean stop");
                self.stop(&self.stations[at], ms);
            }
            E::WriteStore { at } => self.write_store(&self.stations[at]),
            _ => {}
        }
    }

    fn tried(&self, kind: &'static str) {
        self.counts.borrow_mut().fault(kind);
    }

    fn is_paused(&self, station: &Station) -> bool {
        station.paused_until.get() > self.now()
    }

    fn write_store(&self, station: &Station) {
        if station.is_busy() || self.is_paused(station) {
            return;
        }
        let Some(node) = station.node() else { return };
        let done = crate::quietly(|| node.write_store());
        drop(node);
        match done {
            Some(_) => self.settle(station),
            None => self.unwound(station),
        }
    }

    fn break_feed(&self, at: usize, retained: usize, reset: bool) {
        let end = self.stations[at].follow.borrow();
        let Some(link) = &end.link else { return };
        let is_torn = link.down.cut(retained, reset);
        link.up.cut(retained / 4, reset);
        // A reader that finds nothing more sees the end.
        debug_assert!(is_torn || link.down.in_flight() > 0 || link.down.ready() != Ready::Not);
        self.tried(if is_torn { "feed broken in the middle of a frame" } else { "feed broken" });
    }

    /// Submits a transaction with the next nonce according to the station's view and pool.
    fn submit_at(&self, station: &Station, sender: usize, chance: u64) {
        if self.is_paused(station) {
            return;
        }
        let Some(nonce) = self.next_nonce(station, sender) else { return };
        let spec = TransactionSpec { wallet: sender, nonce, kind: chance % 11, tip: 1 + chance / 11 % 3 };
        let raw = self.senders.borrow().sign(spec);
        self.send(station, &raw);
    }

    fn submit_large(&self, station: &Station, sender: usize) {
        let leader = self.stations.iter().find(|one| one.leads()).unwrap_or(station);
        let Some(first) = self.next_nonce(leader, sender) else { return };
        self.tried("append with several keys submitted");
        for nonce in first..first + LARGE.0 {
            let raw = self.senders.borrow().large(sender, nonce, LARGE.1);
            self.send(leader, &raw);
        }
    }

    fn next_nonce(&self, station: &Station, sender: usize) -> Option<u64> {
        let node = station.node()?;
        let view = node.view()?;
        let address = self.senders.borrow().address(sender);
        let account = view.pending().state.account(&address).ok()?;
        Some(node.pool().next_nonce(&address, account.map_or(0, |account| account.nonce)))
    }

    fn send(&self, station: &Station, raw: &Bytes) {
        let Some(node) = station.node() else { return };
        let decoded = node.decode(raw).ok();
        let Some(submission) = decoded.and_then(|decoded| decoded.verify().ok()) else { return };
        match node.send(submission, false) {
            Ok(Sent::Done(_)) => self.counts.borrow_mut().submissions += 1,
            // Its fate is seen on the chain.
            Ok(Sent::SubmissionHandle(_)) => self.counts.borrow_mut().forwarded += 1,
            Err(_) => {}
        }
    }
}

impl crate::senders::Senders {
    /// Returns a transaction with this number of zero bytes.
    pub fn large(&self, wallet: usize, nonce: u64, bytes: usize) -> Bytes {
        let fees = Fees { max_fee: 24 * GWEI, tip: GWEI };
        self.sign_once((wallet, nonce, bytes), |from, to| {
            from.eip1559(nonce, TxKind::Call(to), U256::ZERO, 2_500_000, vec![0; bytes].into(), fees)
        })
    }
}

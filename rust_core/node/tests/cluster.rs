//! Members of a cluster: one writes the chain under a fence, and another continues the same block.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use alloy_primitives::B256;
use foreseal_chain::{Clock, ClockReading, SteppedClock, View};
use foreseal_journal::RealDisk;
use foreseal_node::{
    BOUNDS, ClusterRole, ClusterSettings, MemberLoop, Node, NodeEnvironment, QuorumSettings, Settings,
};
use foreseal_pool::{DropReason, Status};
use foreseal_replication::Phase;
use foreseal_simulated_quorum::{FaultRates, SimulatedStore};
use foreseal_testkit::{TransactionKinds, Wallet, Workload, wait_for};
use support::{
    STEP, fingerprint,
    pair::{caught_up, serving, socket},
};

/// A member with its driver and its data directory.
struct Member {
    node: Arc<Node>,
    driver: MemberLoop,
}

/// Machines that share a quorum store, a genesis and a clock.
struct Machines {
    folders: Vec<tempfile::TempDir>,
    wallets: Vec<Wallet>,
    clock: Arc<SteppedClock>,
    quorum: Arc<SimulatedStore>,
}

impl Machines {
    fn new(count: usize) -> Self {
        Self {
            folders: (0..count).map(|_| tempfile::tempdir().unwrap()).collect(),
            wallets: Wallet::some(4),
            clock: Arc::default(),
            quorum: Arc::new(SimulatedStore::new(1, FaultRates::default())),
        }
    }

    fn settings(&self, number: usize, standby: bool) -> Settings {
        let datadir = self.folders[number].path();
        let quorum = QuorumSettings { store: self.quorum.clone(), prefix: "/test".to_owned(), standby };
        let cluster = ClusterSettings {
            name: format!("m{number}"),
            quorum: Some(quorum),
            ..ClusterSettings::default()
        };
        Settings { cluster, ..serving(datadir, &self.wallets) }
    }

    fn start(&self, number: usize, standby: bool) -> Member {
        let node = self.open(number, standby);
        let driver = node.start_member().unwrap().expect("the settings name a quorum journal");
        Member { node, driver }
    }

    /// Starts a member whose wall clock differs from that of the others.
    fn start_with(&self, number: usize, clock: &Arc<OwnClock>) -> Member {
        let node = self.open_with(number, number > 0, clock.clone());
        let driver = node.start_member().unwrap().expect("the settings name a quorum journal");
        Member { node, driver }
    }

    fn open(&self, number: usize, standby: bool) -> Arc<Node> {
        self.open_with(number, standby, self.clock.clone())
    }

    fn open_with(&self, number: usize, standby: bool, clock: Arc<dyn Clock>) -> Arc<Node> {
        let seed = u64::try_from(number).unwrap() + 1;
        let mut count = seed << 32;
        let randomness = Box::new(move || {
            count += 1;
            alloy_primitives::keccak256(count.to_be_bytes())
        });
        let environment = NodeEnvironment {
            clock,
            randomness,
            // The operator installs the same key on all members.
            secret: Box::new(|| B256::repeat_byte(1)),
            disk: Arc::new(RealDisk),
        };
        Arc::new(Node::open(self.settings(number, standby), environment).unwrap())
    }

    /// Runs each member once, after one step of time.
    fn step(&self, members: &mut [&mut Member]) {
        self.clock.advance(STEP / 2);
        for member in members {
            if member.driver.leads() {
                let now = member.node.now();
                member.driver.tick(now, &mut || true).unwrap();
            } else {
                member.driver.poll().unwrap();
            }
        }
    }

    /// Polls a standby until it leads; returns the time that this took.
    fn until_leading(&self, member: &mut Member) -> Duration {
        let began = self.clock.monotonic();
        for _ in 0..100 {
            member.driver.poll().unwrap();
            if member.driver.leads() {
                return self.clock.monotonic().saturating_sub(began);
            }
            self.clock.advance(STEP / 2);
        }
        panic!("the standby does not take over");
    }
}

/// Clock of a machine whose wall clock is ahead of that of the others.
struct OwnClock {
    machines: Arc<SteppedClock>,
    ahead_ms: AtomicI64,
}

impl OwnClock {
    fn new(machines: &Machines, ahead_ms: i64) -> Arc<Self> {
        Arc::new(Self { machines: machines.clock.clone(), ahead_ms: ahead_ms.into() })
    }
}

impl Clock for OwnClock {
    fn now(&self) -> ClockReading {
        self.machines.now().shifted(self.ahead_ms.load(Ordering::SeqCst))
    }
}

/// Ends a member without a release of its ownership.
fn crash(machines: &Machines, member: Member) {
    machines.quorum.lose_majority();
    drop(member);
    machines.quorum.restore_majority();
}

fn view(member: &Member) -> Arc<View> {
    member.node.view().unwrap()
}

fn pooled(node: &Node) -> Vec<B256> {
    let mut hashes: Vec<_> = node.pool().all().iter().map(|transaction| transaction.hash()).collect();
    hashes.sort_unstable();
    hashes
}

#[test]
fn a_standby_continues_the_same_block_after_a_crash() {
    let machines = Machines::new(2);
    let mut leader = machines.start(0, false);
    leader.driver.poll().unwrap();
    assert!(leader.driver.leads(), "a chain without an owner has one at once");
    let mut standby = machines.start(1, true);
    let mut workload = Workload::new(machines.wallets.clone(), TransactionKinds::WithoutBlobs, 3);
    for round in 0..23 {
        leader.node.submit(&workload.next_transaction()).unwrap();
        machines.step(&mut [&mut leader, &mut standby]);
        if round % 5 == 0 {
            caught_up(&leader.node, &standby.node);
        }
    }
    let pending = workload.next_transaction();
    let hash = leader.node.submit(&pending).unwrap();
    let last = caught_up(&leader.node, &standby.node);
    assert!(!standby.driver.leads() && standby.node.status().phase == Phase::Following);
    wait_for("the pool is replicated", || pooled(&standby.node) == pooled(&leader.node));
    let shown = fingerprint(&view(&leader));
    crash(&machines, leader);
    wait_for("the connection is lost", || standby.node.status().phase != Phase::Following);
    let taken = machines.until_leading(&mut standby);
    assert!(taken <= Duration::from_millis(900), "{taken:?}");
    assert_eq!(view(&standby).pending().block.hash, last.pending().block.hash, "nothing changed by it");
    machines.step(&mut [&mut standby]);
    let next = view(&standby);
    assert_eq!(next.pending().number(), last.pending().number());
    assert_eq!(next.pending_index(), last.pending_index() + 1, "the next index of the same block");
    let after = fingerprint(&next);
    // Each block is listed as its last step too.
    assert!(shown.iter().all(|entry| after.contains(entry)), "a step changed");
    assert!(next.pending().block.transactions.iter().any(|one| one.hash() == hash), "its pool went with it");
    let status = standby.node.cluster_status().unwrap();
    assert_eq!((status.role, status.owner.unwrap().epoch), (ClusterRole::Leader, 2));
    assert_eq!(status.last_takeover.unwrap().reason, "no_writes");
    let work = &standby.node.metrics().work;
    let counts = [&work.quorum_append, &work.append].map(|times| times.cumulative()[BOUNDS.len()]);
    assert!(counts[0] > 0 && counts[0] < counts[1], "only its own appends went to the engine: {counts:?}");
}

#[test]
fn a_starting_member_shows_its_role_and_cluster() {
    let machines = Machines::new(2);
    for number in 0..2 {
        let node = machines.open(number, number > 0);
        let status = node.status();
        assert_eq!(status.phase, Phase::Replaying { records: 0 });
        let cluster = status.cluster.unwrap();
        assert_eq!((cluster.role, cluster.name), (ClusterRole::Standby, format!("m{number}")));
        assert!(status.following.is_some(), "it follows until it acquires the ownership");
    }
}

#[test]
fn a_fenced_leader_shows_nothing_more_and_follows() {
    let machines = Machines::new(2);
    let mut old = machines.start(0, false);
    old.driver.poll().unwrap();
    let mut new = machines.start(1, true);
    let mut workload = Workload::new(machines.wallets[..3].to_vec(), TransactionKinds::WithoutBlobs, 4);
    for _ in 0..7 {
        old.node.submit(&workload.next_transaction()).unwrap();
        machines.step(&mut [&mut old, &mut new]);
    }
    caught_up(&old.node, &new.node);
    // The old leader is paused: it writes no beat.
    machines.until_leading(&mut new);
    let before = fingerprint(&view(&old));
    let unsent = old.node.submit(&workload.next_transaction()).unwrap();
    let mut other = Workload::new(machines.wallets[3..].to_vec(), TransactionKinds::WithoutBlobs, 9);
    new.node.submit(&other.next_transaction()).unwrap();
    machines.step(&mut [&mut new]);
    let now = machines.clock.now();
    old.driver.tick(now, &mut || true).unwrap();
    assert!(!old.driver.leads(), "it found itself fenced");
    assert_eq!(fingerprint(&view(&old)), before, "the step in flight is discarded");
    for _ in 0..3 {
        machines.step(&mut [&mut old, &mut new]);
    }
    assert_eq!(fingerprint(&caught_up(&new.node, &old.node)), fingerprint(&view(&new)));
    assert_eq!(old.node.cluster_status().unwrap().role, ClusterRole::Standby);
    // Only the old leader had accepted it.
    let lost = Status::Dropped(DropReason::SequencerReplaced);
    wait_for("the old leader knows that it is lost", || old.node.pool().status(&unsent) == lost);
    assert_eq!(new.node.pool().status(&unsent), Status::Unknown);
}

#[test]
fn a_handover_moves_the_chain_and_its_pool() {
    let machines = Machines::new(2);
    let mut first = machines.start(0, false);
    first.driver.poll().unwrap();
    let mut second = machines.start(1, true);
    let mut workload = Workload::new(machines.wallets.clone(), TransactionKinds::WithoutBlobs, 5);
    for round in 0..6 {
        for _ in 0..5 {
            let leader = if first.driver.leads() { &first } else { &second };
            leader.node.submit(&workload.next_transaction()).unwrap();
            machines.step(&mut [&mut first, &mut second]);
        }
        let (leader, standby) = if first.driver.leads() { (&first, &second) } else { (&second, &first) };
        caught_up(&leader.node, &standby.node);
        let (waiting, last) = (leader.node.submit(&workload.next_transaction()).unwrap(), view(leader));
        wait_for("the pool is replicated", || standby.node.pool().contains(&waiting));
        let handover = leader.node.hand_over().unwrap();
        assert_eq!(handover.successor, standby.node.cluster_status().map(|status| status.name));
        machines.step(&mut [&mut first, &mut second]);
        let leader = if first.driver.leads() { &mut first } else { &mut second };
        assert!(leader.driver.leads(), "round {round}: the successor leads after one poll");
        machines.step(&mut [leader]);
        let next = view(leader);
        assert!(
            next.pending_index() == last.pending_index() + 1
                || next.pending().number() > last.pending().number()
        );
        assert!(leader.node.pool().status(&waiting) != Status::Pooled);
    }
}

#[test]
fn a_member_catches_up_from_the_quorum_without_a_feed() {
    let machines = Machines::new(2);
    let mut leader = machines.start(0, false);
    leader.driver.poll().unwrap();
    let mut workload = Workload::new(machines.wallets.clone(), TransactionKinds::WithoutBlobs, 6);
    for _ in 0..25 {
        leader.node.submit(&workload.next_transaction()).unwrap();
        machines.step(&mut [&mut leader]);
    }
    let shown = fingerprint(&view(&leader));
    std::fs::remove_file(socket(machines.folders[0].path())).unwrap();
    let mut late = machines.start(1, true);
    for _ in 0..5 {
        machines.step(&mut [&mut leader, &mut late]);
    }
    assert_eq!(fingerprint(&view(&late))[..shown.len()], shown[..]);
    crash(&machines, leader);
    machines.until_leading(&mut late);
    machines.step(&mut [&mut late]);
}

#[test]
fn a_member_of_a_quorum_that_lost_its_data_fails_with_the_reason() {
    let mut machines = Machines::new(1);
    let mut leader = machines.start(0, false);
    leader.driver.poll().unwrap();
    let mut workload = Workload::new(machines.wallets.clone(), TransactionKinds::WithoutBlobs, 7);
    leader.node.submit(&workload.next_transaction()).unwrap();
    machines.step(&mut [&mut leader]);
    leader.node.stop();
    drop(leader);
    machines.quorum = Arc::new(SimulatedStore::new(2, FaultRates::default()));
    let node = machines.open(0, false);
    node.start();
    wait_for("the writer ends", || matches!(node.status().phase, Phase::Failed(_)));
    let Phase::Failed(reason) = node.status().phase else { unreachable!() };
    assert!(reason.contains("journal import"), "{reason}");
    assert!(node.submit(&workload.next_transaction()).is_err());
    // The thread of the member has ended: nothing waits for it.
    node.stop();
}

#[test]
fn a_member_whose_clock_differs_from_most_does_not_take_over() {
    let machines = Machines::new(3);
    let mut leader = machines.start(0, false);
    leader.driver.poll().unwrap();
    let (ahead, mut right) = (OwnClock::new(&machines, 30_000), machines.start(2, true));
    let mut wrong = machines.start_with(1, &ahead);
    for _ in 0..150 {
        machines.step(&mut [&mut leader, &mut wrong, &mut right]);
    }
    let difference = |member: &Member| member.node.cluster_status().unwrap().clock_difference;
    assert_eq!((difference(&leader), difference(&right)), (None, None), "two of three agree with it");
    assert!((difference(&wrong).unwrap() - 30_000).abs() < 1_500, "{:?}", difference(&wrong));
    assert_eq!(wrong.node.status().warnings()[0].code(), "clock_differs");
    caught_up(&leader.node, &wrong.node);
    caught_up(&leader.node, &right.node);
    crash(&machines, leader);
    for _ in 0..20 {
        machines.step(&mut [&mut wrong]);
        assert!(!wrong.driver.leads());
    }
    machines.until_leading(&mut right);
}

#[test]
fn a_new_leader_works_off_the_lead_of_the_old_one() {
    let machines = Machines::new(2);
    let ahead = OwnClock::new(&machines, 30_000);
    let mut old = machines.start_with(0, &ahead);
    old.driver.poll().unwrap();
    let mut new = machines.start(1, true);
    for _ in 0..60 {
        machines.step(&mut [&mut old, &mut new]);
    }
    let last = caught_up(&old.node, &new.node);
    crash(&machines, old);
    machines.until_leading(&mut new);
    let mut timestamps = vec![last.latest().block.header.timestamp];
    for _ in 0..200 {
        machines.step(&mut [&mut new]);
        let newest = view(&new).latest().block.header.timestamp;
        if timestamps.last() != Some(&newest) {
            timestamps.push(newest);
        }
    }
    assert_eq!(new.node.status().warnings()[0].code(), "ahead_of_clock");
    let grown: Vec<_> = timestamps.windows(2).skip(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(grown.len() > 5 && grown.iter().all(|grown| *grown == 1), "{timestamps:?}");
}

#[test]
fn a_leader_too_far_ahead_of_its_clock_gives_the_chain_up() {
    let machines = Machines::new(2);
    let clock = OwnClock::new(&machines, 3_600_000);
    let mut old = machines.start_with(0, &clock);
    old.driver.poll().unwrap();
    let mut new = machines.start(1, true);
    for _ in 0..60 {
        machines.step(&mut [&mut old, &mut new]);
    }
    clock.ahead_ms.store(0, Ordering::SeqCst);
    machines.step(&mut [&mut old, &mut new]);
    assert!(!old.driver.leads());
    assert!(!matches!(old.node.status().phase, Phase::Failed(_)), "it may lead again");
    for _ in 0..30 {
        machines.step(&mut [&mut old, &mut new]);
        assert!(!old.driver.leads() && !new.driver.leads(), "no clock is close enough to the chain");
    }
    let error = new.node.cluster_status().unwrap().quorum.unwrap().last_error.unwrap();
    assert!(error.contains("ahead of the clock"), "{error}");
    machines.clock.advance(Duration::from_secs(3_500));
    machines.until_leading(&mut new);
}

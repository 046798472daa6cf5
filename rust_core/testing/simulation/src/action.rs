//! Acts of the simulation, and schedules of them.

use foreseal_node::InspectionPoint;
use foreseal_simulated_disk::DiskFault;
use rand::{Rng, SeedableRng, rngs::StdRng};

use crate::{
    network_event::{NetworkEvent, draw_network_event},
    submission_kind::{SubmissionKind, draw_submission},
    world::{CrashScope, OperationClass},
};

/// End of a process before a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessEnd {
    /// Clean stop: the pool is saved.
    Stop,
    /// The process is killed; the page cache survives.
    Kill,
    /// Power is lost; the seed in the variant decides which unsynced data survives.
    PowerLoss(u64),
}

/// A change of a development chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainChange {
    Unwind { depth: u64 },
    Reorg { depth: usize, transactions: u64 },
    Mine { blocks: u64, interval: Option<u64> },
    Write { balance: u64 },
    Snapshot,
    Revert { newest_but: usize },
    Increase { seconds: u64 },
    BaseFee { wei: u64 },
}

/// An event of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Submit {
        submission: SubmissionKind,
        sender: usize,
        chance: u64,
    },
    Tick {
        ms: u64,
    },
    /// Time passes without a tick.
    Stall {
        ms: u64,
    },
    JumpClock {
        ms: i64,
    },
    /// A reader loads the newest view and holds it.
    HoldView {
        chance: u64,
    },
    /// All readers read their views again, and one releases its view.
    CheckViews {
        chance: u64,
    },
    /// A subscriber catches up.
    CatchUpSubscriber {
        chance: u64,
    },
    /// The store is written.
    WriteStore,
    /// A second process tries to write.
    SecondWriter,
    Disk {
        class: OperationClass,
        after: u32,
        fault: DiskFault,
    },
    DiskFull(bool),
    SlowDisk {
        operations: u32,
        ms: u64,
    },
    Crash {
        point: InspectionPoint,
        after: u32,
        end: CrashScope,
    },
    /// The process ends and another starts, optionally with a disk fault during the start and a check of a
    /// damaged copy of the journal.
    Restart {
        end: ProcessEnd,
        fault: Option<(OperationClass, u32, DiskFault)>,
        damage: Option<u64>,
    },
    Change(ChainChange),
    /// An event between the sequencer and its followers.
    Network(NetworkEvent),
}

/// Parameters that a seed fixes for the whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    pub seed: u64,
    /// Development chain, which may be unwound.
    pub development: bool,
    pub block_time: u64,
    pub segment_bytes: u64,
    /// Number of blocks for which the journal is retained after they are stored.
    pub retention: u64,
    /// Number of stored blocks, and of transactions, that stay in memory.
    pub recent: usize,
    /// Sealed but not stored work, in transactions, above which the builder is throttled.
    pub backlog: usize,
    pub followers: usize,
    /// Number of frames that the ring retains for followers.
    pub ring: usize,
}

impl Setup {
    /// Draws the parameters of a seed.
    pub fn draw(seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        Self {
            seed,
            development: random.random_bool(0.35),
            block_time: random.random_range(1..=3),
            segment_bytes: random.random_range(4..=24) * 1024,
            retention: random.random_range(0..=4),
            recent: if random.random_bool(0.7) { 1 } else { 32 },
            backlog: if random.random_bool(0.2) { 1_000 } else { 50_000 },
            followers: [0, 0, 0, 0, 0, 1, 1, 1, 2, 2][random.random_range(0..10)],
            ring: random.random_range(3..60),
        }
    }
}

/// Maximum number of acts drawn for a schedule; events of the network come in addition.
const MAX_ACTIONS: usize = 90;

/// Returns the schedule of a seed.
pub fn schedule(setup: &Setup) -> Vec<Action> {
    let mut random = StdRng::seed_from_u64(setup.seed ^ 0x5eed);
    let count = random.random_range(20..=MAX_ACTIONS);
    let mut actions = Vec::new();
    for _ in 0..count {
        actions.push(draw_action(&mut random, setup.development));
        if setup.followers > 0 && random.random_bool(0.8) {
            actions.push(Action::Network(draw_network_event(&mut random)));
        }
    }
    actions
}

fn draw_fault(random: &mut StdRng) -> (OperationClass, u32, DiskFault) {
    let class = [OperationClass::Any, OperationClass::Write, OperationClass::Sync, OperationClass::Folder]
        [random.random_range(0..4)];
    let fault = match random.random_range(0..8) {
        0..5 => DiskFault::Crash,
        5 => DiskFault::Short,
        6 => DiskFault::Broken,
        _ => DiskFault::Full,
    };
    (class, random.random_range(0..5), fault)
}

fn draw_end(random: &mut StdRng) -> ProcessEnd {
    match random.random_range(0..6) {
        0 => ProcessEnd::Stop,
        1 | 2 => ProcessEnd::Kill,
        _ => ProcessEnd::PowerLoss(random.random()),
    }
}

fn draw_change(random: &mut StdRng) -> ChainChange {
    match random.random_range(0..12) {
        0 | 1 => ChainChange::Unwind { depth: random.random_range(0..5) },
        2 | 3 => {
            ChainChange::Reorg { depth: random.random_range(1..4), transactions: random.random_range(0..3) }
        }
        4 => ChainChange::Mine {
            blocks: random.random_range(1..4),
            interval: random.random_bool(0.5).then(|| random.random_range(1..50)),
        },
        5 => ChainChange::Write { balance: random.random_range(0..1_000) },
        6 | 7 => ChainChange::Snapshot,
        8 | 9 => ChainChange::Revert { newest_but: random.random_range(0..2) },
        10 => ChainChange::Increase { seconds: random.random_range(0..500) },
        _ => ChainChange::BaseFee { wei: random.random_range(7..1_000_000_000) },
    }
}

/// Draws the milliseconds between two ticks: in half of the cases, one step.
fn draw_tick(random: &mut StdRng) -> u64 {
    match random.random_range(0..10) {
        0..5 => 200,
        5 => random.random_range(0..50),
        6 | 7 => random.random_range(0..1_000),
        8 => random.random_range(1_000..4_000),
        _ => random.random_range(0..20_000),
    }
}

fn draw_clock_jump(random: &mut StdRng) -> i64 {
    match random.random_range(0..5) {
        0 => random.random_range(-1_500..1_500),
        1 | 2 => random.random_range(-20_000..0),
        3 => random.random_range(0..20_000),
        _ => random.random_range(-4_000_000..4_000_000),
    }
}

fn draw_action(random: &mut StdRng, development: bool) -> Action {
    if development && random.random_bool(0.12) {
        return Action::Change(draw_change(random));
    }
    match random.random_range(0..1000) {
        0..250 => Action::Submit {
            submission: draw_submission(random),
            sender: random.random_range(0..3),
            chance: random.random(),
        },
        250..590 => Action::Tick { ms: draw_tick(random) },
        590..610 => Action::Stall { ms: random.random_range(0..10_000) },
        610..650 => Action::JumpClock { ms: draw_clock_jump(random) },
        650..710 => Action::HoldView { chance: random.random() },
        710..745 => Action::CheckViews { chance: random.random() },
        745..780 => Action::CatchUpSubscriber { chance: random.random() },
        780..850 => Action::WriteStore,
        850..862 => Action::SecondWriter,
        862..900 => {
            let (class, after, fault) = draw_fault(random);
            Action::Disk { class, after, fault }
        }
        900..908 => Action::DiskFull(random.random_bool(0.6)),
        908..918 => {
            Action::SlowDisk { operations: random.random_range(1..6), ms: random.random_range(1..7_000) }
        }
        918..955 => {
            let point = InspectionPoint::ALL[random.random_range(0..InspectionPoint::ALL.len())];
            let store = point == InspectionPoint::BeforeStoreCommit && random.random_bool(0.4);
            let end = if store { CrashScope::Thread } else { CrashScope::Process };
            Action::Crash { point, after: random.random_range(0..4), end }
        }
        _ => Action::Restart {
            end: draw_end(random),
            fault: random.random_bool(0.25).then(|| draw_fault(random)),
            damage: random.random_bool(0.3).then(|| random.random()),
        },
    }
}

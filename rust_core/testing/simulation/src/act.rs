//! Acts of the simulation, and schedules of them.

use foreseal_journal::simulated::DiskFault;
use foreseal_node::InspectionPoint;
use rand::{Rng, SeedableRng, rngs::StdRng};

use crate::{
    network_event::{NetworkEvent, draw_network_event},
    submission_kind::{SubmissionKind, draw_submission},
    world::{Class, End},
};

/// End of a process before a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Clean stop: the pool is saved.
    Stop,
    /// The process is killed; the page cache survives.
    Kill,
    /// Power is lost; the seed in the variant decides which unsynced data survives.
    PowerLoss(u64),
}

/// A change of a development chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
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
pub enum Act {
    Submit {
        given: SubmissionKind,
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
    Jump {
        ms: i64,
    },
    /// A reader loads the newest view and holds it.
    Hold {
        chance: u64,
    },
    /// All readers read their views again, and one releases its view.
    Look {
        chance: u64,
    },
    /// A subscriber catches up.
    Follow {
        chance: u64,
    },
    /// The store is written.
    Store,
    /// A second process tries to write.
    SecondWriter,
    Disk {
        class: Class,
        after: u32,
        fault: DiskFault,
    },
    Full(bool),
    Slow {
        operations: u32,
        ms: u64,
    },
    Crash {
        point: InspectionPoint,
        after: u32,
        end: End,
    },
    /// The process ends and another starts, optionally with a disk fault during the start and a check of a
    /// damaged copy of the journal.
    Restart {
        ending: Ending,
        fault: Option<(Class, u32, DiskFault)>,
        damage: Option<u64>,
    },
    Change(Change),
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
    pub fn of(seed: u64) -> Self {
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
const MOST: usize = 90;

/// Returns the schedule of a seed.
pub fn schedule(setup: &Setup) -> Vec<Act> {
    let mut random = StdRng::seed_from_u64(setup.seed ^ 0x5eed);
    let count = random.random_range(20..=MOST);
    let mut acts = Vec::new();
    for _ in 0..count {
        acts.push(act(&mut random, setup.development));
        if setup.followers > 0 && random.random_bool(0.8) {
            acts.push(Act::Network(draw_network_event(&mut random)));
        }
    }
    acts
}

fn fault(random: &mut StdRng) -> (Class, u32, DiskFault) {
    let class = [Class::Any, Class::Write, Class::Sync, Class::Folder][random.random_range(0..4)];
    let fault = match random.random_range(0..8) {
        0..5 => DiskFault::Crash,
        5 => DiskFault::Short,
        6 => DiskFault::Broken,
        _ => DiskFault::Full,
    };
    (class, random.random_range(0..5), fault)
}

fn ending(random: &mut StdRng) -> Ending {
    match random.random_range(0..6) {
        0 => Ending::Stop,
        1 | 2 => Ending::Kill,
        _ => Ending::PowerLoss(random.random()),
    }
}

fn change(random: &mut StdRng) -> Change {
    match random.random_range(0..12) {
        0 | 1 => Change::Unwind { depth: random.random_range(0..5) },
        2 | 3 => Change::Reorg { depth: random.random_range(1..4), transactions: random.random_range(0..3) },
        4 => Change::Mine {
            blocks: random.random_range(1..4),
            interval: random.random_bool(0.5).then(|| random.random_range(1..50)),
        },
        5 => Change::Write { balance: random.random_range(0..1_000) },
        6 | 7 => Change::Snapshot,
        8 | 9 => Change::Revert { newest_but: random.random_range(0..2) },
        10 => Change::Increase { seconds: random.random_range(0..500) },
        _ => Change::BaseFee { wei: random.random_range(7..1_000_000_000) },
    }
}

/// Draws the milliseconds between two ticks: in half of the cases, one step.
fn odd(random: &mut StdRng) -> u64 {
    match random.random_range(0..10) {
        0..5 => 200,
        5 => random.random_range(0..50),
        6 | 7 => random.random_range(0..1_000),
        8 => random.random_range(1_000..4_000),
        _ => random.random_range(0..20_000),
    }
}

fn jump(random: &mut StdRng) -> i64 {
    match random.random_range(0..5) {
        0 => random.random_range(-1_500..1_500),
        1 | 2 => random.random_range(-20_000..0),
        3 => random.random_range(0..20_000),
        _ => random.random_range(-4_000_000..4_000_000),
    }
}

fn act(random: &mut StdRng, development: bool) -> Act {
    if development && random.random_bool(0.12) {
        return Act::Change(change(random));
    }
    match random.random_range(0..1000) {
        0..250 => Act::Submit {
            given: draw_submission(random),
            sender: random.random_range(0..3),
            chance: random.random(),
        },
        250..590 => Act::Tick { ms: odd(random) },
        590..610 => Act::Stall { ms: random.random_range(0..10_000) },
        610..650 => Act::Jump { ms: jump(random) },
        650..710 => Act::Hold { chance: random.random() },
        710..745 => Act::Look { chance: random.random() },
        745..780 => Act::Follow { chance: random.random() },
        780..850 => Act::Store,
        850..862 => Act::SecondWriter,
        862..900 => {
            let (class, after, fault) = fault(random);
            Act::Disk { class, after, fault }
        }
        900..908 => Act::Full(random.random_bool(0.6)),
        908..918 => Act::Slow { operations: random.random_range(1..6), ms: random.random_range(1..7_000) },
        918..955 => {
            let point = InspectionPoint::ALL[random.random_range(0..InspectionPoint::ALL.len())];
            let store = point == InspectionPoint::BeforeStoreCommit && random.random_bool(0.4);
            let end = if store { End::Thread } else { End::Process };
            Act::Crash { point, after: random.random_range(0..4), end }
        }
        _ => Act::Restart {
            ending: ending(random),
            fault: random.random_bool(0.25).then(|| fault(random)),
            damage: random.random_bool(0.3).then(|| random.random()),
        },
    }
}

//! Events of a cluster run, and schedules of them.

use foreseal_node::InspectionPoint;
use foreseal_simulated_disk::DiskFault;
use foreseal_simulated_quorum::FaultRates;
use rand::{Rng, SeedableRng, rngs::StdRng};

use crate::{action::ProcessEnd, world::OperationClass};

/// An event of a cluster run. `at` is a station: members first, then replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterEvent {
    /// A client submits a transaction.
    Submit {
        at: usize,
        sender: usize,
        chance: u64,
    },
    /// A client submits transactions whose step needs several keys of the quorum store.
    Burst {
        at: usize,
        sender: usize,
    },
    /// A member's calls of the quorum store fail: their requests do not arrive, or their answers do not.
    CutFromQuorum {
        at: usize,
        ms: u64,
    },
    /// The quorum store answers no process: its majority is lost, or it elects another leader.
    Silence {
        ms: u64,
    },
    /// Requests that are late are executed now.
    DeliverLate,
    /// The quorum store forgets superseded values.
    Compact,
    /// The quorum store's quota is exhausted until this time has passed.
    ExhaustSpace {
        ms: u64,
    },
    Rates(QuorumWeather),
    /// The next record that a member reads from the quorum store has a changed byte.
    Tamper {
        at: usize,
    },
    /// No byte of the feed arrives between the two stations.
    CutFeed {
        from: usize,
        to: usize,
        ms: u64,
    },
    /// A connection of a follower breaks; `retained` of the bytes in flight still arrive.
    BreakFeed {
        at: usize,
        retained: usize,
        reset: bool,
    },
    /// A process ends at once, and restarts after this time.
    Crash {
        at: usize,
        end: ProcessEnd,
        ms: u64,
    },
    /// A process ends when it reaches the point after passing it `after` times.
    CrashAt {
        at: usize,
        point: InspectionPoint,
        after: u32,
    },
    Disk {
        at: usize,
        class: OperationClass,
        after: u32,
        fault: DiskFault,
    },
    /// A process stands still, and then continues with what it knew.
    Pause {
        at: usize,
        ms: u64,
    },
    /// The wall clock of a machine jumps.
    JumpClock {
        at: usize,
        ms: i64,
    },
    /// The leader hands over.
    HandOver,
    /// A process stops cleanly, and restarts after this time.
    Stop {
        at: usize,
        ms: u64,
    },
    WriteStore {
        at: usize,
    },
}

/// Maximum simulated time of a run that is not a long one, in milliseconds.
const MAX_LENGTH: u64 = 20_000;

/// Rates of the faults of the quorum store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuorumWeather {
    Fair,
    Lossy,
    Doubling,
    Stormy,
}

impl QuorumWeather {
    /// Returns the rates, in thousandths.
    pub fn rates(self) -> FaultRates {
        match self {
            Self::Fair => FaultRates::default(),
            Self::Lossy => {
                FaultRates { lost_request: 60, lost_answer: 90, late: 40, ..FaultRates::default() }
            }
            Self::Doubling => FaultRates { late: 30, doubled: 120, resent: 90, ..FaultRates::default() },
            Self::Stormy => {
                FaultRates { lost_request: 120, lost_answer: 150, late: 80, doubled: 80, resent: 60 }
            }
        }
    }

    fn draw(random: &mut StdRng) -> Self {
        [Self::Fair, Self::Lossy, Self::Doubling, Self::Stormy][random.random_range(0..4)]
    }
}

/// Parameters that a seed fixes for a whole cluster run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterSetup {
    pub seed: u64,
    pub members: usize,
    pub replicas: usize,
    pub block_time: u64,
    pub segment_bytes: u64,
    /// Number of blocks for which a journal is retained after they are stored.
    pub retention: u64,
    /// Number of stored blocks, and of transactions, that stay in memory.
    pub recent: usize,
    /// Number of frames that a ring retains for followers.
    pub ring: usize,
    /// `true` if all members but the first begin no chain.
    pub standbys: bool,
    pub weather: QuorumWeather,
    /// Simulated time with faults, in milliseconds.
    pub length: u64,
}

impl ClusterSetup {
    /// Draws the parameters of a seed.
    pub fn draw(seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed ^ 0xc1a5);
        Self {
            seed,
            members: random.random_range(2..=3),
            replicas: [0, 0, 1, 2][random.random_range(0..4)],
            block_time: random.random_range(1..=3),
            segment_bytes: random.random_range(4..=24) * 1024,
            retention: random.random_range(0..=4),
            recent: if random.random_bool(0.5) { 1 } else { 32 },
            ring: random.random_range(3..60),
            standbys: random.random_bool(0.5),
            weather: QuorumWeather::draw(&mut random),
            // A long run removes old records from the quorum store.
            length: if random.random_bool(0.02) { 120_000 } else { random.random_range(5_000..MAX_LENGTH) },
        }
    }

    /// Returns `true` for a run that is long enough to remove old records, with few faults.
    pub fn is_long(&self) -> bool {
        self.length > MAX_LENGTH
    }

    pub fn stations(&self) -> usize {
        self.members + self.replicas
    }
}

/// Returns the schedule of a seed: events with their times in milliseconds, in order.
pub fn cluster_schedule(setup: &ClusterSetup) -> Vec<(u64, ClusterEvent)> {
    let mut random = StdRng::seed_from_u64(setup.seed ^ 0x5eed_c1a5);
    let mut events = Vec::new();
    let mut time = 0;
    // Some runs have few faults, so that each has time to take effect.
    let is_long = setup.is_long();
    let calm = if is_long { random.random_range(8_000..60_000) } else { random.random_range(150..1_500) };
    let submissions = if is_long { 70 } else { random.random_range(60..400) };
    while time < setup.length {
        time += random.random_range(0..2 * submissions);
        let (at, sender) = (random.random_range(0..setup.stations()), random.random_range(0..3));
        events.push((time, ClusterEvent::Submit { at, sender, chance: random.random() }));
    }
    time = 1_500;
    while time < setup.length {
        time += random.random_range(0..2 * calm);
        events.push((time, draw_cluster_event(&mut random, setup)));
    }
    events.sort_by_key(|(time, _)| *time);
    events
}

/// Draws a duration in milliseconds; many are close to the silence after which a standby takes over.
fn draw_duration(random: &mut StdRng) -> u64 {
    match random.random_range(0..4) {
        0 => random.random_range(1..400),
        1 | 2 => random.random_range(400..1_600),
        _ => random.random_range(1_600..6_000),
    }
}

fn draw_process_end(random: &mut StdRng) -> ProcessEnd {
    if random.random_bool(0.5) { ProcessEnd::Kill } else { ProcessEnd::PowerLoss(random.random()) }
}

fn draw_disk_fault(random: &mut StdRng, at: usize) -> ClusterEvent {
    let classes = [OperationClass::Any, OperationClass::Write, OperationClass::Sync, OperationClass::Folder];
    let faults = [
        DiskFault::Crash,
        DiskFault::Crash,
        DiskFault::Crash,
        DiskFault::Short,
        DiskFault::Broken,
        DiskFault::Full,
    ];
    ClusterEvent::Disk {
        at,
        class: classes[random.random_range(0..classes.len())],
        after: random.random_range(0..5),
        fault: faults[random.random_range(0..faults.len())],
    }
}

fn draw_clock_jump(random: &mut StdRng) -> i64 {
    match random.random_range(0..3) {
        0 => random.random_range(-1_500..1_500),
        1 => random.random_range(-30_000..30_000),
        _ => random.random_range(-600_000..600_000),
    }
}

fn draw_cluster_event(random: &mut StdRng, setup: &ClusterSetup) -> ClusterEvent {
    use ClusterEvent as E;
    let (at, member) = (random.random_range(0..setup.stations()), random.random_range(0..setup.members));
    match random.random_range(0..100) {
        0..16 => E::CutFromQuorum { at: member, ms: draw_duration(random) },
        16..24 => E::Silence { ms: draw_duration(random) },
        24..27 => E::DeliverLate,
        27..29 => E::Compact,
        29..31 => E::ExhaustSpace { ms: draw_duration(random) },
        31..35 => E::Rates(QuorumWeather::draw(random)),
        35..38 => E::Tamper { at: member },
        38..45 => E::CutFeed { from: at, to: member, ms: draw_duration(random) },
        45..49 => {
            E::BreakFeed { at, retained: random.random_range(0..2_000), reset: random.random_bool(0.5) }
        }
        49..58 => E::Crash { at, end: draw_process_end(random), ms: draw_duration(random) },
        58..64 => {
            let point = InspectionPoint::ALL[random.random_range(0..InspectionPoint::ALL.len())];
            E::CrashAt { at, point, after: random.random_range(0..6) }
        }
        64..68 => draw_disk_fault(random, at),
        68..80 => {
            E::Pause { at: if random.random_bool(0.7) { member } else { at }, ms: draw_duration(random) }
        }
        80..84 => E::JumpClock { at, ms: draw_clock_jump(random) },
        84..88 => E::HandOver,
        88..91 => E::Stop { at, ms: draw_duration(random) },
        91..94 => E::Burst { at: member, sender: random.random_range(0..3) },
        _ => E::WriteStore { at },
    }
}

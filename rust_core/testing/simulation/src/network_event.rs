//! Events between the sequencer and its followers, drawn at random.

use foreseal_node::InspectionPoint;
use rand::{Rng, rngs::StdRng};

use crate::{pipe::FrameFault, submission_kind::SubmissionKind};

/// An event between the sequencer and its followers. `at` is the slot of the follower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkEvent {
    /// In each round, every thread of both sides may run one iteration.
    Rounds { rounds: u64, chance: u64 },
    /// A follower's process ends; at most `retained` bytes in flight to the sequencer still arrive.
    Kill { at: usize, retained: usize },
    /// A follower's process ends when it reaches the point after passing it `after` times.
    Crash { at: usize, point: InspectionPoint, after: u32 },
    /// A connection breaks, with an error if `reset`. `retained` chooses how many bytes in flight arrive, down
    /// and up.
    Cut { at: usize, retained: [u64; 2], reset: bool },
    /// A connection is half-open: nothing arrives down, up or both, and neither side is notified.
    Silence { at: usize, down: bool, up: bool },
    /// Every wait on a silent connection times out.
    TimeOut,
    /// Frames are duplicated, lost or reordered.
    FrameFault { at: usize, how: FrameFault, chance: u64 },
    /// Nothing arrives at a follower for this number of rounds.
    Slow { at: usize, rounds: u64 },
    /// A client submits through a follower.
    Submit { at: usize, submission: SubmissionKind, sender: usize, chance: u64 },
    /// A reader loads a follower's newest view and holds it.
    Hold { at: usize, chance: u64 },
    /// All readers of a follower read their views again, and one releases its view.
    Poll { at: usize },
    /// A subscriber of a follower catches up.
    Follow { at: usize },
}

/// Draws an event.
pub fn draw_network_event(random: &mut StdRng) -> NetworkEvent {
    let at = random.random_range(0..2);
    match random.random_range(0..1000) {
        0..560 => NetworkEvent::Rounds { rounds: random.random_range(1..6), chance: random.random() },
        560..590 => NetworkEvent::Kill { at, retained: random.random_range(0..200) },
        590..620 => {
            let point = if random.random_bool(0.5) {
                InspectionPoint::BeforePublish
            } else {
                InspectionPoint::Published
            };
            NetworkEvent::Crash { at, point, after: random.random_range(0..3) }
        }
        620..690 => NetworkEvent::Cut { at, retained: random.random(), reset: random.random_bool(0.3) },
        690..730 => {
            let (down, up) = [(true, true), (true, false), (false, true)][random.random_range(0..3)];
            NetworkEvent::Silence { at, down, up }
        }
        730..770 => NetworkEvent::TimeOut,
        770..800 => {
            let how = [FrameFault::Twice, FrameFault::Swap, FrameFault::Lose][random.random_range(0..3)];
            NetworkEvent::FrameFault { at, how, chance: random.random() }
        }
        800..820 => NetworkEvent::Slow { at, rounds: random.random_range(1..20) },
        820..910 => {
            let submission =
                [SubmissionKind::Next, SubmissionKind::Next, SubmissionKind::Gap, SubmissionKind::Again]
                    [random.random_range(0..4)];
            NetworkEvent::Submit {
                at,
                submission,
                sender: random.random_range(0..3),
                chance: random.random(),
            }
        }
        910..950 => NetworkEvent::Hold { at, chance: random.random() },
        950..975 => NetworkEvent::Poll { at },
        _ => NetworkEvent::Follow { at },
    }
}

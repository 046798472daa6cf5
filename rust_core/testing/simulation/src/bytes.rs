//! Damage to a small journal: every byte changed, and every length that it can be cut to.

use serde::Serialize;

use crate::{
    action::{Action, ProcessEnd, Setup},
    damage::{Copy, Damage},
    run::Run,
    submission_kind::SubmissionKind,
};

/// Counts of the damage to a small journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Bytes {
    pub segments: u64,
    pub bytes: u64,
    /// Number of nodes that were started on a damaged copy.
    pub starts: u64,
    /// Starts that were refused with segment and offset. The others had the same chain, or lacked a torn last
    /// append.
    pub rejected: u64,
}

/// Returns acts that build some blocks with a few transactions. With `stored`, the store is written after
/// each tick.
fn acts(stored: bool) -> Vec<Action> {
    let mut acts = Vec::new();
    for round in 0..8 {
        acts.push(Action::Submit { submission: SubmissionKind::Next, sender: round % 3, chance: 6 });
        acts.push(Action::Tick { ms: 400 });
        if stored {
            acts.push(Action::WriteStore);
        }
    }
    acts
}

/// Starts a node on copies of a small journal: one for every byte with a bit inverted, and one for every
/// length it is cut to. Tests only one position in `stride`, starting with `first`.
///
/// # Errors
/// Returns the violated property.
pub fn every_byte(first: usize, stride: usize) -> Result<Bytes, String> {
    let mut done = Bytes::default();
    for stored in [false, true] {
        let setup = Setup {
            seed: 0,
            development: false,
            block_time: 1,
            segment_bytes: 6 * 1024,
            retention: 100,
            recent: 1,
            backlog: 50_000,
            followers: 0,
            ring: 0,
        };
        let mut run = Run::new(setup)?;
        acts(stored).iter().try_for_each(|act| run.apply(act))?;
        run.end(ProcessEnd::Kill, true)?;
        let mut copy = Copy::new(&run)?;
        for (number, _, content) in copy.segments() {
            done.segments += 1;
            done.bytes += content.len() as u64;
            for at in (first..content.len()).step_by(stride) {
                let bit = u8::try_from(at % 8).unwrap_or(0);
                for damage in [Damage::Flip { at, bit }, Damage::Cut { at }] {
                    let rejected = copy.try_with(number, damage, &run.ledger, Run::rules())?;
                    done.starts += 1;
                    done.rejected += u64::from(rejected);
                    if !rejected {
                        copy = Copy::new(&run)?;
                    }
                }
            }
        }
    }
    Ok(done)
}

//! A member's calls of the quorum store, during which the other processes run.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use bytes::Bytes;
use foreseal_quorum::{
    KeyOperation, KeyValue, Owner, QuorumRequest, QuorumResponse, QuorumStore, QuorumStoreError, RunId,
};

use crate::cluster_world::ClusterWorld;

/// Simulated time of an attempt without an answer, in milliseconds.
const ATTEMPT: u64 = 400;
/// Time of a standby's own answered reads without a write before it may take over, in milliseconds.
const QUIET: u64 = 800;
/// Maximum time between these reads, in milliseconds.
const MAX_GAP: u64 = 400;

/// Connection of one process to the quorum store.
pub struct MemberStore {
    at: usize,
    alive: Arc<AtomicBool>,
    heard: Mutex<Heard>,
}

/// Answers of the quorum store that the process has received.
#[derive(Default)]
struct Heard {
    /// Run id with which it acquires the ownership.
    run_id: Option<RunId>,
    /// Answered reads of owner, beat and head: time and revisions.
    reads: Vec<(u64, [u64; 3])>,
    owner: Option<Owner>,
    /// `true` if an answer proved that another process owns the chain.
    is_fenced: bool,
}

impl MemberStore {
    pub fn new(at: usize, alive: Arc<AtomicBool>) -> Self {
        Self { at, alive, heard: Mutex::default() }
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns `true` if an answer proved to this process that another one owns the chain.
    pub fn is_fenced(&self) -> bool {
        self.heard().is_fenced
    }

    fn attempt(
        &self,
        world: &ClusterWorld,
        request: &QuorumRequest,
    ) -> Result<QuorumResponse, QuorumStoreError> {
        world.counts.borrow_mut().calls += 1;
        let purpose = Purpose::from_request(request);
        self.check_acquisition(world, request);
        self.hold_up(world, purpose);
        world.elapse(self.at, latency(world));
        let station = &world.stations[self.at];
        if station.cut_until.get() > world.now() {
            return Err(unanswered("the request did not arrive"));
        }
        let answer = Self::execute(world, request)?;
        if purpose == Purpose::Append && !world.setup.is_long() && world.below(25) == 0 {
            station.cut_until.set(world.now() + 900 + world.below(2_000));
            world.counts.borrow_mut().fault("member cut from the engine before the answer to an append");
        }
        world.elapse(self.at, latency(world));
        if station.cut_until.get() > world.now() {
            return Err(unanswered("the answer did not arrive"));
        }
        Ok(answer)
    }

    /// Delays a request so that others act between its decision and its execution.
    fn hold_up(&self, world: &ClusterWorld, purpose: Purpose) {
        match purpose {
            Purpose::Acquisition if world.below(4) == 0 => {
                // A silent owner continues just now.
                for other in world.stations.iter().filter(|other| other.at != self.at) {
                    other.paused_until.set(other.paused_until.get().min(world.now() + 1));
                    other.cut_until.set(0);
                }
                world.counts.borrow_mut().fault("owner continues during a takeover");
                world.elapse(self.at, 100 + world.below(300));
            }
            Purpose::Part if world.below(3) == 0 => {
                world.counts.borrow_mut().fault("part of an append executed late");
                world.elapse(self.at, 900 + world.below(3_000));
            }
            Purpose::Append if !world.setup.is_long() && world.below(60) == 0 => {
                world.counts.borrow_mut().fault("append executed late");
                world.elapse(self.at, 900 + world.below(2_000));
            }
            _ => {}
        }
    }

    fn execute(world: &ClusterWorld, request: &QuorumRequest) -> Result<QuorumResponse, QuorumStoreError> {
        if world.silent_until.get() > world.now() {
            world.quorum.lose_majority();
        } else {
            world.quorum.restore_majority();
        }
        if world.full_until.get() <= world.now() {
            world.quorum.disarm();
        }
        let answer = world.quorum.call(request);
        world.read_history();
        answer
    }

    /// Checks that a process acquires the ownership only after it has read for long enough that the owner is
    /// silent.
    fn check_acquisition(&self, world: &ClusterWorld, request: &QuorumRequest) {
        let Some(owner) = written_owner(request).filter(|owner| !owner.released) else { return };
        let mut heard = self.heard();
        heard.run_id = Some(owner.run_id);
        let Some(before) = &heard.owner else { return };
        if before.released || before.run_id == owner.run_id {
            return;
        }
        let newest = heard.reads.last().copied();
        let mut since = newest;
        for &(time, revisions) in heard.reads.iter().rev() {
            let Some((later, same)) = since else { break };
            if same != revisions || later - time > MAX_GAP {
                break;
            }
            since = Some((time, revisions));
        }
        let quiet = newest.zip(since).map_or(0, |((newest, _), (first, _))| newest - first);
        if quiet < QUIET {
            world.violated(format!(
                "{} acquires the chain from {} after {quiet} ms of own reads without a write",
                owner.name, before.name
            ));
        }
    }

    /// Remembers what an answer says about the owner.
    fn note(&self, world: &ClusterWorld, request: &QuorumRequest, answer: &QuorumResponse) {
        let QuorumRequest::Transaction { comparisons, .. } = request else { return };
        let QuorumResponse::Transaction { succeeded, results, .. } = answer else { return };
        let mut heard = self.heard();
        if *succeeded && written_owner(request).is_some_and(|owner| !owner.released) {
            heard.is_fenced = false;
        }
        let [owner, beat, head] = results.as_slice() else { return };
        let is_read = owner.iter().chain(beat).chain(head).all(|entry| !entry.key.contains("/s/"));
        if !is_read || (*succeeded && !comparisons.is_empty()) {
            return;
        }
        let revision = |entries: &[KeyValue]| entries.first().map_or(0, |entry| entry.revision);
        let decoded: Option<Owner> =
            owner.first().and_then(|entry| serde_json::from_slice(&entry.value).ok());
        let is_own = decoded.as_ref().is_some_and(|owner| Some(owner.run_id) == heard.run_id);
        if comparisons.is_empty() {
            heard.reads.push((world.now(), [revision(owner), revision(beat), revision(head)]));
            heard.owner = decoded;
            heard.is_fenced &= !is_own;
        } else if decoded.is_some() {
            heard.is_fenced = !is_own;
        }
    }
}

impl QuorumStore for MemberStore {
    fn call(&self, request: &QuorumRequest) -> Result<QuorumResponse, QuorumStoreError> {
        let world = ClusterWorld::current().filter(|_| self.alive.load(Ordering::SeqCst));
        let Some(world) = world else { return Err(unanswered("the process has ended")) };
        match self.attempt(&world, request) {
            Ok(mut answer) => {
                self.note(&world, request, &answer);
                world.tamper(self.at, &mut answer);
                Ok(answer)
            }
            Err(error) => {
                if matches!(error, QuorumStoreError::Unanswered { .. }) {
                    world.elapse(self.at, ATTEMPT);
                } else {
                    world.elapse(self.at, latency(&world));
                }
                Err(error)
            }
        }
    }
}

/// Purpose of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Acquisition,
    /// A part of an append, before the one that makes it exist.
    Part,
    Append,
    Other,
}

impl Purpose {
    fn from_request(request: &QuorumRequest) -> Self {
        let QuorumRequest::Transaction { success, .. } = request else { return Self::Other };
        let puts = |end: &str| {
            success.iter().any(|one| matches!(one, KeyOperation::Put { key, .. } if key.contains(end)))
        };
        match (puts("/head"), puts("/s/")) {
            (true, _) => Self::Append,
            (false, true) => Self::Part,
            _ if written_owner(request).is_some_and(|owner| !owner.released) => Self::Acquisition,
            _ => Self::Other,
        }
    }
}

fn unanswered(reason: &str) -> QuorumStoreError {
    QuorumStoreError::Unanswered { reason: reason.to_owned() }
}

/// Draws the time of one way, in milliseconds: mostly that of a quiet network.
fn latency(world: &ClusterWorld) -> u64 {
    match world.below(1_000) {
        0..800 => world.below(4),
        800..960 => world.below(60),
        960..996 => world.below(350),
        _ => world.below(1_100),
    }
}

/// Returns the owner that a request writes.
fn written_owner(request: &QuorumRequest) -> Option<Owner> {
    let QuorumRequest::Transaction { success, .. } = request else { return None };
    success.iter().find_map(|operation| match operation {
        KeyOperation::Put { key, value } if key.ends_with("/owner") => serde_json::from_slice(value).ok(),
        _ => None,
    })
}

impl ClusterWorld {
    /// Checks what was written to the quorum store since the last call.
    pub fn read_history(&self) {
        let mut history = self.history.borrow_mut();
        let entries = self.quorum.history_after(history.read);
        let checked = history.extend(&entries, self.now());
        let mut counts = self.counts.borrow_mut();
        let owner = history.owner_name();
        for reason in history.takeovers.drain(..) {
            counts.takeover(reason);
            self.trace(&format!("  {owner} owns the chain: {reason}"));
        }
        drop((counts, history));
        if let Err(what) = checked {
            self.violated(what);
        }
    }

    /// Changes a byte of a record in an answer, if that is due for this station.
    fn tamper(&self, at: usize, answer: &mut QuorumResponse) {
        let station = &self.stations[at];
        let QuorumResponse::Transaction { results, .. } = answer else { return };
        let records = results.iter_mut().flatten().filter(|entry| entry.key.contains("/s/"));
        let mut records: Vec<&mut KeyValue> = records.collect();
        if !station.tampers.get() || records.is_empty() {
            return;
        }
        let chosen = usize::try_from(self.below(records.len() as u64)).unwrap_or(0);
        let mut bytes = records[chosen].value.to_vec();
        let position = usize::try_from(self.below(bytes.len() as u64)).unwrap_or(0);
        bytes[position] ^= 1 << self.below(8);
        records[chosen].value = Bytes::from(bytes);
        station.tampers.set(false);
        station.excused.set(true);
        self.counts.borrow_mut().fault("record of the engine changed");
        self.trace(&format!("  station {at} reads a changed record"));
    }
}

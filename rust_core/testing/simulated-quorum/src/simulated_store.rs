//! The quorum store and its faults.

use foreseal_quorum::{
    EndpointHash, EndpointStatus, HashReading, KeyOperation, MemberStatus, QuorumMember, QuorumRequest,
    QuorumResponse, QuorumStore, QuorumStoreError,
};
use parking_lot::Mutex;

use crate::{
    fault_rates::FaultRates,
    key_space::{HistoryEntry, KeySpace},
    seeded_chance::SeededChance,
};

/// Maximum number of requests that wait for their late execution.
const MAX_LATE: usize = 64;
/// Probability in thousandths that a late request runs before a call.
const LATE_RATE: u32 = 250;

/// A deterministic quorum store in memory. Transactions are atomic and reads are linearizable, as in etcd; only the
/// delivery of requests and answers has faults.
pub struct SimulatedStore(Mutex<SimulatedState>);

struct SimulatedState {
    keys: KeySpace,
    rates: FaultRates,
    chance: SeededChance,
    late: Vec<QuorumRequest>,
    majority: Majority,
    space: Space,
    versions: Vec<String>,
    /// Index of the member whose data differs.
    damaged: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Majority {
    Present,
    Lost,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Space {
    Free,
    /// The next write exceeds the quota: as in etcd it is executed, but answered with NOSPACE.
    Exceeded,
    Full,
}

/// Fault of one request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Delivery {
    Normal,
    LostRequest,
    LostAnswer,
    Late,
    Doubled,
    Resent,
}

impl SimulatedStore {
    /// Returns an empty quorum store with three members. The seed decides the faults.
    pub fn new(seed: u64, rates: FaultRates) -> Self {
        Self(Mutex::new(SimulatedState {
            keys: KeySpace::default(),
            rates,
            chance: SeededChance::new(seed),
            late: Vec::new(),
            majority: Majority::Present,
            space: Space::Free,
            versions: vec!["3.6.0".to_owned(); 3],
            damaged: None,
        }))
    }

    /// Changes the probabilities of faults.
    pub fn set_faults(&self, rates: FaultRates) {
        self.0.lock().rates = rates;
    }

    /// Changes the members; each has one of these versions.
    pub fn set_versions(&self, versions: &[&str]) {
        self.0.lock().versions = versions.iter().map(|&version| version.to_owned()).collect();
    }

    /// Changes the data hash of the member with this index; `None` repairs all.
    pub fn set_damaged(&self, member: Option<usize>) {
        self.0.lock().damaged = member;
    }

    /// Stops all answers. Some transactions run after [`Self::restore_majority`], if late ones are enabled.
    pub fn lose_majority(&self) {
        self.0.lock().majority = Majority::Lost;
    }

    /// Resumes the answers.
    pub fn restore_majority(&self) {
        self.0.lock().majority = Majority::Present;
    }

    /// Exhausts the space quota: writes fail until [`Self::disarm`].
    pub fn exhaust_space(&self) {
        self.0.lock().space = Space::Exceeded;
    }

    /// Ends the NOSPACE alarm.
    pub fn disarm(&self) {
        self.0.lock().space = Space::Free;
    }

    /// Executes all late requests, in random order.
    pub fn deliver_late(&self) {
        let mut state = self.0.lock();
        while !state.late.is_empty() {
            state.run_late(1000);
        }
    }

    /// Returns all writes so far in order.
    pub fn history(&self) -> Vec<HistoryEntry> {
        self.0.lock().keys.history.clone()
    }

    /// Returns all writes after the first `count` ones in order.
    pub fn history_after(&self, count: usize) -> Vec<HistoryEntry> {
        self.0.lock().keys.history.get(count..).unwrap_or_default().to_vec()
    }

    /// Returns the current revision.
    pub fn revision(&self) -> u64 {
        self.0.lock().keys.revision
    }
}

impl QuorumStore for SimulatedStore {
    fn call(&self, request: &QuorumRequest) -> Result<QuorumResponse, QuorumStoreError> {
        let mut state = self.0.lock();
        if state.majority == Majority::Lost {
            let is_queued = state.rates.late > 0 && state.chance.below(4) == 0;
            if is_queued {
                state.queue(request);
            }
            return Err(QuorumStoreError::unanswered("the majority is lost"));
        }
        state.run_late(LATE_RATE);
        match state.delivery() {
            Delivery::Normal => state.execute(request),
            Delivery::LostRequest => Err(QuorumStoreError::unanswered("the request was lost")),
            Delivery::LostAnswer => {
                // The caller cannot distinguish a lost error from a lost success.
                let _lost = state.execute(request);
                Err(QuorumStoreError::unanswered("the answer was lost"))
            }
            Delivery::Late => {
                state.queue(request);
                Err(QuorumStoreError::unanswered("the request is late"))
            }
            Delivery::Doubled => {
                state.queue(request);
                state.execute(request)
            }
            Delivery::Resent => {
                let _lost = state.execute(request);
                state.execute(request)
            }
        }
    }
}

impl SimulatedState {
    fn delivery(&mut self) -> Delivery {
        let drawn = u32::try_from(self.chance.below(1000)).unwrap_or(0);
        let rates = self.rates;
        let mut limit = 0;
        for (rate, delivery) in [
            (rates.lost_request, Delivery::LostRequest),
            (rates.lost_answer, Delivery::LostAnswer),
            (rates.late, Delivery::Late),
            (rates.doubled, Delivery::Doubled),
            (rates.resent, Delivery::Resent),
        ] {
            limit += rate;
            if drawn < limit {
                return delivery;
            }
        }
        Delivery::Normal
    }

    fn queue(&mut self, request: &QuorumRequest) {
        if self.late.len() < MAX_LATE && matches!(request, QuorumRequest::Transaction { .. }) {
            self.late.push(request.clone());
        }
    }

    /// Executes each late request with this probability in thousandths, in random order.
    fn run_late(&mut self, rate: u32) {
        for _ in 0..self.late.len() {
            if self.chance.below(1000) < rate as usize {
                let index = self.chance.below(self.late.len());
                let request = self.late.swap_remove(index);
                // The answer has no receiver.
                let _lost = self.execute(&request);
            }
        }
    }

    fn execute(&mut self, request: &QuorumRequest) -> Result<QuorumResponse, QuorumStoreError> {
        match request {
            QuorumRequest::Transaction { comparisons, success, failure } => {
                let is_write = success.iter().chain(failure).any(|o| matches!(o, KeyOperation::Put { .. }));
                if is_write && self.space == Space::Full {
                    return Err(no_space());
                }
                let response = self.keys.transaction(comparisons, success, failure);
                if is_write && self.space == Space::Exceeded {
                    self.space = Space::Full;
                    return Err(no_space());
                }
                Ok(response)
            }
            QuorumRequest::Range(range) => {
                let (entries, more) = self.keys.range(range);
                Ok(QuorumResponse::Range { entries, more })
            }
            QuorumRequest::Compact { revision } => self.compact(*revision),
            QuorumRequest::Status => Ok(QuorumResponse::Status(self.statuses())),
            QuorumRequest::Members => Ok(QuorumResponse::Members(self.members())),
            QuorumRequest::HashKv { .. } => Ok(QuorumResponse::HashKv(self.hashes())),
        }
    }

    fn compact(&mut self, revision: u64) -> Result<QuorumResponse, QuorumStoreError> {
        if revision <= self.keys.compaction || revision > self.keys.revision {
            let reason = format!("revision {revision} was compacted or is in the future");
            return Err(QuorumStoreError::Revision { endpoint: endpoint(0), reason });
        }
        self.keys.compaction = revision;
        Ok(QuorumResponse::Compacted)
    }

    fn statuses(&self) -> Vec<EndpointStatus> {
        let bytes = self.keys.bytes();
        let status = |(index, version): (usize, &String)| EndpointStatus {
            endpoint: endpoint(index),
            status: Ok(MemberStatus {
                member: index as u64 + 1,
                version: version.clone(),
                leader: 1,
                revision: self.keys.revision,
                database_bytes: bytes,
                used_bytes: bytes,
                errors: if self.space == Space::Full {
                    vec!["memberID:1 alarm:NOSPACE ".to_owned()]
                } else {
                    Vec::new()
                },
            }),
        };
        self.versions.iter().enumerate().map(status).collect()
    }

    fn members(&self) -> Vec<QuorumMember> {
        let member = |index: usize| QuorumMember {
            id: index as u64 + 1,
            name: format!("member-{index}"),
            urls: vec![format!("http://{}", endpoint(index))],
            is_learner: false,
        };
        (0..self.versions.len()).map(member).collect()
    }

    fn hashes(&self) -> Vec<EndpointHash> {
        let (hash, compaction) = (self.keys.hash(), self.keys.compaction);
        let reading = |index: usize| EndpointHash {
            endpoint: endpoint(index),
            hash: Ok(HashReading {
                member: index as u64 + 1,
                hash: if self.damaged == Some(index) { !hash } else { hash },
                compaction,
            }),
        };
        (0..self.versions.len()).map(reading).collect()
    }
}

fn no_space() -> QuorumStoreError {
    QuorumStoreError::NoSpace { endpoint: endpoint(0) }
}

fn endpoint(index: usize) -> String {
    format!("simulated-{index}:2379")
}

//! A process that competes for the ownership and appends.

use std::{cell::Cell, sync::Arc, time::Duration};

use alloy_primitives::B256;
use foreseal_journal::{RawAppend, Record};
use foreseal_quorum::{
    Acquired, AppendError, Fence, Observation, Owner, QuorumAppend, QuorumKeys, QuorumLog, QuorumRecord,
    QuorumStore, QuorumStoreError, RecordLink, RunId, Wait, chain_hash,
};
use rand::{Rng, rngs::StdRng};

pub struct Contender {
    pub log: QuorumLog,
    number: u8,
    run_id: RunId,
    pub fence: Option<Fence>,
    pub seen: Option<Observation>,
    /// The append whose outcome is unknown.
    pending: Option<QuorumAppend>,
}

impl Contender {
    pub fn new(number: u8, quorum: Arc<dyn QuorumStore>, keys: QuorumKeys) -> Self {
        let log = QuorumLog::new(quorum, keys);
        Self { log, number, run_id: RunId([number; 16]), fence: None, seen: None, pending: None }
    }

    /// Ends the process and starts it again.
    pub fn restart(&mut self, random: &mut StdRng) {
        self.run_id = RunId(random.random());
        self.drop_fence();
        self.seen = None;
    }

    /// Gives the ownership up, and retains the run id.
    pub fn drop_fence(&mut self) {
        self.fence = None;
        self.pending = None;
    }

    pub fn owner(&self, epoch: u64) -> Owner {
        Owner {
            run_id: self.run_id,
            epoch,
            name: format!("contender-{}", self.number),
            feed: String::new(),
            rpc: String::new(),
            version: "1".to_owned(),
            successor: None,
            released: false,
        }
    }

    /// Attempts a takeover. Returns the owner after a success.
    pub fn acquire(&mut self) -> Option<Owner> {
        let seen = self.seen.clone()?;
        match self.log.acquire(&seen, &self.owner(seen.next_epoch())) {
            Ok(Acquired::Won(fence)) => {
                self.pending = None;
                let owner = fence.owner().clone();
                self.fence = Some(*fence);
                Some(owner)
            }
            Ok(Acquired::Lost(observed)) => {
                self.seen = Some(*observed);
                None
            }
            Err(error) => {
                assert!(error.is_transient(), "{error}");
                None
            }
        }
    }

    /// Appends a random record, or repeats the one without an answer. Returns it if it is acknowledged.
    pub fn append(&mut self, random: &mut StdRng) -> Option<QuorumAppend> {
        let fence = self.fence.as_mut()?;
        let append = self.pending.take().unwrap_or_else(|| {
            let (sequence, previous) = fence.head().map_or((0, B256::ZERO), |h| (h.sequence + 1, h.hash));
            random_append(sequence, previous, random)
        });
        let rounds = Cell::new(random.random_range(1..6_u32));
        let stop = || rounds.get() == 0;
        let on_wait = |_: &QuorumStoreError, _| rounds.set(rounds.get() - 1);
        let wait = Wait { stop: &stop, on_wait: &on_wait, clock: &|| Duration::ZERO };
        match fence.append(&append, &wait) {
            Ok(()) => Some(append),
            Err(AppendError::Stopped) => {
                self.pending = Some(append);
                None
            }
            Err(AppendError::Fenced { .. }) => {
                self.restart(random);
                None
            }
            Err(error) => panic!("{error}"),
        }
    }
}

fn random_append(sequence: u64, previous: B256, random: &mut StdRng) -> QuorumAppend {
    let size = if random.random_range(0..6) == 0 { random.random_range(0..2_500_000) } else { 100 };
    let mut block = vec![0; size];
    random.fill(&mut block[..size.min(100)]);
    let record = Record::Import { block: block.into() };
    let mut bytes = Vec::new();
    record.encode(&mut bytes);
    let hash = chain_hash(previous, RawAppend::content_hash(sequence, 1, &bytes));
    let record = QuorumRecord::encode(&RecordLink { sequence, previous, hash }, &[record]).into();
    QuorumAppend { sequence, hash, block: sequence, index: 0, record }
}

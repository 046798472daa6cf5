//! Random contenders on a quorum store with random faults.

use std::{collections::BTreeMap, sync::Arc};

use alloy_primitives::B256;
use foreseal_journal::Identity;
use foreseal_quorum::{
    Fence, FenceError, Observation, QuorumAppend, QuorumKeys, QuorumLog, QuorumRecord, TailError,
};
use foreseal_simulated_quorum::{FaultRates, SimulatedStore};
use rand::{Rng, SeedableRng, rngs::StdRng};

use crate::{
    contender::Contender,
    history::{Takeover, check_takeovers, check_writes, current_owner},
};

const SEEDS: u64 = 60;
const ACTIONS: usize = 300;
const FAULTS: FaultRates =
    FaultRates { lost_request: 40, lost_answer: 60, late: 80, doubled: 80, resent: 60 };

struct Contest {
    quorum: Arc<SimulatedStore>,
    keys: QuorumKeys,
    contenders: Vec<Contender>,
    random: StdRng,
    acknowledged: BTreeMap<u64, QuorumAppend>,
    takeovers: Vec<Takeover>,
    /// No record from here on may be deleted.
    trimmed: u64,
}

impl Contest {
    fn new(seed: u64) -> Self {
        let quorum = Arc::new(SimulatedStore::new(seed, FAULTS));
        let keys = QuorumKeys::new("/test", &Identity { chain_id: 1, genesis: B256::ZERO });
        let count = 2 + u8::try_from(seed % 2).unwrap();
        let contenders = (1..=count).map(|n| Contender::new(n, quorum.clone(), keys.clone())).collect();
        Self {
            quorum,
            keys,
            contenders,
            random: StdRng::seed_from_u64(seed),
            acknowledged: BTreeMap::new(),
            takeovers: Vec::new(),
            trimmed: 0,
        }
    }

    fn act(&mut self) {
        let index = self.random.random_range(0..self.contenders.len());
        match self.random.random_range(0..100) {
            0..50 => self.append(index),
            50..62 => self.beat(index),
            62..74 => {
                let contender = &mut self.contenders[index];
                contender.seen = contender.log.observe().ok().or(contender.seen.take());
            }
            74..82 => self.acquire(index),
            82..86 => self.read(index),
            86..89 => self.trim(index),
            89..91 => self.contenders[index].restart(&mut self.random),
            91..93 => self.contenders[index].drop_fence(),
            93..95 => self.release(index),
            95..96 => self.quorum.lose_majority(),
            96..97 => self.quorum.exhaust_space(),
            _ => {
                self.quorum.restore_majority();
                self.quorum.disarm();
            }
        }
    }

    fn acquire(&mut self, index: usize) {
        let contender = &mut self.contenders[index];
        let Some(seen) = contender.seen.clone() else { return };
        if let Some(owner) = contender.acquire()
            // A later epoch means that an unanswered attempt succeeded, and was repeated with a newer observation.
            && owner.epoch == seen.next_epoch()
        {
            self.takeovers.push(Takeover { seen, owner });
        }
    }

    fn append(&mut self, index: usize) {
        let Some(epoch) = self.contenders[index].fence.as_ref().map(|fence| fence.owner().epoch) else {
            return;
        };
        if let Some(append) = self.contenders[index].append(&mut self.random) {
            let owner = current_owner(&self.quorum, &self.keys).unwrap();
            assert_eq!((owner.epoch, owner.released), (epoch, false), "acknowledged for a former owner");
            let other = self.acknowledged.insert(append.sequence, append);
            assert!(other.is_none(), "an append was acknowledged twice");
        }
    }

    fn beat(&mut self, index: usize) {
        let contender = &mut self.contenders[index];
        if let Some(Err(FenceError::Fenced { .. })) = contender.fence.as_mut().map(Fence::beat) {
            contender.restart(&mut self.random);
        }
    }

    fn release(&mut self, index: usize) {
        let contender = &mut self.contenders[index];
        if let Some(fence) = &mut contender.fence
            && fence.release(None).is_ok()
        {
            contender.drop_fence();
        }
    }

    fn trim(&mut self, index: usize) {
        let Some(fence) = &mut self.contenders[index].fence else { return };
        let first = fence.head().map_or(0, |head| head.sequence.saturating_sub(20));
        self.trimmed = self.trimmed.max(first);
        let result = fence.trim(first);
        assert!(
            !matches!(&result, Err(FenceError::QuorumStore(error)) if !error.is_transient()),
            "{result:?}"
        );
    }

    fn read(&mut self, index: usize) {
        let from = self.trimmed.saturating_sub(self.random.random_range(0..5));
        match self.contenders[index].log.read_records(from, 1 << 20) {
            Ok(records) => self.check_records(from, &records),
            Err(TailError::TooOld { wanted, first }) => {
                assert!(wanted < self.trimmed && first <= self.trimmed, "{wanted} {first} {}", self.trimmed);
            }
            Err(TailError::QuorumStore(error)) => assert!(error.is_transient(), "{error}"),
            Err(error) => panic!("{error}"),
        }
    }

    fn check_records(&self, from: u64, records: &[QuorumRecord]) {
        for (record, sequence) in records.iter().zip(from..) {
            assert_eq!(record.link.sequence, sequence);
            if let Some(append) = self.acknowledged.get(&sequence) {
                assert_eq!(record.link.hash, append.hash, "append {sequence}");
                assert!(
                    *record == QuorumRecord::decode(&append.record).unwrap(),
                    "append {sequence} changed"
                );
            }
        }
    }

    /// Ends all faults, and checks history and records.
    fn finish(self) -> u64 {
        self.quorum.restore_majority();
        self.quorum.disarm();
        self.quorum.set_faults(FaultRates::default());
        self.quorum.deliver_late();
        let history = self.quorum.history();
        let appends = check_writes(&history, &self.keys);
        check_takeovers(&history, &self.keys, &self.takeovers);
        for (sequence, append) in &self.acknowledged {
            assert_eq!(appends.get(sequence), Some(&append.hash), "append {sequence} was lost or changed");
        }
        let newest = self.newest();
        let from = newest.map_or(0, |newest| self.trimmed.min(newest));
        let records = QuorumLog::new(self.quorum.clone(), self.keys.clone()).read_records(from, usize::MAX);
        let records = records.unwrap();
        assert_eq!(records.last().map(|record| record.link.sequence), newest);
        self.check_records(from, &records);
        self.acknowledged.len() as u64
    }

    fn newest(&self) -> Option<u64> {
        let log = QuorumLog::new(self.quorum.clone(), self.keys.clone());
        let Observation { head, .. } = log.observe().unwrap();
        head.map(|entry| entry.head.sequence)
    }
}

#[test]
fn contenders_lose_and_change_no_acknowledged_append() {
    let (mut acknowledged, mut takeovers) = (0, 0);
    for seed in 0..SEEDS {
        let mut contest = Contest::new(seed);
        for _ in 0..ACTIONS {
            contest.act();
        }
        takeovers += contest.takeovers.len();
        acknowledged += contest.finish();
    }
    // A contest without appends or takeovers proves nothing.
    assert!(acknowledged > SEEDS * 10, "{acknowledged} appends");
    assert!(takeovers > 3 * usize::try_from(SEEDS).unwrap(), "{takeovers} takeovers");
}

#[test]
fn same_seed_gives_the_same_history() {
    let run = || {
        let mut contest = Contest::new(7);
        (0..100).for_each(|_| contest.act());
        contest.quorum.history()
    };
    assert!(run() == run());
}

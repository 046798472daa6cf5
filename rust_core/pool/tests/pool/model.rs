//! Comparison of the pool with a slow model: lists that are sorted anew for every answer.

use std::collections::HashMap;

use alloy_primitives::{Address, B256, U256};
use foreseal_pool::{DropReason, Pool, PoolConfig, PoolError, Status};
use proptest::prelude::*;

use crate::chain::{Chain, GWEI, Key, pool};

const SENDERS: u64 = 4;

/// One operation on a pool.
#[derive(Clone, Debug)]
enum Operation {
    Submit {
        sender: u64,
        nonce: u64,
        max_fee: u128,
        tip: u128,
    },
    /// Includes the sender's first transactions.
    Include {
        sender: u64,
        count: u64,
    },
    /// Sets the balance to `gwei` gwei times 21,000.
    Balance {
        sender: u64,
        gwei: u128,
    },
    Discard {
        which: usize,
    },
    BaseFee(u64),
    /// Unwinds blocks down to this nonce; pooled transactions stay.
    Unwind {
        sender: u64,
        nonce: u64,
    },
}

fn operation() -> impl Strategy<Value = Operation> {
    let sender = 0..SENDERS;
    prop_oneof![
        8 => (sender.clone(), 0..8_u64, 0..12_u128, 0..12_u128).prop_map(|(sender, nonce, max_fee, tip)| {
            Operation::Submit { sender, nonce, max_fee: max_fee.max(tip), tip }
        }),
        2 => (sender.clone(), 1..4_u64).prop_map(|(sender, count)| Operation::Include { sender, count }),
        2 => (sender.clone(), 0..14_u128).prop_map(|(sender, gwei)| Operation::Balance { sender, gwei }),
        1 => any::<usize>().prop_map(|which| Operation::Discard { which }),
        2 => (0..12_u64).prop_map(Operation::BaseFee),
        1 => (sender, 0..4_u64).prop_map(|(sender, nonce)| Operation::Unwind { sender, nonce }),
    ]
}

/// One pooled transaction of the model.
#[derive(Clone, Debug)]
struct Entry {
    hash: B256,
    sender: Address,
    nonce: u64,
    max_fee: u128,
    tip: u128,
    arrival: u64,
}

impl Entry {
    fn cost(&self) -> U256 {
        U256::from(self.max_fee * GWEI * 21_000)
    }
}

/// Slow model of the pool, with fees in whole gwei.
struct Model {
    chain: Chain,
    keys: Vec<Key>,
    entries: Vec<Entry>,
    arrivals: u64,
    base_fee: u128,
}

impl Model {
    fn new() -> Self {
        let mut chain = Chain::new();
        let keys: Vec<_> = (0..SENDERS).map(Key::new).collect();
        for key in &keys {
            chain.fund(key, 11 * GWEI * 21_000);
        }
        Self { chain, keys, entries: Vec::new(), arrivals: 0, base_fee: 0 }
    }

    fn submit(&mut self, new: Entry) -> Result<Option<B256>, &'static str> {
        let account = self.chain.accounts[&new.sender];
        if self.entries.iter().any(|old| old.hash == new.hash) {
            return Err("already known");
        }
        if new.nonce < account.nonce {
            return Err("nonce too low");
        }
        if new.cost() > account.balance {
            return Err("insufficient funds for gas * price + value");
        }
        let rival = self.entries.iter().position(|old| (old.sender, old.nonce) == (new.sender, new.nonce));
        let replaced = match rival {
            None => None,
            Some(at) => {
                let old = &self.entries[at];
                let tenth = |new: u128, old: u128| new * 10 >= old * 11;
                let higher = new.max_fee > old.max_fee || new.tip > old.tip;
                if !(tenth(new.max_fee, old.max_fee) && tenth(new.tip, old.tip) && higher) {
                    return Err("replacement transaction underpriced");
                }
                Some(self.entries.remove(at).hash)
            }
        };
        self.entries.push(new);
        self.arrivals += 1;
        Ok(replaced)
    }

    fn drop_used(&mut self) {
        let accounts = &self.chain.accounts;
        self.entries.retain(|entry| entry.nonce >= accounts[&entry.sender].nonce);
    }

    /// Returns a sender's transactions that can run, fees aside.
    fn run(&self, sender: Address) -> Vec<&Entry> {
        let account = self.chain.accounts[&sender];
        let mut run = Vec::new();
        for nonce in account.nonce.. {
            match self.entries.iter().find(|entry| (entry.sender, entry.nonce) == (sender, nonce)) {
                Some(entry) if entry.cost() <= account.balance => run.push(entry),
                _ => break,
            }
        }
        run
    }

    /// Returns the hashes, best first; sorts again for every single transaction.
    fn best(&self) -> Vec<B256> {
        let mut queues: HashMap<Address, Vec<&Entry>> =
            self.keys.iter().map(|key| (key.address, self.run(key.address))).collect();
        let mut best = Vec::new();
        loop {
            let mut heads: Vec<&Entry> = queues
                .values()
                .filter_map(|queue| queue.first().copied())
                .filter(|entry| entry.max_fee >= self.base_fee)
                .collect();
            heads.sort_by_key(|entry| {
                (std::cmp::Reverse(entry.tip.min(entry.max_fee - self.base_fee)), entry.arrival)
            });
            let Some(head) = heads.first() else { return best };
            best.push(head.hash);
            queues.get_mut(&head.sender).unwrap().remove(0);
        }
    }

    fn next_nonce(&self, sender: Address, state_nonce: u64) -> u64 {
        let mut nonce = state_nonce;
        while self.entries.iter().any(|entry| (entry.sender, entry.nonce) == (sender, nonce)) {
            nonce += 1;
        }
        nonce
    }
}

/// Applies the operation to both and checks that the results agree.
fn apply(model: &mut Model, pool: &foreseal_pool::Pool, operation: &Operation) {
    match *operation {
        Operation::Submit { sender, nonce, max_fee, tip } => {
            let key = model.keys[usize::try_from(sender).unwrap()];
            let raw = key.dynamic(nonce, max_fee * GWEI, tip * GWEI);
            let submission = model.chain.decode(pool, &raw).unwrap();
            let entry = Entry {
                hash: submission.hash(),
                sender: key.address,
                nonce,
                max_fee,
                tip,
                arrival: model.arrivals,
            };
            let expected = model.submit(entry).map_err(str::to_owned);
            let added = pool.add(submission, || &model.chain);
            assert_eq!(
                added.map(|added| added.replaced).map_err(|error: PoolError| error.message()),
                expected
            );
        }
        Operation::Include { sender, count } => {
            let key = model.keys[usize::try_from(sender).unwrap()];
            let nonce = model.chain.accounts[&key.address].nonce + count;
            model.chain.set_nonce(&key, nonce);
            model.drop_used();
            pool.on_step(&[], &model.chain.diff());
        }
        Operation::Balance { sender, gwei } => {
            model.chain.fund(&model.keys[usize::try_from(sender).unwrap()].clone(), gwei * GWEI * 21_000);
            pool.on_step(&[], &model.chain.diff());
        }
        Operation::Discard { which } => {
            if !model.entries.is_empty() {
                let discarded = model.entries.remove(which % model.entries.len());
                assert!(pool.discard(&discarded.hash, DropReason::Rejected(String::new())).is_some());
            }
        }
        Operation::BaseFee(gwei) => {
            model.base_fee = u128::from(gwei);
            pool.on_fees(gwei * 1_000_000_000, 0);
        }
        Operation::Unwind { sender, nonce } => {
            let key = model.keys[usize::try_from(sender).unwrap()];
            model.chain.set_nonce(&key, nonce);
            model.drop_used();
            pool.reinsert(&[], || &model.chain).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn order_and_nonces_equal_the_reference_pool(
        operations in prop::collection::vec(operation(), 1..60),
    ) {
        let (mut model, pool) = (Model::new(), pool());
        for operation in &operations {
            apply(&mut model, &pool, operation);
            let base_fee = u64::try_from(model.base_fee * GWEI).unwrap();
            let best: Vec<_> = pool.best(base_fee, 0).map(|t| t.hash()).collect();
            prop_assert_eq!(best, model.best());
            let mut runnable = 0;
            for key in &model.keys {
                let state = model.chain.accounts[&key.address].nonce;
                for nonce in state..state + 3 {
                    let next = model.next_nonce(key.address, nonce);
                    prop_assert_eq!(pool.next_nonce(&key.address, nonce), next);
                }
                runnable += model.run(key.address).len();
            }
            prop_assert_eq!(pool.counts().pooled, runnable);
            prop_assert_eq!(pool.counts().queued, model.entries.len() - runnable);
            for entry in &model.entries {
                let may_run = model.run(entry.sender).iter().any(|other| other.hash == entry.hash);
                prop_assert!(pool.contains(&entry.hash));
                if !may_run {
                    prop_assert!(matches!(pool.status(&entry.hash), Status::Queued(_)));
                }
            }
        }
    }
}

/// Counts the gaps between a sender's pooled nonces.
fn gaps(nonces: &[u64]) -> usize {
    nonces.windows(2).filter(|pair| pair[1] != pair[0] + 1).count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn limits_hold_and_eviction_makes_no_gap(
        submissions in prop::collection::vec((0..SENDERS, 0..8_u64, 1..12_u128, 0..3_usize), 1..80),
        base_fees in prop::collection::vec(0..12_u64, 80),
        max_transactions in 1..8_usize,
        max_per_sender in 1..6_usize,
        kilobytes in 1..3_usize,
    ) {
        let mut model = Model::new();
        for key in model.keys.clone() {
            model.chain.fund(&key, GWEI * GWEI);
        }
        let config = PoolConfig {
            max_transactions,
            max_per_sender,
            max_bytes: kilobytes * 4_000,
            ..PoolConfig::default()
        };
        let pool = Pool::new(config.clone());
        for ((sender, nonce, price, weight), base_fee) in submissions.into_iter().zip(base_fees) {
            let key = model.keys[usize::try_from(sender).unwrap()];
            let raw = key.raw(alloy_consensus::TxEip1559 {
                gas_limit: 100_000,
                max_fee_per_gas: price * GWEI,
                max_priority_fee_per_gas: price * GWEI / 2,
                input: vec![0; weight * 100].into(),
                ..crate::chain::transfer(nonce)
            });
            pool.on_fees(base_fee * 1_000_000_000, 0);
            let before = pool.counts();
            let of = |key: &Key| {
                let content = pool.sender_content(&key.address);
                content.pooled.iter().chain(&content.queued).map(|t| t.nonce()).collect::<Vec<_>>()
            };
            let gaps_before: Vec<_> = model.keys.iter().map(|key| gaps(&of(key))).collect();
            if let Ok(added) = model.chain.submit(&pool, &raw) {
                for (other, gaps_before) in model.keys.iter().zip(gaps_before) {
                    // Only the newcomer itself can be behind a new gap.
                    let new = usize::from(other.address == key.address);
                    prop_assert!(gaps(&of(other)) <= gaps_before + new);
                }
                for evicted in &added.evicted {
                    prop_assert_eq!(pool.status(&evicted.hash), Status::Dropped(evicted.reason.clone()));
                }
                prop_assert!(pool.contains(&added.hash));
            } else {
                prop_assert_eq!(pool.counts(), before);
            }
            let all = pool.all();
            let counts = pool.counts();
            prop_assert_eq!(counts.pooled + counts.queued, all.len());
            prop_assert_eq!(counts.bytes, all.iter().map(|t| t.memory_size()).sum::<usize>());
            prop_assert!(all.len() <= max_transactions && counts.bytes <= config.max_bytes);
            prop_assert!(model.keys.iter().all(|key| of(key).len() <= max_per_sender));
            prop_assert_eq!(pool.best(0, 0).count(), counts.pooled);
        }
    }
}

//! A pool under random operations, and the copies that follow it.

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use alloy_primitives::{Address, B256, Bytes, U256};
use foreseal_pool::{
    DropReason, Pool, PoolConfig, PoolCounts, PoolEvent, PoolEventSink, PoolSnapshot, Status,
    decode_submission,
};
use foreseal_primitives::{Account, Transaction, wire};
use foreseal_testkit::Wallet;
use parking_lot::Mutex;
use proptest::prelude::*;

use crate::chain::{Chain, GWEI, Key, nonces};

const SENDERS: u64 = 4;

/// A blob transaction with its sidecar, and its sender. Computing the proofs is slow.
pub static BLOB: LazyLock<(Address, Bytes)> = LazyLock::new(|| {
    let wallet = Wallet::numbered(0);
    (wallet.address, wallet.blob(0, wallet.address, 7))
});

/// Listener that collects encoded events.
#[derive(Default)]
pub struct Wire(Mutex<Vec<Vec<u8>>>);

impl PoolEventSink for Wire {
    fn event(&self, event: &PoolEvent) {
        self.0.lock().push(bytes(event));
    }
}

impl Wire {
    pub fn drain(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.0.lock())
    }
}

pub fn bytes(event: &PoolEvent) -> Vec<u8> {
    wire::to_vec(event)
}

/// One operation on the world.
#[derive(Clone, Debug)]
pub enum Operation {
    Submit {
        sender: u64,
        nonce: u64,
        max_fee: u128,
        tip: u128,
        size: usize,
        runnable: bool,
    },
    SubmitBlob,
    /// Uses the sender's next nonces, by its pooled transactions or by others.
    Include {
        sender: u64,
        count: u64,
        own: bool,
    },
    Balance {
        sender: u64,
        gwei: u128,
    },
    Discard {
        which: usize,
        requested: bool,
    },
    Fees {
        base_fee: u64,
        blob_base_fee: u128,
        by_step: bool,
    },
    /// Unwinds up to `count` of the last included transactions; they return to the pool.
    Unwind {
        count: usize,
    },
    Snapshot,
    Reset,
    /// Restores the saved pool.
    Restore,
    /// Adds a copy that joins late.
    Join,
    /// Disconnects a copy from the events.
    Cut {
        which: usize,
    },
    /// Reconnects every disconnected copy with a whole-pool event.
    Return,
}

pub fn operation() -> impl Strategy<Value = Operation> {
    use Operation as O;
    let sender = 0..SENDERS;
    let submit = (sender.clone(), 0..8_u64, 0..12_u128, 0..12_u128, 0..900_usize, prop::bool::weighted(0.1));
    prop_oneof![
        12 => submit.prop_map(|(sender, nonce, max_fee, tip, size, runnable)| {
            O::Submit { sender, nonce, max_fee: max_fee.max(tip), tip, size, runnable }
        }),
        1 => Just(O::SubmitBlob),
        2 => (sender.clone(), 1..4_u64, any::<bool>()).prop_map(|(sender, count, own)| O::Include { sender, count, own }),
        2 => (sender, 0..14_u128).prop_map(|(sender, gwei)| O::Balance { sender, gwei }),
        1 => (any::<usize>(), any::<bool>()).prop_map(|(which, requested)| O::Discard { which, requested }),
        2 => (0..12_u64, 0..3_u128, any::<bool>()).prop_map(|(base_fee, blob_base_fee, by_step)| {
            O::Fees { base_fee: base_fee * 1_000_000_000, blob_base_fee: blob_base_fee * GWEI, by_step }
        }),
        1 => (0..6_usize).prop_map(|count| O::Unwind { count }),
        1 => Just(O::Snapshot),
        1 => Just(O::Reset),
        1 => Just(O::Restore),
        1 => Just(O::Join),
        1 => any::<usize>().prop_map(|which| O::Cut { which }),
        2 => Just(O::Return),
    ]
}

struct PoolCopy {
    pool: Pool,
    /// Numbers of the next arrival in the copy and in the original, at the last whole-pool event.
    began: (u64, u64),
    away: bool,
}

/// A pool with its chain, its history and its copies.
pub struct World {
    chain: Chain,
    keys: Vec<Key>,
    pub original: Pool,
    wire: Arc<Wire>,
    copies: Vec<PoolCopy>,
    fees: (u64, u128),
    /// Transactions that steps included, oldest first.
    included: Vec<Arc<Transaction>>,
    snapshot: Option<PoolSnapshot>,
    hashes: Vec<B256>,
    saved: Option<Vec<u8>>,
}

/// Observable state of a pool.
#[derive(Debug, PartialEq)]
pub struct Seen {
    counts: PoolCounts,
    all: Vec<(B256, u64, Address, usize, Bytes)>,
    content: BTreeMap<Address, (Vec<u64>, Vec<u64>)>,
    best: Vec<B256>,
    statuses: Vec<Status>,
    next_nonces: Vec<u64>,
}

impl World {
    pub fn new(config: &PoolConfig) -> Self {
        let mut chain = Chain::new();
        let keys: Vec<_> = (0..SENDERS).map(Key::new).collect();
        for key in &keys {
            chain.fund(key, 11 * GWEI * 60_000);
        }
        let rich = Account { balance: U256::from(GWEI * GWEI), ..Account::default() };
        chain.accounts.insert(BLOB.0, rich);
        let (original, wire) = (Pool::new(config.clone()), Arc::new(Wire::default()));
        original.set_sink(Some(wire.clone()));
        let copy = PoolCopy { pool: Pool::new(config.clone()), began: (0, 0), away: false };
        Self {
            chain,
            keys,
            original,
            wire,
            copies: vec![copy],
            fees: (0, 0),
            included: Vec::new(),
            snapshot: None,
            hashes: Vec::new(),
            saved: None,
        }
    }

    fn key(&self, sender: u64) -> Key {
        self.keys[usize::try_from(sender).unwrap()]
    }

    fn submit(&mut self, raw: &[u8], runnable: bool) {
        let submission =
            decode_submission(raw, &self.original.rules(&self.chain.spec, &self.chain.header)).unwrap();
        self.hashes.push(submission.hash());
        if runnable {
            let _ = self.original.add_if_executable(submission, || &self.chain);
        } else {
            let _ = self.original.add(submission, || &self.chain);
        }
    }

    fn include(&mut self, sender: u64, count: u64, own: bool) {
        let key = self.key(sender);
        let nonce = self.chain.accounts[&key.address].nonce + count;
        let content = self.original.sender_content(&key.address).pooled;
        let executed = content.iter().filter(|one| own && one.nonce() < nonce);
        let executed: Vec<_> = executed.map(|one| one.transaction().clone()).collect();
        self.chain.set_nonce(&key, nonce);
        self.original.on_step(&executed, &self.chain.diff());
        self.included.extend(executed);
    }

    fn unwind(&mut self, count: usize) {
        let back = self.included.split_off(self.included.len().saturating_sub(count));
        for transaction in &back {
            let account = self.chain.accounts.get_mut(&transaction.sender()).unwrap();
            account.nonce = account.nonce.min(alloy_consensus::Transaction::nonce(transaction.envelope()));
        }
        self.original.reinsert(&back, || &self.chain).unwrap();
    }

    /// Sends the whole pool to the copy, which then receives all later events.
    fn send_whole_pool(&self, copy: &mut PoolCopy) {
        let before = copy.pool.next_pending_sequence();
        let previous: Vec<_> = copy.pool.all().iter().map(|one| one.hash()).collect();
        let message = self.original.whole_pool_event(|event| bytes(&event));
        copy.pool.apply(wire::decode(&message).unwrap());
        let new: Vec<_> = self
            .original
            .all()
            .iter()
            .map(|one| one.hash())
            .filter(|hash| !previous.contains(hash))
            .collect();
        assert_eq!(
            copy.pool.pending_hashes_since(before, usize::MAX).transactions,
            new,
            "only what was not there arrives"
        );
        copy.began = (copy.pool.next_pending_sequence(), self.original.next_pending_sequence());
        copy.away = false;
    }

    fn join(&mut self) {
        self.hear();
        let pool = Pool::new(self.original.config().clone());
        let mut copy = PoolCopy { pool, began: (0, 0), away: false };
        self.send_whole_pool(&mut copy);
        self.copies.push(copy);
    }

    pub fn apply(&mut self, operation: &Operation) {
        use Operation as O;
        match *operation {
            O::Submit { sender, nonce, max_fee, tip, size, runnable } => {
                let raw = self.key(sender).raw(alloy_consensus::TxEip1559 {
                    gas_limit: 60_000,
                    max_fee_per_gas: max_fee * GWEI,
                    max_priority_fee_per_gas: tip * GWEI,
                    input: vec![0; size].into(),
                    ..crate::chain::transfer(nonce)
                });
                self.submit(&raw, runnable);
            }
            O::SubmitBlob => self.submit(&BLOB.1.clone(), false),
            O::Include { sender, count, own } => self.include(sender, count, own),
            O::Balance { sender, gwei } => {
                let key = self.key(sender);
                self.chain.fund(&key, gwei * GWEI * 60_000);
                self.original.on_step(&[], &self.chain.diff());
            }
            O::Discard { which, requested } => {
                let all = self.original.all();
                if let Some(one) = all.get(which % all.len().max(1)) {
                    let rejected = DropReason::Rejected("out of gas".to_owned());
                    let reason = if requested { DropReason::Requested } else { rejected };
                    self.original.discard(&one.hash(), reason);
                }
            }
            O::Fees { base_fee, blob_base_fee, by_step } => {
                self.fees = (base_fee, blob_base_fee);
                if by_step {
                    assert!(
                        self.original.best(base_fee, blob_base_fee).count() <= self.original.counts().pooled
                    );
                } else {
                    self.original.on_fees(base_fee, blob_base_fee);
                }
            }
            O::Unwind { count } => self.unwind(count),
            O::Snapshot => {
                self.snapshot = Some(self.original.snapshot());
                self.saved = Some(self.original.save());
            }
            O::Reset => {
                if let Some(snapshot) = &self.snapshot {
                    self.original.reset(snapshot);
                    // The reset also restores the fees of the snapshot, so set the current ones.
                    self.original.on_fees(self.fees.0, self.fees.1);
                }
            }
            O::Restore => {
                if let Some(saved) = &self.saved {
                    let rules = self.original.rules(&self.chain.spec, &self.chain.header);
                    self.original.restore(saved, &rules, || &self.chain).unwrap();
                }
            }
            O::Join => self.join(),
            O::Cut { which } => {
                let which = which % self.copies.len();
                self.copies[which].away = true;
            }
            O::Return => {
                self.hear();
                let mut copies = std::mem::take(&mut self.copies);
                copies.iter_mut().filter(|copy| copy.away).for_each(|copy| self.send_whole_pool(copy));
                self.copies = copies;
            }
        }
    }

    pub fn first_copy(&self) -> &Pool {
        &self.copies[0].pool
    }

    /// Returns the events since the last call.
    pub fn events(&self) -> Vec<Vec<u8>> {
        self.wire.drain()
    }

    /// Applies the new events to all connected copies.
    fn hear(&self) {
        for message in self.wire.drain() {
            for copy in self.copies.iter().filter(|copy| !copy.away) {
                copy.pool.apply(wire::decode(&message).unwrap());
            }
        }
    }

    pub fn see(&self, pool: &Pool) -> Seen {
        let all = pool.all();
        let content = pool.content();
        let next = |key: &Key| {
            let nonce = self.chain.accounts[&key.address].nonce;
            [pool.next_nonce(&key.address, nonce), pool.next_nonce(&key.address, nonce + 2)]
        };
        Seen {
            counts: pool.counts(),
            all: all.iter().map(|t| (t.hash(), t.arrival(), t.sender(), t.size(), t.encoded())).collect(),
            content: content
                .iter()
                .map(|(sender, lists)| (*sender, (nonces(&lists.pooled), nonces(&lists.queued))))
                .collect(),
            statuses: self.hashes.iter().map(|hash| pool.status(hash)).collect(),
            next_nonces: self.keys.iter().flat_map(next).collect(),
            best: pool.best(self.fees.0, self.fees.1).map(|one| one.hash()).collect(),
        }
    }

    /// Checks that every connected copy equals the original.
    pub fn check(&self) {
        self.hear();
        let here = self.see(&self.original);
        for PoolCopy { pool, began, .. } in self.copies.iter().filter(|copy| !copy.away) {
            assert_eq!(self.see(pool), here);
            let arrived = pool.pending_hashes_since(began.0, usize::MAX);
            assert_eq!(
                arrived.transactions,
                self.original.pending_hashes_since(began.1, usize::MAX).transactions
            );
            assert_eq!(arrived.next - began.0, self.original.next_pending_sequence() - began.1);
        }
        assert!(self.wire.drain().is_empty(), "who only looks changes nothing");
    }
}

/// Settings with a small pool and a short history of dropped transactions.
pub fn small() -> PoolConfig {
    PoolConfig {
        max_transactions: 12,
        max_bytes: 320_000,
        max_per_sender: 5,
        max_dropped_history: 6,
        ..PoolConfig::default()
    }
}

//! Sender queues: gaps, funds, steps, unwound blocks, and the status of each transaction.

use std::sync::Arc;

use alloy_consensus::TxEip1559;
use alloy_primitives::{Address, B256, U256};
use foreseal_pool::{DropReason, Pool, PoolConfig, PoolCounts, PoolError, QueuedReason, Status};
use foreseal_primitives::Transaction;

use crate::chain::{GWEI, Key, nonces, pool, rich, transfer};

#[test]
fn a_gap_waits_and_is_filled() {
    let (chain, key) = rich(1);
    let pool = pool();
    let mut hashes = Vec::new();
    for nonce in [0, 1, 3, 4] {
        hashes.push(chain.submit(&pool, &key.legacy(nonce, GWEI)).unwrap().hash);
    }
    assert_eq!(pool.status(&hashes[1]), Status::Pooled);
    assert_eq!(pool.status(&hashes[2]), Status::Queued(QueuedReason::NonceGap { expected: 2 }));
    assert_eq!(pool.status(&hashes[3]), Status::Queued(QueuedReason::NonceGap { expected: 2 }));
    let content = pool.sender_content(&key.address);
    assert_eq!((nonces(&content.pooled), nonces(&content.queued)), (vec![0, 1], vec![3, 4]));
    assert_eq!(pool.next_nonce(&key.address, 0), 2);
    assert_eq!(pool.best(0, 0).count(), 2);

    assert!(chain.submit(&pool, &key.legacy(2, GWEI)).unwrap().executable);
    assert!(hashes.iter().all(|hash| pool.status(hash) == Status::Pooled));
    assert_eq!(pool.next_nonce(&key.address, 0), 5);
    let run: Vec<_> = pool.best(0, 0).map(|t| t.nonce()).collect();
    assert_eq!(run, [0, 1, 2, 3, 4]);
    assert_eq!((pool.counts().pooled, pool.counts().queued), (5, 0));
}

#[test]
fn next_nonce_is_the_greater_of_state_and_pool() {
    let (mut chain, key) = rich(1);
    let pool = pool();
    assert_eq!(pool.next_nonce(&key.address, 7), 7);
    chain.set_nonce(&key, 5);
    for nonce in [5, 6, 8] {
        chain.submit(&pool, &key.legacy(nonce, GWEI)).unwrap();
    }
    // A view may briefly be ahead of the pool.
    let expected = [(5, 7), (6, 7), (7, 7), (8, 9), (9, 9), (100, 100), (4, 4)];
    for (state, next) in expected {
        assert_eq!(pool.next_nonce(&key.address, state), next, "state nonce {state}");
    }
    chain.submit(&pool, &key.legacy(u64::MAX - 1, GWEI)).unwrap();
    assert_eq!(pool.next_nonce(&key.address, u64::MAX - 1), u64::MAX);
}

#[test]
fn included_transactions_leave_without_reason_and_conflicting_ones_with() {
    let (mut chain, key) = rich(1);
    let pool = pool();
    let (included, rival) = (key.legacy(0, GWEI), key.legacy(1, GWEI));
    let first = chain.submit(&pool, &included).unwrap().hash;
    let second = chain.submit(&pool, &rival).unwrap().hash;
    let third = chain.submit(&pool, &key.legacy(2, GWEI)).unwrap().hash;
    chain.set_nonce(&key, 2);
    let dropped = chain.step(&pool, &[&included, &key.legacy(1, 9 * GWEI)]);
    assert_eq!(dropped.len(), 1);
    assert_eq!((dropped[0].hash, &dropped[0].reason), (second, &DropReason::NonceTooLow));
    assert_eq!(pool.status(&first), Status::Unknown);
    assert_eq!(pool.status(&second), Status::Dropped(DropReason::NonceTooLow));
    assert_eq!(pool.status(&third), Status::Pooled);
    assert_eq!(pool.counts().pooled, 1);
}

#[test]
fn a_step_applied_twice_changes_nothing() {
    let (mut chain, key) = rich(1);
    let pool = pool();
    let raw = key.legacy(0, GWEI);
    chain.submit(&pool, &raw).unwrap();
    chain.submit(&pool, &key.legacy(1, GWEI)).unwrap();
    chain.set_nonce(&key, 1);
    assert!(chain.step(&pool, &[&raw]).is_empty());
    let once = pool.counts();
    assert!(chain.step(&pool, &[&raw]).is_empty());
    assert_eq!(pool.counts(), once);
}

#[test]
fn an_unfunded_transaction_waits_until_funds_arrive() {
    let (mut chain, key) = rich(1);
    let pool = pool();
    let dear = key.raw(TxEip1559 { value: U256::from(GWEI * GWEI), ..transfer(0) });
    let first = chain.submit(&pool, &dear).unwrap().hash;
    let second = chain.submit(&pool, &key.legacy(1, GWEI)).unwrap().hash;
    chain.fund(&key, GWEI);
    assert!(chain.step(&pool, &[]).is_empty());
    let cost = U256::from(GWEI * GWEI + 21_000 * 2 * GWEI);
    assert_eq!(pool.status(&first), Status::Queued(QueuedReason::Funds { balance: U256::from(GWEI), cost }));
    assert_eq!(pool.status(&second), Status::Queued(QueuedReason::Predecessor { nonce: 0 }));
    assert_eq!((pool.counts().pooled, pool.counts().queued), (0, 2));
    assert_eq!(pool.best(0, 0).count(), 0);
    // The waiting transactions still occupy their nonces.
    assert_eq!(pool.next_nonce(&key.address, 0), 2);

    chain.fund(&key, 2 * GWEI * GWEI);
    assert!(chain.step(&pool, &[]).is_empty());
    assert_eq!(pool.status(&second), Status::Pooled);
    assert_eq!(pool.best(0, 0).count(), 2);
}

#[test]
fn only_senders_in_the_diff_are_rechecked() {
    let (mut chain, key) = rich(1);
    let pool = pool();
    let hash = chain.submit(&pool, &key.legacy(0, GWEI)).unwrap().hash;
    chain.accounts.clear();
    assert!(chain.step(&pool, &[]).is_empty());
    assert_eq!(pool.status(&hash), Status::Pooled);
}

#[test]
fn a_destroyed_account_pays_nothing() {
    let (chain, key) = rich(1);
    let pool = pool();
    let hash = chain.submit(&pool, &key.legacy(0, GWEI)).unwrap().hash;
    let mut diff = chain.diff();
    diff.accounts[0].diff.account = None;
    assert!(pool.on_step(&[], &diff).is_empty());
    assert!(matches!(pool.status(&hash), Status::Queued(QueuedReason::Funds { .. })));
}

#[test]
fn a_transaction_waiting_for_fees_reports_it() {
    let (chain, key) = rich(1);
    let pool = pool();
    let first = chain.submit(&pool, &key.legacy(0, 5 * GWEI)).unwrap().hash;
    let second = chain.submit(&pool, &key.legacy(1, 9 * GWEI)).unwrap().hash;
    pool.on_fees(7_000_000_000, 0);
    let low = QueuedReason::BaseFee { max_fee: 5 * GWEI, base_fee: 7 * GWEI };
    assert_eq!(pool.status(&first), Status::Queued(low));
    assert_eq!(pool.status(&second), Status::Queued(QueuedReason::Predecessor { nonce: 0 }));
    pool.on_fees(5_000_000_000, 0);
    assert_eq!((pool.status(&first), pool.status(&second)), (Status::Pooled, Status::Pooled));
}

#[test]
fn an_unwound_block_returns_transactions_and_lowers_nonces() {
    let (mut chain, key) = rich(1);
    let pool = pool();
    let raws: Vec<_> = (0..3).map(|nonce| key.legacy(nonce, GWEI)).collect();
    for raw in &raws {
        chain.submit(&pool, raw).unwrap();
    }
    chain.set_nonce(&key, 2);
    chain.step(&pool, &[&raws[0], &raws[1]]);
    assert_eq!((pool.counts().pooled, pool.counts().queued), (1, 0));

    chain.set_nonce(&key, 0);
    // Between the unwind and the report the pool is behind the view, and must tolerate that.
    chain.submit(&pool, &raws[0]).unwrap();
    let unwound: Vec<_> = raws[..2].iter().map(|raw| Arc::new(Transaction::decode(raw).unwrap())).collect();
    assert!(pool.reinsert(&unwound, || &chain).unwrap().is_empty());
    assert_eq!((pool.counts().pooled, pool.counts().queued), (3, 0));
    let run: Vec<_> = pool.best(0, 0).map(|t| t.nonce()).collect();
    assert_eq!(run, [0, 1, 2]);
}

#[test]
fn an_unwound_transaction_waits_for_its_unwound_funds() {
    let (mut chain, key) = rich(1);
    let pool = pool();
    let transaction = Arc::new(Transaction::decode(&key.legacy(0, GWEI)).unwrap());
    chain.fund(&key, 0);
    assert!(pool.reinsert(std::slice::from_ref(&transaction), || &chain).unwrap().is_empty());
    assert!(matches!(pool.status(&transaction.hash()), Status::Queued(QueuedReason::Funds { .. })));
    chain.fund(&key, GWEI * GWEI);
    chain.step(&pool, &[]);
    assert_eq!(pool.status(&transaction.hash()), Status::Pooled);
}

#[test]
fn an_unwound_transaction_no_longer_admitted_has_a_reason() {
    let (mut chain, key) = rich(1);
    let pool = pool();
    let decode = |raw: Vec<u8>| Arc::new(Transaction::decode(&raw).unwrap());
    let (used, outbid) = (decode(key.legacy(0, GWEI)), decode(key.legacy(1, GWEI)));
    chain.set_nonce(&key, 1);
    chain.submit(&pool, &key.legacy(1, GWEI + 1)).unwrap();
    let dropped = pool.reinsert(&[used.clone(), outbid.clone()], || &chain).unwrap();
    let underpriced = DropReason::NotReinjected("replacement transaction underpriced".to_owned());
    assert_eq!(dropped.len(), 2);
    assert_eq!(pool.status(&used.hash()), Status::Dropped(DropReason::NonceTooLow));
    assert_eq!(pool.status(&outbid.hash()), Status::Dropped(underpriced));
}

#[test]
fn a_discarded_transaction_leaves_a_gap_and_a_reason() {
    let (chain, key) = rich(1);
    let pool = pool();
    let hashes: Vec<_> =
        (0..3).map(|nonce| chain.submit(&pool, &key.legacy(nonce, GWEI)).unwrap().hash).collect();
    let reason = DropReason::Rejected("does not fit any block".to_owned());
    assert!(pool.discard(&hashes[1], reason.clone()).is_some());
    assert!(pool.discard(&hashes[1], reason.clone()).is_none());
    assert_eq!(pool.status(&hashes[1]), Status::Dropped(reason));
    assert_eq!(pool.status(&hashes[2]), Status::Queued(QueuedReason::NonceGap { expected: 1 }));
    assert_eq!(pool.next_nonce(&key.address, 0), 1);
    chain.submit(&pool, &key.legacy(1, GWEI)).unwrap();
    assert_eq!(pool.counts().pooled, 3);
}

#[test]
fn the_oldest_drop_reason_is_evicted_first() {
    let (chain, key) = rich(1);
    let pool = Pool::new(PoolConfig { max_dropped_history: 2, ..PoolConfig::default() });
    let hashes: Vec<_> = [10, 11, 13, 15]
        .map(|price| chain.submit(&pool, &key.legacy(0, price * GWEI)).unwrap().hash)
        .to_vec();
    assert_eq!(pool.status(&hashes[0]), Status::Unknown);
    assert_eq!(pool.status(&hashes[1]), Status::Replaced { by: hashes[2] });
    assert_eq!(pool.status(&hashes[2]), Status::Replaced { by: hashes[3] });
    assert_eq!(pool.status(&hashes[3]), Status::Pooled);
}

#[test]
fn the_pool_reports_its_content() {
    let (mut chain, key) = rich(1);
    let other = Key::new(2);
    chain.fund(&other, GWEI * GWEI);
    let pool = pool();
    assert_eq!(pool.counts(), PoolCounts::default());
    let raws = [key.legacy(0, GWEI), other.legacy(1, GWEI)];
    let hashes: Vec<B256> = raws.iter().map(|raw| chain.submit(&pool, raw).unwrap().hash).collect();
    let bytes = pool.all().iter().map(|transaction| transaction.memory_size()).sum();
    assert_eq!(pool.counts(), PoolCounts { pooled: 1, queued: 1, bytes });
    assert!(bytes > 2 * raws.concat().len());
    assert_eq!(pool.get(&hashes[0]).unwrap().encoded(), raws[0]);
    assert!(pool.contains(&hashes[1]) && pool.get(&B256::ZERO).is_none());
    let content = pool.content();
    assert_eq!(content.len(), 2);
    assert_eq!(nonces(&content[&key.address].pooled), [0]);
    assert_eq!(nonces(&content[&other.address].queued), [1]);
    assert_eq!(nonces(&pool.all()), [0, 1]);
    assert!(pool.sender_content(&Address::ZERO).pooled.is_empty());
}

#[test]
fn the_view_is_loaded_under_the_lock() {
    // A submission that raced with its own inclusion must not come back. The view is loaded after the lock is
    // acquired, so a rejection always rests on the newest view.
    let (mut chain, key) = rich(1);
    let pool = pool();
    let submission = chain.decode(&pool, &key.legacy(0, GWEI)).unwrap();
    chain.set_nonce(&key, 1);
    let mut loaded = 0;
    let result = pool.add(submission, || {
        loaded += 1;
        &chain
    });
    assert!(matches!(result, Err(PoolError::NonceTooLow { .. })));
    assert_eq!(loaded, 1);
}

//! Order in which the builder receives transactions.

use foreseal_pool::{DropReason, Pool, PoolConfig, PoolError};

use crate::chain::{Chain, GWEI, Key, pool, rich};

fn crowd(keys: u64) -> (Chain, Vec<Key>) {
    let mut chain = Chain::new();
    let keys: Vec<_> = (1..=keys).map(Key::new).collect();
    for key in &keys {
        chain.fund(key, 1_000 * GWEI * GWEI);
    }
    (chain, keys)
}

fn order(pool: &Pool, base_fee: u64) -> Vec<u64> {
    pool.best(base_fee, 0).map(|t| t.arrival()).collect()
}

#[test]
fn transactions_are_ordered_by_effective_tip_then_arrival() {
    let (chain, keys) = crowd(5);
    let pool = pool();
    let fees = [(10, 1), (10, 5), (6, 5), (20, 1), (30, 5)];
    for (key, (max_fee, tip)) in keys.iter().zip(fees) {
        chain.submit(&pool, &key.dynamic(0, max_fee * GWEI, tip * GWEI)).unwrap();
    }
    assert_eq!(order(&pool, 0), [1, 2, 4, 0, 3]);
    // Base fee 4 gwei leaves the third a tip of 2 gwei. Base fee 7 gwei leaves the second a tip of 3 gwei and
    // excludes the third.
    assert_eq!(order(&pool, 4_000_000_000), [1, 4, 2, 0, 3]);
    assert_eq!(order(&pool, 7_000_000_000), [4, 1, 0, 3]);
    assert_eq!(order(&pool, 25_000_000_000), [4]);
    assert_eq!(order(&pool, 1_000_000_001), [1, 4, 2, 0, 3]);
}

#[test]
fn an_expensive_successor_directly_follows_its_cheap_predecessor() {
    let (chain, keys) = crowd(2);
    let pool = pool();
    for (nonce, price) in [(0, 1), (1, 50), (2, 2)] {
        chain.submit(&pool, &keys[0].legacy(nonce, price * GWEI)).unwrap();
    }
    for (nonce, price) in [(0, 3), (1, 3)] {
        chain.submit(&pool, &keys[1].legacy(nonce, price * GWEI)).unwrap();
    }
    assert_eq!(order(&pool, 0), [3, 4, 0, 1, 2]);
}

#[test]
fn peeking_does_not_change_the_order() {
    let (chain, keys) = crowd(4);
    let pool = pool();
    for (key, price) in keys.iter().zip([3, 9, 5, 7]) {
        chain.submit(&pool, &key.legacy(0, price * GWEI)).unwrap();
        chain.submit(&pool, &key.legacy(1, 6 * GWEI)).unwrap();
    }
    let expected = order(&pool, 0);
    for count in 0..6 {
        let mut best = pool.best(0, 0);
        let mut selected = Vec::new();
        loop {
            let upcoming: Vec<_> = best.upcoming(count).map(|transaction| transaction.nonce()).collect();
            assert!(upcoming.len() <= count && upcoming.iter().all(|nonce| *nonce == 0));
            let Some(transaction) = best.next() else { break };
            selected.push(transaction.arrival());
        }
        assert_eq!(selected, expected, "looking {count} ahead");
    }
}

#[test]
fn skipping_a_sender_skips_all_its_transactions() {
    let (chain, keys) = crowd(2);
    let pool = pool();
    for nonce in 0..3 {
        chain.submit(&pool, &keys[0].legacy(nonce, 9 * GWEI)).unwrap();
        chain.submit(&pool, &keys[1].legacy(nonce, 5 * GWEI)).unwrap();
    }
    let mut best = pool.best(0, 0);
    let mut selected = Vec::new();
    while let Some(transaction) = best.next() {
        selected.push((transaction.sender() == keys[0].address, transaction.nonce()));
        if selected.len() == 2 {
            best.skip_sender();
        }
    }
    assert_eq!(selected, [(true, 0), (true, 1), (false, 0), (false, 1), (false, 2)]);
}

#[test]
fn a_transaction_below_the_base_fee_blocks_its_successors() {
    let (chain, key) = rich(1);
    let pool = pool();
    for (nonce, price) in [(0, 9), (1, 2), (2, 9)] {
        chain.submit(&pool, &key.legacy(nonce, price * GWEI)).unwrap();
    }
    assert_eq!(order(&pool, 5_000_000_000), [0]);
    assert_eq!(order(&pool, 2_000_000_000), [0, 1, 2]);
}

#[test]
fn iteration_is_unaffected_by_changes_of_the_pool() {
    let (chain, keys) = crowd(3);
    let pool = pool();
    for key in &keys[..2] {
        for nonce in 0..2 {
            chain.submit(&pool, &key.legacy(nonce, 5 * GWEI)).unwrap();
        }
    }
    let mut best = pool.best(0, 0);
    let first = best.next().unwrap();
    // Another sender arrives, the first sender's next transaction is replaced, and the second sender's head is
    // discarded.
    chain.submit(&pool, &keys[2].legacy(0, 9 * GWEI)).unwrap();
    let replacement = chain.submit(&pool, &keys[0].legacy(1, 8 * GWEI)).unwrap().hash;
    let head = pool.sender_content(&keys[1].address).pooled[0].hash();
    pool.discard(&head, DropReason::Rejected(String::new()));
    let rest: Vec<_> = best.map(|t| t.hash()).collect();
    // The copied heads stay. Later transactions are read when their turn comes.
    assert_eq!(first.sender(), keys[0].address);
    assert_eq!(rest, [replacement, head]);
}

#[test]
fn what_the_builder_holds_is_not_replaceable() {
    let (chain, keys) = crowd(2);
    let pool = pool();
    for key in &keys {
        for nonce in 0..2 {
            chain.submit(&pool, &key.legacy(nonce, 5 * GWEI)).unwrap();
        }
    }
    let mut best = pool.best(0, 0);
    // The second sender replaces its first transaction before the builder selects it.
    let replacement = chain.submit(&pool, &keys[1].legacy(0, 8 * GWEI)).unwrap().hash;
    let selected: Vec<_> = std::iter::from_fn(|| best.next_held()).map(|t| t.hash()).collect();
    assert_eq!(selected.len(), 4);
    assert!(selected.contains(&replacement));
    for key in &keys {
        for nonce in 0..2 {
            let rejected = chain.submit(&pool, &key.legacy(nonce, 80 * GWEI)).unwrap_err();
            let (account_nonce, next_nonce) = (nonce + 1, 2);
            assert_eq!(rejected, PoolError::NonceTooLow { nonce, account_nonce, next_nonce });
        }
    }
    let snapshot = pool.snapshot();
    pool.release_held(|hash| *hash == replacement);
    assert!(chain.submit(&pool, &keys[1].legacy(0, 80 * GWEI)).is_err());
    assert!(chain.submit(&pool, &keys[1].legacy(1, 80 * GWEI)).is_ok());
    // A snapshot restores the transactions, not what the builder held then.
    pool.reset(&snapshot);
    assert!(chain.submit(&pool, &keys[1].legacy(0, 80 * GWEI)).is_err());
    assert!(chain.submit(&pool, &keys[0].legacy(0, 80 * GWEI)).is_ok());
}

#[test]
fn the_builder_selects_no_transaction_that_has_left_the_pool() {
    let (chain, keys) = crowd(2);
    let pool = pool();
    let hashes: Vec<_> =
        keys.iter().map(|key| chain.submit(&pool, &key.legacy(0, GWEI)).unwrap().hash).collect();
    let mut best = pool.best(0, 0);
    pool.discard(&hashes[0], DropReason::Rejected(String::new()));
    assert_eq!(best.next_held().unwrap().hash(), hashes[1]);
    best.release_and_skip_sender();
    assert!(best.next_held().is_none());
    assert!(chain.submit(&pool, &keys[1].legacy(0, 2 * GWEI)).is_ok());
}

#[test]
fn submissions_continue_while_a_step_is_built() {
    let (chain, keys) = crowd(40);
    let pool = Pool::new(PoolConfig { max_transactions: 1_000, ..PoolConfig::default() });
    let raws: Vec<_> = keys.iter().flat_map(|key| (0..10).map(|nonce| key.legacy(nonce, GWEI))).collect();
    std::thread::scope(|scope| {
        for chunk in raws.chunks(raws.len() / 2) {
            let (pool, chain) = (&pool, &chain);
            scope.spawn(move || chunk.iter().for_each(|raw| drop(chain.submit(pool, raw).unwrap())));
        }
        for base_fee in 0..50 {
            let mut nonces = std::collections::HashMap::new();
            for transaction in pool.best(base_fee, 0) {
                let next = nonces.entry(transaction.sender()).or_insert(0);
                assert_eq!(transaction.nonce(), *next);
                *next += 1;
            }
        }
    });
    assert_eq!(pool.best(0, 0).count(), raws.len());
}

//! Limits of the pool, and the choice of transactions to evict.

use alloy_consensus::TxEip1559;
use alloy_eips::eip2930::AccessListItem;
use alloy_primitives::Address;
use foreseal_pool::{AddedTransaction, DropReason, Pool, PoolConfig, PoolError, Status};

use crate::chain::{Chain, GWEI, Key, nonces, transfer};

/// Creates a chain where the keys 1 to `keys` are rich.
fn crowd(keys: u64) -> (Chain, Vec<Key>) {
    let mut chain = Chain::new();
    let keys: Vec<_> = (1..=keys).map(Key::new).collect();
    for key in &keys {
        chain.fund(key, 1_000 * GWEI * GWEI);
    }
    (chain, keys)
}

fn pool_of(max_transactions: usize) -> Pool {
    Pool::new(PoolConfig { max_transactions, ..PoolConfig::default() })
}

fn evicted(added: &AddedTransaction) -> Vec<alloy_primitives::B256> {
    assert!(added.evicted.iter().all(|dropped| dropped.reason == DropReason::Evicted));
    added.evicted.iter().map(|dropped| dropped.hash).collect()
}

#[test]
fn the_cheapest_is_evicted_and_a_cheaper_newcomer_rejected() {
    let (chain, keys) = crowd(5);
    let pool = pool_of(3);
    let prices = [5, 3, 4];
    let hashes: Vec<_> = keys
        .iter()
        .zip(prices)
        .map(|(key, price)| chain.submit(&pool, &key.legacy(0, price * GWEI)).unwrap().hash)
        .collect();
    let full = PoolError::PoolFull { limit: 3 };
    assert_eq!(full.message(), "transaction pool is full");
    assert_eq!(chain.submit(&pool, &keys[3].legacy(0, 2 * GWEI)), Err(full.clone()));
    // The newcomer pays the same as the cheapest one and arrives later.
    assert_eq!(chain.submit(&pool, &keys[3].legacy(0, 3 * GWEI)), Err(full));
    let added = chain.submit(&pool, &keys[3].legacy(0, 3 * GWEI + 1)).unwrap();
    assert_eq!(evicted(&added), [hashes[1]]);
    assert_eq!(pool.status(&hashes[1]), Status::Dropped(DropReason::Evicted));
    let added = chain.submit(&pool, &keys[4].legacy(0, 10 * GWEI)).unwrap();
    assert_eq!(evicted(&added).len(), 1);
    assert!(pool.contains(&hashes[0]) && pool.contains(&hashes[2]));
    assert_eq!(pool.counts().pooled, 3);
}

#[test]
fn eviction_orders_by_effective_tip_under_the_base_fee() {
    let (chain, keys) = crowd(3);
    let pool = pool_of(2);
    let high_tip = chain.submit(&pool, &keys[0].dynamic(0, 10 * GWEI, 9 * GWEI)).unwrap().hash;
    let high_max = chain.submit(&pool, &keys[1].dynamic(0, 100 * GWEI, 2 * GWEI)).unwrap().hash;
    // Effective tips: 9 gwei against 2 at base fee 0, but 1 gwei against 2 at base fee 9 gwei.
    pool.on_fees(9_000_000_000, 0);
    let added = chain.submit(&pool, &keys[2].dynamic(0, 50 * GWEI, 5 * GWEI)).unwrap();
    assert_eq!(evicted(&added), [high_tip]);
    assert!(pool.contains(&high_max));
}

#[test]
fn transactions_below_the_base_fee_are_evicted_first() {
    let (chain, keys) = crowd(3);
    let pool = pool_of(2);
    pool.on_fees(9_000_000_000, 0);
    let below = chain.submit(&pool, &keys[0].dynamic(0, 8 * GWEI, 8 * GWEI)).unwrap().hash;
    chain.submit(&pool, &keys[1].dynamic(0, 9 * GWEI, 0)).unwrap();
    let added = chain.submit(&pool, &keys[2].dynamic(0, 9 * GWEI, 0)).unwrap();
    assert_eq!(evicted(&added), [below]);
}

#[test]
fn the_tail_of_a_queue_is_evicted_not_its_middle() {
    let (chain, keys) = crowd(2);
    let pool = pool_of(3);
    for (nonce, price) in [(0, 9), (1, 1), (2, 8)] {
        chain.submit(&pool, &keys[0].legacy(nonce, price * GWEI)).unwrap();
    }
    // The cheapest of all is in the middle of a queue. The cheapest tail leaves.
    let added = chain.submit(&pool, &keys[1].legacy(0, 9 * GWEI)).unwrap();
    assert_eq!(evicted(&added).len(), 1);
    assert_eq!(nonces(&pool.sender_content(&keys[0].address).pooled), [0, 1]);
    // Now the cheap one is the tail.
    chain.submit(&pool, &keys[1].legacy(1, 2 * GWEI)).unwrap();
    assert_eq!(nonces(&pool.sender_content(&keys[0].address).pooled), [0]);
}

#[test]
fn a_sender_does_not_evict_what_it_builds_on() {
    let (chain, keys) = crowd(2);
    let pool = pool_of(2);
    chain.submit(&pool, &keys[0].legacy(0, GWEI)).unwrap();
    let other = chain.submit(&pool, &keys[1].legacy(0, 5 * GWEI)).unwrap().hash;
    assert!(chain.submit(&pool, &keys[0].legacy(1, 4 * GWEI)).is_err());
    let added = chain.submit(&pool, &keys[0].legacy(1, 6 * GWEI)).unwrap();
    assert_eq!(evicted(&added), [other]);
    assert_eq!(nonces(&pool.sender_content(&keys[0].address).pooled), [0, 1]);
}

#[test]
fn waiting_transactions_are_evicted_before_executable_ones() {
    let (chain, keys) = crowd(4);
    let pool = pool_of(2);
    let waiting = chain.submit(&pool, &keys[0].legacy(7, 100 * GWEI)).unwrap().hash;
    chain.submit(&pool, &keys[1].legacy(0, 2 * GWEI)).unwrap();
    let added = chain.submit(&pool, &keys[2].legacy(0, GWEI)).unwrap();
    assert_eq!(evicted(&added), [waiting]);
    // A newcomer that would wait evicts no transaction that can run.
    assert!(matches!(chain.submit(&pool, &keys[3].legacy(1, 100 * GWEI)), Err(PoolError::PoolFull { .. })));
}

#[test]
fn a_replacement_is_accepted_by_a_full_pool() {
    let (chain, keys) = crowd(2);
    let pool = pool_of(2);
    for key in &keys {
        chain.submit(&pool, &key.legacy(0, GWEI)).unwrap();
    }
    let added = chain.submit(&pool, &keys[0].legacy(0, 2 * GWEI)).unwrap();
    assert!(added.replaced.is_some() && added.evicted.is_empty());
}

#[test]
fn the_pool_is_limited_in_bytes() {
    let (chain, keys) = crowd(8);
    let small = memory_size(&chain, &keys[0].dynamic(0, 2 * GWEI, GWEI));
    let pool = Pool::new(PoolConfig { max_bytes: 5 * small, ..PoolConfig::default() });
    for (key, tip) in keys.iter().zip([4, 2, 5, 3]) {
        chain.submit(&pool, &key.dynamic(0, 20 * GWEI, tip * GWEI)).unwrap();
    }
    let large = |tip: u128| {
        keys[4].raw(TxEip1559 {
            gas_limit: 100_000,
            max_fee_per_gas: 20 * GWEI,
            max_priority_fee_per_gas: tip,
            // It is held decoded and as encoded bytes.
            input: vec![0; small / 2].into(),
            ..transfer(0)
        })
    };
    // The large transaction needs the room of two. It is rejected while one of them pays more, and then none
    // is evicted.
    assert!(matches!(chain.submit(&pool, &large(2 * GWEI + 1)), Err(PoolError::PoolFull { .. })));
    assert_eq!(pool.counts().pooled, 4);
    let added = chain.submit(&pool, &large(10 * GWEI)).unwrap();
    assert!(pool.counts().bytes <= 5 * small);
    let left: Vec<_> = keys[..4].iter().map(|key| pool.sender_content(&key.address).pooled.len()).collect();
    assert_eq!(left, [1, 0, 1, 0]);
    assert_eq!(evicted(&added).len(), 2);
}

/// Its decoded entries are larger than its encoding, and the decoder doubles the list.
#[test]
fn an_access_list_counts_as_it_is_in_memory() {
    let (chain, keys) = crowd(1);
    let with_entries = |count: usize| {
        let entry = AccessListItem { address: Address::repeat_byte(9), storage_keys: Vec::new() };
        keys[0].raw(TxEip1559 {
            gas_limit: 10_000_000,
            max_fee_per_gas: GWEI,
            access_list: vec![entry; count].into(),
            ..transfer(0)
        })
    };
    let size = |count| memory_size(&chain, &with_entries(count));
    let (one, many) = (with_entries(1).len(), with_entries(1_500).len());
    assert_eq!(size(1_500) - size(1), many - one + (2_048 - 4) * size_of::<AccessListItem>());
}

#[test]
fn a_transaction_larger_than_the_pool_is_rejected() {
    let (chain, keys) = crowd(1);
    let pool = Pool::new(PoolConfig { max_bytes: 10, ..PoolConfig::default() });
    assert!(matches!(chain.submit(&pool, &keys[0].legacy(0, GWEI)), Err(PoolError::PoolFull { .. })));
}

#[test]
fn a_sender_at_its_limit_fills_gaps_with_its_tail() {
    let (chain, keys) = crowd(2);
    let pool = Pool::new(PoolConfig { max_per_sender: 3, ..PoolConfig::default() });
    let key = &keys[0];
    for nonce in [0, 2, 3] {
        chain.submit(&pool, &key.legacy(nonce, GWEI)).unwrap();
    }
    assert_eq!(chain.submit(&pool, &key.legacy(4, 9 * GWEI)), Err(PoolError::SenderFull { limit: 3 }));
    let added = chain.submit(&pool, &key.legacy(1, GWEI)).unwrap();
    assert_eq!(added.evicted[0].reason, DropReason::SenderFull);
    assert_eq!(nonces(&pool.sender_content(&key.address).pooled), [0, 1, 2]);
    // Replacement is always possible, and other senders have their own limits.
    chain.submit(&pool, &key.legacy(2, 2 * GWEI)).unwrap();
    chain.submit(&pool, &keys[1].legacy(0, GWEI)).unwrap();
}

/// Returns a transaction with `length` bytes of input.
/// Returns the size of a transaction in the pool.
fn memory_size(chain: &Chain, raw: &[u8]) -> usize {
    let pool = Pool::new(PoolConfig::default());
    chain.submit(&pool, raw).unwrap();
    pool.counts().bytes
}

fn long(key: &Key, nonce: u64, length: usize, price: u128) -> Vec<u8> {
    key.raw(TxEip1559 {
        gas_limit: 16_000_000,
        input: vec![0; length].into(),
        max_fee_per_gas: price,
        max_priority_fee_per_gas: price,
        ..transfer(nonce)
    })
}

#[test]
fn the_bytes_of_a_sender_are_bounded() {
    let (chain, keys) = crowd(2);
    let length = 100_000;
    let size = memory_size(&chain, &long(&keys[0], 0, length, 9 * GWEI));
    // A sixteenth of the pool: four of these transactions, and some bytes.
    let limit = 4 * size + 2_000;
    let config = PoolConfig {
        max_bytes: 16 * limit,
        max_transaction_bytes: length + 4_000,
        max_blob_transaction_bytes: 0,
        ..PoolConfig::default()
    };
    let pool = Pool::new(config);
    let key = &keys[0];
    for nonce in [0, 2, 3, 4] {
        chain.submit(&pool, &long(key, nonce, length, 9 * GWEI)).unwrap();
    }
    let full = PoolError::SenderBytes { size: 5 * size, limit };
    assert_eq!(chain.submit(&pool, &long(key, 5, length, 9 * GWEI)), Err(full));
    chain.submit(&pool, &key.legacy(5, 9 * GWEI)).unwrap();
    // Two tails leave for a transaction that fills the gap.
    let added = chain.submit(&pool, &long(key, 1, length, 9 * GWEI)).unwrap();
    assert_eq!(added.evicted.len(), 2);
    assert!(added.evicted.iter().all(|dropped| dropped.reason == DropReason::SenderFull));
    assert_eq!(nonces(&pool.sender_content(&key.address).pooled), [0, 1, 2, 3]);
    // A replacement may not be larger than the bytes that are left.
    let larger = chain.submit(&pool, &long(key, 3, length + 3_000, 19 * GWEI));
    assert!(matches!(larger, Err(PoolError::SenderBytes { .. })), "{larger:?}");
    chain.submit(&pool, &long(key, 3, length, 19 * GWEI)).unwrap();
    chain.submit(&pool, &long(&keys[1], 0, length, 9 * GWEI)).unwrap();
}

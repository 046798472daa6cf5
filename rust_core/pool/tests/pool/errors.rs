//! The error table of the specification, row by row, and the precedence of the errors.

use alloy_primitives::U256;
use foreseal_pool::PoolError;

use crate::chain::{GWEI, Key, pool, rich};

fn number(error: &PoolError, name: &str) -> U256 {
    error.data().iter().find(|(field, _)| *field == name).map(|(_, value)| *value).unwrap()
}

#[test]
fn an_old_nonce_is_nonce_too_low() {
    let (mut chain, key) = rich(1);
    let pool = pool();
    chain.set_nonce(&key, 5);
    chain.submit(&pool, &key.dynamic(5, 2 * GWEI, 1)).unwrap();
    let error = chain.submit(&pool, &key.dynamic(4, 2 * GWEI, 1)).unwrap_err();
    assert_eq!(error.message(), "nonce too low");
    assert_eq!(number(&error, "have"), U256::from(4));
    assert_eq!(number(&error, "want"), U256::from(5));
    assert_eq!(number(&error, "nextNonce"), U256::from(6));
}

#[test]
fn funds_one_wei_short_are_insufficient() {
    let (mut chain, key) = rich(1);
    let pool = pool();
    let cost = 21_000 * 2 * GWEI;
    chain.fund(&key, cost - 1);
    let raw = key.dynamic(0, 2 * GWEI, 1);
    let error = chain.submit(&pool, &raw).unwrap_err();
    assert_eq!(error.message(), "insufficient funds for gas * price + value");
    assert_eq!((number(&error, "have"), number(&error, "want")), (U256::from(cost - 1), U256::from(cost)));
    chain.fund(&key, cost);
    chain.submit(&pool, &raw).unwrap();
}

#[test]
fn an_absent_account_has_insufficient_funds() {
    let (chain, _) = rich(1);
    let error = chain.submit(&pool(), &Key::new(2).dynamic(0, 2 * GWEI, 1)).unwrap_err();
    assert_eq!(error.message(), "insufficient funds for gas * price + value");
}

#[test]
fn funds_are_checked_for_each_transaction_alone() {
    let (mut chain, key) = rich(1);
    let pool = pool();
    chain.fund(&key, 21_000 * 2 * GWEI);
    for nonce in 0..3 {
        assert!(chain.submit(&pool, &key.dynamic(nonce, 2 * GWEI, 1)).unwrap().executable);
    }
}

#[test]
fn a_pooled_transaction_is_already_known() {
    let (chain, key) = rich(1);
    let pool = pool();
    let raw = key.legacy(0, 2 * GWEI);
    chain.submit(&pool, &raw).unwrap();
    assert_eq!(chain.submit(&pool, &raw).unwrap_err().message(), "already known");
}

#[test]
fn a_transaction_queued_behind_a_gap_is_already_known() {
    let (chain, key) = rich(1);
    let pool = pool();
    let raw = key.legacy(9, 2 * GWEI);
    assert!(!chain.submit(&pool, &raw).unwrap().executable);
    assert_eq!(chain.submit(&pool, &raw).unwrap_err(), PoolError::AlreadyKnown);
}

#[test]
fn the_same_bytes_are_rejected_while_pooled_preconfirmed_and_sealed() {
    let (mut chain, key) = rich(1);
    let pool = pool();
    let raw = key.legacy(0, 2 * GWEI);
    let hash = chain.submit(&pool, &raw).unwrap().hash;
    assert_eq!(chain.submit(&pool, &raw).unwrap_err().message(), "already known");
    chain.set_nonce(&key, 1);
    chain.preconfirmed.insert(hash);
    // The step is published before the pool is notified of it.
    assert_eq!(chain.submit(&pool, &raw).unwrap_err().message(), "already known");
    assert!(chain.step(&pool, &[&raw]).is_empty());
    assert_eq!(pool.counts().pooled, 0);
    assert_eq!(chain.submit(&pool, &raw).unwrap_err().message(), "already known");
    chain.preconfirmed.clear();
    assert_eq!(chain.submit(&pool, &raw).unwrap_err().message(), "nonce too low");
}

#[test]
fn a_replacement_with_low_fees_is_underpriced() {
    let (chain, key) = rich(1);
    let pool = pool();
    chain.submit(&pool, &key.dynamic(0, 20 * GWEI, 10 * GWEI)).unwrap();
    let error = chain.submit(&pool, &key.dynamic(0, 22 * GWEI, 11 * GWEI - 1)).unwrap_err();
    assert_eq!(error.message(), "replacement transaction underpriced");
    assert_eq!(number(&error, "wantMaxFeePerGas"), U256::from(22 * GWEI));
    assert_eq!(number(&error, "wantMaxPriorityFeePerGas"), U256::from(11 * GWEI));
    assert_eq!(number(&error, "maxPriorityFeePerGas"), U256::from(11 * GWEI - 1));
}

#[test]
fn already_known_precedes_nonce_too_low_and_funds() {
    let (mut chain, key) = rich(1);
    let raw = key.legacy(0, 2 * GWEI);
    let pool = pool();
    chain.submit(&pool, &raw).unwrap();
    chain.set_nonce(&key, 1);
    chain.fund(&key, 0);
    assert_eq!(chain.submit(&pool, &raw).unwrap_err(), PoolError::AlreadyKnown);
}

#[test]
fn nonce_too_low_precedes_funds() {
    let (mut chain, key) = rich(1);
    chain.set_nonce(&key, 1);
    chain.fund(&key, 0);
    let error = chain.submit(&pool(), &key.legacy(0, 2 * GWEI)).unwrap_err();
    assert_eq!(error.message(), "nonce too low");
}

#[test]
fn nonce_too_low_precedes_replacement() {
    let (mut chain, key) = rich(1);
    let pool = pool();
    chain.submit(&pool, &key.legacy(0, 2 * GWEI)).unwrap();
    chain.set_nonce(&key, 1);
    let error = chain.submit(&pool, &key.legacy(0, 2 * GWEI - 1)).unwrap_err();
    assert_eq!(error.message(), "nonce too low");
}

#[test]
fn insufficient_funds_precedes_replacement() {
    let (mut chain, key) = rich(1);
    let pool = pool();
    chain.submit(&pool, &key.legacy(0, 2 * GWEI)).unwrap();
    chain.fund(&key, 0);
    let error = chain.submit(&pool, &key.legacy(0, 2 * GWEI - 1)).unwrap_err();
    assert_eq!(error.message(), "insufficient funds for gas * price + value");
}

//! Submissions that are accepted only if they can run at once.

use foreseal_pool::{Admission, Pool, PoolError, QueuedReason, Status};
use proptest::prelude::*;

use crate::chain::{Chain, GWEI, Key, pool, rich};

fn submit(chain: &Chain, pool: &Pool, raw: &[u8]) -> Result<Admission, PoolError> {
    pool.add_if_executable(chain.decode(pool, raw)?, || chain)
}

fn would_wait(chain: &Chain, pool: &Pool, raw: &[u8]) -> QueuedReason {
    let before = pool.counts();
    let Admission::WouldQueue(waiting) = submit(chain, pool, raw).unwrap() else { panic!("it was added") };
    assert_eq!(pool.counts(), before, "and nothing is kept of it");
    waiting
}

#[test]
fn a_gap_reports_the_missing_nonce() {
    let (mut chain, key) = rich(1);
    let pool = pool();
    chain.set_nonce(&key, 3);
    assert_eq!(would_wait(&chain, &pool, &key.legacy(4, GWEI)), QueuedReason::NonceGap { expected: 3 });
    for nonce in [3, 4] {
        assert!(matches!(submit(&chain, &pool, &key.legacy(nonce, GWEI)), Ok(Admission::Added(_))));
    }
    assert_eq!(would_wait(&chain, &pool, &key.legacy(6, GWEI)), QueuedReason::NonceGap { expected: 5 });
    assert!(matches!(submit(&chain, &pool, &key.legacy(5, GWEI)), Ok(Admission::Added(_))));
}

#[test]
fn fees_below_the_block_being_built_would_wait() {
    let (chain, key) = rich(1);
    let pool = pool();
    pool.on_fees(2 * u64::try_from(GWEI).unwrap(), 0);
    let cheap = key.legacy(0, GWEI);
    let waiting = would_wait(&chain, &pool, &cheap);
    assert_eq!(waiting, QueuedReason::BaseFee { max_fee: GWEI, base_fee: 2 * GWEI });
    chain.submit(&pool, &cheap).unwrap();
    let behind = would_wait(&chain, &pool, &key.legacy(1, 3 * GWEI));
    assert_eq!(behind, QueuedReason::Predecessor { nonce: 0 });
    let replacement = submit(&chain, &pool, &key.legacy(0, 2 * GWEI)).unwrap();
    assert!(matches!(replacement, Admission::Added(_)), "the one that waits is outbid");
}

#[test]
fn errors_equal_those_of_other_submissions() {
    let (mut chain, key) = rich(1);
    let pool = pool();
    chain.set_nonce(&key, 1);
    let low = submit(&chain, &pool, &key.legacy(0, GWEI)).unwrap_err();
    assert_eq!(low, PoolError::NonceTooLow { nonce: 0, account_nonce: 1, next_nonce: 1 });
    let raw = key.legacy(1, GWEI);
    submit(&chain, &pool, &raw).unwrap();
    assert_eq!(submit(&chain, &pool, &raw), Err(PoolError::AlreadyKnown));
    let poor = submit(&chain, &pool, &key.legacy(2, u128::MAX >> 20));
    assert!(matches!(poor, Err(PoolError::InsufficientFunds { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Checks that a submission is added if and only if an ordinary submission of the same bytes could run.
    #[test]
    fn a_transaction_is_added_exactly_if_it_is_executable(
        base_fee in 0..3_u64,
        ops in prop::collection::vec((0..3_u64, 0..6_u64, 1..60_u128), 1..40),
    ) {
        let mut chain = Chain::new();
        let keys = [Key::new(1), Key::new(2), Key::new(3)];
        for (key, budget) in keys.iter().zip([21_000 * GWEI * 2, 21_000 * GWEI * 4, GWEI * GWEI]) {
            chain.fund(key, budget);
            chain.set_nonce(key, 1);
        }
        let pool = pool();
        pool.on_fees(base_fee * u64::try_from(GWEI).unwrap(), 0);
        for (sender, nonce, tenths) in ops {
            let raw = keys[usize::try_from(sender).unwrap()].legacy(nonce, tenths * GWEI / 10);
            let hash = chain.decode(&pool, &raw).unwrap().hash();
            match submit(&chain, &pool, &raw) {
                Ok(Admission::Added(added)) => {
                    prop_assert!(added.executable);
                    prop_assert_eq!(pool.status(&hash), Status::Pooled);
                }
                Ok(Admission::WouldQueue(_)) => {
                    prop_assert!(!pool.contains(&hash));
                    chain.submit(&pool, &raw).unwrap();
                    prop_assert!(matches!(pool.status(&hash), Status::Queued(_)));
                }
                Err(error) => prop_assert_eq!(chain.submit(&pool, &raw), Err(error)),
            }
        }
    }
}

//! The replacement rule: a tenth more on every fee, exact to the wei.

use alloy_primitives::U256;
use foreseal_pool::{Fees, PoolError, Status};
use proptest::prelude::*;

use crate::chain::{Chain, GWEI, Key, pool, rich};

/// Generates fees from zero to the maximum, with frequent extremes.
fn fee() -> impl Strategy<Value = u128> {
    prop_oneof![any::<u128>(), 0..1_000_u128, Just(0), Just(u128::MAX), Just(u128::MAX / 11 * 10), Just(GWEI)]
}

/// Returns the minimum new fee by an independent definition: a count of tenths, not a product.
fn least(old: u128) -> Option<u128> {
    old.checked_add(old / 10)?.checked_add(u128::from(!old.is_multiple_of(10)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_replacement_needs_exactly_a_tenth_on_every_fee(
        max_fee in fee(), tip in fee(), blob_fee in fee(),
    ) {
        let old = Fees { max_fee, tip, blob_fee: Some(blob_fee) };
        let (Some(max_fee), Some(tip), Some(blob_fee)) = (least(max_fee), least(tip), least(blob_fee)) else {
            // No u128 is a tenth higher.
            let most = Fees { max_fee: u128::MAX, tip: u128::MAX, blob_fee: Some(u128::MAX) };
            prop_assert!(!most.can_replace(&old));
            return Ok(());
        };
        let new = Fees { max_fee, tip, blob_fee: Some(blob_fee) };
        prop_assert_eq!(new.can_replace(&old), new != old);
        for less in [
            Fees { max_fee: max_fee.saturating_sub(1), ..new },
            Fees { tip: tip.saturating_sub(1), ..new },
            Fees { blob_fee: Some(blob_fee.saturating_sub(1)), ..new },
        ] {
            if less != new {
                prop_assert!(!less.can_replace(&old));
            }
        }
    }

    #[test]
    fn only_blob_transactions_outbid_a_blob_transaction(max_fee in fee(), tip in fee(), blob_fee in fee()) {
        let old = Fees { max_fee, tip, blob_fee: Some(blob_fee) };
        let new = Fees { max_fee: u128::MAX, tip: u128::MAX, blob_fee: None };
        prop_assert!(!new.can_replace(&old));
    }

    #[test]
    fn the_reported_minimum_replacement_is_the_minimum(old in fee()) {
        let minimum = Fees::min_replacement_fee(old);
        let accepted = |new: U256| new * U256::from(10) >= U256::from(old) * U256::from(11) && new > U256::from(old);
        prop_assert!(accepted(minimum));
        prop_assert!(!accepted(minimum - U256::from(1)));
    }

    #[test]
    fn the_effective_tip_is_bounded_by_tip_and_max_fee(max_fee in fee(), tip in fee(), base_fee in any::<u64>()) {
        let fees = Fees { max_fee, tip: tip.min(max_fee), blob_fee: None };
        let (max, tip, base) = (U256::from(max_fee), U256::from(fees.tip), U256::from(base_fee));
        let expected = (max >= base).then(|| tip.min(max - base));
        prop_assert_eq!(fees.effective_tip(u128::from(base_fee)).map(U256::from), expected);
    }
}

/// Submits `old` and then `new`. Returns `true` if `new` replaces `old`.
fn replaces(chain: &Chain, old: &[u8], new: &[u8]) -> bool {
    let pool = pool();
    let first = chain.submit(&pool, old).unwrap().hash;
    match chain.submit(&pool, new) {
        Ok(added) => {
            assert_eq!(added.replaced, Some(first));
            assert_eq!(pool.status(&first), Status::Replaced { by: added.hash });
            assert_eq!((pool.counts().pooled, pool.contains(&first)), (1, false));
            true
        }
        Err(error) => {
            assert!(matches!(error, PoolError::ReplacementUnderpriced { .. }), "{error}");
            assert!(pool.contains(&first));
            false
        }
    }
}

#[test]
fn the_pool_accepts_a_replacement_at_exactly_a_tenth() {
    let (chain, key) = rich(1);
    let old = key.dynamic(0, 20 * GWEI, 10 * GWEI);
    assert!(replaces(&chain, &old, &key.dynamic(0, 22 * GWEI, 11 * GWEI)));
    assert!(!replaces(&chain, &old, &key.dynamic(0, 22 * GWEI - 1, 11 * GWEI)));
    assert!(!replaces(&chain, &old, &key.dynamic(0, 22 * GWEI, 11 * GWEI - 1)));
    assert!(!replaces(&chain, &old, &key.dynamic(0, 200 * GWEI, 10 * GWEI)));
}

#[test]
fn required_replacement_fees_round_up() {
    let (chain, key) = rich(1);
    let old = key.dynamic(0, 1_000_000_001, 101);
    assert!(replaces(&chain, &old, &key.dynamic(0, 1_100_000_002, 112)));
    assert!(!replaces(&chain, &old, &key.dynamic(0, 1_100_000_001, 112)));
    assert!(!replaces(&chain, &old, &key.dynamic(0, 1_100_000_002, 111)));
}

#[test]
fn a_gas_price_counts_as_both_fees() {
    let (chain, key) = rich(1);
    for old in [key.legacy(0, 10 * GWEI), key.access_list(0, 10 * GWEI)] {
        assert!(replaces(&chain, &old, &key.legacy(0, 11 * GWEI)));
        assert!(!replaces(&chain, &old, &key.legacy(0, 11 * GWEI - 1)));
        assert!(replaces(&chain, &old, &key.dynamic(0, 11 * GWEI, 11 * GWEI)));
        assert!(!replaces(&chain, &old, &key.dynamic(0, 100 * GWEI, 11 * GWEI - 1)));
    }
}

#[test]
fn a_zero_tip_may_stay_zero_if_another_fee_rises() {
    let (chain, key) = rich(1);
    let old = key.dynamic(0, 10 * GWEI, 0);
    assert!(replaces(&chain, &old, &key.dynamic(0, 11 * GWEI, 0)));
    let free = key.legacy(0, 0);
    assert!(!replaces(&chain, &free, &key.dynamic(0, 0, 0)));
    assert!(replaces(&chain, &free, &key.legacy(0, 1)));
}

#[test]
fn a_replacement_preserves_the_queue_position_but_not_the_arrival() {
    let (chain, key) = rich(1);
    let pool = pool();
    for nonce in 0..3 {
        chain.submit(&pool, &key.legacy(nonce, 10 * GWEI)).unwrap();
    }
    let added = chain.submit(&pool, &key.legacy(1, 11 * GWEI)).unwrap();
    let order: Vec<_> = pool.best(0, 0).map(|t| (t.nonce(), t.arrival())).collect();
    assert_eq!(order, [(0, 0), (1, 3), (2, 2)]);
    assert!(added.executable);
    assert_eq!(pool.next_nonce(&key.address, 0), 3);
}

#[test]
fn another_senders_nonce_is_not_replaced() {
    let (mut chain, key) = rich(1);
    let other = Key::new(2);
    chain.fund(&other, GWEI * GWEI);
    let pool = pool();
    chain.submit(&pool, &key.legacy(0, 10 * GWEI)).unwrap();
    assert_eq!(chain.submit(&pool, &other.legacy(0, GWEI)).unwrap().replaced, None);
}

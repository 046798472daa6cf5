//! Compares the entry points with alloy's own.

use alloy_primitives::{Address, B256, Bloom, Bytes, Log};
use proptest::{collection::vec, prelude::*};

use super::logs_bloom;

fn log() -> impl Strategy<Value = Log> {
    (any::<[u8; 20]>(), vec(any::<[u8; 32]>().prop_map(B256::from), 0..=4))
        .prop_map(|(address, topics)| Log::new_unchecked(Address::from(address), topics, Bytes::new()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn the_bloom_of_logs_equals_alloys(logs in vec(log(), 0..20)) {
        prop_assert_eq!(logs_bloom(&logs), alloy_primitives::logs_bloom(&logs));
    }
}

#[test]
fn no_logs_set_no_bits() {
    assert_eq!(logs_bloom(&[]), Bloom::ZERO);
}

//! Compares filters with a literal implementation of their rule.

use std::collections::HashSet;

use alloy_primitives::{Address, B256, Bytes, Log, LogData};
use foreseal_keccak::logs_bloom;
use foreseal_primitives::LogFilter;
use proptest::{collection::vec, prelude::*};

fn log() -> impl Strategy<Value = Log> {
    let parts = (0..4_u8, vec(0..4_u8, 0..=4));
    parts.prop_map(|(address, topics)| {
        let topics = topics.into_iter().map(B256::with_last_byte).collect();
        Log { address: Address::with_last_byte(address), data: LogData::new_unchecked(topics, Bytes::new()) }
    })
}

proptest! {
    #[test]
    fn a_filter_matches_its_rule_and_never_misses_by_bloom(
        logs in vec(log(), 0..40),
        addresses in vec(0..4_u8, 0..4),
        topics in vec(vec(0..4_u8, 0..4), 0..=4),
    ) {
        let addresses: Vec<_> = addresses.into_iter().map(Address::with_last_byte).collect();
        let topics: Vec<Vec<_>> =
            topics.into_iter().map(|any| any.into_iter().map(B256::with_last_byte).collect()).collect();
        let filter = LogFilter::new(addresses.clone(), topics.clone());
        for log in &logs {
            let mut matches = addresses.is_empty() || addresses.contains(&log.address);
            for (position, any) in topics.iter().enumerate() {
                let any: HashSet<_> = any.iter().collect();
                matches &= log.topics().get(position).is_some_and(|t| any.is_empty() || any.contains(t));
            }
            prop_assert_eq!(filter.matches(log), matches);
            prop_assert!(!matches || filter.may_match(&logs_bloom([log])));
        }
    }
}

//! Compares the log index with a plain scan of all logs.
#![cfg(test)]

mod bench;

use alloy_primitives::{B256, Log};
use foreseal_primitives::LogFilter;
use foreseal_store::{IndexAdditions, LogIndexError, Next};
use proptest::{collection::vec, prelude::*, sample::Index, test_runner::TestCaseError};

use bench::{Bench, address, log, topic};

/// Generates mostly a few values, sometimes any: common and rare criteria.
fn number() -> impl Strategy<Value = u8> {
    prop_oneof![4 => 0..3_u8, 1 => any::<u8>()]
}

fn some_log() -> impl Strategy<Value = Log> {
    (number(), vec(number(), 0..=4)).prop_map(|(of, topics)| log(of, &topics))
}

fn filter() -> impl Strategy<Value = LogFilter> {
    let any_of = |n| prop_oneof![2 => Just(vec![]), 3 => vec(number(), 1..3), 1 => vec(any::<u8>(), 1..n)];
    (any_of(60), vec(any_of(60), 0..=4)).prop_map(|(addresses, topics)| {
        let topics = topics.into_iter().map(|any| any.into_iter().map(topic).collect()).collect();
        LogFilter::new(addresses.into_iter().map(address).collect(), topics)
    })
}

#[derive(Clone, Debug)]
enum Change {
    Blocks(Vec<Vec<Log>>),
    Unwind(Index),
}

fn change() -> impl Strategy<Value = Change> {
    let blocks = vec(vec(some_log(), 0..40), 1..4).prop_map(Change::Blocks);
    prop_oneof![4 => blocks, 1 => any::<Index>().prop_map(Change::Unwind)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn searches_equal_a_scan_through_additions_and_unwinds(
        chunk_bits in prop_oneof![Just(1_u32), Just(3), Just(6), Just(16)],
        changes in vec(change(), 1..8),
        queries in vec((filter(), any::<Index>(), any::<Index>(), 1..20_u64), 1..20),
    ) {
        let mut bench = Bench::new(chunk_bits);
        for change in changes {
            match change {
                Change::Blocks(blocks) => bench.append(blocks),
                Change::Unwind(at) => bench.unwind(at.index(bench.logs.len() + 1)),
            }
            bench.check().map_err(|error| TestCaseError::fail(error.to_string()))?;
            let all = bench.logs.len();
            for (filter, from, to, portion) in &queries {
                let from = from.index(all + 1);
                let range = from as u64..(from + to.index(all - from + 1)) as u64;
                prop_assert_eq!(
                    bench.search(filter, range.clone(), *portion), bench.scan(filter, range)
                );
            }
        }
    }
}

#[test]
fn a_filter_of_wildcards_requires_that_many_topics() {
    let mut bench = Bench::new(16);
    bench.append([vec![log(1, &[]), log(1, &[1]), log(2, &[1, 2]), log(2, &[1, 2, 3, 4])]]);
    let matched = |topics: Vec<Vec<B256>>| bench.search(&LogFilter::new(vec![], topics), 0..4, 10);
    assert_eq!(matched(vec![]), [0, 1, 2, 3]);
    assert_eq!(matched(vec![vec![]]), [1, 2, 3]);
    assert_eq!(matched(vec![vec![topic(1)], vec![]]), [2, 3]);
    assert_eq!(matched(vec![vec![]; 4]), [3]);
    assert_eq!(matched(vec![vec![]; 5]), Vec::<u64>::new(), "no log has five topics");
}

/// Returns the work for a whole search, and the number of matches.
fn work(bench: &Bench, filter: &LogFilter) -> (u64, usize) {
    let txn = bench.env.read_txn().unwrap();
    let (mut work, mut count) = (0, 0);
    let mut matches = bench.index.search(&txn, filter, 0..bench.logs.len() as u64, &mut work).unwrap();
    while let Next::Found(_) = matches.next_within(&mut work, u64::MAX).unwrap() {
        count += 1;
    }
    (work, count)
}

#[test]
fn search_work_follows_the_rarest_criterion() {
    let mut bench = Bench::new(6);
    // Address 1 and topic 1 are common, but together only once; address 7 and topic 8 are at two ordinals.
    let logs = (0..6400).map(|n| match n {
        3000 => log(1, &[1]),
        100 | 6000 => log(7, &[8]),
        n if n % 2 == 0 => log(1, &[2]),
        _ => log(2, &[1]),
    });
    bench.append([logs.collect()]);
    let filter = |of, first| LogFilter::new(vec![address(of)], vec![vec![topic(first)]]);
    let (rare, count) = work(&bench, &filter(7, 8));
    assert_eq!(count, 2);
    assert!(rare <= 12, "two chunks of a hundred: {rare}");
    let (both, count) = work(&bench, &filter(1, 1));
    assert_eq!(count, 1);
    assert!(both <= 5 * 100, "a hundred chunks of both: {both}");
    let (rare_and_common, count) = work(&bench, &filter(7, 1));
    assert_eq!(count, 0);
    assert!(rare_and_common <= 15, "two chunks of the rarer: {rare_and_common}");
}

/// Indexes a hundred logs of three addresses and changes the first value in
/// the table. Returns the error of a check.
fn tampered(change: impl FnOnce(&mut Vec<u8>)) -> (Bench, String) {
    let mut bench = Bench::new(4);
    bench.append([(0..100).map(|n| log(n % 3, &[n % 5])).collect()]);
    bench.check().unwrap();
    let mut txn = bench.env.write_txn().unwrap();
    let (key, value) = bench.table.first(&txn).unwrap().unwrap();
    let (key, mut value) = (key.to_vec(), value.to_vec());
    change(&mut value);
    bench.table.put(&mut txn, &key, &value).unwrap();
    txn.commit().unwrap();
    let error = bench.check().unwrap_err().to_string();
    (bench, error)
}

#[test]
fn damage_and_inconsistencies_are_found_and_named() {
    let name = format!("address {}", address(0).to_string().to_lowercase());
    let (_, error) = tampered(|value| value.truncate(value.len() - 2));
    assert_eq!(error, format!("log index disagrees with the logs: {name} lacks log 15"));
    let (_, error) = tampered(|value| {
        value.truncate(value.len() - 2);
        value.extend([14, 0]);
    });
    assert_eq!(error, format!("log index disagrees with the logs: {name} has log 14"));
    let (bench, error) = tampered(|value| value.push(0));
    assert_eq!(error, format!("log index is damaged: chunk 0 of {name}"));
    let txn = bench.env.read_txn().unwrap();
    let (mut work, filter) = (0, LogFilter::new(vec![address(0)], vec![]));
    let mut matches = bench.index.search(&txn, &filter, 0..40, &mut work).unwrap();
    let rejection = matches.next_within(&mut work, u64::MAX).unwrap_err();
    assert_eq!(rejection.to_string(), error, "a search does not pass over damage");
}

#[test]
fn entries_without_a_log_are_found() {
    let mut bench = Bench::new(4);
    bench.append([(0..40).map(|n| log(n % 3, &[n % 5])).collect()]);
    bench.logs.truncate(20);
    assert!(matches!(bench.check(), Err(LogIndexError::Disagrees { indexed: true, ordinal: 20.., .. })));
    bench.logs.truncate(16);
    assert!(matches!(bench.check(), Err(LogIndexError::Extra { extra: 1.. })));
}

#[test]
fn an_ordinal_is_never_added_twice() {
    let mut bench = Bench::new(16);
    bench.append([vec![log(1, &[]), log(1, &[])]]);
    let mut additions = IndexAdditions::default();
    additions.add(1, &log(1, &[]));
    let mut txn = bench.env.write_txn().unwrap();
    assert!(matches!(additions.write(&bench.index, &mut txn), Err(LogIndexError::Damaged { chunk: 0, .. })));
}

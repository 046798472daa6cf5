//! The state trie: changed accounts of a million and list roots, with alloy-trie as the peer.

use std::{hint::black_box, time::Duration};

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_trie::{HashBuilder, Nibbles, root::ordered_trie_root_encoded};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use foreseal_benches::sized;
use foreseal_primitives::{Account, AccountDiff, ChangedAccount, StateDiff};
use foreseal_state::State;
use foreseal_trie::{Change, ListTrie, Trie};

fn accounts() -> u64 {
    sized(1_000_000, 20_000)
}

fn address(seed: u64) -> Address {
    Address::from_slice(&keccak256(seed.to_be_bytes())[12..])
}

/// Returns a diff that sets the balance of `count` accounts, spread over all of them.
fn diff(count: u64, balance: u64) -> StateDiff {
    let account = |at: u64| {
        let account = Account { nonce: at % 7, balance: U256::from(balance + at), ..Account::default() };
        let diff = AccountDiff { account: Some(account), ..AccountDiff::default() };
        ChangedAccount { address: address(at * (accounts() / count)), diff }
    };
    let mut accounts: Vec<_> = (0..count).map(account).collect();
    accounts.sort_by_key(|changed| changed.address);
    StateDiff { accounts, codes: Vec::new() }
}

fn changed_accounts(c: &mut Criterion) {
    let state = State::default().apply(&diff(accounts(), 1)).expect("in memory");
    let mut group = c.benchmark_group("state_root_of_a_million");
    for count in [10, 1_000, 5_000] {
        let diffs = [diff(count, 1_000_000_000_000), diff(count, 2_000_000_000_000)];
        let mut turn = 0;
        group.bench_function(format!("{count}_changed"), |b| {
            b.iter_with_large_drop(|| {
                turn ^= 1;
                state.apply(black_box(&diffs[turn])).expect("in memory")
            });
        });
    }
    group.finish();
}

fn pairs(count: u64) -> Vec<(B256, Vec<u8>)> {
    let mut pairs: Vec<_> = (0..count).map(|at| (keccak256(at.to_be_bytes()), vec![0x5a; 70])).collect();
    pairs.sort_unstable();
    pairs
}

/// The peer builds from sorted leaves and retains nothing, so both sides start from an empty trie.
fn from_nothing(c: &mut Criterion) {
    let pairs = pairs(10_000);
    let changes = || -> Vec<Change<Vec<u8>>> {
        pairs.iter().map(|(key, value)| ((*key).into(), Some(value.clone()))).collect()
    };
    let theirs = || {
        let mut builder = HashBuilder::default();
        for (key, value) in &pairs {
            builder.add_leaf(Nibbles::unpack(key), value);
        }
        builder.root()
    };
    assert_eq!(Trie::default().apply(changes()).root(), theirs());
    let mut group = c.benchmark_group("root_of_10000_from_nothing");
    group.bench_function("foreseal", |b| {
        b.iter_batched(changes, |changes| Trie::default().apply(changes).root(), BatchSize::LargeInput);
    });
    group.bench_function("alloy", |b| b.iter(theirs));
    group.finish();
}

fn lists(c: &mut Criterion) {
    let items: Vec<Bytes> =
        (0..5_000u32).map(|at| [&at.to_be_bytes()[..], &[0x33; 170]].concat().into()).collect();
    let mut before = ListTrie::default();
    before.extend(items[..4_500].iter().cloned());
    let at_once = || {
        let mut list = ListTrie::default();
        list.extend(items.iter().cloned());
        list.root()
    };
    let appended = || {
        let mut list = before.clone();
        list.extend(items[4_500..].iter().cloned());
        list.root()
    };
    let theirs = ordered_trie_root_encoded(&items);
    assert_eq!((at_once(), appended()), (theirs, theirs));
    let mut group = c.benchmark_group("list_root_of_5000");
    group.bench_function("foreseal_at_once", |b| b.iter(at_once));
    group.bench_function("alloy_at_once", |b| b.iter(|| ordered_trie_root_encoded(black_box(&items))));
    group.bench_function("foreseal_last_500_appended", |b| b.iter(appended));
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .measurement_time(Duration::from_secs(2))
        .warm_up_time(Duration::from_millis(500));
    targets = changed_accounts, from_nothing, lists
}
criterion_main!(benches);

//! Snapshots against a plain map and alloy's state root.

use std::collections::BTreeMap;

use alloy_genesis::{Genesis, GenesisAccount};
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256, keccak256};
use alloy_trie::{
    TrieAccount,
    root::{state_root_unhashed, storage_root_unhashed},
};
use foreseal_primitives::{Account, AccountDiff, ChangedAccount, NewCode, StateDiff};
use foreseal_state::{State, StateError, StateReader};
use proptest::{
    collection::{btree_map, vec},
    option,
    prelude::*,
};

type Model = BTreeMap<Address, (Account, BTreeMap<U256, U256>)>;
type Diff = BTreeMap<Address, AccountDiff>;

fn address(seed: u16) -> Address {
    Address::left_padding_from(&seed.to_be_bytes())
}

fn model_root(model: &Model) -> B256 {
    state_root_unhashed(model.iter().map(|(address, (account, storage))| {
        let slots = storage.iter().map(|(slot, value)| (B256::from(*slot), *value));
        let trie_account = TrieAccount {
            nonce: account.nonce,
            balance: account.balance,
            storage_root: storage_root_unhashed(slots),
            code_hash: account.code_hash,
        };
        (*address, trie_account)
    }))
}

fn change_model(model: &mut Model, diff: &Diff) {
    for (address, change) in diff {
        let Some(account) = change.account else {
            model.remove(address);
            continue;
        };
        let entry = model.entry(*address).or_default();
        entry.0 = account;
        if change.wiped {
            entry.1.clear();
        }
        for (slot, value) in &change.storage {
            if value.is_zero() {
                entry.1.remove(slot);
            } else {
                entry.1.insert(*slot, *value);
            }
        }
    }
}

fn state_diff(diff: &Diff) -> StateDiff {
    let accounts =
        diff.iter().map(|(address, diff)| ChangedAccount { address: *address, diff: diff.clone() });
    StateDiff { accounts: accounts.collect(), codes: Vec::new() }
}

fn account() -> impl Strategy<Value = Account> {
    let code_hash = prop_oneof![3 => Just(KECCAK256_EMPTY), 1 => any::<u8>().prop_map(keccak_of)];
    (any::<u64>(), any::<u128>(), code_hash).prop_map(|(nonce, balance, code_hash)| Account {
        nonce,
        balance: U256::from(balance),
        code_hash,
    })
}

fn keccak_of(byte: u8) -> B256 {
    keccak256([byte])
}

fn account_diff(slots: usize) -> impl Strategy<Value = AccountDiff> {
    let value =
        prop_oneof![1 => Just(U256::ZERO), 2 => any::<u64>().prop_map(U256::from), 1 => Just(U256::MAX)];
    let storage = btree_map((0u64..600).prop_map(U256::from), value, 0..slots);
    (option::weighted(0.85, account()), prop::bool::weighted(0.1), storage).prop_map(
        |(account, wiped, storage)| AccountDiff { account, wiped, storage: storage.into_iter().collect() },
    )
}

/// Sizes on both sides of the thresholds for parallel work.
fn diffs() -> impl Strategy<Value = Vec<Diff>> {
    let of = |accounts, slots| btree_map((0u16..400).prop_map(address), account_diff(slots), 0..accounts);
    vec(prop_oneof![4 => of(30, 8), 1 => of(4, 500), 1 => of(350, 4)], 1..6)
}

fn assert_reads(state: &State, model: &Model) {
    assert_eq!(state.account_count(), Some(model.len()));
    for seed in 0..400 {
        let address = address(seed);
        let expected = model.get(&address);
        assert_eq!(state.account(&address).ok().flatten(), expected.map(|(account, _)| *account));
        for slot in (0..600).step_by(37).map(U256::from) {
            let value = expected.and_then(|(_, storage)| storage.get(&slot)).copied().unwrap_or_default();
            assert_eq!(state.storage(&address, &slot), Ok(value));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_generation_of_diffs_matches_the_model(diffs in diffs()) {
        let mut model = Model::new();
        let mut state = State::default();
        let mut generations = Vec::new();
        for diff in &diffs {
            change_model(&mut model, diff);
            state = state.apply(&state_diff(diff)).unwrap();
            prop_assert_eq!(state.root(), model_root(&model));
            generations.push((state.clone(), model.clone()));
        }
        for (state, model) in &generations {
            prop_assert_eq!(state.root(), model_root(model));
            assert_reads(state, model);
        }
        // Values are absolute: applying a diff twice changes nothing more.
        let again = state.apply(&state_diff(diffs.last().unwrap())).unwrap();
        prop_assert_eq!(again.root(), state.root());
    }
}

/// Enough accounts and slots that all work is divided among threads, and then a second diff on the same
/// accounts.
#[test]
fn a_large_diff_matches_the_model() {
    let slots =
        |value: u64| (0..1_500u64).map(|slot| (U256::from(slot), U256::from(value * (slot % 3)))).collect();
    let diff = |balance: u64| -> Diff {
        let plain = (0..3_000).map(|seed| {
            let account = Account { balance: U256::from(balance + u64::from(seed)), ..Account::default() };
            (address(seed), AccountDiff { account: Some(account), ..AccountDiff::default() })
        });
        let contract = Account { code_hash: keccak_of(1), ..Account::default() };
        let contract = AccountDiff { account: Some(contract), wiped: false, storage: slots(balance) };
        plain.chain([(address(9_000), contract)]).collect()
    };
    let (mut model, mut state) = (Model::new(), State::default());
    for balance in [7, 8] {
        change_model(&mut model, &diff(balance));
        state = state.apply(&state_diff(&diff(balance))).unwrap();
        assert_eq!(state.root(), model_root(&model));
    }
}

#[test]
fn the_genesis_allocation_has_its_root() {
    let code = Bytes::from_static(&[0x60, 0x00]);
    let slots =
        BTreeMap::from([(B256::with_last_byte(1), B256::with_last_byte(9)), (B256::ZERO, B256::ZERO)]);
    let alloc = [
        (address(1), GenesisAccount { balance: U256::from(5), ..Default::default() }),
        (address(2), GenesisAccount { code: Some(code.clone()), storage: Some(slots), ..Default::default() }),
    ];
    let state = State::from_genesis(&Genesis::default().extend_accounts(alloc));
    let code_hash = keccak256(&code);
    let model = Model::from([
        (address(1), (Account { balance: U256::from(5), ..Account::default() }, BTreeMap::new())),
        (
            address(2),
            (Account { code_hash, ..Account::default() }, BTreeMap::from([(U256::from(1), U256::from(9))])),
        ),
    ]);
    assert_eq!(state.root(), model_root(&model));
    assert_eq!(state.code(&code_hash).unwrap().original_bytes(), code);
    assert_eq!(state.storage(&address(2), &U256::from(1)).unwrap(), U256::from(9));
    assert_eq!(state.storage_root(&address(3)), Ok(None));
}

#[test]
fn code_is_shared_and_never_removed() {
    let code = Bytes::from_static(&[0xef, 0x01, 0x00, 0x01]);
    let hash = keccak256(&code);
    let diff = StateDiff { accounts: Vec::new(), codes: vec![NewCode { hash, code: code.clone() }] };
    let older = State::default();
    let state = older.apply(&diff).unwrap();
    assert_eq!(state.code(&hash).unwrap().original_bytes(), code);
    assert!(state.code(&KECCAK256_EMPTY).unwrap().is_empty());
    assert_eq!(older.code(&hash).unwrap_err(), StateError::MissingCode(hash));
}

#[test]
fn accounts_read_in_a_batch_equal_single_reads() {
    let account =
        |seed: u16| Account { nonce: u64::from(seed), balance: U256::from(seed), ..Account::default() };
    let changed = |seed| ChangedAccount {
        address: address(seed),
        diff: AccountDiff { account: Some(account(seed)), ..AccountDiff::default() },
    };
    let diff = StateDiff { accounts: (0..300).map(changed).collect(), codes: Vec::new() };
    let state = State::default().apply(&diff).unwrap();
    for addresses in [vec![], vec![address(7)], (0..400).rev().map(address).collect()] {
        let one_by_one: Vec<_> = addresses.iter().map(|one| state.account(one).unwrap()).collect();
        assert_eq!(state.accounts(&addresses).unwrap(), one_by_one);
    }
}

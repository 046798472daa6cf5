//! State and block overrides.

use std::{collections::BTreeMap, time::Duration};

use crate::memory::{ALICE, BOB, MemoryState, dev_spec, header};
use alloy_primitives::{Address, B256, Bytes, U256, address, hex, keccak256};
use foreseal_evm::{
    AccountOverride, BlockOverrides, CallLimits, CallOutcome, CallRequest, Deadline, Environment,
    OverrideError, PrecompileRules, StateOverlay, StateOverrides, StorageOverride, call,
};
use foreseal_primitives::{Account, AccountDiff, ChangedAccount, NewCode, StateDiff};
use foreseal_state::StateReader;
use proptest::prelude::*;

const TARGET: Address = Address::repeat_byte(0x7a);
const IDENTITY: Address = address!("0x0000000000000000000000000000000000000004");
const SHA256: Address = address!("0x0000000000000000000000000000000000000002");
const ELSEWHERE: Address = Address::repeat_byte(0x99);

fn limits() -> CallLimits {
    CallLimits { gas: 1_000_000, deadline: Deadline::after(Duration::from_mins(10)) }
}

fn set(entries: impl IntoIterator<Item = (Address, AccountOverride)>) -> StateOverrides {
    StateOverrides(entries.into_iter().collect())
}

fn code(code: impl Into<Bytes>) -> AccountOverride {
    AccountOverride { code: Some(code.into()), ..AccountOverride::default() }
}

fn moved(to: Address) -> AccountOverride {
    AccountOverride { move_precompile_to: Some(to), ..AccountOverride::default() }
}

fn run(
    state: &MemoryState,
    overrides: &StateOverrides,
    block: &BlockOverrides,
    to: Address,
    input: &[u8],
) -> Bytes {
    let spec = dev_spec();
    let header = block.apply(&header());
    let overridden = overrides.resolve(state, PrecompileRules::new(&spec, &header)).unwrap();
    let overlay = StateOverlay::new(state, &overridden.diff);
    let environment = Environment {
        blob_base_fee: block.blob_base_fee,
        precompiles: overridden.precompiles,
        ..Environment::new(&spec, &overlay, state, &header)
    };
    let input = input.to_vec().into();
    let request = CallRequest { from: Some(ALICE), to: Some(to), input, ..CallRequest::default() };
    match call(&environment, &request, limits()).unwrap() {
        CallOutcome::Success { output, .. } => output,
        other => panic!("{other:?}"),
    }
}

fn call_output(state: &MemoryState, overrides: &StateOverrides, to: Address) -> Bytes {
    run(state, overrides, &BlockOverrides::default(), to, &[])
}

fn encoded(value: u64) -> Bytes {
    B256::from(U256::from(value)).0.into()
}

#[test]
fn a_call_sees_overridden_fields_and_the_other_original_ones() {
    let mut state = MemoryState::funded();
    // Returns slot 1 and slot 2.
    state.deploy(TARGET, hex!("6001545f5260025460205260405ff3").to_vec());
    state.storage.insert((TARGET, U256::from(1)), U256::from(11));
    state.storage.insert((TARGET, U256::from(2)), U256::from(12));
    let slots = BTreeMap::from([(U256::from(1), U256::from(7))]);
    let pair = |a, b| Bytes::from([encoded(a), encoded(b)].concat());
    let storage =
        |storage| set([(TARGET, AccountOverride { storage: Some(storage), ..AccountOverride::default() })]);
    assert_eq!(call_output(&state, &StateOverrides::default(), TARGET), pair(11, 12));
    assert_eq!(call_output(&state, &storage(StorageOverride::Slots(slots.clone())), TARGET), pair(7, 12));
    assert_eq!(call_output(&state, &storage(StorageOverride::Full(slots)), TARGET), pair(7, 0));
    // Returns the balance of Bob and the hash of the caller's code.
    let reader = [&hex!("73")[..], BOB.as_slice(), &hex!("315f52333f60205260405ff3")].concat();
    let richer = AccountOverride { balance: Some(U256::from(5)), ..AccountOverride::default() };
    let both = set([(TARGET, code(reader)), (BOB, richer), (ALICE, code(hex!("00").to_vec()))]);
    let want = [encoded(5).to_vec(), keccak256(hex!("00")).to_vec()].concat();
    assert_eq!(call_output(&state, &both, TARGET), Bytes::from(want));
}

#[test]
fn an_empty_override_changes_nothing_and_another_creates_the_account() {
    let state = MemoryState::funded();
    let rules = PrecompileRules::new(&dev_spec(), &header());
    let diff = |one| set([(ELSEWHERE, one)]).resolve(&state, rules).unwrap().diff;
    let none = BTreeMap::new();
    assert!(diff(AccountOverride::default()).is_empty());
    let slots =
        AccountOverride { storage: Some(StorageOverride::Slots(none.clone())), ..AccountOverride::default() };
    assert!(diff(slots).is_empty());
    let empties = [
        AccountOverride { balance: Some(U256::ZERO), ..AccountOverride::default() },
        AccountOverride { nonce: Some(0), ..AccountOverride::default() },
        code(Bytes::new()),
        AccountOverride { storage: Some(StorageOverride::Full(none)), ..AccountOverride::default() },
    ];
    for one in empties {
        assert_eq!(diff(one).accounts[0].diff.account, Some(Account::default()));
    }
}

#[test]
fn a_precompile_can_be_moved_and_replaced_by_code() {
    let state = MemoryState::funded();
    let none = BlockOverrides::default();
    let echo = |overrides: &StateOverrides, to| run(&state, overrides, &none, to, b"hello");
    let nothing = StateOverrides::default();
    assert_eq!(echo(&nothing, IDENTITY), Bytes::from_static(b"hello"));
    let elsewhere = set([(IDENTITY, moved(ELSEWHERE))]);
    assert_eq!(echo(&elsewhere, ELSEWHERE), Bytes::from_static(b"hello"));
    assert_eq!(echo(&elsewhere, IDENTITY), Bytes::new());
    // Code replaces the contract, which stays reachable at its new address.
    let seven = set([(
        IDENTITY,
        AccountOverride { code: Some(hex!("60075f5260205ff3").into()), ..moved(ELSEWHERE) },
    )]);
    assert_eq!(echo(&seven, IDENTITY), encoded(7));
    assert_eq!(echo(&seven, ELSEWHERE), Bytes::from_static(b"hello"));
    let swapped = set([(SHA256, moved(IDENTITY))]);
    assert_eq!(echo(&swapped, IDENTITY), echo(&nothing, SHA256));
    assert_eq!(echo(&swapped, SHA256), Bytes::new());
    // If two contracts move to one address, the one with the higher address wins.
    let two = set([(IDENTITY, moved(ELSEWHERE)), (SHA256, moved(ELSEWHERE))]);
    assert_eq!(echo(&two, ELSEWHERE), Bytes::from_static(b"hello"));
}

#[test]
fn an_invalid_precompile_move_is_named() {
    let state = MemoryState::funded();
    let rules = PrecompileRules::new(&dev_spec(), &header());
    let error = |overrides: StateOverrides| overrides.resolve(&state, rules).unwrap_err();
    assert_eq!(error(set([(BOB, moved(ELSEWHERE))])), OverrideError::NotPrecompile(BOB));
    assert_eq!(error(set([(SHA256, moved(SHA256))])), OverrideError::MovedToItself(SHA256));
    let overridden = set([(SHA256, moved(ELSEWHERE)), (ELSEWHERE, AccountOverride::default())]);
    assert_eq!(error(overridden), OverrideError::TargetOverridden(ELSEWHERE));
}

#[test]
fn a_call_sees_the_block_overrides() {
    let mut state = MemoryState::funded();
    // Returns number, timestamp, gas limit, coinbase, prevrandao, blob base fee.
    state.deploy(TARGET, hex!("435f52426020524560405241606052446080524a60a0526101005ff3").to_vec());
    let block = BlockOverrides {
        number: Some(77),
        time: Some(1_900_000_000),
        gas_limit: Some(123_456),
        fee_recipient: Some(BOB),
        prev_randao: Some(B256::repeat_byte(3)),
        blob_base_fee: Some(9),
        ..BlockOverrides::default()
    };
    let output = run(&state, &StateOverrides::default(), &block, TARGET, &[]);
    let outputs: Vec<U256> = output.chunks(32).map(U256::from_be_slice).collect();
    let want = [
        U256::from(77),
        U256::from(1_900_000_000),
        U256::from(123_456),
        BOB.into_word().into(),
        B256::repeat_byte(3).into(),
        U256::from(9),
    ];
    assert_eq!(outputs[..6], want);
}

/// Accounts that a random diff touches.
const ADDRESSES: [Address; 3] = [ALICE, TARGET, ELSEWHERE];

fn account() -> impl Strategy<Value = Option<Account>> {
    let coded = |(nonce, balance, coded): (u64, u64, bool)| Account {
        nonce,
        balance: U256::from(balance),
        code_hash: if coded { keccak256([0x5f]) } else { keccak256([]) },
    };
    prop::option::of((0..3u64, 0..3u64, any::<bool>()).prop_map(coded))
}

fn diffs() -> impl Strategy<Value = StateDiff> {
    let slots = prop::collection::btree_map(0..4u64, 0..3u64, 0..4);
    let one = (account(), any::<bool>(), slots).prop_map(|(account, wiped, slots)| {
        let storage = slots.into_iter().map(|(slot, value)| (U256::from(slot), U256::from(value)));
        let storage = if account.is_some() { storage.collect() } else { Vec::new() };
        AccountDiff { account, wiped: wiped || account.is_none(), storage }
    });
    prop::collection::vec(prop::option::of(one), 3).prop_map(|accounts| {
        let mut changed: Vec<ChangedAccount> = ADDRESSES
            .into_iter()
            .zip(accounts)
            .filter_map(|(address, diff)| diff.map(|diff| ChangedAccount { address, diff }))
            .collect();
        changed.sort_unstable_by_key(|one| one.address);
        let codes = vec![NewCode { hash: keccak256([0x5f]), code: vec![0x5f].into() }];
        StateDiff { accounts: changed, codes }
    })
}

proptest! {
    /// Reads through an overlay equal reads of the state to which the diff was applied.
    #[test]
    fn an_overlay_reads_as_the_changed_state(below in diffs(), above in diffs()) {
        let mut state = MemoryState::funded();
        state.apply(&below);
        let overlay = StateOverlay::new(&state, &above);
        let mut changed = state.clone();
        changed.apply(&above);
        for address in ADDRESSES.into_iter().chain([BOB]) {
            prop_assert_eq!(overlay.account(&address).unwrap(), changed.account(&address).unwrap());
            let (left, right) = (overlay.account_storage(&address).unwrap(), changed.account_storage(&address).unwrap());
            for slot in (0..5u64).map(U256::from) {
                prop_assert_eq!(overlay.storage(&address, &slot).unwrap(), changed.storage(&address, &slot).unwrap());
                prop_assert_eq!(left.slot(&slot).unwrap(), right.slot(&slot).unwrap());
            }
            if changed.has_storage(&address).unwrap() {
                prop_assert!(overlay.has_storage(&address).unwrap());
            }
        }
        prop_assert_eq!(overlay.code(&keccak256([0x5f])).unwrap(), changed.code(&keccak256([0x5f])).unwrap());
        prop_assert_eq!(overlay.accounts(&ADDRESSES).unwrap(), changed.accounts(&ADDRESSES).unwrap());
    }
}

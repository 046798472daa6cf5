//! Access lists.

use std::time::Duration;

use crate::memory::{ALICE, BOB, MemoryState, dev_spec, header};
use alloy_eips::eip2930::{AccessList, AccessListItem};
use alloy_primitives::{Address, B256, U256, address, hex};
use foreseal_evm::{
    AccessListOutcome, CallLimits, CallOutcome, CallRequest, Deadline, Environment, ExecutionError, call,
    create_access_list,
};

const TARGET: Address = Address::repeat_byte(0x7a);
const OTHER: Address = Address::repeat_byte(0x7b);
const SHA256: Address = address!("0x0000000000000000000000000000000000000002");

fn limits() -> CallLimits {
    CallLimits { gas: 1_000_000, deadline: Deadline::after(Duration::from_mins(10)) }
}

fn create(state: &MemoryState, request: &CallRequest) -> Result<AccessListOutcome, ExecutionError> {
    create_access_list(&Environment::new(&dev_spec(), state, state, &header()), request, limits())
}

fn to(target: Address) -> CallRequest {
    CallRequest { from: Some(ALICE), to: Some(target), ..CallRequest::default() }
}

fn item(address: Address, keys: &[u64]) -> AccessListItem {
    let storage_keys = keys.iter().map(|key| U256::from(*key).into()).collect();
    AccessListItem { address, storage_keys }
}

/// Checks that execution with the list warms everything in it and yields the reported gas.
fn check(state: &MemoryState, request: &CallRequest, want: Vec<AccessListItem>) {
    let created = create(state, request).unwrap();
    assert_eq!(created.access_list, AccessList(want));
    let with = CallRequest { access_list: created.access_list, ..request.clone() };
    let outcome = call(&Environment::new(&dev_spec(), state, state, &header()), &with, limits()).unwrap();
    assert_eq!(outcome, created.outcome);
}

#[test]
fn cold_slots_and_addresses_are_listed_and_warm_ones_omitted() {
    let mut state = MemoryState::funded();
    check(&state, &to(BOB), vec![]);
    // SLOAD 5, SSTORE 3; BALANCE of Bob, of the caller, of itself; EXTCODESIZE of a precompiled contract.
    let code = [&hex!("60055450600160035573")[..], BOB.as_slice(), &hex!("31503331503031506002 3b5000")];
    state.deploy(TARGET, code.concat());
    check(&state, &to(TARGET), vec![item(TARGET, &[3, 5]), item(BOB, &[])]);
    // Through a call: the slots belong to the called contract.
    state.deploy(OTHER, [&hex!("5f5f5f5f5f73")[..], TARGET.as_slice(), &hex!("5af100")].concat());
    check(&state, &to(OTHER), vec![item(TARGET, &[3, 5]), item(BOB, &[])]);
}

#[test]
fn a_supplied_list_is_preserved_except_for_warm_entries() {
    let state = MemoryState::funded();
    let supplied = vec![
        item(TARGET, &[9, 1]),
        item(ALICE, &[4]),
        item(BOB, &[4]),
        item(SHA256, &[]),
        item(TARGET, &[1]),
    ];
    let request = CallRequest { access_list: AccessList(supplied), ..to(BOB) };
    check(&state, &request, vec![item(TARGET, &[1, 9])]);
}

#[test]
fn the_list_is_grown_until_nothing_is_new() {
    let mut state = MemoryState::funded();
    // Reads slot 1, measures the gas difference and reads slot 2 too if it was below 1,000.
    state.deploy(TARGET, hex!("5a600154505a90036103e811601057005b6002545000").to_vec());
    let created = create(&state, &to(TARGET)).unwrap();
    assert_eq!(created.access_list, AccessList(vec![item(TARGET, &[1, 2])]));
}

#[test]
fn a_request_that_fails_has_a_list_too() {
    let mut state = MemoryState::funded();
    state.deploy(TARGET, hex!("6007545f5ffd").to_vec());
    let created = create(&state, &to(TARGET)).unwrap();
    assert_eq!(created.access_list, AccessList(vec![item(TARGET, &[7])]));
    assert!(matches!(created.outcome, CallOutcome::Revert { .. }));
}

#[test]
fn the_contract_being_created_is_left_out() {
    let state = MemoryState::funded();
    // Reads its own balance and Bob's, stores in slot 0.
    let input = [&hex!("303150 73")[..], BOB.as_slice(), &hex!("3150 60015f55 5f5ff3")].concat();
    let request = CallRequest { from: Some(ALICE), input: input.into(), ..CallRequest::default() };
    let created = ALICE.create(0);
    let mut want = vec![item(created, &[0]), item(BOB, &[])];
    want.sort_unstable_by_key(|item| item.address);
    check(&state, &request, want);
}

#[test]
fn storage_keys_are_32_bytes() {
    let mut state = MemoryState::funded();
    state.deploy(TARGET, hex!("5f195450 00").to_vec());
    let created = create(&state, &to(TARGET)).unwrap();
    assert_eq!(created.access_list.0[0].storage_keys, vec![B256::repeat_byte(0xff)]);
}

//! Calls and estimates.

use std::{
    sync::mpsc::channel,
    time::{Duration, Instant},
};

use crate::memory::{ALICE, BOB, MemoryState, dev_spec, header};
use alloy_primitives::{Address, B256, Bytes, U256, hex};
use foreseal_evm::{
    CallLimits, CallOutcome, CallRequest, Deadline, Environment, EstimateError, ExecutionError, HaltReason,
    RejectedTransaction, call, create_access_list, estimate,
};
use foreseal_scheduler::{Caller, Job, Lane, LaneConfig, Priority, Scheduler, Stopped};
use proptest::prelude::*;

const GAS_CAP: u64 = 50_000_000;
fn limits() -> CallLimits {
    CallLimits { gas: GAS_CAP, deadline: Deadline::after(Duration::from_mins(10)) }
}

const TARGET: Address = Address::repeat_byte(0x7a);
const FORWARDER: Address = Address::repeat_byte(0x7b);

fn run(state: &MemoryState, request: &CallRequest) -> Result<CallOutcome, ExecutionError> {
    call(&Environment::new(&dev_spec(), state, state, &header()), request, limits())
}

fn guess(state: &MemoryState, request: &CallRequest) -> Result<u64, EstimateError> {
    estimate(&Environment::new(&dev_spec(), state, state, &header()), request, limits())
}

fn to(address: Address) -> CallRequest {
    CallRequest { from: Some(ALICE), to: Some(address), ..CallRequest::default() }
}

/// Returns code that counts down from `rounds`.
fn burner(rounds: u16) -> Vec<u8> {
    [&[0x61][..], &rounds.to_be_bytes(), &hex!("5b60019003806003 57 00")].concat()
}

/// Returns code that calls `target` with all its gas and reverts if the call fails.
fn forwarder(target: Address) -> Vec<u8> {
    [&hex!("5f5f5f5f5f73")[..], target.as_slice(), &hex!("5af115602157005b5f5ffd")].concat()
}

/// Finds the lowest gas that succeeds, by bisection only.
fn least(state: &MemoryState, request: &CallRequest) -> u64 {
    let enough = |gas| {
        let request = CallRequest { gas: Some(gas), ..request.clone() };
        matches!(run(state, &request), Ok(CallOutcome::Success { .. }))
    };
    let (mut low, mut high) = (0, 1 << 24);
    assert!(enough(high));
    while low + 1 < high {
        let middle = u64::midpoint(low, high);
        if enough(middle) { high = middle } else { low = middle }
    }
    high
}

fn check(state: &MemoryState, request: &CallRequest) {
    let (estimate, least) = (guess(state, request).unwrap(), least(state, request));
    assert!(estimate >= least, "{estimate} does not suffice, {least} does");
    assert!(estimate * 1000 <= least * 1015, "{estimate} is more than 1.5 % above {least}");
}

#[test]
fn a_call_sees_the_block_and_no_base_fee() {
    let mut state = MemoryState::funded();
    // Returns the base fee and the block number.
    state.deploy(TARGET, hex!("485f524360205260405ff3").to_vec());
    let encoded = |base_fee: u64| {
        let mut out = B256::from(U256::from(base_fee)).to_vec();
        out.extend(B256::with_last_byte(1));
        Bytes::from(out)
    };
    let output = |request: &CallRequest| match run(&state, request).unwrap() {
        CallOutcome::Success { output, .. } => output,
        other => panic!("{other:?}"),
    };
    assert_eq!(output(&to(TARGET)), encoded(0));
    let paid = CallRequest { max_fee_per_gas: Some(1_000_000_000), ..to(TARGET) };
    assert_eq!(output(&paid), encoded(1_000_000_000));
    let cheap = CallRequest { gas_price: Some(999_999_999), ..to(TARGET) };
    let expected = RejectedTransaction::FeeTooLow { max_fee: 999_999_999, base_fee: 1_000_000_000 };
    assert_eq!(run(&state, &cheap), Err(expected.into()));
}

#[test]
fn a_call_is_bound_by_its_cap_alone() {
    let mut state = MemoryState::funded();
    // Returns the gas left.
    state.deploy(TARGET, hex!("5a5f5260205ff3").to_vec());
    let left = |gas| match run(&state, &CallRequest { gas, ..to(TARGET) }).unwrap() {
        CallOutcome::Success { output, .. } => U256::from_be_slice(&output).to::<u64>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(left(None), GAS_CAP - 21_002);
    assert_eq!(left(Some(u64::MAX)), GAS_CAP - 21_002);
    assert_eq!(left(Some(30_000)), 30_000 - 21_002);
}

#[test]
fn calls_need_funds_for_value_and_fee_only() {
    let state = MemoryState::funded();
    let unfunded = Address::repeat_byte(0x99);
    let free = CallRequest { from: Some(unfunded), ..to(BOB) };
    assert!(matches!(run(&state, &free), Ok(CallOutcome::Success { gas_used: 21_000, .. })));
    let value = CallRequest { value: U256::from(1), ..free.clone() };
    let short = |needed: U256| RejectedTransaction::InsufficientFunds { have: U256::ZERO, needed };
    assert_eq!(run(&state, &value), Err(short(U256::from(1)).into()));
    let fee = CallRequest { gas_price: Some(2_000_000_000), gas: Some(21_000), ..free };
    assert_eq!(run(&state, &fee), Err(short(U256::from(42_000_000_000_000u64)).into()));
    let other_chain = CallRequest { chain_id: Some(1), ..to(BOB) };
    assert_eq!(run(&state, &other_chain), Err(RejectedTransaction::ChainId.into()));
}

#[test]
fn contracts_and_used_nonces_can_call() {
    let mut state = MemoryState::funded();
    state.deploy(ALICE, hex!("00").to_vec());
    assert!(matches!(run(&state, &to(BOB)), Ok(CallOutcome::Success { .. })));
}

#[test]
fn reverts_and_halts_are_distinguished() {
    let mut state = MemoryState::funded();
    state.deploy(TARGET, hex!("602a5f5260205ffd").to_vec());
    let output = Bytes::from(B256::with_last_byte(0x2a));
    assert!(matches!(run(&state, &to(TARGET)), Ok(CallOutcome::Revert { output: o, .. }) if o == output));
    assert_eq!(guess(&state, &to(TARGET)), Err(EstimateError::Revert { output }));
    state.deploy(TARGET, hex!("fe").to_vec());
    let halted = CallOutcome::Halt { gas_used: GAS_CAP, reason: HaltReason::InvalidFEOpcode };
    assert_eq!(run(&state, &to(TARGET)), Ok(halted));
    let halted = EstimateError::Halt { reason: HaltReason::InvalidFEOpcode, gas: 1 << 24 };
    assert_eq!(guess(&state, &to(TARGET)), Err(halted));
}

#[test]
fn a_loop_or_call_stops_at_the_deadline() {
    let mut state = MemoryState::funded();
    // Loops until its gas is used up.
    state.deploy(TARGET, hex!("5b5f56").to_vec());
    state.deploy(FORWARDER, forwarder(TARGET));
    let over = CallLimits { deadline: Deadline::after(Duration::ZERO), ..limits() };
    let (spec, header) = (dev_spec(), header());
    let environment = Environment::new(&spec, &state, &state, &header);
    for target in [TARGET, FORWARDER] {
        let request = to(target);
        let ended = call(&environment, &request, over);
        assert_eq!(ended, Err(ExecutionError::TimeLimit(Duration::ZERO)));
        let ended = estimate(&environment, &request, over);
        assert_eq!(ended, Err(ExecutionError::TimeLimit(Duration::ZERO).into()));
        let ended = create_access_list(&environment, &request, over);
        assert_eq!(ended, Err(ExecutionError::TimeLimit(Duration::ZERO)));
    }
}

#[test]
fn a_single_slow_operation_ends_a_strict_execution() {
    let strict = CallLimits { deadline: Deadline::strict(Duration::from_mins(10)), ..limits() };
    let over = Err(ExecutionError::TimeLimit(Duration::from_mins(10)));
    let (spec, header) = (dev_spec(), header());
    let ended = |code: &[u8]| {
        let mut state = MemoryState::funded();
        state.deploy(TARGET, code.to_vec());
        state.deploy(FORWARDER, forwarder(TARGET));
        let environment = Environment::new(&spec, &state, &state, &header);
        [TARGET, FORWARDER].map(|target| {
            let usual = call(&environment, &to(target), limits());
            assert!(usual.is_ok(), "{usual:?}");
            (call(&environment, &to(target), strict), usual)
        })
    };
    // 1 MB of memory; modexp; a hash of 8 KiB.
    for code in [&hex!("5f620f424052")[..], &hex!("5f5f5f5f60055afa"), &hex!("5f5f6120005f60025afa")] {
        for (tried, _) in ended(code) {
            assert_eq!(tried, over);
        }
    }
    // A copy, a hash, a power, a log, the oldest contracts and a revert behave as usual.
    for code in [
        &hex!("60406020600037604060002060030a5f5260205fa060205ff3")[..],
        &hex!("5f5f60405f60025afa5f5260205ff3"),
        &hex!("60205ffd"),
    ] {
        for (tried, usual) in ended(code) {
            assert_eq!(tried, usual);
        }
    }
}

/// Runs `check` as a job of a public caller.
fn as_public_caller(check: fn()) {
    let lane = LaneConfig::simple(1, 8);
    let scheduler = Scheduler::start([lane; Lane::ALL.len()]).unwrap();
    let (sender, receiver) = channel();
    let job = Job {
        ticket: 1,
        caller: Caller { id: 1, priority: Priority::Public, budget: None },
        arrived: Instant::now(),
        limit: Duration::from_mins(10),
        work: Box::new(move |_| {
            check();
            sender.send(()).unwrap();
        }),
    };
    scheduler.submit(Lane::Heavy, job).unwrap();
    receiver.recv_timeout(Duration::from_mins(5)).unwrap();
}

#[test]
fn a_public_call_ends_at_a_very_long_precompiled_contract() {
    as_public_caller(|| {
        let mut state = MemoryState::funded();
        // Calls blake2f with 49,000,000 rounds and catches its failure.
        state.deploy(TARGET, hex!("6302ebae4060e01b5f525f5f60d55f5f60095af100").to_vec());
        let (spec, header) = (dev_spec(), header());
        let environment = Environment::new(&spec, &state, &state, &header);
        let is_ended =
            |error: &ExecutionError| matches!(error, ExecutionError::Stopped(Stopped::LongOperation { .. }));
        let direct = CallRequest {
            input: [&49_000_000_u32.to_be_bytes()[..], &[0; 209]].concat().into(),
            ..to(Address::with_last_byte(9))
        };
        for request in [to(TARGET), direct] {
            assert!(call(&environment, &request, limits()).is_err_and(|error| is_ended(&error)));
            let listed = create_access_list(&environment, &request, limits());
            assert!(listed.is_err_and(|error| is_ended(&error)));
        }
        // A call that the gas of a transaction pays for runs.
        let short = CallRequest { gas: Some(1 << 20), ..to(TARGET) };
        assert!(call(&environment, &short, limits()).is_ok());
    });
}

#[test]
fn a_state_read_after_the_deadline_stops() {
    let mut state = MemoryState::funded();
    state.deploy(TARGET, hex!("5f54").to_vec());
    let strict = CallLimits { deadline: Deadline::strict(Duration::ZERO), ..limits() };
    let (spec, header) = (dev_spec(), header());
    let environment = Environment::new(&spec, &state, &state, &header);
    let ended = call(&environment, &to(TARGET), strict);
    assert_eq!(ended, Err(ExecutionError::TimeLimit(Duration::ZERO)));
}

#[test]
fn a_transfer_is_estimated_exactly() {
    let state = MemoryState::funded();
    assert_eq!(guess(&state, &CallRequest { value: U256::from(1), ..to(BOB) }), Ok(21_000));
    assert_eq!(guess(&state, &to(Address::repeat_byte(0x55))), Ok(21_000));
    assert_eq!(guess(&state, &CallRequest { from: None, ..to(BOB) }), Ok(21_000));
}

#[test]
fn a_bounded_estimate_reports_the_bound() {
    let mut state = MemoryState::funded();
    state.deploy(TARGET, hex!("5b5f56").to_vec());
    let exceeds = |allowance| Err(EstimateError::GasExceedsAllowance { allowance });
    assert_eq!(guess(&state, &to(TARGET)), exceeds(1 << 24));
    assert_eq!(guess(&state, &CallRequest { gas: Some(100_000), ..to(TARGET) }), exceeds(100_000));
    state.accounts.get_mut(&ALICE).unwrap().balance = U256::from(10_000_000_000_000_000u64);
    let paid = CallRequest { max_fee_per_gas: Some(100_000_000_000), ..to(TARGET) };
    assert_eq!(guess(&state, &paid), exceeds(100_000));
    let poor = CallRequest { value: U256::from(10_000_000_000_000_001u64), ..to(BOB) };
    let have = U256::from(10_000_000_000_000_000u64);
    assert_eq!(guess(&state, &poor), Err(EstimateError::InsufficientFunds { have, needed: poor.value }));
    let data = CallRequest { gas: Some(21_010), input: vec![1; 100].into(), ..to(BOB) };
    assert_eq!(guess(&state, &data), exceeds(21_010));
}

#[test]
fn estimates_cover_calls_refunds_and_contracts_that_check_gas() {
    let mut state = MemoryState::funded();
    state.deploy(TARGET, burner(20_000));
    state.deploy(FORWARDER, forwarder(TARGET));
    check(&state, &to(TARGET));
    check(&state, &to(FORWARDER));
    // Clears two slots.
    state.deploy(TARGET, hex!("5f5f555f60015500").to_vec());
    state.storage.insert((TARGET, U256::ZERO), U256::from(1));
    state.storage.insert((TARGET, U256::from(1)), U256::from(1));
    check(&state, &to(TARGET));
    check(&state, &to(FORWARDER));
    // Reverts if less than 100,000 gas is left.
    state.deploy(TARGET, hex!("5a620186a011600a57005b5f5ffd").to_vec());
    check(&state, &to(TARGET));
    check(&state, &to(FORWARDER));
    // Data whose floor (EIP-7623) exceeds the cost of execution.
    check(&state, &CallRequest { input: vec![1; 5_000].into(), ..to(BOB) });
    // A creation.
    check(&state, &CallRequest { to: None, input: hex!("60ff5ff3").to_vec().into(), ..to(BOB) });
}

/// Returns code that calls each target with all its gas, ignores their failures, and stops.
fn careless(targets: &[Address]) -> Vec<u8> {
    let call = |target: &Address| [&hex!("5f5f5f5f5f73")[..], target.as_slice(), &hex!("5af150")].concat();
    [targets.iter().flat_map(call).collect(), hex!("00").to_vec()].concat()
}

/// Returns the number of logs of a run with this gas.
fn logs(state: &MemoryState, request: &CallRequest, gas: u64) -> usize {
    match run(state, &CallRequest { gas: Some(gas), ..request.clone() }).unwrap() {
        CallOutcome::Success { logs, .. } => logs.len(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_estimate_covers_calls_whose_failure_is_ignored() {
    let mut state = MemoryState::funded();
    // Counts down from 30,000, then logs.
    state.deploy(TARGET, [&hex!("617530 5b60019003806003 57")[..], &hex!("5f5fa000")].concat());
    for children in [1, 3] {
        state.deploy(FORWARDER, careless(&vec![TARGET; children]));
        let request = to(FORWARDER);
        let (estimate, full) = (guess(&state, &request).unwrap(), run(&state, &request).unwrap().gas_used());
        assert_eq!(logs(&state, &request, estimate), children, "{estimate}");
        assert!(estimate >= full, "{estimate} is less than the {full} used without a limit");
        assert!(logs(&state, &request, estimate * 96 / 100) < children, "{estimate} is too much");
    }
    // A nested one, behind a contract that reverts.
    let middle = Address::repeat_byte(0x7c);
    state.deploy(middle, forwarder(TARGET));
    state.deploy(FORWARDER, careless(&[middle]));
    let estimate = guess(&state, &to(FORWARDER)).unwrap();
    assert_eq!(logs(&state, &to(FORWARDER), estimate), 1, "{estimate}");
}

#[test]
fn an_estimate_is_at_least_the_gas_used_without_a_limit() {
    let mut state = MemoryState::funded();
    // Loops while more than 1,000,000 gas is left.
    state.deploy(TARGET, hex!("5b620f42405a11600057 00").to_vec());
    // Calls an endless loop, which consumes 63/64 of any amount of gas, then continues and fills a slot.
    let endless = Address::repeat_byte(0x7c);
    state.deploy(endless, hex!("5b5f56").to_vec());
    let code = [&hex!("5f5f5f5f5f73")[..], endless.as_slice(), &hex!("5af150600160055500")].concat();
    state.deploy(FORWARDER, code);
    for request in [to(TARGET), to(FORWARDER)] {
        let full = run(&state, &CallRequest { gas: Some(1 << 24), ..request.clone() }).unwrap().gas_used();
        assert!(full > 15_000_000);
        assert!(guess(&state, &request).unwrap() >= full);
    }
}

#[test]
fn an_estimate_includes_the_delegations_of_the_request() {
    let mut state = MemoryState::funded();
    state.deploy(TARGET, burner(1_000));
    let authorization =
        alloy_eips::eip7702::Authorization { chain_id: U256::from(31_337), address: TARGET, nonce: 0 };
    let signature = alloy_consensus::crypto::secp256k1::sign_message(
        B256::repeat_byte(0x11),
        authorization.signature_hash(),
    )
    .unwrap();
    let signed = authorization.into_signed(signature);
    let request =
        CallRequest { authorizations: vec![signed.clone()], ..to(signed.recover_authority().unwrap()) };
    check(&state, &request);
    assert!(guess(&state, &request).unwrap() > 46_000 + 25_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_depth_of_calls_is_estimated(rounds in 1u16..20_000, depth in 0u8..6) {
        let mut state = MemoryState::funded();
        state.deploy(Address::repeat_byte(0x80), burner(rounds));
        for level in 0..depth {
            state.deploy(Address::repeat_byte(0x81 + level), forwarder(Address::repeat_byte(0x80 + level)));
        }
        check(&state, &to(Address::repeat_byte(0x80 + depth)));
    }
}

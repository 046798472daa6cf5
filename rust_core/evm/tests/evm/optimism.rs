//! Deposits of OP chains, and calls on such a chain.

use alloy_consensus::Eip658Value;
use alloy_primitives::{Address, Bytes, TxKind, U256, address};
use foreseal_evm::{
    BlockGas, CallLimits, CallOptions, CallRequest, Deadline, Environment, Executor, PrestateOptions,
    StructLog, StructLogSink, Trace, TraceLimit, Tracer, TransactionReplay, trace_call,
};
use foreseal_primitives::{Receipt, StateDiff, Transaction, TxDeposit};

use crate::memory::{ALICE, BOB, MemoryState, header, optimism_spec};

const BASE_FEE_VAULT: Address = address!("4200000000000000000000000000000000000019");

struct NoSteps;

impl StructLogSink for NoSteps {
    fn record(&mut self, _: &StructLog<'_>) -> Result<usize, TraceLimit> {
        Ok(0)
    }
}

fn deposit(deposit: TxDeposit) -> Transaction {
    Transaction::recover(TxDeposit { from: ALICE, mint: 7, gas_limit: 1_000_000, ..deposit }).unwrap()
}

fn execute(state: &MemoryState, transaction: &Transaction) -> (Receipt, StateDiff) {
    let (spec, header) = (optimism_spec(), header());
    let mut executor = Executor::new(&spec, state, state, &header);
    let receipt = executor.transact(transaction, &mut BlockGas::default()).unwrap();
    (receipt, executor.drain_diff())
}

/// A deposit that cannot begin keeps its mint, counts its nonce and takes all its gas.
#[test]
fn a_deposit_with_too_much_initialization_code_only_mints() {
    let code = |size: usize| {
        deposit(TxDeposit { to: TxKind::Create, input: vec![0; size].into(), ..TxDeposit::default() })
    };
    let mut state = MemoryState::funded();
    let (receipt, _) = execute(&state, &code(0xc000));
    assert_eq!(receipt.status, Eip658Value::Eip658(true));
    let before = state.accounts[&ALICE].balance;
    let (receipt, diff) = execute(&state, &code(0xc001));
    assert_eq!((receipt.status, receipt.gas_used), (Eip658Value::Eip658(false), 1_000_000));
    assert_eq!(diff.accounts.len(), 1);
    state.apply(&diff);
    assert_eq!((state.accounts[&ALICE].balance, state.accounts[&ALICE].nonce), (before + U256::from(7), 1));
}

#[test]
fn a_deposit_that_cannot_begin_has_one_call_frame() {
    let state = MemoryState::funded();
    let (spec, header) = (optimism_spec(), header());
    let mut replay = TransactionReplay::new(&spec, &state, &state, &header, NoSteps).unwrap();
    let input = Bytes::from(vec![1; 40_000]);
    let poor = deposit(TxDeposit {
        to: TxKind::Call(BOB),
        input: input.clone(),
        value: U256::from(3),
        ..TxDeposit::default()
    });
    let tracer = Tracer::Mux(vec![
        Tracer::Calls(CallOptions::default()),
        Tracer::Prestate(PrestateOptions { diff: true, ..PrestateOptions::default() }),
    ]);
    let Trace::Mux(traces) = replay.trace(&poor, &tracer, usize::MAX).unwrap() else { panic!("not a mux") };
    let [Trace::Calls(frames), Trace::Prestate(_)] = &traces[..] else { panic!("{traces:?}") };
    let [frame] = &frames[..] else { panic!("{frames:?}") };
    assert_eq!((frame.from, frame.to, frame.value), (ALICE, Some(BOB), Some(U256::from(3))));
    assert_eq!((frame.gas, frame.gas_used, &frame.input), (1_000_000, 1_000_000, &input));
    assert_eq!(frame.error.as_deref(), Some("failed deposit"));
}

#[test]
fn a_call_that_offers_a_fee_pays_the_base_fee_to_its_vault() {
    let state = MemoryState::funded();
    let (spec, header) = (optimism_spec(), header());
    let environment = Environment::new(&spec, &state, &state, &header);
    let limits = CallLimits { gas: 1_000_000, deadline: Deadline::after(std::time::Duration::from_mins(1)) };
    let changed = |gas_price| {
        let request = CallRequest { from: Some(ALICE), to: Some(BOB), gas_price, ..CallRequest::default() };
        let tracer = Tracer::Prestate(PrestateOptions { diff: true, ..PrestateOptions::default() });
        let run = trace_call(&environment, &request, limits, &tracer, (usize::MAX, &mut NoSteps));
        let Trace::Prestate(foreseal_evm::Prestate::Diff { post, .. }) = run.unwrap() else {
            panic!("no diff")
        };
        post.get(&BASE_FEE_VAULT).and_then(|account| account.balance)
    };
    assert_eq!(changed(None), None);
    assert_eq!(changed(Some(2_000_000_000)), Some(U256::from(21_000_000_000_000_u64)));
}

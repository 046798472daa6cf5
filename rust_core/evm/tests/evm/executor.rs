//! Single transactions: receipts, diffs, rejections.

use crate::memory::{ALICE, BOB, MINER, MemoryState, dev_spec, header, sign, transaction};
use alloy_consensus::{Eip658Value, Header, Transaction as _, TxEip4844, TxEip7702, TxLegacy};
use alloy_eips::eip7702::Authorization;
use alloy_genesis::{ChainConfig, Genesis};
use alloy_primitives::{Address, B256, Bytes, TxKind, U256, hex, keccak256};
use foreseal_evm::{BlockGas, ExecutionError, Executor, RejectedTransaction};
use foreseal_primitives::{ChainSpec, StateDiff, Transaction};
use foreseal_state::StateError;

const COUNTER: Address = Address::repeat_byte(0xc0);
/// Adds one to slot 0 and logs with topic 7.
const COUNTER_CODE: &[u8] = &hex!("5f54600101805f555f5260075f5fa100");

fn run(state: &MemoryState, transactions: &[Transaction]) -> (Vec<foreseal_primitives::Receipt>, StateDiff) {
    let (spec, header) = (dev_spec(), header());
    let mut executor = Executor::new(&spec, state, state, &header);
    let mut gas = BlockGas::default();
    let receipts = transactions.iter().map(|t| executor.transact(t, &mut gas).unwrap()).collect();
    (receipts, executor.drain_diff())
}

fn reject(state: &MemoryState, transaction: &Transaction) -> ExecutionError {
    let (spec, header) = (dev_spec(), header());
    let mut executor = Executor::new(&spec, state, state, &header);
    let mut gas = BlockGas::default();
    let error = executor.transact(transaction, &mut gas).unwrap_err();
    assert_eq!(gas, BlockGas::default(), "a rejected transaction fills nothing");
    assert!(executor.drain_diff().is_empty(), "a rejected transaction leaves nothing");
    error
}

#[test]
fn a_transfer_pays_receiver_and_miner_and_burns_base_fee() {
    let mut state = MemoryState::funded();
    let before = state.accounts[&ALICE].balance;
    let (receipts, diff) = run(&state, &[sign(transaction(0, TxKind::Call(BOB), 5, vec![]), ALICE)]);
    assert_eq!(receipts[0].gas_used, 21_000);
    assert_eq!(receipts[0].status, Eip658Value::Eip658(true));
    state.apply(&diff);
    let gwei = U256::from(1_000_000_000u64);
    assert_eq!(before - state.accounts[&ALICE].balance, U256::from(42_000) * gwei + U256::from(5));
    assert_eq!(state.accounts[&MINER].balance, U256::from(21_000) * gwei);
    assert_eq!(state.accounts[&ALICE].nonce, 1);
    assert_eq!(diff.accounts.len(), 3);
    assert!(diff.codes.is_empty());
}

/// EIP-3607, and its exception for impersonated contracts on a development chain.
#[test]
fn a_contract_sends_only_unsigned_transactions() {
    let mut state = MemoryState::funded();
    state.deploy(ALICE, COUNTER_CODE);
    let signed = sign(transaction(1, TxKind::Call(BOB), 5, vec![]), ALICE);
    assert!(matches!(reject(&state, &signed), ExecutionError::Rejected(RejectedTransaction::SenderHasCode)));
    let (spec, header) = (dev_spec(), header());
    let mut executor = Executor::new(&spec, &state, &state, &header);
    let mut gas = BlockGas::default();
    let spoken = Transaction::impersonated(transaction(1, TxKind::Call(BOB), 5, vec![]).into(), ALICE);
    assert_eq!(executor.transact(&spoken, &mut gas).unwrap().gas_used, 21_000);
    let next = sign(transaction(2, TxKind::Call(BOB), 5, vec![]), ALICE);
    assert!(executor.transact(&next, &mut gas).is_err(), "it is no licence for the next one");
}

#[test]
fn receipts_count_gas_and_logs_through_the_block() {
    let mut state = MemoryState::funded();
    state.deploy(COUNTER, COUNTER_CODE);
    let call = |nonce| sign(transaction(nonce, TxKind::Call(COUNTER), 0, vec![]), ALICE);
    let create = sign(transaction(2, TxKind::Create, 0, hex!("00").to_vec()), ALICE);
    let (receipts, diff) = run(&state, &[call(0), call(1), create]);
    assert_eq!(receipts[1].cumulative_gas_used, receipts[0].gas_used + receipts[1].gas_used);
    assert_eq!(receipts.iter().map(|r| r.first_log_index).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(receipts[1].logs[0].topics(), [B256::with_last_byte(7)]);
    assert_eq!(receipts[1].bloom, foreseal_keccak::logs_bloom(&receipts[1].logs));
    assert_eq!(receipts[2].contract_address, Some(ALICE.create(2)));
    let counter = diff.accounts.iter().find(|c| c.address == COUNTER).unwrap();
    assert_eq!(counter.diff.storage, [(U256::ZERO, U256::from(2))]);
}

#[test]
fn drained_diffs_are_absolute_and_minimal() {
    let mut state = MemoryState::funded();
    state.deploy(COUNTER, COUNTER_CODE);
    let (spec, header) = (dev_spec(), header());
    let base = state.clone();
    let mut executor = Executor::new(&spec, &base, &base, &header);
    let mut gas = BlockGas::default();
    for nonce in 0..3 {
        executor
            .transact(&sign(transaction(nonce, TxKind::Call(COUNTER), 0, vec![]), ALICE), &mut gas)
            .unwrap();
        let diff = executor.drain_diff();
        assert!(executor.drain_diff().is_empty(), "a second take has nothing");
        let addresses: Vec<_> = diff.accounts.iter().map(|c| c.address).collect();
        assert_eq!(addresses, [ALICE, MINER, COUNTER]);
        state.apply(&diff);
    }
    assert_eq!(state.storage[&(COUNTER, U256::ZERO)], U256::from(3));
    let mut combined = base.clone();
    combined.apply(
        &run(
            &base,
            &(0..3)
                .map(|n| sign(transaction(n, TxKind::Call(COUNTER), 0, vec![]), ALICE))
                .collect::<Vec<_>>(),
        )
        .1,
    );
    assert_eq!(combined, state, "three small takes equal one");
}

#[test]
fn a_rejection_is_typed_and_changes_no_state() {
    let state = MemoryState::funded();
    let plain = || transaction(0, TxKind::Call(BOB), 0, vec![]);
    let check = |expected: RejectedTransaction, t: alloy_consensus::TxEip1559| {
        assert_eq!(reject(&state, &sign(t, ALICE)), ExecutionError::Rejected(expected));
    };
    check(
        RejectedTransaction::NonceTooHigh { expected: 0, got: 1 },
        transaction(1, TxKind::Call(BOB), 0, vec![]),
    );
    check(RejectedTransaction::FeeTooLow { max_fee: 5, base_fee: 1_000_000_000 }, {
        let mut t = plain();
        (t.max_fee_per_gas, t.max_priority_fee_per_gas) = (5, 1);
        t
    });
    check(RejectedTransaction::TipAboveFee, {
        let mut t = plain();
        t.max_priority_fee_per_gas = 4_000_000_000;
        t
    });
    check(RejectedTransaction::IntrinsicGas { needed: 21_000, got: 20_999 }, {
        let mut t = plain();
        t.gas_limit = 20_999;
        t
    });
    check(RejectedTransaction::GasCapExceeded { cap: 1 << 24, got: (1 << 24) + 1 }, {
        let mut t = plain();
        t.gas_limit = (1 << 24) + 1;
        t
    });
    check(RejectedTransaction::BlockGasExceeded { available: 400_000_000, needed: 400_000_001 }, {
        let mut t = plain();
        t.gas_limit = 400_000_001;
        t
    });
    check(RejectedTransaction::ChainId, {
        let mut t = plain();
        t.chain_id = 1;
        t
    });
    check(RejectedTransaction::InitCodeTooLarge, transaction(0, TxKind::Create, 0, vec![0; 49_153]));
    let poor = Address::repeat_byte(0xee);
    let error = reject(&state, &sign(plain(), poor));
    let needed = U256::from(3_000_000_000_000_000u64);
    assert_eq!(error, RejectedTransaction::InsufficientFunds { have: U256::ZERO, needed }.into());
    let mut used = state.clone();
    used.accounts.get_mut(&ALICE).unwrap().nonce = 3;
    assert_eq!(
        reject(&used, &sign(plain(), ALICE)),
        RejectedTransaction::NonceTooLow { expected: 3, got: 0 }.into()
    );
    let mut contract = state.clone();
    contract.deploy(ALICE, hex!("00").to_vec());
    let mut from_contract = plain();
    from_contract.nonce = 1;
    assert_eq!(reject(&contract, &sign(from_contract, ALICE)), RejectedTransaction::SenderHasCode.into());
}

#[test]
fn a_high_s_is_rejected() {
    let signature = alloy_primitives::Signature::new(U256::from(1), U256::MAX >> 1, false);
    let legacy = TxLegacy { gas_limit: 21_000, to: TxKind::Call(BOB), ..Default::default() };
    let signed = alloy_consensus::Signed::new_unhashed(legacy, signature);
    let t = Transaction::new(signed, ALICE);
    assert_eq!(reject(&MemoryState::funded(), &t), RejectedTransaction::SignatureForm.into());
}

#[test]
fn a_failed_read_is_an_error_and_changes_no_state() {
    let mut state = MemoryState::funded();
    state.broken = Some(BOB);
    let t = sign(transaction(0, TxKind::Call(BOB), 1, vec![]), ALICE);
    let expected = ExecutionError::State(StateError::Store("broken on purpose".to_owned()));
    assert_eq!(reject(&state, &t), expected);
}

fn blob_transaction(blobs: usize, max_fee_per_blob_gas: u128) -> TxEip4844 {
    TxEip4844 {
        chain_id: 31_337,
        gas_limit: 21_000,
        max_fee_per_gas: 2_000_000_000,
        max_priority_fee_per_gas: 0,
        to: BOB,
        blob_versioned_hashes: vec![
            B256::with_last_byte(1)
                | B256::new({
                    let mut first = [0; 32];
                    first[0] = 1;
                    first
                });
            blobs
        ],
        max_fee_per_blob_gas,
        ..Default::default()
    }
}

#[test]
fn blobs_pay_their_own_gas() {
    let mut state = MemoryState::funded();
    let (spec, header) = (dev_spec(), header());
    let before = state.accounts[&ALICE].balance;
    let base = state.clone();
    let mut executor = Executor::new(&spec, &base, &base, &header);
    let mut gas = BlockGas::default();
    executor.transact(&sign(blob_transaction(2, 1), ALICE), &mut gas).unwrap();
    assert_eq!(gas.blob_gas_used, 2 * 131_072);
    state.apply(&executor.drain_diff());
    let paid = U256::from(21_000u64) * U256::from(1_000_000_000u64) + U256::from(2 * 131_072);
    assert_eq!(before - state.accounts[&ALICE].balance, paid);
    let full = BlockGas { blob_gas_used: 20 * 131_072, ..gas };
    let mut next = blob_transaction(2, 1);
    next.nonce = 1;
    let error = executor.transact(&sign(next, ALICE), &mut full.clone()).unwrap_err();
    assert_eq!(
        error,
        RejectedTransaction::BlobGasExceeded { available: 131_072, needed: 2 * 131_072 }.into()
    );
    assert_eq!(
        reject(&base, &sign(blob_transaction(1, 0), ALICE)),
        RejectedTransaction::BlobFeeTooLow { max_fee: 0, blob_fee: 1 }.into()
    );
    assert!(matches!(
        reject(&base, &sign(blob_transaction(7, 1), ALICE)),
        ExecutionError::Rejected(RejectedTransaction::Other(_))
    ));
}

#[test]
fn set_code_delegates_and_counts_the_authority_nonce() {
    let mut state = MemoryState::funded();
    state.deploy(COUNTER, COUNTER_CODE);
    let secret = B256::repeat_byte(0x11);
    let authorization = Authorization { chain_id: U256::from(31_337), address: COUNTER, nonce: 0 };
    let signature =
        alloy_consensus::crypto::secp256k1::sign_message(secret, authorization.signature_hash()).unwrap();
    let signed = authorization.into_signed(signature);
    let authority = signed.recover_authority().unwrap();
    let set_code = TxEip7702 {
        chain_id: 31_337,
        gas_limit: 200_000,
        max_fee_per_gas: 2_000_000_000,
        to: authority,
        authorization_list: vec![signed],
        ..Default::default()
    };
    let (receipts, diff) = run(&state, &[sign(set_code, ALICE)]);
    assert!(receipts[0].succeeded());
    assert_eq!(receipts[0].logs[0].address, authority, "the delegate ran as the authority");
    state.apply(&diff);
    assert_eq!(state.accounts[&authority].nonce, 1);
    let designator = [&hex!("ef0100")[..], COUNTER.as_slice()].concat();
    assert_eq!(state.accounts[&authority].code_hash, keccak256(&designator));
    assert_eq!(diff.codes[0].code, Bytes::from(designator));
    assert_eq!(state.storage[&(authority, U256::ZERO)], U256::from(1));
}

#[test]
fn a_contract_destroyed_in_its_creating_transaction_leaves_no_account() {
    let state = MemoryState::funded();
    // Init code: store 1 in slot 1, then self-destruct to the caller.
    let t = sign(transaction(0, TxKind::Create, 7, hex!("6001600155 33 ff").to_vec()), ALICE);
    let created = ALICE.create(0);
    let (receipts, diff) = run(&state, std::slice::from_ref(&t));
    assert!(receipts[0].succeeded());
    assert_eq!(t.envelope().value(), U256::from(7));
    assert!(diff.accounts.iter().all(|c| c.address != created));
}

#[test]
fn creation_over_a_funded_address_keeps_the_funds() {
    let mut state = MemoryState::funded();
    let created = ALICE.create(0);
    let funds = foreseal_primitives::Account { balance: U256::from(9), ..Default::default() };
    state.accounts.insert(created, funds);
    let (_, diff) =
        run(&state, &[sign(transaction(0, TxKind::Create, 1, hex!("6001600155 00").to_vec()), ALICE)]);
    let change = diff.accounts.iter().find(|c| c.address == created).unwrap();
    assert_eq!(change.diff.account.unwrap().balance, U256::from(10));
    assert!(change.diff.wiped);
    assert_eq!(change.diff.storage, [(U256::from(1), U256::from(1))]);
}

#[test]
fn creation_over_existing_storage_fails() {
    let mut state = MemoryState::funded();
    let created = ALICE.create(0);
    let funds = foreseal_primitives::Account { balance: U256::from(9), ..Default::default() };
    state.accounts.insert(created, funds);
    state.storage.insert((created, U256::from(5)), U256::from(6));
    let base = state.clone();
    let (receipts, diff) =
        run(&state, &[sign(transaction(0, TxKind::Create, 1, hex!("600160015500").to_vec()), ALICE)]);
    assert_eq!(receipts[0].status, Eip658Value::Eip658(false));
    assert_eq!(receipts[0].gas_used, 1_000_000, "a collision uses up all gas");
    state.apply(&diff);
    assert_eq!(state.accounts[&created], base.accounts[&created]);
    assert_eq!(state.storage, base.storage);
    assert_eq!(state.accounts[&ALICE].nonce, 1);
}

#[test]
fn prefetching_does_not_change_the_result() {
    let mut state = MemoryState::funded();
    state.deploy(COUNTER, COUNTER_CODE);
    let (spec, header) = (dev_spec(), header());
    let calls: Vec<_> =
        (0..3).map(|n| sign(transaction(n, TxKind::Call(COUNTER), 0, vec![]), ALICE)).collect();
    let (receipts, diff) = run(&state, &calls);
    let mut executor = Executor::new(&spec, &state, &state, &header);
    let mut gas = BlockGas::default();
    for (call, receipt) in calls.iter().zip(&receipts) {
        // Cached accounts, uncached ones, absent ones, and a duplicate.
        let other = sign(transaction(9, TxKind::Call(Address::repeat_byte(0x31)), 0, vec![]), BOB);
        executor.prefetch([&other, call, call]).unwrap();
        assert_eq!(&executor.transact(call, &mut gas).unwrap(), receipt);
    }
    assert_eq!(executor.drain_diff(), diff);
    let broken = MemoryState { broken: Some(BOB), ..state.clone() };
    let mut executor = Executor::new(&spec, &broken, &broken, &header);
    let call = sign(transaction(0, TxKind::Call(ALICE), 0, vec![]), BOB);
    assert!(matches!(executor.prefetch([&call]), Err(ExecutionError::State(_))));
}

/// The examples of EIP-1283: code, value of slot 0 before the call, used gas and refund.
const NET_SSTORE: [(&[u8], u64, u64, u64); 17] = [
    (&hex!("60006000556000600055"), 0, 412, 0),
    (&hex!("60006000556001600055"), 0, 20_212, 0),
    (&hex!("60016000556000600055"), 0, 20_212, 19_800),
    (&hex!("60016000556002600055"), 0, 20_212, 0),
    (&hex!("60016000556001600055"), 0, 20_212, 0),
    (&hex!("60006000556000600055"), 1, 5_212, 15_000),
    (&hex!("60006000556001600055"), 1, 5_212, 4_800),
    (&hex!("60006000556002600055"), 1, 5_212, 0),
    (&hex!("60026000556000600055"), 1, 5_212, 15_000),
    (&hex!("60026000556003600055"), 1, 5_212, 0),
    (&hex!("60026000556001600055"), 1, 5_212, 4_800),
    (&hex!("60026000556002600055"), 1, 5_212, 0),
    (&hex!("60016000556000600055"), 1, 5_212, 15_000),
    (&hex!("60016000556002600055"), 1, 5_212, 0),
    (&hex!("60016000556001600055"), 1, 412, 0),
    (&hex!("600160005560006000556001600055"), 0, 40_218, 19_800),
    (&hex!("600060005560016000556000600055"), 1, 10_218, 19_800),
];

/// Returns the rules of Constantinople at block 1 and of Petersburg from block 2.
fn constantinople() -> ChainSpec {
    let zero = Some(0);
    let config = ChainConfig {
        chain_id: 31_337,
        homestead_block: zero,
        eip150_block: zero,
        eip155_block: zero,
        eip158_block: zero,
        byzantium_block: zero,
        constantinople_block: zero,
        petersburg_block: Some(2),
        ..ChainConfig::default()
    };
    ChainSpec::new(Genesis { config, ..Genesis::default() }).unwrap()
}

#[test]
fn constantinople_prices_sstore_by_eip_1283_until_petersburg() {
    let spec = constantinople();
    let run = |number, code: &'static [u8], before| {
        let mut state = MemoryState::funded();
        state.deploy(COUNTER, code);
        state.storage.insert((COUNTER, U256::ZERO), U256::from(before));
        let header = Header { number, gas_limit: 30_000_000, ..Header::default() };
        let legacy =
            TxLegacy { gas_limit: 100_000, gas_price: 1, to: TxKind::Call(COUNTER), ..TxLegacy::default() };
        let mut executor = Executor::new(&spec, &state, &state, &header);
        executor.transact(&sign(legacy, ALICE), &mut BlockGas::default()).unwrap().gas_used
    };
    for (code, before, gas, refund) in NET_SSTORE {
        let used = 21_000 + gas;
        assert_eq!(run(1, code, before), used - refund.min(used / 2), "{} from {before}", hex::encode(code));
    }
    let (code, before, _, _) = NET_SSTORE[0];
    assert_eq!(run(2, code, before), 21_000 + 4 * 3 + 2 * 5_000);
}

//! Block processing before and after the transactions.

use crate::memory::{ALICE, BOB, MemoryState, dev_spec, header, sign, transaction};
use alloy_consensus::Header;
use alloy_eips::{
    eip2935::HISTORY_STORAGE_ADDRESS, eip4788::BEACON_ROOTS_ADDRESS, eip4895::Withdrawal,
    eip7002::WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS, eip7685::EMPTY_REQUESTS_HASH,
};
use alloy_genesis::{ChainConfig, Genesis};
use alloy_primitives::{Address, B256, TxKind, U256};
use foreseal_evm::{BlockBody, BlockGas, DAO_ACCOUNTS, DAO_BENEFICIARY, ExecutionError, Executor, end_block};
use foreseal_primitives::{Account, ChainSpec};

#[test]
fn begin_stores_parent_hash_and_beacon_root() {
    let mut state = MemoryState::funded();
    let (spec, header) = (dev_spec(), header());
    let base = state.clone();
    let mut executor = Executor::new(&spec, &base, &base, &header);
    executor.begin_block(B256::repeat_byte(3), header.parent_beacon_block_root).unwrap();
    let diff = executor.drain_diff();
    assert!(
        diff.accounts.iter().all(|c| Some(c.diff.account.unwrap()) == base.accounts.get(&c.address).copied())
    );
    state.apply(&diff);
    assert_eq!(state.storage[&(HISTORY_STORAGE_ADDRESS, U256::ZERO)], U256::from_be_bytes([3; 32]));
    let ring = header.timestamp % 8191;
    assert_eq!(state.storage[&(BEACON_ROOTS_ADDRESS, U256::from(ring))], U256::from(header.timestamp));
    assert_eq!(state.storage[&(BEACON_ROOTS_ADDRESS, U256::from(ring + 8191))], U256::from_be_bytes([4; 32]));
}

#[test]
fn an_empty_block_end_has_the_empty_requests_hash() {
    let state = MemoryState::funded();
    let end = end_block(&dev_spec(), &state, &state, &header(), [], BlockBody::default()).unwrap();
    assert_eq!(end.requests.map(|requests| requests.requests_hash()), Some(EMPTY_REQUESTS_HASH));
    assert!(end.diff.is_empty(), "{:?}", end.diff);
}

#[test]
fn a_withdrawal_request_reaches_the_requests_hash() {
    let state = MemoryState::funded();
    let (spec, header) = (dev_spec(), header());
    let mut executor = Executor::new(&spec, &state, &state, &header);
    let mut gas = BlockGas::default();
    // 48 bytes of public key and 8 of amount; the fee is 1 wei.
    let request = transaction(0, TxKind::Call(WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS), 1, vec![5; 56]);
    assert!(executor.transact(&sign(request, ALICE), &mut gas).unwrap().succeeded());
    let made = executor.end_block([], BlockBody::default()).unwrap().unwrap();
    let mut request = vec![1];
    request.extend(ALICE);
    request.extend([5; 48]);
    request.extend([5; 8]);
    let mut requests = alloy_eips::eip7685::Requests::default();
    requests.push_request(request.into());
    assert_eq!(made.requests_hash(), requests.requests_hash());
}

#[test]
fn withdrawals_pay_gwei_and_zero_creates_no_account() {
    let mut state = MemoryState::funded();
    let before = state.accounts[&BOB].balance;
    let recipient = Address::repeat_byte(0x77);
    let withdrawals = [
        Withdrawal { index: 0, validator_index: 0, address: BOB, amount: 3 },
        Withdrawal { index: 1, validator_index: 0, address: recipient, amount: 0 },
    ];
    let body = BlockBody { withdrawals: &withdrawals, uncles: &[] };
    let end = end_block(&dev_spec(), &state, &state, &header(), [], body).unwrap();
    assert_eq!(end.diff.accounts.len(), 1);
    state.apply(&end.diff);
    assert_eq!(state.accounts[&BOB].balance - before, U256::from(3_000_000_000u64));
}

#[test]
fn a_missing_request_contract_is_named() {
    let mut state = MemoryState::funded();
    state.accounts.remove(&WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS);
    let error = end_block(&dev_spec(), &state, &state, &header(), [], BlockBody::default()).unwrap_err();
    let expected = ExecutionError::SystemContract {
        address: WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS,
        reason: "no code".to_owned(),
    };
    assert_eq!(error, expected);
}

#[test]
fn the_dao_fork_moves_funds_only_where_it_is_active() {
    let drained = DAO_ACCOUNTS[3];
    let mut state = MemoryState::default();
    for address in [drained, DAO_ACCOUNTS[7], BOB] {
        state.accounts.insert(address, Account { balance: U256::from(5), ..Account::default() });
    }
    let moved = |support, number| {
        let config = ChainConfig {
            homestead_block: Some(0),
            dao_fork_block: Some(10),
            dao_fork_support: support,
            ..ChainConfig::default()
        };
        let spec = ChainSpec::new(Genesis { config, ..Genesis::default() }).unwrap();
        let header = Header { number, difficulty: U256::from(1), ..Header::default() };
        let mut executor = Executor::new(&spec, &state, &state, &header);
        executor.begin_block(B256::ZERO, None).unwrap();
        executor.drain_diff()
    };
    assert!(moved(false, 10).is_empty() && moved(true, 9).is_empty() && moved(true, 11).is_empty());
    let mut after = state.clone();
    after.apply(&moved(true, 10));
    assert_eq!(after.accounts[&drained].balance, U256::ZERO);
    assert_eq!(after.accounts[&DAO_BENEFICIARY].balance, U256::from(10));
    assert_eq!(after.accounts[&BOB], state.accounts[&BOB]);
}

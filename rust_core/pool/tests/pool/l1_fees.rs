//! The pool of an OP chain: the fees for L1 and for the operator are part of the cost.

use std::sync::{Arc, Mutex};

use alloy_consensus::{TxEip1559, TxEip4844};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, B256, Bytes, U256};
use foreseal_pool::{Pool, PoolConfig, PoolError, PoolEvent, PoolEventSink, QueuedReason, Status};
use foreseal_primitives::{Envelope, L1Fees, OptimismFork, Transaction, TxDeposit, wire};
use proptest::prelude::*;

use crate::chain::{Chain, GWEI, Key, nonces, pool, transfer};

/// Gas and fee cap of a [`transfer`].
const GAS_COST: u128 = 21_000 * 2 * GWEI;

/// Sets the attributes of L1: the base fee in wei, and scalar and constant of the operator fee.
fn set_l1(chain: &mut Chain, base_fee: u128, operator: (u32, u64)) {
    let slots = &mut chain.l1_attributes;
    slots.insert(U256::from(1), U256::from(base_fee));
    // The scalar of the base fee is at byte 16: one millionth per byte and 16 gas.
    slots.insert(U256::from(3), U256::from(62_500_u64) << 96);
    slots.insert(U256::from(8), (U256::from(operator.0) << 64) | U256::from(operator.1));
}

/// Returns the fees for L1 and for the operator of a transaction with a compressed size below 100 bytes.
fn additional(base_fee: u128, operator: (u32, u64)) -> (u128, u128) {
    (100 * base_fee, 21_000 * u128::from(operator.0) * 100 + u128::from(operator.1))
}

fn funds(balance: u128) -> (Chain, Key, Pool) {
    let (mut chain, key) = (Chain::optimism(), Key::new(1));
    chain.fund(&key, balance);
    (chain, key, pool())
}

#[test]
fn the_balance_covers_gas_l1_and_operator_or_the_missing_part_is_named() {
    let operator = (3, 500);
    let (l1, operator_fee) = additional(GWEI, operator);
    let raw = Key::new(1).raw(transfer(0));
    let error = |balance: u128| {
        let (mut chain, _, pool) = funds(balance);
        set_l1(&mut chain, GWEI, operator);
        chain.submit(&pool, &raw).map(|added| added.executable)
    };
    let all = GAS_COST + l1 + operator_fee;
    assert_eq!(error(all), Ok(true));
    for (balance, message) in [
        (all - 1, "insufficient funds for gas * price + value + L1 fee + operator fee"),
        (GAS_COST + l1, "insufficient funds for gas * price + value + L1 fee + operator fee"),
        (GAS_COST + l1 - 1, "insufficient funds for gas * price + value + L1 fee"),
        (GAS_COST, "insufficient funds for gas * price + value + L1 fee"),
        (GAS_COST - 1, "insufficient funds for gas * price + value"),
    ] {
        let error = error(balance).unwrap_err();
        assert_eq!(error.message(), message);
        let numbers = [("have", balance), ("want", all), ("l1Fee", l1), ("operatorFee", operator_fee)];
        assert_eq!(error.data(), numbers.map(|(name, number)| (name, U256::from(number))));
    }
}

#[test]
fn a_step_that_raises_the_l1_fee_queues_what_is_no_longer_covered() {
    let (l1, _) = additional(GWEI, (0, 0));
    let (mut chain, key, pool) = funds(GAS_COST + l1);
    let rich = Key::new(2);
    chain.fund(&rich, 10 * GAS_COST);
    set_l1(&mut chain, GWEI, (0, 0));
    let hash = chain.submit(&pool, &key.raw(transfer(0))).unwrap().hash;
    chain.submit(&pool, &rich.raw(transfer(0))).unwrap();
    set_l1(&mut chain, GWEI + 1, (0, 0));
    chain.step(&pool, &[]);
    let (balance, cost) = (U256::from(GAS_COST + l1), U256::from(GAS_COST + l1 + 100));
    assert_eq!(pool.status(&hash), Status::Queued(QueuedReason::Funds { balance, cost }));
    assert_eq!(pool.counts().pooled, 1);
    // An operator fee counts as well.
    set_l1(&mut chain, GWEI, (0, 1));
    chain.step(&pool, &[]);
    assert_eq!(pool.counts().pooled, 1);
    set_l1(&mut chain, GWEI, (0, 0));
    chain.step(&pool, &[]);
    assert_eq!(pool.status(&hash), Status::Pooled);
    assert_eq!(pool.counts().pooled, 2);
}

#[test]
fn unwound_blocks_restore_the_fees_of_their_parent() {
    let (l1, _) = additional(GWEI, (0, 0));
    let (mut chain, key, pool) = funds(GAS_COST + l1);
    set_l1(&mut chain, GWEI, (0, 0));
    let hash = chain.submit(&pool, &key.raw(transfer(0))).unwrap().hash;
    set_l1(&mut chain, 2 * GWEI, (0, 0));
    assert!(pool.reinsert(&[], || &chain).unwrap().is_empty());
    assert!(matches!(pool.status(&hash), Status::Queued(QueuedReason::Funds { .. })));
    set_l1(&mut chain, GWEI, (0, 0));
    assert!(pool.reinsert(&[], || &chain).unwrap().is_empty());
    assert_eq!(pool.status(&hash), Status::Pooled);
}

#[test]
fn data_that_no_block_can_hold_is_rejected() {
    let (mut chain, key, pool) = funds(100 * GAS_COST);
    // Bytes 18 and 19: the gas per byte of data.
    chain.l1_attributes.insert(U256::from(8), U256::from(4_000) << 96);
    let raw = key.raw(transfer(0));
    chain.header.gas_limit = 400_000;
    let error = PoolError::Footprint { have: 400_000, limit: 399_999 };
    assert_eq!(chain.submit(&pool, &raw).map(|added| added.executable), Ok(true));
    chain.header.gas_limit -= 1;
    assert_eq!(chain.submit(&pool, &key.raw(transfer(1))).unwrap_err(), error);
}

#[test]
fn blobs_and_deposits_are_rejected_by_name() {
    let (chain, key, pool) = funds(GAS_COST);
    let blob =
        key.raw(TxEip4844 { chain_id: 1, blob_versioned_hashes: vec![B256::ZERO], ..TxEip4844::default() });
    assert_eq!(chain.decode(&pool, &blob).unwrap_err(), PoolError::BlobsUnsupported);
    let deposit = Envelope::from(TxDeposit { gas_limit: 21_000, ..TxDeposit::default() }).encoded_2718();
    let error = chain.decode(&pool, &deposit).unwrap_err();
    assert_eq!(error.message(), "deposit transactions (type 126) are accepted from L1 only");
    let plain = Chain::new();
    assert!(matches!(plain.decode(&pool, &deposit), Err(PoolError::Decode(_))));
    assert!(matches!(plain.decode(&pool, &blob), Err(PoolError::MissingSidecar)));
}

/// A copy that applies every event as bytes.
struct PoolCopy(Mutex<Pool>);

impl PoolEventSink for PoolCopy {
    fn event(&self, event: &PoolEvent) {
        let mut bytes = Vec::new();
        wire::encode(event, &mut bytes);
        self.0.lock().unwrap().apply(wire::decode(&bytes).unwrap());
    }
}

#[derive(Clone, Debug)]
enum Operation {
    Submit { sender: u64, nonce: u64, size: usize },
    Balance { sender: u64, balance: u128 },
    L1 { base_fee: u128, operator: (u32, u64) },
    Discard { which: usize },
}

fn operation() -> impl Strategy<Value = Operation> {
    use Operation as O;
    let sender = 0..3_u64;
    prop_oneof![
        6 => (sender.clone(), 0..6_u64, 0..400_usize).prop_map(|(sender, nonce, size)| O::Submit { sender, nonce, size }),
        2 => (sender, 1..6_u128).prop_map(|(sender, part)| O::Balance { sender, balance: part * GAS_COST }),
        4 => (0..500_u128, 0..3_u32, 0..9_u64).prop_map(|(part, scalar, constant)| {
            O::L1 { base_fee: part * GWEI, operator: (scalar * 1_000_000, constant * 1_000 * 1_000_000_000) }
        }),
        1 => any::<usize>().prop_map(|which| O::Discard { which }),
    ]
}

/// Returns the nonces that can run, computed anew from the state.
fn runnable(chain: &Chain, pool: &Pool, key: &Key) -> Vec<u64> {
    let slot = |slot| Ok::<_, ()>(chain.l1_attributes.get(&slot).copied().unwrap_or_default());
    let fees = L1Fees::read(OptimismFork::Karst, slot).unwrap();
    let account = chain.accounts[&key.address];
    let content = pool.sender_content(&key.address);
    let all: Vec<_> = content.pooled.iter().chain(&content.queued).collect();
    let covered = |nonce: u64| {
        let one = all.iter().find(|one| one.nonce() == nonce)?;
        let envelope = one.transaction().envelope();
        let gas = alloy_consensus::Transaction::gas_limit(envelope);
        let cost = one.cost() + fees.data_fee(one.transaction()) + fees.operator.of_gas(gas);
        (cost <= account.balance).then_some(nonce)
    };
    (account.nonce..).map_while(covered).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn executable_transactions_equal_a_recount_after_any_change_of_fees(
        operations in prop::collection::vec(operation(), 1..50),
    ) {
        let (mut chain, pool) = (Chain::optimism(), pool());
        let copy = Arc::new(PoolCopy(Mutex::new(Pool::new(PoolConfig::default()))));
        pool.set_sink(Some(copy.clone()));
        set_l1(&mut chain, GWEI, (0, 0));
        let keys: Vec<Key> = (0..3).map(Key::new).collect();
        for key in &keys {
            chain.fund(key, 3 * GAS_COST);
        }
        for operation in operations {
            match operation {
                Operation::Submit { sender, nonce, size } => {
                    let noise: Vec<u8> = (0..size).map(|at| u8::try_from(at * at * 31 % 251).unwrap()).collect();
                    let gas_limit = 21_000 + 40 * size as u64;
                    let raw = keys[usize::try_from(sender).unwrap()].raw(TxEip1559 {
                        input: Bytes::from(noise), gas_limit, to: Address::ZERO.into(), ..transfer(nonce)
                    });
                    let _ = chain.submit(&pool, &raw);
                }
                Operation::Balance { sender, balance } => {
                    chain.fund(&keys[usize::try_from(sender).unwrap()].clone(), balance);
                    chain.step(&pool, &[]);
                }
                Operation::L1 { base_fee, operator } => {
                    set_l1(&mut chain, base_fee, operator);
                    chain.step(&pool, &[]);
                }
                Operation::Discard { which } => {
                    let all = pool.all();
                    if !all.is_empty() {
                        let reason = foreseal_pool::DropReason::Requested;
                        pool.discard(&all[which % all.len()].hash(), reason);
                    }
                }
            }
            let copy = copy.0.lock().unwrap();
            for key in &keys {
                let executable = nonces(&pool.sender_content(&key.address).pooled);
                prop_assert_eq!(&executable, &runnable(&chain, &pool, key));
                prop_assert_eq!(&executable, &nonces(&copy.sender_content(&key.address).pooled));
            }
            prop_assert_eq!(pool.counts(), copy.counts());
        }
    }
}

#[test]
fn the_data_size_does_not_make_equal_transactions_differ() {
    let raw = Key::new(1).raw(transfer(0));
    let (one, other) = (Transaction::decode(&raw).unwrap(), Transaction::decode(&raw).unwrap());
    assert_eq!(one.data_size(), 100_000_000);
    assert_eq!(one, other);
}

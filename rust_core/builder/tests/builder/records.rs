//! Recorded steps are applied only if they reproduce their recorded hashes.

use std::{cell::Cell, sync::Arc, time::Duration};

use alloy_primitives::{Address, B256, U256};
use foreseal_builder::{BuildError, DeferredTransactions, PendingBlock, StepControl, StepLimits, StepTimes};
use foreseal_pool::{Pool, PoolConfig};
use foreseal_primitives::{Account, AccountDiff, ChangedAccount, Flashblock, StateDiff};
use foreseal_state::{NoBlockHashes, StateReader};
use foreseal_testkit::{Fees, Wallet, test_genesis};

use crate::opening::{open_block, submit};

/// Opens a block on genesis; returns it with its opening step and a pool that holds two transfers.
fn opened() -> (PendingBlock, Flashblock, Pool) {
    let wallets = Wallet::some(2);
    let (spec, open, first) = open_block(test_genesis(&wallets));
    let pool = Pool::new(PoolConfig::default());
    for nonce in 0..2 {
        let raw = wallets[0].transfer(nonce, wallets[1].address, 5, Fees::default());
        submit(&pool, &spec, &open, &raw);
    }
    (open, first, pool)
}

/// Returns the block and flashblock of [`opened`], and those after one more step.
fn block_with_step() -> (PendingBlock, Flashblock, PendingBlock, Flashblock) {
    let (open, first, pool) = opened();
    let mut best = pool.best(open.header().base_fee_per_gas.unwrap(), 1);
    let (stepped, step) = open.step(&mut best, &NoBlockHashes, &mut || true).unwrap().step.unwrap();
    (open, first, stepped, step)
}

#[test]
fn a_decoded_record_rebuilds_the_same_block() {
    let (open, _, stepped, step) = block_with_step();
    let read = Flashblock::decode(&step.encode()).unwrap();
    let applied = open.apply(&read).unwrap();
    assert_eq!((applied.hash(), applied.index()), (stepped.hash(), 1));
    assert_eq!(applied.block().receipts, stepped.block().receipts);
    assert_eq!(applied.state().root(), stepped.header().state_root);
}

#[test]
fn a_record_with_a_wrong_hash_is_rejected() {
    let (open, _, _, step) = block_with_step();
    let mut richer = StateDiff::clone(&step.diff);
    let account = richer.accounts[0].diff.account.as_mut().unwrap();
    account.balance += U256::from(1);
    let forged = Flashblock { diff: Arc::new(richer), ..step };
    let error = open.apply(&forged).unwrap_err();
    assert!(matches!(error, BuildError::HashMismatch { number: 1, index: 1, .. }), "{error}");
}

#[test]
fn records_out_of_order_are_rejected() {
    let (open, first, stepped, step) = block_with_step();
    for (block, record) in [(&stepped, &step), (&open, &first), (&stepped, &first)] {
        assert!(matches!(block.apply(record), Err(BuildError::OutOfOrder { .. })));
    }
    let elsewhere = Flashblock { previous: B256::ZERO, ..step };
    assert!(matches!(open.apply(&elsewhere), Err(BuildError::OutOfOrder { .. })));
}

#[test]
fn a_step_past_its_deadline_includes_no_transactions() {
    let (open, ..) = block_with_step();
    let pool = Pool::new(PoolConfig::default());
    let stepped = open.step(&mut pool.best(1, 1), &NoBlockHashes, &mut || false).unwrap();
    assert!(stepped.step.is_none() && stepped.rejected.is_empty());
}

/// The clock advances by one second per reading, so each time counts the measurements of a phase.
#[test]
fn timing_a_step_does_not_change_it() {
    let (open, _, pool) = opened();
    let (_, _, untimed, _) = block_with_step();
    let reads = Cell::new(0);
    let clock = || {
        reads.set(reads.get() + 1);
        Duration::from_secs(reads.get())
    };
    let mut best = pool.best(open.header().base_fee_per_gas.unwrap(), 1);
    let control = StepControl {
        limits: StepLimits::default(),
        deferred: &mut DeferredTransactions::default(),
        keep_going: &mut || true,
        clock: &clock,
    };
    let stepped = open.step_within(&mut best, &NoBlockHashes, control).unwrap();
    assert_eq!(stepped.step.unwrap().0.hash(), untimed.hash());
    // One prefetch of accounts, two transactions and the diff; then the roots.
    let times = StepTimes {
        select: Duration::from_secs(2),
        execute: Duration::from_secs(1 + 2 + 1),
        roots: Duration::from_secs(1),
    };
    assert_eq!(stepped.times, times);
    assert_eq!(reads.get(), 8);
}

fn with_balance(address: Address, wei: u64) -> StateDiff {
    let account = Account { balance: U256::from(wei), ..Account::default() };
    let diff = AccountDiff { account: Some(account), ..AccountDiff::default() };
    StateDiff { accounts: vec![ChangedAccount { address, diff }], codes: Vec::new() }
}

/// A development write is a step like any other for the node that applies it.
#[test]
fn an_override_is_a_step_without_transactions() {
    let (_, _, stepped, _) = block_with_step();
    let address = Address::repeat_byte(0x55);
    let (written, step) = stepped.overridden(with_balance(address, 7), &NoBlockHashes).unwrap().unwrap();
    assert_eq!((step.index, step.previous, step.transactions.len()), (2, stepped.hash(), 0));
    assert_eq!(written.state().account(&address).unwrap().unwrap().balance, U256::from(7));
    assert_eq!(written.header().state_root, written.state().root());
    assert_ne!(written.hash(), stepped.hash());
    assert_eq!(written.block().receipts, stepped.block().receipts);

    let applied = stepped.apply(&Flashblock::decode(&step.encode()).unwrap()).unwrap();
    assert_eq!((applied.hash(), applied.index()), (written.hash(), 2));
    assert!(
        written.overridden(with_balance(address, 7), &NoBlockHashes).unwrap().is_none(),
        "it changes nothing"
    );
}

#[test]
fn listed_transactions_are_included_in_order() {
    let (open, _, stepped, step) = block_with_step();
    let included = open.include(&step.transactions, &NoBlockHashes).unwrap();
    assert_eq!(included.step.unwrap().0.hash(), stepped.hash());
    let backwards: Vec<_> = step.transactions.iter().rev().cloned().collect();
    let included = open.include(&backwards, &NoBlockHashes).unwrap();
    assert_eq!(included.rejected.len(), 1, "the second nonce cannot come first");
    assert_eq!(included.step.unwrap().1.transactions, step.transactions[..1]);
}

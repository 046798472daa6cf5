//! Control requests to the writer on a development chain, other than transactions.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::{sync::Arc, time::Duration};

use alloy_consensus::TxEip1559;
use alloy_primitives::{Address, Bytes, U256};
use foreseal_chain::{BlockId, FinalityDepth, View};
use foreseal_journal::RealDisk;
use foreseal_node::{ControlError, Development, Mining, Settings};
use foreseal_primitives::{Change, Override, Transaction};
use foreseal_state::StateReader;
use foreseal_testkit::{Contract, Fees, Wallet};
use support::{Bench, OTHER_ACCOUNT, balance, fingerprint, restart, settings, start};

fn balance_in(view: &View) -> U256 {
    view.pending().state.account(&OTHER_ACCOUNT).unwrap().unwrap_or_default().balance
}

fn timestamp(view: &View) -> u64 {
    view.latest().block.header.timestamp
}

#[test]
fn blocks_mined_on_demand_include_the_pooled_transactions() {
    let (datadir, wallets, bench) = start();
    let hash = bench.node.submit(&wallets[0].transfer(0, OTHER_ACCOUNT, 7, Fees::default())).unwrap();
    bench.node.develop(|development| development.mine(3, None)).unwrap();
    let view = bench.view();
    assert_eq!(view.latest().number(), 3);
    assert_eq!(view.transaction(&hash).unwrap().unwrap().0.number(), 1);
    assert_eq!(timestamp(&view), 1_000_006, "three block times, although no time went by");
    drop(view);
    let bench = restart(&datadir, &wallets, bench);
    assert_eq!(timestamp(&bench.view()), 1_000_008, "and the clock went along");
}

/// Empty blocks are appended in batches; the resulting chain is the same.
#[test]
fn many_blocks_mined_at_once_equal_blocks_mined_singly() {
    let (datadir, wallets, together) = start();
    let (_other, _, apart) = start();
    let blocks = 200;
    together.node.develop(|development| development.mine(blocks, None)).unwrap();
    for _ in 0..blocks {
        apart.node.develop(|development| development.mine(1, None)).unwrap();
    }
    assert!(fingerprint(&together.view()) == fingerprint(&apart.view()), "another chain came of it");
    assert_eq!(together.view().latest().number(), blocks);
    let appends = |bench: &Bench| *bench.node.metrics().work.append.cumulative().last().unwrap();
    assert!(appends(&together) * 10 < appends(&apart), "most appends hold many blocks");
    restart(&datadir, &wallets, together);
}

#[test]
fn mined_blocks_have_the_requested_interval() {
    let (datadir, wallets, bench) = start();
    bench.node.develop(|development| development.mine(1, None)).unwrap();
    let from = timestamp(&bench.view());
    bench.node.develop(|development| development.mine(3, Some(100))).unwrap();
    let view = bench.view();
    let times = (1..=4).map(|n| view.sealed(n).unwrap().unwrap().block.header.timestamp).collect::<Vec<_>>();
    assert_eq!(times, [from, from + 100, from + 200, from + 300]);
    assert_eq!(view.pending().block.header.timestamp, from + 302);
    let most = Development::default().mined;
    let rejection = bench.node.develop(|development| development.mine(most + 1, None)).unwrap_err();
    assert_eq!(rejection.to_string(), format!("at most {most} blocks at a time are allowed"));
    drop(view);
    restart(&datadir, &wallets, bench);
}

#[test]
fn an_override_is_a_step_and_is_sealed_unchanged() {
    let (datadir, wallets, mut bench) = start();
    bench.node.submit(&wallets[0].transfer(0, OTHER_ACCOUNT, 7, Fees::default())).unwrap();
    bench.tick();
    bench.node.develop(|development| development.write(&balance(1_000))).unwrap();
    let written = bench.view();
    assert_eq!((written.pending_index(), balance_in(&written)), (2, U256::from(1_000)));
    assert_eq!(written.latest().state.account(&OTHER_ACCOUNT).unwrap(), None, "what is sealed stays");
    bench.node.submit(&wallets[0].transfer(1, OTHER_ACCOUNT, 7, Fees::default())).unwrap();
    bench.tick();
    assert_eq!(balance_in(&bench.view()), U256::from(1_007));

    bench.node.develop(|development| development.write(&balance(1_007))).unwrap();
    assert_eq!(bench.view().pending_index(), 3, "what changes nothing is no step");
    bench.node.develop(|development| development.write(&balance(1_000))).unwrap();
    bench.node.develop(|development| development.write(&balance(1_007))).unwrap();
    let pending = bench.view().pending().clone();
    assert_eq!((pending.steps.len(), pending.steps[3].hash), (6, pending.steps[5].hash));
    let positions = pending.written.iter().map(|one| (one.step, one.transactions)).collect::<Vec<_>>();
    assert_eq!(positions, [(2, 1), (4, 2), (5, 2)]);
    bench.seal();
    let sealed = bench.view().latest().clone();
    assert_eq!((sealed.block.hash, sealed.steps.len()), (pending.block.hash, 6));
    let id = BlockId::Hash { hash: pending.block.hash, require_canonical: true };
    assert_eq!(bench.view().resolve(id).unwrap().steps.len(), 6);
    drop((written, pending, sealed));
    restart(&datadir, &wallets, bench);
}

#[test]
fn every_field_of_an_account_can_be_overridden() {
    let (datadir, wallets, bench) = start();
    let write = |address, change| {
        bench.node.develop(|development| development.write(&Override { address, change })).unwrap();
        bench.view().pending().state.clone()
    };
    let code = Bytes::from_static(b"\x60\x00\x60\x00\xf3");
    let state = write(OTHER_ACCOUNT, Change::Code(code.clone()));
    let account = state.account(&OTHER_ACCOUNT).unwrap().unwrap();
    assert_eq!(state.code(&account.code_hash).unwrap().original_bytes(), code);
    let state = write(OTHER_ACCOUNT, Change::Nonce(9));
    assert_eq!(state.account(&OTHER_ACCOUNT).unwrap().unwrap().nonce, 9);
    let (slot, value) = (U256::MAX, U256::from(5));
    let state = write(OTHER_ACCOUNT, Change::Slot { slot, value });
    assert_eq!(state.storage(&OTHER_ACCOUNT, &slot).unwrap(), value);
    let counter = Contract::Counter.address();
    let state = write(counter, Change::Slot { slot: U256::ZERO, value });
    assert_eq!(state.storage(&counter, &U256::ZERO).unwrap(), value);

    // Once all overrides are reset nothing is left: an empty account does not exist (EIP-161).
    write(OTHER_ACCOUNT, Change::Slot { slot, value: U256::ZERO });
    write(OTHER_ACCOUNT, Change::Code(Bytes::new()));
    let state = write(OTHER_ACCOUNT, Change::Nonce(0));
    assert_eq!(state.account(&OTHER_ACCOUNT).unwrap(), None);
    let other = Address::repeat_byte(0x78);
    let before = bench.view().pending_index();
    write(other, Change::Balance(U256::ZERO));
    assert_eq!(bench.view().pending_index(), before);
    restart(&datadir, &wallets, bench);
}

#[test]
fn an_override_queues_or_drops_pooled_transactions() {
    let (_datadir, wallets, mut bench) = start();
    let sender = wallets[0].address;
    let set = |bench: &Bench, change| {
        bench.node.develop(|development| development.write(&Override { address: sender, change })).unwrap();
    };
    let submit =
        |nonce| bench.node.submit(&wallets[0].transfer(nonce, OTHER_ACCOUNT, 7, Fees::default())).unwrap();
    let (first, second) = (submit(0), submit(1));
    set(&bench, Change::Nonce(1));
    assert!(!bench.node.pool().contains(&first), "its nonce is used");
    set(&bench, Change::Balance(U256::from(1)));
    bench.tick();
    assert!(bench.node.pool().contains(&second), "it waits for funds");
    set(&bench, Change::Balance(U256::from(10).pow(U256::from(18))));
    bench.tick();
    assert!(bench.view().transaction(&second).unwrap().is_some());
}

/// Accounts with an unknown key, contracts included, can send on a development chain; a restart recovers the
/// senders.
#[test]
fn an_impersonated_account_sends() {
    let (datadir, wallets, mut bench) = start();
    let contract = Contract::Counter.address();
    bench.node.develop(|development| development.write(&balance(1))).unwrap();
    let ether = Change::Balance(U256::from(10).pow(U256::from(18)));
    bench
        .node
        .develop(|development| development.write(&Override { address: contract, change: ether }))
        .unwrap();
    let nonce = bench.view().pending().state.account(&contract).unwrap().unwrap().nonce;
    let unsigned = TxEip1559 {
        chain_id: bench.node.spec().chain_id(),
        nonce,
        gas_limit: 21_000,
        max_fee_per_gas: 10_000_000_000,
        to: OTHER_ACCOUNT.into(),
        value: U256::from(4),
        ..TxEip1559::default()
    };
    let transaction = Transaction::impersonated(unsigned.into(), contract);
    let raw = transaction.encoded().clone();
    assert!(bench.node.submit(&raw).is_err(), "not from outside");
    let hash = bench.node.submit_impersonated(transaction).unwrap();
    bench.tick();
    assert_eq!(balance_in(&bench.view()), U256::from(5));
    let bench = restart(&datadir, &wallets, bench);
    let (block, index) = bench.view().transaction(&hash).unwrap().unwrap();
    assert_eq!((block.number(), block.block.transactions[index].sender()), (1, contract));
}

#[test]
fn increasing_time_moves_the_block_being_built() {
    let (datadir, wallets, mut bench) = start();
    bench.node.submit(&wallets[0].transfer(0, OTHER_ACCOUNT, 7, Fees::default())).unwrap();
    bench.tick();
    bench.node.develop(|development| development.write(&balance(1_000))).unwrap();
    bench.node.submit(&wallets[0].transfer(1, OTHER_ACCOUNT, 7, Fees::default())).unwrap();
    bench.tick();
    let before = bench.view().pending().clone();
    assert_eq!(bench.node.develop(|development| development.increase_time(3_600)).unwrap(), 3_600);
    assert_eq!(bench.node.develop(|development| development.increase_time(400)).unwrap(), 4_000);
    let after = bench.view().pending().clone();
    assert_eq!(after.block.header.timestamp, before.block.header.timestamp + 4_000);
    assert_eq!(after.block.transactions, before.block.transactions);
    assert_eq!(after.steps.len(), before.steps.len());
    assert_eq!(balance_in(&bench.view()), U256::from(1_007), "overrides stay where they were");
    let bench = restart(&datadir, &wallets, bench);
    assert_eq!(timestamp(&bench.view()), after.block.header.timestamp);
    assert_eq!(bench.view().pending().block.header.timestamp, after.block.header.timestamp + 2);
}

#[test]
fn the_next_timestamp_is_exact_and_time_continues_from_it() {
    let (datadir, wallets, mut bench) = start();
    bench.node.develop(|development| development.set_next_timestamp(2_000_001)).unwrap();
    bench.node.develop(|development| development.increase_time(1)).unwrap();
    bench.node.develop(|development| development.set_time(2_000_000)).unwrap();
    assert_eq!(bench.view().pending().block.header.timestamp, 2_000_001);
    bench.tick();
    assert_eq!(bench.view().latest().number(), 0, "it lasts a block time");
    bench.seal();
    assert_eq!(timestamp(&bench.view()), 2_000_001);
    bench.seal();
    assert_eq!(timestamp(&bench.view()), 2_000_003);
    let rejection = bench.node.develop(|development| development.set_next_timestamp(2_000_003)).unwrap_err();
    assert!(matches!(rejection, ControlError::Timestamp { timestamp: 2_000_003, previous: 2_000_003 }));
    for far in [u64::MAX, u64::MAX / 1000, i64::MAX.unsigned_abs() / 1000 + 9] {
        assert!(matches!(
            bench.node.develop(|development| development.set_next_timestamp(far)).unwrap_err(),
            ControlError::Clock(_)
        ));
        assert!(bench.node.develop(|development| development.increase_time(far)).is_err());
    }
    // The clock goes back; no timestamp decreases with it.
    assert_eq!(bench.node.develop(|development| development.set_time(5)).unwrap(), 0);
    bench.node.develop(|development| development.mine(1, None)).unwrap();
    assert_eq!(timestamp(&bench.view()), 2_000_005);
    restart(&datadir, &wallets, bench);
}

#[test]
fn blocks_are_sealed_as_the_mining_mode_requires() {
    let (_datadir, wallets, mut bench) = start();
    let set =
        |bench: &Bench, mining| bench.node.develop(|development| development.set_mining(mining)).unwrap();
    let transfer = |nonce| wallets[0].transfer(nonce, OTHER_ACCOUNT, 7, Fees::default());
    set(&bench, Mining::Manual);
    bench.node.submit(&transfer(0)).unwrap();
    for _ in 0..30 {
        bench.tick();
    }
    assert_eq!((bench.view().latest().number(), bench.view().pending_index()), (0, 1));
    assert_eq!(bench.producer.due(), None);
    bench.node.submit(&transfer(1)).unwrap();
    set(&bench, Mining::Automatic);
    assert_eq!(bench.view().latest().number(), 2, "the block being built and the pool are sealed");
    assert_eq!((bench.view().pending_index(), bench.node.pool().counts().pooled), (0, 0));
    bench.tick();
    assert_eq!(bench.view().latest().number(), 2, "no empty block");
    bench.node.develop(|development| development.write(&balance(1))).unwrap();
    assert_eq!(bench.view().latest().number(), 3);
    bench.clock.advance(Duration::from_mins(1));
    bench.node.submit(&transfer(2)).unwrap();
    let late = bench.view().latest().clone();
    assert_eq!((late.number(), late.block.header.timestamp), (4, 1_000_069), "an empty block does not age");
    set(&bench, Mining::Interval { seconds: 1 });
    (0..5).for_each(|_| bench.tick());
    assert_eq!(bench.view().latest().number(), 5);
}

#[test]
fn automine_from_the_start_seals_each_submission() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(1));
    let development = Some(Development { automine: true, ..Development::default() });
    let settings = Settings { development, ..settings(datadir.path(), &wallets) };
    let bench = Bench::open(settings, Arc::default(), Arc::new(RealDisk)).unwrap();
    assert_eq!(bench.producer.due(), None);
    let hash = bench.node.submit(&wallets[0].transfer(0, OTHER_ACCOUNT, 7, Fees::default())).unwrap();
    let view = bench.view();
    assert_eq!(view.transaction(&hash).unwrap().unwrap().0.number(), 1);
    assert_eq!((view.latest().number(), view.pending_index()), (1, 0));
}

#[test]
fn coinbase_and_base_fee_count_from_the_block_being_built() {
    let (datadir, wallets, mut bench) = start();
    let hash = bench.node.submit(&wallets[0].transfer(0, OTHER_ACCOUNT, 7, Fees::default())).unwrap();
    bench.tick();
    bench.node.develop(|development| development.set_beneficiary(OTHER_ACCOUNT)).unwrap();
    bench.node.develop(|development| development.set_base_fee(5)).unwrap();
    let pending = bench.view().pending().clone();
    assert_eq!(
        (pending.block.header.beneficiary, pending.block.header.base_fee_per_gas),
        (OTHER_ACCOUNT, Some(5))
    );
    assert_eq!(bench.view().transaction(&hash).unwrap().unwrap().0.number(), 1);
    let timestamp = pending.block.header.timestamp + 100;
    bench.node.develop(|development| development.set_next_timestamp(timestamp)).unwrap();
    let header = bench.view().pending().block.header.clone();
    assert_eq!((header.timestamp, header.base_fee_per_gas), (timestamp, Some(5)), "neither undoes the other");
    bench.node.develop(|development| development.set_base_fee(u64::MAX)).unwrap();
    assert!(bench.view().transaction(&hash).unwrap().is_none());
    assert!(bench.node.pool().contains(&hash), "it cannot pay and waits");
    bench.seal();
    assert_eq!(bench.view().pending().block.header.beneficiary, OTHER_ACCOUNT);
    restart(&datadir, &wallets, bench);
}

#[test]
fn a_production_chain_rejects_development_controls() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(1));
    let finality = FinalityDepth { safe: 1, finalized: 2 };
    let settings = Settings { finality, ..settings(datadir.path(), &wallets) };
    let mut bench = Bench::open(settings, Arc::default(), Arc::new(RealDisk)).unwrap();
    (0..4).for_each(|_| bench.seal());
    let before = fingerprint(&bench.view());
    let assert_rejected =
        |error: Option<ControlError>| assert!(matches!(error, Some(ControlError::NotDevelopment)));
    assert_rejected(bench.node.develop(|development| development.mine(1, None)).err());
    assert_rejected(bench.node.develop(|development| development.write(&balance(1))).err());
    assert_rejected(bench.node.develop(|development| development.increase_time(1)).err());
    assert_rejected(bench.node.develop(|development| development.set_time(1)).err());
    assert_rejected(bench.node.develop(|development| development.set_next_timestamp(3_000_000)).err());
    assert_rejected(bench.node.develop(|development| development.reorg(&[Vec::new()])).err());
    assert_rejected(bench.node.develop(|development| development.snapshot()).err());
    assert_rejected(bench.node.develop(|development| development.revert(0)).err());
    assert_rejected(bench.node.develop(|development| development.set_mining(Mining::Manual)).err());
    assert_rejected(bench.node.develop(|development| development.set_beneficiary(OTHER_ACCOUNT)).err());
    assert_rejected(bench.node.develop(|development| development.set_base_fee(1)).err());
    let below = bench.node.control(|writer| writer.unwind(1)).unwrap_err();
    assert!(matches!(below, ControlError::Finalized { number: 1, finalized: 2 }));
    assert_eq!(fingerprint(&bench.view()), before);
    bench.node.control(|writer| writer.unwind(2)).unwrap();
    assert_eq!(bench.view().latest().number(), 2);
}

/// Several threads send requests at once; each change is atomic.
#[test]
fn concurrent_control_calls_are_serialized() {
    let (datadir, wallets, bench) = start();
    let node = bench.node.clone();
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let node = node.clone();
            std::thread::spawn(move || {
                for _ in 0..10 {
                    node.develop(|development| development.mine(2, None)).unwrap();
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    drop(node);
    assert_eq!(bench.view().latest().number(), 80);
    restart(&datadir, &wallets, bench);
}

/// A request that panics may leave writes that the chain does not contain, so nothing more is written.
#[test]
fn a_panic_ends_production_but_not_the_process() {
    let (_datadir, _, mut bench) = start();
    let broken: Result<(), _> = bench.node.control(|_| panic!("on purpose"));
    assert!(matches!(broken, Err(ControlError::Failed(_))));
    assert!(bench.try_tick().is_err());
    assert!(matches!(
        bench.node.develop(|development| development.snapshot()),
        Err(ControlError::Stopped(_))
    ));
    assert!(bench.node.status().healthy(Duration::from_secs(5)).is_err());
    assert_eq!(bench.view().pending().number(), 1, "reads go on");
}

#[test]
fn mining_intervals_start_at_the_timestamp_that_was_set() {
    let (datadir, wallets, bench) = start();
    bench.node.develop(|development| development.set_next_timestamp(2_000_000)).unwrap();
    bench.node.develop(|development| development.mine(3, Some(7))).unwrap();
    let view = bench.view();
    let times: Vec<u64> =
        (1..=3).map(|number| view.sealed(number).unwrap().unwrap().block.header.timestamp).collect();
    assert_eq!(times, [2_000_000, 2_000_007, 2_000_014]);
    bench.node.develop(|development| development.mine(1, Some(7))).unwrap();
    assert_eq!(bench.view().latest().block.header.timestamp, 2_000_021);
    restart(&datadir, &wallets, bench);
}

//! Chains with forks during production, and chains that cannot produce.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::sync::Arc;

use alloy_consensus::Header;
use alloy_genesis::{ChainConfig, Genesis};
use alloy_primitives::{Address, Bytes, U256};
use foreseal_journal::RealDisk;
use foreseal_node::Settings;
use foreseal_primitives::system_contracts;
use foreseal_testkit::{Fees, TransactionKinds, Wallet, Workload, test_genesis};
use support::{Bench, genesis_chain, open_node, settings};

/// Timestamp of the first block of a test chain; each later block is two seconds later.
const FIRST: u64 = 1_000_002;

fn time_of(number: u64) -> u64 {
    FIRST + 2 * (number - 1)
}

fn settings_with(
    datadir: &tempfile::TempDir,
    wallets: &[Wallet],
    change: impl FnOnce(&mut Genesis),
) -> Settings {
    let mut genesis = test_genesis(wallets);
    change(&mut genesis);
    Settings { genesis: Some(genesis), ..settings(datadir.path(), wallets) }
}

fn open(settings: Settings) -> Result<Bench, String> {
    Bench::open(settings, Arc::default(), Arc::new(RealDisk)).map_err(|error| error.to_string())
}

/// Imports the sealed blocks of `bench` into a separate chain, which verifies every header.
fn execute_from_outside(bench: &Bench) {
    let view = bench.view();
    let mut outside = genesis_chain(&bench.node);
    for number in 1..=view.latest().number() {
        let sealed = view.sealed(number).unwrap().unwrap();
        let mut bytes = Vec::new();
        sealed.block.encode(&mut bytes);
        outside.import(&bytes).unwrap();
        assert_eq!(outside.latest().block.hash, sealed.block.hash);
    }
}

/// Returns which fields of later forks a header has.
fn fields(header: &Header) -> [bool; 5] {
    [
        header.withdrawals_root.is_some(),
        header.blob_gas_used.is_some(),
        header.excess_blob_gas.is_some(),
        header.parent_beacon_block_root.is_some(),
        header.requests_hash.is_some(),
    ]
}

#[test]
fn every_fork_begins_with_the_block_that_reaches_its_time() {
    let datadir = tempfile::tempdir().unwrap();
    let wallets = Wallet::some(4);
    let settings = settings_with(&datadir, &wallets, |genesis| {
        let config = &mut genesis.config;
        (config.shanghai_time, config.cancun_time) = (Some(time_of(3)), Some(time_of(5)));
        (config.prague_time, config.osaka_time) = (Some(time_of(7)), Some(time_of(9)));
        (config.bpo1_time, config.bpo2_time) = (Some(time_of(11)), Some(time_of(13)));
    });
    let mut bench = open(settings).unwrap();
    let mut workload = Workload::new(wallets, TransactionKinds::Transfers, 11);
    while bench.view().latest().number() < 16 {
        bench.node.submit(&workload.next_transaction()).unwrap();
        bench.tick();
    }
    let view = bench.view();
    for number in 0..=16 {
        let header = &view.sealed(number).unwrap().unwrap().block.header;
        let (shanghai, cancun, prague) = (number >= 3, number >= 5, number >= 7);
        assert_eq!(fields(header), [shanghai, cancun, cancun, cancun, prague], "block {number}");
        let most = view.spec().blob_params(header.timestamp).map(|params| params.max_blob_count);
        let expected = match number {
            0..5 => None,
            5..7 => Some(6),
            7..11 => Some(9),
            11..13 => Some(15),
            _ => Some(21),
        };
        assert_eq!(most, expected, "block {number}");
    }
    execute_from_outside(&bench);
}

#[test]
fn london_can_begin_with_the_first_block() {
    let datadir = tempfile::tempdir().unwrap();
    let wallets = Wallet::some(1);
    let settings = settings_with(&datadir, &wallets, |genesis| {
        genesis.config.london_block = Some(1);
    });
    let mut bench = open(settings).unwrap();
    bench.seal();
    execute_from_outside(&bench);
}

#[test]
fn the_gas_limit_stays_within_the_allowed_range() {
    let datadir = tempfile::tempdir().unwrap();
    let wallets = Wallet::some(1);
    let mut settings = settings_with(&datadir, &wallets, |genesis| genesis.gas_limit = 5_010);
    settings.production.gas_limit = Some(1);
    let mut bench = open(settings).unwrap();
    for _ in 0..6 {
        bench.seal();
    }
    assert_eq!(bench.view().latest().block.header.gas_limit, 5_000);
    execute_from_outside(&bench);
}

#[test]
fn a_chain_without_its_system_contracts_is_rejected() {
    let lacking = |missing: &[Address], driver| {
        let datadir = tempfile::tempdir().unwrap();
        let mut settings = settings_with(&datadir, &Wallet::some(1), |genesis| {
            for address in missing {
                assert!(genesis.alloc.remove(address).is_some());
            }
        });
        settings.driver = driver;
        (datadir, settings)
    };
    let [_, _, (withdrawals, _), (consolidations, _)] = system_contracts();
    let named = [format!("{withdrawals} (EIP-7002)"), format!("{consolidations} (EIP-7251)")];
    for driver in [false, true] {
        for (missing, listed) in [
            (vec![withdrawals], named[0].clone()),
            (vec![consolidations], named[1].clone()),
            (vec![withdrawals, consolidations], named.join(", ")),
        ] {
            let (_datadir, settings) = lacking(&missing, driver);
            let reason = format!("it lacks contracts that each block calls under its rules: {listed}");
            assert_rejected(settings, &reason);
        }
        // A missing contract of EIP-4788 or EIP-2935 makes no block invalid.
        let optional: Vec<_> = system_contracts()[..2].iter().map(|(address, _)| *address).collect();
        let (_datadir, settings) = lacking(&optional, driver);
        open(settings).unwrap();
    }
}

/// Asserts that the genesis is rejected before the data directory contains it.
fn assert_rejected(settings: Settings, reason: &str) {
    let stored = settings.datadir.join("genesis.json");
    let error = open(settings).err().unwrap();
    assert!(error.starts_with(&format!("no block can follow the genesis of --genesis: {reason} ")));
    assert!(!stored.exists());
}

#[test]
fn a_proof_of_work_chain_is_not_produced() {
    let wallets = Wallet::some(1);
    let never = |genesis: &mut Genesis| {
        genesis.config.terminal_total_difficulty = None;
        (genesis.config.shanghai_time, genesis.config.cancun_time) = (None, None);
        (genesis.config.prague_time, genesis.config.osaka_time) = (None, None);
    };
    let not_yet = |genesis: &mut Genesis| {
        genesis.difficulty = U256::from(131_072);
        genesis.config.terminal_total_difficulty = Some(U256::from(131_073));
    };
    for change in [&never as &dyn Fn(&mut Genesis), &not_yet] {
        let datadir = tempfile::tempdir().unwrap();
        assert_rejected(
            settings_with(&datadir, &wallets, change),
            "block 1 would not be a proof-of-stake block under this genesis; it can only be imported",
        );
    }
    let datadir = tempfile::tempdir().unwrap();
    let reached = settings_with(&datadir, &wallets, |genesis| {
        genesis.difficulty = U256::ONE;
        genesis.config.terminal_total_difficulty = Some(U256::ONE);
    });
    assert!(open(reached).is_ok());
}

/// An imported chain can be read under any rules; its pending block is the empty block that could follow.
#[test]
fn a_proof_of_work_chain_is_served() {
    let datadir = tempfile::tempdir().unwrap();
    let mut settings = settings_with(&datadir, &Wallet::some(1), |genesis| {
        genesis.difficulty = U256::from(131_072);
        genesis.config = ChainConfig { homestead_block: Some(0), ..ChainConfig::default() };
    });
    settings.produce = false;
    settings.production.beneficiary = Address::repeat_byte(7);
    let node = open_node(settings).unwrap();
    assert!(node.start_stepped().unwrap().is_none());
    let view = node.view().unwrap();
    let header = &view.pending().block.header;
    assert_eq!((header.number, header.timestamp, header.difficulty), (1, 2, U256::from(131_136)));
    let mut bytes = Vec::new();
    view.pending().block.encode(&mut bytes);
    let mut outside = genesis_chain(&node);
    outside.import(&bytes).unwrap();
    assert_eq!(outside.latest().state.root(), view.pending().state.root());
    // The same genesis under rules whose terminal total difficulty it has reached.
    let datadir = tempfile::tempdir().unwrap();
    let mut settings = settings_with(&datadir, &Wallet::some(1), |genesis| {
        genesis.difficulty = U256::from(131_072);
        let terminal_total_difficulty = Some(genesis.difficulty);
        genesis.config =
            ChainConfig { homestead_block: Some(0), terminal_total_difficulty, ..ChainConfig::default() };
    });
    settings.produce = false;
    let error = genesis_chain(&open_node(settings).unwrap()).import(&bytes).unwrap_err();
    assert!(error.to_string().contains("difficulty: expected 0, got 131136"), "{error}");
}

/// A log that the deposit contract must never emit makes a block invalid (EIP-6110). Its transaction is
/// dropped.
#[test]
fn a_transaction_cannot_end_production_by_a_wrong_deposit_log() {
    let datadir = tempfile::tempdir().unwrap();
    let wallets = Wallet::some(2);
    let contract = Address::repeat_byte(0xdd);
    let settings = settings_with(&datadir, &wallets, |genesis| {
        genesis.config.deposit_contract_address = Some(contract);
        let code = foreseal_testkit::assemble(
            "0x649bbc62d0e31342afea4e5cd82d4049e7e1ee912fc0889aa790803be39038c5 PUSH0 PUSH0 LOG1 STOP",
        );
        genesis.alloc.entry(contract).or_default().code = Some(code);
    });
    let mut bench = open(settings).unwrap();
    let fees = Fees::default();
    let call = wallets[0].eip1559(0, contract.into(), U256::ZERO, 100_000, Bytes::new(), fees);
    let bad = bench.node.submit(&call).unwrap();
    let good = bench.node.submit(&wallets[1].transfer(0, wallets[0].address, 1, fees)).unwrap();
    bench.tick();
    assert!(bench.view().transaction(&good).unwrap().is_some());
    assert!(bench.view().transaction(&bad).unwrap().is_none());
    let status = bench.node.pool().status(&bad);
    assert!(matches!(status, foreseal_pool::Status::Dropped(_)), "{status:?}");
    bench.seal();
    execute_from_outside(&bench);
}

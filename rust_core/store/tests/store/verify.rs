//! Verification: reports nothing for a sound store, and finds every damage.

use std::ops::ControlFlow;

use std::{path::Path, sync::Arc};

use crate::support::{Made, Maker, Size, dump, sealed};
use alloy_primitives::{Address, U256};
use foreseal_state::{State, StateStore};
use foreseal_store::{Store, StoreError, StoreOptions, StorePart, VerifyReport};
use rand::{Rng, SeedableRng, rngs::StdRng, seq::IndexedRandom};
use tempfile::{TempDir, tempdir};

const BLOCKS: usize = 24;

fn filled(seed: u64) -> (TempDir, StoreOptions, Vec<Made>) {
    let mut maker = Maker::new(seed, Size::SMALL);
    let genesis = maker.genesis();
    let mut chain = maker.chain(&genesis, BLOCKS);
    let options = Maker::options(&genesis);
    chain.insert(0, genesis);
    let folder = tempdir().unwrap();
    Store::open(folder.path(), options).unwrap().write(&sealed(&chain)).unwrap();
    (folder, options, chain)
}

fn verify(folder: &Path, options: StoreOptions) -> VerifyReport {
    let store = Store::open(folder, options).unwrap();
    store.verify(&mut |_| ControlFlow::Continue(())).unwrap()
}

/// Calls every read; the results do not matter here.
fn read_everything(folder: &Path, options: StoreOptions, chain: &[Made]) {
    let store = Store::open(folder, options).unwrap();
    let reader = store.reader().unwrap();
    for made in chain {
        let (number, block) = (made.number(), &made.sealed.block);
        drop((
            reader.block(number),
            reader.receipts(number),
            reader.steps(number),
            reader.number_of(&block.hash),
        ));
        for (index, transaction) in (0..).zip(&block.transactions) {
            drop((reader.transaction(number, index), reader.receipt(number, index)));
            drop(reader.transaction_position(&transaction.hash()));
        }
        for (index, step) in (0..).zip(&made.sealed.steps) {
            drop((reader.step(number, index), reader.step_position(&step.hash)));
        }
        let state = State::from_store(Arc::new(reader.clone()), number, made.state.root());
        for address in (0..40).map(|seed| Address::left_padding_from(&[seed])) {
            drop((StateStore::account(&reader, &address, number), reader.has_storage(&address, number)));
            let slots: Vec<U256> = (0..30).map(U256::from).collect();
            for slot in &slots {
                drop(reader.slot(&address, slot, number));
            }
            drop(state.prove_account(&address, &slots));
        }
        drop(state.apply(&made.sealed.diff));
    }
    for ordinal in 0..store.progress().unwrap().logs {
        drop(reader.log(ordinal));
    }
}

#[test]
fn a_sound_store_is_clean() {
    let (folder, options, chain) = filled(1);
    let store = Store::open(folder.path(), options).unwrap();
    let mut parts = Vec::new();
    let verified = store
        .verify(&mut |step| {
            assert!(step.done <= step.of);
            parts.push(step.part);
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(verified.faults, []);
    assert_eq!(verified.head.unwrap().hash, chain[BLOCKS].hash());
    let sum = |count: fn(&Made) -> usize| chain.iter().map(count).sum::<usize>() as u64;
    assert_eq!(verified.transactions, sum(|made| made.sealed.block.transactions.len()));
    assert_eq!(verified.logs, sum(|made| made.sealed.block.receipts.iter().map(|r| r.logs.len()).sum()));
    assert_eq!(verified.accounts, chain[BLOCKS].state.account_count().unwrap() as u64);
    assert!(verified.slots > 0 && verified.nodes > 0);
    parts.dedup();
    for part in
        [StorePart::Blocks, StorePart::Versions, StorePart::StateRoot, StorePart::Nodes, StorePart::Logs]
    {
        assert!(parts.contains(&part), "{part:?}");
    }
    let empty = tempdir().unwrap();
    let store = Store::open(empty.path(), options).unwrap();
    assert_eq!(store.verify(&mut |_| ControlFlow::Continue(())).unwrap(), VerifyReport::default());
}

/// Kind of damage to an entry.
#[derive(Clone, Copy, Debug)]
enum Damage {
    Flip,
    Delete,
    Cut,
}

fn damage(folder: &Path, name: &str, damage: Damage, random: &mut StdRng) -> Option<Vec<u8>> {
    let env = dump::open(folder);
    let table = dump::table(&env, name);
    let mut txn = env.write_txn().unwrap();
    let entries: Vec<(Vec<u8>, Vec<u8>)> = table
        .iter(&txn)
        .unwrap()
        .map(|entry| entry.map(|(key, value)| (key.to_vec(), value.to_vec())).unwrap())
        .filter(|(_, value)| !value.is_empty())
        .collect();
    let (key, mut value) = entries.choose(random)?.clone();
    match damage {
        Damage::Delete => assert!(table.delete(&mut txn, &key).unwrap()),
        Damage::Flip => {
            let at = random.random_range(0..value.len());
            value[at] ^= 1 << random.random_range(0..8);
            table.put(&mut txn, &key, &value).unwrap();
        }
        Damage::Cut => table.put(&mut txn, &key, &value[..value.len() / 2]).unwrap(),
    }
    txn.commit().unwrap();
    Some(key)
}

/// Tables in which a change of any bit is found.
const WATCHED: [&str; 16] = [
    "headers",
    "bodies",
    "transactions",
    "logs",
    "log_index",
    "block_hashes",
    "transaction_hashes",
    "step_hashes",
    "accounts",
    "incarnations",
    "slots",
    "codes",
    "state_changes",
    "account_nodes",
    "storage_nodes",
    "node_changes",
];

#[test]
fn every_damage_is_found_and_no_read_panics() {
    let mut random = StdRng::seed_from_u64(5);
    let (folder, options, chain) = filled(2);
    let content = std::fs::read(folder.path().join("data.mdb")).unwrap();
    let mut detected = 0;
    for name in WATCHED.into_iter().chain(["receipts", "steps"]) {
        for kind in [Damage::Flip, Damage::Flip, Damage::Flip, Damage::Delete, Damage::Cut] {
            let Some(key) = damage(folder.path(), name, kind, &mut random) else { panic!("{name} is empty") };
            read_everything(folder.path(), options, &chain);
            let verified = verify(folder.path(), options);
            // Addresses of created contracts and times of steps cannot be recomputed from other data.
            let unknown = matches!((name, kind), ("receipts" | "steps", Damage::Flip));
            assert!(unknown || !verified.is_clean(), "{kind:?} of {name} {key:02x?}");
            let named = verified.faults.iter().any(|fault| fault.table == name);
            let related = ["headers", "accounts", "account_nodes", "state_changes", "storage_nodes"];
            let near = verified.faults.iter().any(|fault| related.contains(&fault.table));
            assert!(unknown || named || near, "{kind:?} of {name} {key:02x?}: {:?}", verified.faults);
            detected += u64::from(named);
            std::fs::write(folder.path().join("data.mdb"), &content).unwrap();
        }
    }
    assert!(detected >= 60, "{detected} of 90 are named by their table");
    assert!(verify(folder.path(), options).is_clean());
}

#[test]
fn stray_entries_are_named() {
    let (folder, options, _) = filled(3);
    let env = dump::open(folder.path());
    let next = (BLOCKS as u64 + 1).to_be_bytes();
    let stray_key = [&next[..], &[0; 4]].concat();
    let strays: [(&str, Vec<u8>, &[u8]); 8] = [
        ("transactions", stray_key.clone(), b"x"),
        ("receipts", stray_key.clone(), b"x"),
        ("steps", stray_key.clone(), b"x"),
        ("bodies", next.to_vec(), b"x"),
        ("transaction_hashes", vec![1; 32], &[0; 12]),
        ("block_hashes", vec![1; 32], &[0; 8]),
        ("accounts", [&[7; 20][..], &(!3_u64).to_be_bytes()].concat(), &[1, 1]),
        ("account_nodes", [&[1, 2, 3][..], &(!3_u64).to_be_bytes()].concat(), &[0xc0]),
    ];
    let tables = strays.each_ref().map(|(name, ..)| dump::table(&env, name));
    let mut txn = env.write_txn().unwrap();
    for (table, (_, key, value)) in tables.iter().zip(&strays) {
        table.put(&mut txn, key, value).unwrap();
    }
    txn.commit().unwrap();
    env.prepare_for_closing().wait();
    let verified = verify(folder.path(), options);
    for (name, key, _) in &strays {
        let named = verified.faults.iter().any(|fault| fault.table == *name && fault.key == *key);
        assert!(named, "{name}: {:?}", verified.faults);
    }
}

/// `report` can interrupt every part of a verification.
#[test]
fn a_verification_can_be_interrupted() {
    let (folder, options, _) = filled(1);
    let store = Store::open(folder.path(), options).unwrap();
    for stop in
        [StorePart::Blocks, StorePart::Versions, StorePart::StateRoot, StorePart::Nodes, StorePart::Logs]
    {
        let ended = store.verify(&mut |step| {
            if step.part == stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(ended, Err(StoreError::Interrupted), "{stop:?}");
    }
}

/// Verification runs while blocks are written; the data that it verifies does not change.
#[test]
fn a_node_can_write_during_a_verification() {
    let mut maker = Maker::new(4, Size::SMALL);
    let genesis = maker.genesis();
    let chain = maker.chain(&genesis, 60);
    let folder = tempdir().unwrap();
    let options = StoreOptions { proof_window: 40, step_window: 10, ..Maker::options(&genesis) };
    let store = Store::open(folder.path(), options).unwrap();
    store.write(&[genesis.sealed]).unwrap();
    let (first, rest) = chain.split_at(40);
    store.write(&sealed(first)).unwrap();
    let mut rest = rest.iter();
    let verified = store.verify(&mut |_| {
        if let Some(made) = rest.next() {
            store.write(std::slice::from_ref(&made.sealed)).unwrap();
        }
        ControlFlow::Continue(())
    });
    assert_eq!(verified.unwrap().faults, []);
    assert!(rest.len() < 10);
}

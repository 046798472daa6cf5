//! Opening a store of an older program for writing upgrades it to the current
//! schema; opening it for reading does not.

use std::{ops::ControlFlow, path::Path};

use crate::support::{Made, Maker, Size, dump, sealed};
use foreseal_store::{SCHEMA, Store, StoreCopy, StoreError, StoreOptions, UpgradeOrigin, UpgradeProgress};
use tempfile::{TempDir, tempdir};

/// Returns a store of schema 1, which does not record the program that made it.
fn of_schema_1() -> (TempDir, StoreOptions, Vec<Made>) {
    let mut maker = Maker::new(12, Size::SMALL);
    let genesis = maker.genesis();
    let mut chain = maker.chain(&genesis, 6);
    let options = Maker::options(&genesis);
    chain.insert(0, genesis);
    let folder = tempdir().unwrap();
    Store::open(folder.path(), options).unwrap().write(&sealed(&chain)).unwrap();
    let env = dump::open(folder.path());
    let meta = dump::table(&env, "meta");
    let mut txn = env.write_txn().unwrap();
    meta.put(&mut txn, b"schema", &1_u32.to_be_bytes()).unwrap();
    assert!(meta.delete(&mut txn, b"origins").unwrap());
    txn.commit().unwrap();
    drop(env);
    (folder, options, chain)
}

fn assert_upgraded(folder: &Path, options: StoreOptions, chain: &[Made]) {
    let store = Store::open(folder, options).unwrap();
    // Each step of the upgrade is recorded.
    let origin = |schema| UpgradeOrigin { schema, program: env!("CARGO_PKG_VERSION").to_owned(), at: 77 };
    assert_eq!(store.origins().unwrap(), [2, SCHEMA].map(origin));
    assert_eq!(store.head().unwrap().unwrap().hash, chain.last().unwrap().hash());
    let verified = store.verify(&mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(verified.faults, vec![]);
}

#[test]
fn opening_for_writing_upgrades_the_schema() {
    let (folder, options, chain) = of_schema_1();
    let options = StoreOptions { at: 77, ..options };
    let mut reported = Vec::new();
    drop(
        Store::open_with_progress(folder.path(), options, &mut |upgrading| {
            reported.push(upgrading);
            ControlFlow::Continue(())
        })
        .unwrap(),
    );
    assert_eq!(reported[0], UpgradeProgress { to: 2, done: 0, of: 1 });
    assert!(reported[1..].iter().all(|upgrading| upgrading.to == SCHEMA));
    // Opening it at a later time adds no entry.
    assert_upgraded(folder.path(), StoreOptions { at: 99, ..options }, &chain);
}

#[test]
fn an_interrupted_upgrade_leaves_the_old_schema() {
    let (folder, options, chain) = of_schema_1();
    let options = StoreOptions { at: 77, ..options };
    let ended = Store::open_with_progress(folder.path(), options, &mut |_| ControlFlow::Break(()));
    assert_eq!(ended.unwrap_err(), StoreError::Interrupted);
    assert_eq!(StoreCopy::open(folder.path(), &options).unwrap().schema().unwrap(), 1);
    assert_upgraded(folder.path(), options, &chain);
}

#[test]
fn reading_rejects_an_older_schema_and_names_the_upgrade() {
    let (folder, options, _) = of_schema_1();
    let error = Store::open(folder.path(), StoreOptions { read_only: true, ..options }).unwrap_err();
    assert_eq!(error, StoreError::OlderSchema { found: 1, needed: SCHEMA });
    assert!(error.to_string().contains("foreseal db upgrade"), "{error}");
    assert_eq!(StoreCopy::open(folder.path(), &options).unwrap().schema().unwrap(), 1);
}

#[test]
fn another_chain_is_not_upgraded() {
    let (folder, options, _) = of_schema_1();
    let error = Store::open(folder.path(), StoreOptions { chain_id: 5, ..options }).unwrap_err();
    assert!(matches!(error, StoreError::OtherChain { .. }), "{error}");
    assert_eq!(StoreCopy::open(folder.path(), &options).unwrap().schema().unwrap(), 1);
}

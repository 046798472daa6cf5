//! Opening a store: rejections, and that they change nothing.

use std::{
    fs,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::Path,
    process::Command,
    slice::from_ref,
};

use crate::support::{
    Made, Maker, Size, dump,
    process::{process_folder, test_process},
    sealed,
};
use alloy_primitives::B256;
use foreseal_store::{SCHEMA, Store, StoreError, StoreOptions};
use heed::{CommitOrAbort, EnvOpenOptions, types::Bytes};
use tempfile::{TempDir, tempdir};

/// Returns a closed store with genesis and ten blocks.
fn filled() -> (TempDir, StoreOptions, Vec<Made>) {
    let mut maker = Maker::new(11, Size::SMALL);
    let genesis = maker.genesis();
    let mut chain = maker.chain(&genesis, 10);
    let options = Maker::options(&genesis);
    chain.insert(0, genesis);
    let folder = tempdir().unwrap();
    Store::open(folder.path(), options).unwrap().write(&sealed(&chain)).unwrap();
    (folder, options, chain)
}

fn assert_consistent(folder: &Path, options: StoreOptions, chain: &[Made]) {
    let store = Store::open(folder, options).unwrap();
    let reader = store.reader().unwrap();
    assert_eq!(store.head().unwrap().unwrap().hash, chain.last().unwrap().hash());
    for made in chain {
        assert_eq!(reader.block(made.number()).unwrap().unwrap().hash, made.hash());
    }
}

/// Changes an entry of the `meta` table without using the crate.
fn put_meta(folder: &Path, key: &str, value: Option<&[u8]>) {
    let env = dump::open(folder);
    let meta = dump::table(&env, "meta");
    let mut txn = env.write_txn().unwrap();
    match value {
        Some(value) => meta.put(&mut txn, key.as_bytes(), value).unwrap(),
        None => assert!(meta.delete(&mut txn, key.as_bytes()).unwrap()),
    }
    txn.commit().unwrap();
}

#[test]
fn another_chain_or_genesis_is_rejected() {
    let (folder, options, chain) = filled();
    let genesis = B256::repeat_byte(7);
    let error = Store::open(folder.path(), StoreOptions { genesis, ..options }).unwrap_err();
    assert_eq!(error, StoreError::OtherGenesis { genesis: options.genesis, expected: genesis });
    let error = Store::open(folder.path(), StoreOptions { chain_id: 5, ..options }).unwrap_err();
    assert_eq!(error.to_string(), "store belongs to the chain with id 31337, expected 5");
    assert_consistent(folder.path(), options, &chain);
}

#[test]
fn a_newer_schema_is_rejected() {
    let (folder, options, chain) = filled();
    put_meta(folder.path(), "schema_version", Some(&(SCHEMA + 1).to_be_bytes()));
    let error = Store::open(folder.path(), options).unwrap_err();
    assert_eq!(error, StoreError::NewerSchema { version: SCHEMA + 1, supported: SCHEMA });
    put_meta(folder.path(), "schema_version", Some(&SCHEMA.to_be_bytes()));
    assert_consistent(folder.path(), options, &chain);
}

/// The version of an unreleased store, also the number 1, is not taken for a schema of a release.
#[test]
fn a_store_of_an_unreleased_program_is_rejected_unchanged() {
    for version in [1_u32, 3] {
        let (folder, options, _) = filled();
        put_meta(folder.path(), "schema_version", None);
        put_meta(folder.path(), "schema", Some(&version.to_be_bytes()));
        let before = fs::read(folder.path().join("data.mdb")).unwrap();
        for read_only in [false, true] {
            let error = Store::open(folder.path(), StoreOptions { read_only, ..options }).unwrap_err();
            assert_eq!(error, StoreError::Unreleased { path: folder.path().to_owned() });
            assert!(error.to_string().contains("start with an empty data directory"), "{error}");
        }
        assert_eq!(fs::read(folder.path().join("data.mdb")).unwrap(), before);
    }
}

#[test]
fn damaged_meta_entries_are_named() {
    for (key, value, why) in [
        ("schema_version", Some(b"abc".as_slice()), "it does not have 4 bytes"),
        ("schema_version", None, "it is missing"),
        ("identity", None, "it is missing"),
        ("identity", Some(b"short"), "it is too short"),
        ("progress", Some(&[1; 85]), "the checksum does not match"),
        ("progress", None, "it is missing"),
    ] {
        let (folder, options, _) = filled();
        put_meta(folder.path(), key, value);
        let error = Store::open(folder.path(), options).unwrap_err();
        assert_eq!(error, StoreError::Damaged { table: "meta", key: key.into(), why });
    }
}

#[test]
fn a_file_that_is_no_store_is_rejected_unchanged() {
    let folder = tempdir().unwrap();
    let options = StoreOptions::new(1, B256::ZERO);
    let data = folder.path().join("data.mdb");
    let text = b"a file of someone else".repeat(1_000);
    fs::write(&data, &text).unwrap();
    let error = Store::open(folder.path(), options).unwrap_err();
    assert!(matches!(error, StoreError::NotAStore { .. }), "{error}");
    assert_eq!(fs::read(&data).unwrap(), text);
    let error = Store::open(&data, options).unwrap_err();
    assert!(error.to_string().ends_with("it is not a folder"), "{error}");
}

#[test]
fn the_lmdb_file_of_another_program_is_rejected_unchanged() {
    let folder = tempdir().unwrap();
    let mut open = EnvOpenOptions::new();
    // SAFETY: only this test uses the file.
    let env = unsafe { open.map_size(1 << 20).max_dbs(2).open(folder.path()).unwrap() };
    env.create_databases_and_commit(env.write_txn().unwrap(), |opener, txn| {
        opener.create_database::<Bytes, Bytes>(txn, Some("theirs"))?.put(txn, b"key", b"value")?;
        Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(()))
    })
    .unwrap();
    env.prepare_for_closing().wait();
    let before = fs::read(folder.path().join("data.mdb")).unwrap();
    let error = Store::open(folder.path(), StoreOptions::new(1, B256::ZERO)).unwrap_err();
    assert!(error.to_string().contains("not one of this program"), "{error}");
    assert_eq!(fs::read(folder.path().join("data.mdb")).unwrap(), before);
}

#[test]
fn a_truncated_file_is_rejected_before_it_is_read() {
    let (folder, options, _) = filled();
    let data = folder.path().join("data.mdb");
    let length = fs::metadata(&data).unwrap().len();
    fs::OpenOptions::new().write(true).open(&data).unwrap().set_len(length - 8_192).unwrap();
    let error = Store::open(folder.path(), options).unwrap_err();
    assert_eq!(error, StoreError::Truncated { path: data, length: length - 8_192, expected: length });
}

#[test]
fn a_store_that_was_removed_or_replaced_confirms_nothing() {
    for is_replaced in [false, true] {
        let mut maker = Maker::new(11, Size::SMALL);
        let genesis = maker.genesis();
        let chain = maker.chain(&genesis, 2);
        let folder = tempdir().unwrap();
        let store = Store::open(folder.path(), Maker::options(&genesis)).unwrap();
        store.write(&sealed(&[genesis, chain[0].clone()])).unwrap();
        let data = folder.path().join("data.mdb");
        if is_replaced {
            fs::copy(&data, folder.path().join("copy")).unwrap();
            fs::rename(folder.path().join("copy"), &data).unwrap();
        } else {
            fs::remove_file(&data).unwrap();
        }
        let error = store.write(&sealed(&chain[1..])).unwrap_err();
        assert_eq!(error, StoreError::Moved { path: data });
    }
}

#[test]
fn one_process_opens_a_store_once_and_shares_it() {
    let (folder, options, chain) = filled();
    let store = Store::open(folder.path(), options).unwrap();
    let other = StoreOptions { proof_window: 5, ..options };
    let error = Store::open(folder.path(), other).unwrap_err();
    assert_eq!(error, StoreError::InUse { path: folder.path().to_owned() });
    let reader = store.reader().unwrap();
    let again = Store::open(folder.path(), options).unwrap();
    drop(store);
    again.unwind(9, 0, &[]).unwrap();
    assert_eq!(reader.block_hash(9), Err(StoreError::ViewGone));
    assert_eq!(again.head().unwrap().unwrap().hash, chain[9].hash());
    drop((again, reader));
    assert!(Store::open(folder.path(), other).is_ok());
}

#[test]
fn a_removed_store_is_not_shared_with_its_replacement() {
    let (folder, options, _) = filled();
    let removed = Store::open(folder.path(), options).unwrap();
    fs::remove_file(folder.path().join("data.mdb")).unwrap();
    let error = Store::open(folder.path(), options).unwrap_err();
    assert_eq!(error, StoreError::InUse { path: folder.path().to_owned() });
    drop(removed);
    assert_eq!(Store::open(folder.path(), options).unwrap().head(), Ok(None));
}

#[test]
fn a_read_only_store_reads_and_writes_nothing() {
    let (folder, options, chain) = filled();
    let read_only = StoreOptions { read_only: true, ..options };
    let before = fs::read(folder.path().join("data.mdb")).unwrap();
    let store = Store::open(folder.path(), read_only).unwrap();
    assert_eq!(store.write(&sealed(&chain[..1])).unwrap_err(), StoreError::ReadOnly);
    drop(store);
    assert_consistent(folder.path(), read_only, &chain);
    assert_eq!(fs::read(folder.path().join("data.mdb")).unwrap(), before);
    let empty = tempdir().unwrap();
    let error = Store::open(empty.path(), read_only).unwrap_err();
    assert_eq!(error, StoreError::Absent { path: empty.path().to_owned() });
    assert_eq!(fs::read_dir(empty.path()).unwrap().count(), 0);
}

#[test]
fn a_full_map_preserves_the_last_commit() {
    let mut maker = Maker::new(12, Size::SMALL);
    let genesis = maker.genesis();
    let chain = maker.chain(&genesis, 400);
    let folder = tempdir().unwrap();
    let options = StoreOptions { map_size: 1 << 20, ..Maker::options(&genesis) };
    let store = Store::open(folder.path(), options).unwrap();
    store.write(from_ref(&genesis.sealed)).unwrap();
    let (mut written, mut error) = (0, None);
    for batch in chain.chunks(10) {
        match store.write(&sealed(batch)) {
            Ok(()) => written += batch.len(),
            Err(full) => {
                error = Some(full);
                break;
            }
        }
    }
    assert_eq!(error, Some(StoreError::MapFull { limit: 1 << 20 }));
    assert!(written > 0);
    assert_eq!(store.head().unwrap().unwrap().hash, chain[written - 1].hash());
    drop(store);
    let larger = StoreOptions { map_size: 1 << 30, ..options };
    assert_consistent(folder.path(), larger, &chain[..written]);
    let store = Store::open(folder.path(), larger).unwrap();
    store.write(&sealed(&chain[written..])).unwrap();
    assert_eq!(store.head().unwrap().unwrap().hash, chain[399].hash());
}

/// Runs one test of this file in a process of its own, configured by `prepare`.
fn run_apart(test: &str, folder: &Path, prepare: impl FnOnce(&mut Command)) {
    let mut child = test_process(test, folder);
    prepare(&mut child);
    let output = child.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}\n{output:?}");
}

#[test]
fn a_folder_without_write_permission_is_named() {
    let (folder, ..) = filled();
    fs::set_permissions(folder.path().join("lock.mdb"), fs::Permissions::from_mode(0o666)).unwrap();
    fs::set_permissions(folder.path().join("data.mdb"), fs::Permissions::from_mode(0o444)).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    run_apart("open::child_process_opens_a_folder_without_write_permission", folder.path(), |child| {
        // SAFETY: the call only returns a number.
        if unsafe { libc::geteuid() } == 0 {
            // The superuser may write anywhere.
            child.uid(65_534);
        }
    });
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
#[ignore = "run by a_folder_without_write_permission_is_named"]
fn child_process_opens_a_folder_without_write_permission() {
    let folder = process_folder();
    let genesis = Maker::new(11, Size::SMALL).genesis();
    let options = Maker::options(&genesis);
    let error = Store::open(&folder, options).unwrap_err();
    assert_eq!(error, StoreError::ReadOnlyDirectory { path: folder.clone() });
    let error = Store::open(folder.join("new"), options).unwrap_err();
    assert_eq!(error, StoreError::ReadOnlyDirectory { path: folder.join("new") });
    // A worker that may only write the lock file.
    let store = Store::open(&folder, StoreOptions { read_only: true, ..options }).unwrap();
    assert_eq!(store.head().unwrap().unwrap().number, 10);
}

#[test]
fn a_disk_without_space_preserves_the_last_commit() {
    let (folder, options, chain) = filled();
    run_apart("open::child_process_writes_to_a_disk_without_space", folder.path(), |_| {});
    assert_consistent(folder.path(), options, &chain);
}

#[test]
#[ignore = "run by a_disk_without_space_preserves_the_last_commit"]
fn child_process_writes_to_a_disk_without_space() {
    let folder = process_folder();
    let mut maker = Maker::new(11, Size::SMALL);
    let genesis = maker.genesis();
    let chain = maker.chain(&genesis, 500);
    let length = fs::metadata(folder.join("data.mdb")).unwrap().len();
    let limit = libc::rlimit { rlim_cur: length, rlim_max: length };
    // SAFETY: only this test runs in this process. From now on files cannot grow,
    // and a write that would extend one fails.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limit), 0);
    }
    let store = Store::open(&folder, Maker::options(&genesis)).unwrap();
    assert_eq!(store.write(&sealed(&chain[10..])).unwrap_err(), StoreError::DiskFull);
    assert_eq!(store.head().unwrap().unwrap().hash, chain[9].hash());
    let reader = store.reader().unwrap();
    assert_eq!(reader.block(10).unwrap().unwrap().hash, chain[9].hash());
}

/// LMDB does not write pages that a transaction allocated at the end of the file and freed again.
#[test]
fn a_file_that_ends_before_free_pages_is_consistent() {
    let (folder, options, chain) = filled();
    let env = dump::open(folder.path());
    let table = dump::table(&env, "codes");
    let mut txn = env.write_txn().unwrap();
    table.put(&mut txn, b"long", &vec![7; 100_000]).unwrap();
    table.put(&mut txn, b"short", b"value").unwrap();
    table.delete(&mut txn, b"long").unwrap();
    txn.commit().unwrap();
    env.prepare_for_closing().wait();
    let store = Store::open(folder.path(), options).unwrap();
    let stats = store.stats().unwrap();
    assert!(stats.file_size < stats.map_used, "{stats:?}");
    drop(store);
    assert_consistent(folder.path(), options, &chain);
    let data = folder.path().join("data.mdb");
    let used = fs::metadata(&data).unwrap().len() - 4_096;
    fs::OpenOptions::new().write(true).open(&data).unwrap().set_len(used).unwrap();
    let error = Store::open(folder.path(), options).unwrap_err();
    assert_eq!(error, StoreError::Truncated { path: data, length: used, expected: stats.map_used });
}

//! A writer that is killed while another process, such as a follower, has the store open.

use std::{
    fs::OpenOptions,
    io::{BufRead, BufReader},
    os::unix::fs::FileExt,
    path::Path,
    process::{Child, Stdio},
};

use foreseal_store::{Store, StoreOptions};
use tempfile::tempdir;

use crate::{
    script::{Script, done},
    support::{
        dump,
        process::{process_folder, test_process},
    },
};

const SEED: u64 = 5;
const WRITES: usize = 8;
/// Offset of the number of the newest published commit in LMDB's lock file (`MDB_txbody.mtb_txnid`).
const PUBLISHED: u64 = 8;

/// Starts an ignored test of this file as a process of its own.
fn start(test: &str, folder: &Path) -> Child {
    test_process(&format!("killed_writer::{test}"), folder).stdout(Stdio::piped()).spawn().unwrap()
}

/// The commit is durable although its number was not published. The next writer must continue after it.
#[test]
fn a_writer_continues_after_an_unpublished_commit() {
    let script = Script::new(SEED, WRITES);
    let folder = tempdir().unwrap();
    let first = Store::open(folder.path(), script.options).unwrap();
    (0..WRITES / 2).for_each(|write| script.run(&first, write));
    drop(first);
    // Another process must have the store open: otherwise the next one initializes the lock file again.
    let follower = Store::open(folder.path(), StoreOptions { read_only: true, ..script.options }).unwrap();

    let mut killed = start("child_process_is_killed_with_the_write_lock", folder.path());
    let mut lines = BufReader::new(killed.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line == "locked"));
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(start("child_process_unpublishes_the_newest_commit", folder.path()).wait().unwrap().success());
    assert_eq!(done(&follower), WRITES / 2 - 1, "the follower reads the commit before");

    let next = start("child_process_writes_the_remaining_blocks", folder.path()).wait_with_output().unwrap();
    assert!(next.status.success(), "{}", String::from_utf8_lossy(&next.stdout));
    assert_eq!(done(&follower), WRITES);
}

#[test]
#[ignore = "run by another test of this file, which kills it"]
fn child_process_is_killed_with_the_write_lock() {
    let env = dump::open(&process_folder());
    let _locked = env.write_txn().unwrap();
    println!("\nlocked");
    loop {
        std::thread::park();
    }
}

/// Takes back the publication of the newest commit, as if its writer had been killed just before it. This is a process
/// of its own, because closing the lock file releases all locks that its process holds on it.
#[test]
#[ignore = "run by another test of this file"]
fn child_process_unpublishes_the_newest_commit() {
    let lock = process_folder().join("lock.mdb");
    let lock = OpenOptions::new().read(true).write(true).open(lock).unwrap();
    let mut number = [0; 8];
    lock.read_exact_at(&mut number, PUBLISHED).unwrap();
    lock.write_all_at(&(u64::from_ne_bytes(number) - 1).to_ne_bytes(), PUBLISHED).unwrap();
}

#[test]
#[ignore = "run by another test of this file"]
fn child_process_writes_the_remaining_blocks() {
    let script = Script::new(SEED, WRITES);
    let store = Store::open(process_folder(), script.options).unwrap();
    assert_eq!(done(&store), WRITES / 2);
    (done(&store)..WRITES).for_each(|write| script.run(&store, write));
}

//! A copy holds the content of the store at one moment, regardless of concurrent writes.

use std::{
    fs::{self, File},
    io::{self, Write},
    ops::ControlFlow,
    sync::atomic::{AtomicBool, Ordering},
};

use crate::support::{Maker, Size, sealed};
use foreseal_store::{Store, StoreCopy, StoreError, StoreOptions};
use tempfile::tempdir;

#[test]
fn a_copy_made_during_writes_is_consistent() {
    let mut maker = Maker::new(21, Size::SMALL);
    let genesis = maker.genesis();
    let options = Maker::options(&genesis);
    let mut chain = maker.chain(&genesis, 60);
    chain.insert(0, genesis);
    let folder = tempdir().unwrap();
    let store = Store::open(folder.path(), options).unwrap();
    store.write(&sealed(&chain[..20])).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for block in &chain[20..] {
                store.write(std::slice::from_ref(&block.sealed)).unwrap();
            }
            done.store(true, Ordering::Release);
        });
        while !done.load(Ordering::Acquire) {
            let before = store.head().unwrap().unwrap().number;
            let copy = tempdir().unwrap();
            let mut file = File::create(copy.path().join("data.mdb")).unwrap();
            let progress = StoreCopy::from_store(&store).copy(&mut |bytes| file.write_all(bytes)).unwrap();
            drop(file);
            let after = store.head().unwrap().unwrap().number;
            let copied = Store::open(copy.path(), options).unwrap();
            assert_eq!(copied.progress().unwrap(), progress, "the progress is that of the copied version");
            let head = copied.head().unwrap().unwrap();
            assert!((before..=after).contains(&head.number));
            assert_eq!(head.hash, chain[usize::try_from(head.number).unwrap()].hash());
            let verified = copied.verify(&mut |_| ControlFlow::Continue(())).unwrap();
            assert_eq!(verified.faults, vec![]);
        }
    });
}

#[test]
fn a_full_destination_ends_the_copy() {
    let mut maker = Maker::new(22, Size::SMALL);
    let genesis = maker.genesis();
    let options = Maker::options(&genesis);
    let folder = tempdir().unwrap();
    let store = Store::open(folder.path(), options).unwrap();
    store.write(&sealed(&[genesis])).unwrap();
    let copied = StoreCopy::from_store(&store).copy(&mut |_| Err(io::Error::other("no more")));
    assert!(matches!(&copied, Err(StoreError::Io { why, .. }) if why == "no more"), "{copied:?}");
    assert!(store.head().unwrap().is_some());
}

#[test]
fn a_folder_without_a_store_is_left_empty() {
    let folder = tempdir().unwrap();
    let options = StoreOptions::new(1, alloy_primitives::B256::ZERO);
    assert!(matches!(StoreCopy::open(folder.path(), &options).err(), Some(StoreError::Absent { .. })));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

//! Pages of the file that are unmapped from the process.
#![cfg(target_os = "linux")]

use std::{fs, path::Path};

use foreseal_store::{Store, release_mapped_pages};
use tempfile::tempdir;

use crate::support::{Made, Maker, Size, sealed};

/// Returns the resident bytes of the map of the store in `folder`.
fn resident(folder: &Path) -> u64 {
    let file = folder.canonicalize().unwrap().join("data.mdb");
    let maps = fs::read_to_string("/proc/self/smaps").unwrap();
    let mut lines = maps.lines().skip_while(|line| !line.ends_with(file.to_str().unwrap()));
    let line = lines.find_map(|line| line.strip_prefix("Rss:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
fn released_pages_are_read_again_and_blocks_are_written_after_them() {
    let mut maker = Maker::new(5, Size::SMALL);
    let genesis = maker.genesis();
    let folder = tempdir().unwrap();
    let store = Store::open(folder.path(), Maker::options(&genesis)).unwrap();
    let mut chain = maker.chain(&genesis, 20);
    let later = chain.split_off(10);
    chain.insert(0, genesis);
    store.write(&sealed(&chain)).unwrap();
    let read = |chain: &[Made]| {
        let reader = store.reader().unwrap();
        for made in chain {
            let block = reader.block(made.number()).unwrap().unwrap();
            assert_eq!(block.hash, made.hash());
        }
    };
    read(&chain);
    let mapped = resident(folder.path());
    assert!(mapped > 0);
    store.release_mapped_pages().unwrap();
    assert_eq!(resident(folder.path()), 0);
    read(&chain);
    assert!(resident(folder.path()) > 0);
    release_mapped_pages().unwrap();
    store.write(&sealed(&later)).unwrap();
    read(&chain);
    read(&later);
}

#[test]
fn reads_during_releases_return_what_was_written() {
    let mut maker = Maker::new(6, Size::SMALL);
    let genesis = maker.genesis();
    let folder = tempdir().unwrap();
    let store = Store::open(folder.path(), Maker::options(&genesis)).unwrap();
    let mut chain = maker.chain(&genesis, 30);
    chain.insert(0, genesis);
    let blocks = sealed(&chain);
    std::thread::scope(|threads| {
        let writer = threads
            .spawn(|| blocks.iter().for_each(|block| store.write(std::slice::from_ref(block)).unwrap()));
        while !writer.is_finished() {
            store.release_mapped_pages().unwrap();
            let Some(head) = store.head().unwrap() else { continue };
            let stored = store.reader().unwrap().block(head.number).unwrap().unwrap();
            assert_eq!(stored.hash, head.hash);
        }
    });
    assert_eq!(store.head().unwrap().unwrap().hash, chain.last().unwrap().hash());
}

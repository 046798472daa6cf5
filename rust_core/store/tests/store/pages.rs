//! Page checksums: a changed bit in the file is an error, never a wrong result.

use std::ops::ControlFlow;
use std::{path::Path, sync::Arc};

use crate::support::{Made, Maker, Size, damage, dump, sealed};
use alloy_primitives::{Address, U256};
use foreseal_state::{State, StateStore};
use foreseal_store::{Reader, ScrubPosition, Scrubbed, Store, StoreError, StoreOptions};
use heed::{CommitOrAbort, types::Bytes};
use lmdb_master_sys::foreseal_fold;
use rand::{Rng, SeedableRng, rngs::StdRng};
use tempfile::{TempDir, tempdir};

const BLOCKS: usize = 24;

fn filled(seed: u64) -> (TempDir, StoreOptions, Vec<Made>) {
    let mut maker = Maker::new(seed, Size::SMALL);
    let genesis = maker.genesis();
    let mut chain = maker.chain(&genesis, BLOCKS);
    let options = Maker::options(&genesis);
    chain.insert(0, genesis);
    let folder = tempdir().unwrap();
    // Several commits, so that there are free pages.
    let store = Store::open(folder.path(), options).unwrap();
    chain.chunks(5).for_each(|chunk| store.write(&sealed(chunk)).unwrap());
    (folder, options, chain)
}

/// Reads all pages, in portions of `portion` bytes.
fn scrub(store: &Store, portion: u64) -> Result<Scrubbed, StoreError> {
    let (mut position, mut all) = (ScrubPosition::default(), Scrubbed::default());
    loop {
        let scrubbed = store.scrub(&mut position, portion)?;
        all.bytes += scrubbed.bytes;
        all.unchecked += scrubbed.unchecked;
        all.faults.extend(scrubbed.faults);
        if scrubbed.complete {
            return Ok(Scrubbed { complete: true, ..all });
        }
    }
}

/// Results of all queries to a store, and the number of errors.
#[derive(Default)]
struct Answers {
    results: Vec<Option<String>>,
    damaged: usize,
}

impl Answers {
    fn add(&mut self, answer: Result<String, String>) {
        match answer {
            Ok(answer) => self.results.push(Some(answer)),
            Err(why) => {
                assert!(why.contains("damaged"), "{why} after {} answers", self.results.len());
                self.results.push(None);
                self.damaged += 1;
            }
        }
    }

    fn add_result<T: std::fmt::Debug, E: std::fmt::Display>(&mut self, answer: Result<T, E>) {
        self.add(answer.map(|answer| format!("{answer:?}")).map_err(|error| error.to_string()));
    }
}

fn answers(reader: &Reader, chain: &[Made]) -> Answers {
    let mut answers = Answers::default();
    for made in chain {
        let (number, block) = (made.number(), &made.sealed.block);
        answers.add_result(reader.block(number));
        answers.add_result(reader.number_of(&block.hash));
        answers.add_result(reader.steps(number));
        for (index, transaction) in (0..).zip(&block.transactions) {
            answers.add_result(reader.receipt(number, index));
            answers.add_result(reader.transaction_position(&transaction.hash()));
        }
        // These hashes do not exist: absence is a result as well.
        answers.add_result(reader.transaction_position(&block.header.state_root));
        let state = State::from_store(Arc::new(reader.clone()), number, made.state.root());
        for address in (0..42).step_by(3).map(|seed| Address::left_padding_from(&[seed])) {
            answers.add_result(StateStore::account(reader, &address, number));
            for slot in (0..30).step_by(4).map(U256::from) {
                answers.add_result(reader.slot(&address, &slot, number));
            }
            answers.add_result(state.prove_account(&address, &[U256::ONE]));
        }
    }
    answers
}

/// A changed bit changes the checksum in the page header, at any position in a page of up to 64 KiB.
#[test]
fn every_single_bit_changes_the_folded_checksum() {
    // Returns the CRC-32C pattern of a changed bit that is followed by one more bit.
    let step = |sum: u32| (sum >> 1) ^ if sum & 1 == 1 { 0x82f6_3b78 } else { 0 };
    let mut pattern = step(1);
    let last = crc32c::crc32c(&[0x80]) ^ crc32c::crc32c(&[0]);
    assert_eq!(pattern, last, "the pattern of the last bit");
    for bit in 0..(1_u32 << 19) {
        assert_ne!(foreseal_fold(pattern), 0, "bit {bit} before the end");
        pattern = step(pattern);
    }
}

#[test]
fn a_changed_bit_never_changes_a_result() {
    let (folder, options, chain) = filled(1);
    let expected = answers(&Store::open(folder.path(), options).unwrap().reader().unwrap(), &chain).results;
    let content = std::fs::read(folder.path().join("data.mdb")).unwrap();
    let mut random = StdRng::seed_from_u64(9);
    let (mut at_open, mut at_read, mut scrubbed, mut unread) = (0, 0, 0, 0);
    for _ in 0..300 {
        let byte = random.random_range(0..content.len());
        damage::flip(folder.path(), byte, random.random_range(0..8));
        match Store::open(folder.path(), options) {
            Err(_) => at_open += 1,
            Ok(store) => {
                let reader = store.reader();
                let served = reader
                    .map_or(Answers { results: Vec::new(), damaged: 1 }, |reader| answers(&reader, &chain));
                for (result, expected) in served.results.iter().zip(&expected) {
                    assert!(
                        result.is_none() || result == expected,
                        "a changed bit of byte {byte} was served"
                    );
                }
                let faults = scrub(&store, 1 << 16).unwrap().faults;
                assert!(served.damaged == 0 || !faults.is_empty(), "a read found more than the scrub");
                match (served.damaged, faults.len()) {
                    (0, 0) => unread += 1,
                    (0, _) => scrubbed += 1,
                    _ => at_read += 1,
                }
                assert_eq!(store.damage().is_some(), served.damaged > 0 || !faults.is_empty());
            }
        }
        std::fs::write(folder.path().join("data.mdb"), &content).unwrap();
    }
    // Free pages and the unused end of the meta pages are never read.
    assert!(at_read > 50, "{at_open} {at_read} {scrubbed} {unread}");
}

/// A page that is erased, or overwritten by another page, is damage as well.
#[test]
fn a_page_at_another_position_is_damage() {
    let (folder, options, _) = filled(2);
    let data = folder.path().join("data.mdb");
    let used = page_of_table(folder.path(), options);
    let content = std::fs::read(&data).unwrap();
    for from in [None, Some(used - damage::PAGE), Some(used + damage::PAGE), Some(0)] {
        let mut bytes = content.clone();
        match from {
            Some(from) => bytes.copy_within(from..from + damage::PAGE, used),
            None => bytes[used..used + damage::PAGE].fill(0),
        }
        std::fs::write(&data, bytes).unwrap();
        let store = Store::open(folder.path(), options).unwrap();
        assert_eq!(scrub(&store, 1 << 20).unwrap().faults[0].offset, used as u64, "{from:?}");
    }
}

#[test]
fn nothing_is_written_after_damage_was_found() {
    let (folder, options, chain) = filled(3);
    let (last, stored) = chain.split_last().unwrap();
    let folder_before = tempdir().unwrap();
    let store = Store::open(folder_before.path(), options).unwrap();
    store.write(&sealed(stored)).unwrap();
    drop(store);
    drop(folder);
    let leaf = page_of_table(folder_before.path(), options);
    damage::flip(folder_before.path(), leaf + 2_000, 3);
    let store = Store::open(folder_before.path(), options).unwrap();
    let faults = scrub(&store, 1 << 20).unwrap().faults;
    assert_eq!(faults.len(), 1);
    assert_eq!(faults[0].offset, leaf as u64);
    let error = store.write(&sealed(std::slice::from_ref(last))).unwrap_err();
    assert_eq!(&error, store.damage().unwrap());
    assert_eq!(store.head().unwrap().unwrap().number, stored.len() as u64 - 1);
}

/// Returns the offset of a leaf page with transactions.
fn page_of_table(folder: &Path, options: StoreOptions) -> usize {
    let store = Store::open(folder, options).unwrap();
    let content = std::fs::read(folder.join("data.mdb")).unwrap();
    let transaction = store.reader().unwrap().transaction(3, 0).unwrap();
    let number = if transaction.is_some() { 3 } else { 4 };
    let transaction = store.reader().unwrap().transaction(number, 0).unwrap().unwrap();
    let encoded = transaction.encoded();
    let at = content.windows(encoded.len()).rposition(|bytes| bytes == &encoded[..]).unwrap();
    at - at % damage::PAGE
}

#[test]
fn a_scrub_in_portions_reads_the_same_pages() {
    let (folder, options, _) = filled(4);
    let store = Store::open(folder.path(), options).unwrap();
    let complete = scrub(&store, u64::MAX).unwrap();
    assert_eq!((complete.faults.len(), complete.unchecked), (0, 0));
    assert!(complete.bytes > 50 * damage::PAGE as u64);
    for portion in [1, 5_000, 100_000] {
        let portions = scrub(&store, portion).unwrap();
        assert!(portions.bytes >= complete.bytes, "each portion reads the branches above it again");
        assert_eq!((portions.faults.len(), portions.unchecked), (0, 0));
    }
}

#[test]
fn pages_without_checksums_are_reported() {
    let (folder, options, _) = filled(6);
    damage::without_checksums(folder.path());
    let store = Store::open(folder.path(), options).unwrap();
    let verified = store.verify(&mut |_| ControlFlow::Continue(())).unwrap();
    let why = &verified.faults.last().unwrap().why;
    assert!(why.contains("pages have no checksum"), "{why}");
    assert_eq!(verified.fault_count, 1);
}

/// Writes the checksum of a leaf page.
fn seal(page: &mut [u8]) {
    let flags = u16::from_ne_bytes([page[10], page[11]]) & 0xff;
    let sum = foreseal_fold(crc32c::crc32c_append(flags.into(), &page[12..]));
    let (low, high) = (u16::try_from(sum & 0xffff).unwrap(), u16::try_from((sum >> 16) << 8).unwrap());
    page[8..10].copy_from_slice(&low.to_ne_bytes());
    page[10..12].copy_from_slice(&(flags | high).to_ne_bytes());
}

/// Changes the node of a key whose value is on pages of its own, in every
/// leaf page with the key, and the checksums.
fn change_node(folder: &Path, wanted: &[u8], change: impl Fn(&mut [u8], u64)) {
    let data = folder.join("data.mdb");
    let mut bytes = std::fs::read(&data).unwrap();
    let mut changed = 0;
    for (number, page) in (0_u64..).zip(bytes.chunks_exact_mut(damage::PAGE)).skip(2) {
        let read_u16 = |page: &[u8], at: usize| usize::from(u16::from_ne_bytes([page[at], page[at + 1]]));
        if read_u16(page, 10) & 0x82 != 0x82 || page[..8] != number.to_ne_bytes() {
            continue;
        }
        for at in (16..read_u16(page, 12)).step_by(2) {
            let node = read_u16(page, at);
            let key = node + 8..node + 8 + read_u16(page, node + 6);
            if read_u16(page, node + 4) & 1 == 1 && &page[key] == wanted {
                change(&mut page[node..], number);
                changed += 1;
            }
        }
        seal(page);
    }
    assert!(changed > 0);
    std::fs::write(data, bytes).unwrap();
}

#[test]
fn a_value_larger_than_its_page_run_is_corrupted() {
    let at_page = |node: &mut [u8], page: u64| node[13..21].copy_from_slice(&page.to_ne_bytes());
    let of_length = |node: &mut [u8], _: u64| node[2..4].copy_from_slice(&1_u16.to_ne_bytes());
    let changes: [fn(&mut [u8], u64); 2] = [at_page, of_length];
    for change in changes {
        let (folder, _, _) = filled(5);
        let write = |length: usize| {
            let env = dump::open(folder.path());
            let table = dump::table(&env, "meta");
            let mut txn = env.write_txn().unwrap();
            table.put(&mut txn, b"large", &vec![7; length]).map_err(|e| e.to_string())?;
            txn.commit().map_err(|e| e.to_string())
        };
        write(6_000).unwrap();
        change_node(folder.path(), b"large", change);
        let env = dump::open(folder.path());
        let table = dump::table(&env, "meta");
        let read = table.get(&env.read_txn().unwrap(), b"large").map(|value| value.map(<[u8]>::len));
        assert!(matches!(read, Err(heed::Error::Mdb(heed::MdbError::Corrupted))), "{read:?}");
    }
}

/// A transaction with more changed pages than stay in memory writes some before its commit, and changes them again.
#[test]
fn a_transaction_larger_than_its_memory_is_committed() {
    const ENTRIES: u64 = 60_000;
    let folder = tempdir().unwrap();
    let env = dump::open(folder.path());
    env.create_databases_and_commit(env.write_txn().unwrap(), |opener, txn| {
        opener.create_database::<Bytes, Bytes>(txn, Some("large"))?;
        Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(()))
    })
    .unwrap()
    .commit()
    .unwrap();
    let table = dump::table(&env, "large");
    let mut txn = env.write_txn().unwrap();
    let key = |at: u64| at.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
    let value = |at: u64, round: u8| [at.to_be_bytes().as_slice(), &[round; 1_500]].concat();
    for at in 0..ENTRIES {
        table.put(&mut txn, &key(at), &value(at, 1)).unwrap();
    }
    for at in (0..ENTRIES).step_by(3) {
        table.put(&mut txn, &key(at), &value(at, 2)).unwrap();
    }
    for at in (0..ENTRIES).step_by(7) {
        table.delete(&mut txn, &key(at)).unwrap();
    }
    txn.commit().unwrap();
    let txn = env.read_txn().unwrap();
    for at in 0..ENTRIES {
        let round = if at.is_multiple_of(3) { 2 } else { 1 };
        let expected = (!at.is_multiple_of(7)).then(|| value(at, round));
        assert_eq!(table.get(&txn, &key(at)).unwrap(), expected.as_deref());
    }
}

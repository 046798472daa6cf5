//! Writing blocks and reading them again.

use std::slice::from_ref;

use crate::support::{Made, Maker, Size, sealed};
use alloy_primitives::Bytes;
use foreseal_primitives::Block;
use foreseal_store::{Reader, Store, StoreError, StoreOptions};
use tempfile::tempdir;

fn rlp(block: &Block) -> Vec<u8> {
    let mut bytes = Vec::new();
    block.encode(&mut bytes);
    bytes
}

/// Compares every query result about one block.
fn assert_block(reader: &Reader, made: &Made) {
    let (expected, number) = (&made.sealed.block, made.number());
    let block = reader.block(number).unwrap().unwrap();
    assert_eq!(rlp(&block), rlp(expected));
    assert_eq!((block.hash, block.size()), (expected.hash, expected.size()));
    assert_eq!(block.hash, block.header.hash_slow());
    assert_eq!(block.transactions, expected.transactions);
    assert_eq!(block.receipts, expected.receipts);
    assert_eq!(block.withdrawals, expected.withdrawals);
    assert_eq!(block.transactions_length, expected.transactions_length);

    assert_eq!(reader.block_hash(number).unwrap(), Some(expected.hash));
    assert_eq!(reader.number_of(&expected.hash).unwrap(), Some(number));
    let (hash, record) = reader.record(number).unwrap().unwrap();
    assert_eq!((hash, &record.header), (expected.hash, &expected.header));
    let receipts = reader.receipts(number).unwrap().unwrap();
    assert!(receipts.iter().eq(&expected.receipts));
    for ((index, transaction), receipt) in (0..).zip(&expected.transactions).zip(&expected.receipts) {
        assert_eq!(reader.transaction(number, index).unwrap().as_ref(), Some(transaction));
        assert_eq!(reader.receipt(number, index).unwrap().as_ref(), Some(&**receipt));
        assert_eq!(reader.transaction_position(&transaction.hash()).unwrap(), Some((number, index)));
    }
    let count = u32::try_from(expected.transactions.len()).unwrap();
    assert_eq!(reader.transaction(number, count).unwrap(), None);
    assert_eq!(reader.receipt(number, count).unwrap(), None);

    let logs =
        expected.receipts.iter().enumerate().flat_map(|(at, r)| r.logs.iter().map(move |log| (at, log)));
    for ((at, log), ordinal) in logs.zip(record.first_log..) {
        let stored = reader.log(ordinal).unwrap().unwrap();
        assert_eq!((stored.number, stored.transaction as usize, &stored.log), (number, at, log));
    }
}

fn assert_steps(reader: &Reader, made: &Made, in_window: bool) {
    let (steps, number) = (&made.sealed.steps, made.number());
    assert_eq!(&reader.steps(number).unwrap().unwrap(), steps);
    for (index, step) in (0..).zip(steps) {
        assert_eq!(reader.step(number, index).unwrap().as_ref(), Some(step));
        let position = in_window.then_some((number, index));
        assert_eq!(reader.step_position(&step.hash).unwrap(), position);
    }
}

#[test]
fn blocks_written_in_any_batches_are_read_after_a_restart() {
    let mut maker = Maker::new(1, Size::SMALL);
    let genesis = maker.genesis();
    let chain = maker.chain(&genesis, 60);
    let folder = tempdir().unwrap();
    let options = Maker::options(&genesis);
    let store = Store::open(folder.path(), options).unwrap();
    assert_eq!((store.head().unwrap(), store.writer_metadata().unwrap()), (None, Bytes::new()));
    store.write(from_ref(&genesis.sealed)).unwrap();
    let mut rest = chain.as_slice();
    for size in [1, 1, 7, 0, 20, 31] {
        let (batch, after) = rest.split_at(size);
        store.write(&sealed(batch)).unwrap();
        rest = after;
    }
    assert!(rest.is_empty());
    assert!(chain.iter().any(|made| !made.sealed.block.uncles.is_empty()));
    assert!(
        chain.iter().any(|made| made.sealed.block.receipts.iter().any(|receipt| !receipt.logs.is_empty()))
    );
    drop(store);

    let store = Store::open(folder.path(), options).unwrap();
    let progress = store.progress().unwrap();
    assert_eq!(progress.head.map(|head| head.hash), Some(chain[59].hash()));
    assert_eq!(progress.journal_sequence, chain[59].sealed.journal_sequence);
    assert_eq!(store.writer_metadata().unwrap(), chain[59].sealed.writer_metadata);
    let reader = store.reader().unwrap();
    for made in std::iter::once(&genesis).chain(&chain) {
        assert_block(&reader, made);
        assert_steps(&reader, made, true);
    }
    assert_eq!(reader.block(61).unwrap().map(|block| block.hash), None);
    assert_eq!(reader.log(progress.logs).unwrap(), None);

    let stats = store.stats().unwrap();
    let entries = |name| stats.tables.iter().find(|table| table.name == name).unwrap().entries;
    assert_eq!((stats.progress, entries("headers"), entries("logs")), (progress, 61, progress.logs));
    assert!(stats.file_size >= stats.tables.iter().map(|table| table.bytes).sum());
    assert!(stats.map_used <= stats.map_size);
}

#[test]
fn steps_are_found_by_hash_while_their_block_is_retained() {
    let mut maker = Maker::new(2, Size::SMALL);
    let genesis = maker.genesis();
    let chain = maker.chain(&genesis, 30);
    let folder = tempdir().unwrap();
    let options = StoreOptions { step_window: 10, ..Maker::options(&genesis) };
    let store = Store::open(folder.path(), options).unwrap();
    store.write(from_ref(&genesis.sealed)).unwrap();
    for batch in chain.chunks(4) {
        store.write(&sealed(batch)).unwrap();
        let reader = store.reader().unwrap();
        let head = store.head().unwrap().unwrap().number;
        for made in chain.iter().filter(|made| made.number() <= head) {
            assert_steps(&reader, made, made.number() + 10 > head);
        }
    }
}

#[test]
fn a_batch_with_a_non_consecutive_block_is_rejected() {
    let mut maker = Maker::new(3, Size::SMALL);
    let genesis = maker.genesis();
    let chain = maker.chain(&genesis, 3);
    let other = maker.chain(&genesis, 2);
    let folder = tempdir().unwrap();
    let store = Store::open(folder.path(), Maker::options(&genesis)).unwrap();
    let rejection = |blocks: &[Made], expected_head: Option<u64>| {
        let error = store.write(&sealed(blocks)).unwrap_err();
        assert_eq!(store.head().unwrap().map(|head| head.number), expected_head);
        error
    };
    let first = rejection(&chain[..1], None);
    assert_eq!(
        first.to_string(),
        "store: block 1 cannot be written: the store is empty: genesis comes first"
    );
    store.write(from_ref(&genesis.sealed)).unwrap();
    let again = rejection(from_ref(&genesis), Some(0));
    assert!(matches!(again, StoreError::OutOfOrder { number: 0, .. }), "{again}");
    let gap = rejection(&[chain[0].clone(), chain[2].clone()], Some(0));
    assert!(matches!(gap, StoreError::OutOfOrder { number: 3, .. }), "{gap}");
    let branch = rejection(&[chain[0].clone(), other[1].clone()], Some(0));
    assert!(matches!(branch, StoreError::OutOfOrder { number: 2, .. }), "{branch}");
    let stranger = Maker::new(4, Size::SMALL).genesis();
    let folder = tempdir().unwrap();
    let store = Store::open(folder.path(), Maker::options(&genesis)).unwrap();
    let error = store.write(&[stranger.sealed]).unwrap_err();
    assert!(matches!(error, StoreError::OtherGenesis { .. }), "{error}");
}

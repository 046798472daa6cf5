//! Flashblocks over WebSocket, read with the types of op-alloy.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod driver;
mod reader;

use std::net::SocketAddr;

use alloy_primitives::{Address, U256};
use driver::TestDriver;
use foreseal_state::StateReader as _;
use foreseal_testkit::wait_for;
use op_alloy_consensus::OpTxReceipt as _;
use op_alloy_rpc_types_engine::OpFlashblockPayload;
use reader::{TestReader, folded_hash, raw_frames};
use tokio_tungstenite::tungstenite::Message;

fn driver() -> (tempfile::TempDir, TestDriver) {
    let directory = tempfile::tempdir().unwrap();
    let driver = TestDriver::start(directory.path());
    (directory, driver)
}

fn indices(messages: &[OpFlashblockPayload]) -> Vec<u64> {
    messages.iter().map(|message| message.index).collect()
}

#[test]
fn flashblocks_fold_to_the_sealed_block() {
    let (_directory, mut driver) = driver();
    let mut reader = TestReader::connect(driver.address());
    reader.ping();
    for number in 1..=3 {
        let deposit = driver.deposit(10);
        let id = driver.begin(&[deposit]);
        (1..4).for_each(|transactions| driver.step(transactions));
        let view = driver.node.view().unwrap();
        let messages = reader.take(4);
        assert_eq!(indices(&messages), [0, 1, 2, 3]);
        for (message, step) in messages.iter().zip(&view.pending().steps) {
            assert_eq!(message.payload_id.to_string(), id);
            assert_eq!(message.metadata.block_number, number);
            assert_eq!(message.base.is_some(), message.index == 0);
            assert_eq!(message.diff.block_hash, step.hash);
            assert_eq!(message.diff.state_root, step.header.state_root);
            let state = step.state.as_ref().unwrap();
            assert!(!message.metadata.new_account_balances.is_empty());
            for (address, balance) in &message.metadata.new_account_balances {
                let account = state.account(address).unwrap();
                assert_eq!(account.map_or(U256::ZERO, |account| account.balance), *balance);
            }
        }
        // Each prefix folds to the hash of its step, and the whole to the sealed block.
        for (count, message) in (1..).zip(&messages) {
            assert_eq!(folded_hash(&messages[..count]), message.diff.block_hash);
        }
        assert_eq!(folded_hash(&messages), driver.seal(&id));
    }
}

#[test]
fn metadata_has_the_receipts_of_the_step() {
    let (_directory, mut driver) = driver();
    let mut reader = TestReader::connect(driver.address());
    let deposit = driver.deposit(10);
    driver.begin(&[deposit]);
    driver.step(5);
    let view = driver.node.view().unwrap();
    let block = &view.pending().block;
    let messages = reader.take(2);
    let receipts = messages.iter().flat_map(|message| &message.metadata.receipts);
    assert_eq!(receipts.clone().count(), 6);
    for (hash, receipt) in receipts {
        let at = block.transactions.iter().position(|transaction| transaction.hash() == *hash).unwrap();
        let ours = &block.receipts[at];
        let theirs = receipt.as_receipt();
        assert_eq!(theirs.status, ours.status);
        assert_eq!(theirs.cumulative_gas_used, ours.cumulative_gas_used);
        assert_eq!(theirs.logs, ours.logs);
        assert_eq!(receipt.deposit_nonce(), ours.deposit_nonce);
    }
    let opening = &messages[0].metadata;
    assert_eq!(opening.receipts.len(), 1);
    assert_eq!(opening.new_account_balances[&Address::repeat_byte(0xad)], U256::from(7));
}

#[test]
fn a_reader_in_mid_block_begins_with_the_open_block() {
    let (_directory, mut driver) = driver();
    let deposit = driver.deposit(10);
    let first = driver.begin(&[deposit]);
    driver.step(1);
    driver.seal(&first);
    let deposit = driver.deposit(10);
    let id = driver.begin(&[deposit]);
    driver.step(2);
    driver.step(1);
    let mut readers = Vec::new();
    // Readers join while steps are made.
    for _ in 0..3 {
        let mut reader = TestReader::connect(driver.address());
        reader.ping();
        readers.push(reader);
        driver.step(1);
    }
    let sealed = driver.seal(&id);
    let next = driver.begin(&[]);
    for mut reader in readers {
        let messages = reader.take(7);
        assert_eq!(indices(&messages), [0, 1, 2, 3, 4, 5, 0]);
        assert_eq!(folded_hash(&messages[..6]), sealed);
        assert_eq!(messages[6].payload_id.to_string(), next);
    }
}

#[test]
fn a_withdrawn_payload_is_not_continued() {
    let (_directory, mut driver) = driver();
    let mut reader = TestReader::connect(driver.address());
    reader.ping();
    let deposit = driver.deposit(10);
    let abandoned = driver.begin(&[deposit]);
    driver.step(2);
    let deposit = driver.deposit(10);
    let id = driver.begin(&[deposit]);
    let messages = reader.take(3);
    assert_eq!(indices(&messages), [0, 1, 0]);
    assert_eq!(messages[0].payload_id.to_string(), abandoned);
    assert_eq!(messages[2].payload_id.to_string(), id);
    assert_ne!(id, abandoned);
    // The block was withdrawn: a new reader gets the messages of its successor only.
    let joined = TestReader::connect(driver.address()).next();
    assert_eq!(joined, messages[2]);
    assert_eq!(folded_hash(&messages[2..]), driver.seal(&id));
}

#[test]
fn an_open_block_is_published_once_the_driver_continues_it() {
    let directory = tempfile::tempdir().unwrap();
    let mut driver = TestDriver::start(directory.path());
    let deposits = [driver.deposit(10)];
    let id = driver.begin(&deposits);
    driver.step(2);
    let shown = driver.node.view().unwrap().cursor();
    let mut driver = driver.restart(directory.path());
    assert_eq!(driver.node.view().unwrap().cursor(), shown);
    let mut reader = TestReader::connect(driver.address());
    reader.ping();
    assert_eq!(driver.begin(&deposits), id);
    let messages = reader.take(2);
    assert_eq!(indices(&messages), [0, 1]);
    assert_eq!(messages[1].diff.block_hash, shown.hash);
    driver.step(1);
    let last = reader.next();
    assert_eq!((last.payload_id.to_string(), last.index), (id, 2));
}

#[test]
fn large_messages_are_fragmented() {
    let (_directory, mut driver) = driver();
    let deposits = [driver.deposit(100_000), driver.deposit(10)];
    driver.begin(&deposits);
    let frames = raw_frames(driver.address());
    assert!(frames.len() > 6);
    assert!(frames.iter().all(|frame| frame.length < 32_768));
    let (first, last) = (frames.first().unwrap(), frames.last().unwrap());
    // Text without the last fragment, continuations, and the last one.
    assert_eq!((first.first, last.first), (0x01, 0x80));
    assert!(frames[1..frames.len() - 1].iter().all(|frame| frame.first == 0x00));
    let json: Vec<u8> = frames.iter().flat_map(|frame| frame.payload.iter().copied()).collect();
    let message: OpFlashblockPayload = serde_json::from_slice(&json).unwrap();
    assert_eq!(message.diff.transactions, deposits);
    assert_eq!(TestReader::connect(driver.address()).next(), message);
}

#[test]
fn a_slow_reader_is_disconnected_and_others_are_not() {
    let (_directory, mut driver) = driver();
    let mut slow = TestReader::connect(driver.address());
    slow.ping();
    let mut fast = TestReader::connect(driver.address());
    fast.ping();
    // Each message has 4 MB: together more than the queue and the buffers of the sockets.
    let count = 16;
    for _ in 0..count {
        let deposit = driver.deposit(2_000_000);
        let id = driver.begin(&[deposit]);
        assert_eq!(fast.next().payload_id.to_string(), id);
    }
    let (messages, code) = slow.read_to_end();
    assert!(messages < count, "{messages}");
    assert!(matches!(code, None | Some(1013)), "{code:?}");
    let id = driver.begin(&[]);
    assert_eq!(fast.next().payload_id.to_string(), id);
}

fn status(address: SocketAddr, path: &str, headers: &[(&'static str, &'static str)]) -> u16 {
    TestReader::try_connect(address, path, headers).map_or_else(|status| status.as_u16(), |_| 101)
}

#[test]
fn requests_of_browsers_and_of_other_paths_are_rejected() {
    let (_directory, driver) = driver();
    let address = driver.address();
    assert_eq!(status(address, "/ws", &[]), 101);
    assert_eq!(status(address, "/other", &[]), 404);
    assert_eq!(status(address, "/", &[("origin", "https://example.org")]), 403);
}

#[test]
fn further_readers_are_rejected_until_one_leaves() {
    let (_directory, mut driver) = driver();
    let address = driver.address();
    let mut readers: Vec<_> = (0..64).map(|_| TestReader::connect(address)).collect();
    assert_eq!(status(address, "/", &[]), 503);
    readers.pop();
    wait_for("a place is free", || status(address, "/", &[]) == 101);
    let id = driver.begin(&[]);
    assert!(readers.iter_mut().all(|reader| reader.next().payload_id.to_string() == id));
}

#[test]
fn a_reader_that_sends_too_much_is_disconnected() {
    let (_directory, driver) = driver();
    let mut reader = TestReader::connect(driver.address());
    let sent = (0..10_000).try_for_each(|_| reader.send(Message::Ping("again".into())));
    let (messages, code) = reader.read_to_end();
    assert_eq!(messages, 0);
    assert!(sent.is_err() || matches!(code, None | Some(1008)), "{code:?}");
    // A large message ends the connection as well.
    let mut reader = TestReader::connect(driver.address());
    assert!(reader.send(Message::Text("x".repeat(10_000).into())).is_ok());
    assert_eq!(reader.read_to_end().0, 0);
}

#[test]
fn readers_are_notified_when_the_node_stops() {
    let (_directory, mut driver) = driver();
    let mut reader = TestReader::connect(driver.address());
    reader.ping();
    let reading = std::thread::spawn(move || reader.read_to_end());
    driver.server = None;
    assert_eq!(reading.join().unwrap(), (0, Some(1001)));
}

#[test]
fn a_reader_between_two_blocks_gets_no_old_messages() {
    let (_directory, mut driver) = driver();
    let deposit = driver.deposit(10);
    let id = driver.begin(&[deposit]);
    driver.step(1);
    driver.seal(&id);
    let mut reader = TestReader::connect(driver.address());
    reader.ping();
    let id = driver.begin(&[]);
    let message = reader.next();
    assert_eq!((message.payload_id.to_string(), message.index), (id, 0));
}

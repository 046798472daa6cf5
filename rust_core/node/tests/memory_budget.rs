//! Blocks of many logs, which leave memory by their bytes and stay readable.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::{ops::ControlFlow, path::Path, sync::Arc, time::Duration};

use alloy_genesis::GenesisAccount;
use alloy_primitives::{Address, Bytes, TxKind, U256, bytes};
use foreseal_chain::{Change, Entry, EventKind, SteppedClock, View, changes};
use foreseal_journal::RealDisk;
use foreseal_node::{MemoryBudget, MemoryUse, Node, Settings, StoreSettings};
use foreseal_testkit::Wallet;
use support::{Bench, settings};

/// Emits empty logs until its gas is used.
const LOGGER: Address = Address::repeat_byte(0x10);
const LOGGER_CODE: Bytes = bytes!("5b5f5fa061ffff5a115f5700");
/// Gas of one call, for about 41,000 logs.
const GAS: u64 = 16_700_000;
const BLOCKS: u64 = 12;

fn logging(datadir: &Path, wallets: &[Wallet], memory: MemoryBudget) -> Bench {
    with_store(datadir, wallets, StoreSettings::default().with_memory(memory))
}

fn with_store(datadir: &Path, wallets: &[Wallet], store: StoreSettings) -> Bench {
    let mut settings = settings(datadir, wallets);
    let account = GenesisAccount { nonce: Some(1), code: Some(LOGGER_CODE), ..Default::default() };
    settings.genesis.as_mut().unwrap().alloc.insert(LOGGER, account);
    let settings = Settings { store, ..settings };
    Bench::open(settings, Arc::<SteppedClock>::default(), Arc::new(RealDisk)).unwrap()
}

/// Seals a block with one call of [`LOGGER`].
fn seal_logs(bench: &mut Bench, wallet: &Wallet, nonce: u64) {
    let call = wallet.legacy(nonce, TxKind::Call(LOGGER), U256::ZERO, GAS, Bytes::new(), 5_000_000_000);
    bench.node.submit(&call).unwrap();
    bench.seal();
}

/// Returns the bytes of a use of memory, and its maximum.
fn used(node: &Node, name: &str) -> (u64, u64) {
    let metrics = node.metrics().caches.into_iter().find(|cache| cache.name == name).unwrap();
    (metrics.bytes, metrics.capacity)
}

/// Returns the number of logs of each sealed block after genesis.
fn log_counts(view: &View) -> Vec<usize> {
    let blocks = (1..=view.latest().number()).map(|number| view.sealed(number).unwrap().unwrap());
    let logs = blocks.map(|block| {
        assert_eq!(block.state.root(), block.block.header.state_root);
        block.block.receipts.iter().map(|receipt| receipt.logs.len()).sum()
    });
    logs.collect()
}

#[test]
fn large_blocks_leave_memory_and_stay_readable() {
    let (folder, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(1));
    let budget = MemoryBudget::new(48 << 20);
    let mut bench = logging(folder.path(), &wallets, budget);
    for nonce in 0..BLOCKS {
        seal_logs(&mut bench, &wallets[0], nonce);
        bench.node.drain().unwrap();
        let caches = bench.node.metrics().caches;
        let sum: u64 =
            caches.iter().filter(|cache| cache.name != "unstored_blocks").map(|cache| cache.bytes).sum();
        assert!(sum <= budget.bytes(), "{sum} bytes in {caches:?}");
    }
    let counts = log_counts(&bench.view());
    let full = counts.iter().filter(|logs| **logs > 40_000).count();
    assert_eq!(full as u64, BLOCKS, "every block is complete: {counts:?}");
    // One block is larger than 3 MB; all of them are larger than the share.
    let (bytes, share) = used(&bench.node, "sealed_blocks");
    assert!(share == budget.share(MemoryUse::SealedBlocks) && bytes <= share && share < BLOCKS * 3_000_000);
    let (unstored, _) = used(&bench.node, "unstored_blocks");
    assert_eq!(unstored, 0, "the store has every block");
}

#[test]
fn queued_views_of_a_slow_reader_are_folded_by_their_bytes() {
    let (folder, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(1));
    let budget = MemoryBudget::new(48 << 20);
    let mut bench = logging(folder.path(), &wallets, budget);
    let first = bench.view().cursor();
    bench.node.feed().drain(Duration::ZERO);
    let mut published = 0;
    for nonce in 0..BLOCKS {
        let before = bench.view().latest().number();
        seal_logs(&mut bench, &wallets[0], nonce);
        published += bench.view().latest().number() - before;
        bench.node.drain().unwrap();
        let (bytes, capacity) = used(&bench.node, "queued_views");
        assert!(bytes <= capacity, "{bytes} of {capacity}");
    }
    let entries = bench.node.feed().drain(Duration::ZERO);
    let mut cursor = first;
    let mut sealed = 0;
    for view in entries.iter().filter_map(view_of) {
        cursor = changes(view, cursor, &mut |change, _| {
            sealed += u64::from(matches!(change, Change::Sealed(_)));
            ControlFlow::Continue(())
        })
        .unwrap();
    }
    assert_eq!((cursor, sealed), (bench.view().cursor(), published), "the reader misses no block");
    let oldest = entries.iter().find_map(view_of).unwrap();
    assert!(oldest.latest().number() > 1, "the first views were folded");
}

#[test]
fn a_journal_above_its_size_loses_segments_that_the_store_has() {
    let (folder, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(1));
    let store = StoreSettings { retention_bytes: 6 << 20, ..StoreSettings::default() };
    let mut bench = with_store(folder.path(), &wallets, store);
    for nonce in 0..BLOCKS {
        seal_logs(&mut bench, &wallets[0], nonce);
        bench.node.drain().unwrap();
    }
    bench.seal();
    let files = std::fs::read_dir(folder.path().join("journal")).unwrap();
    let size: u64 = files.map(|file| file.unwrap().metadata().unwrap().len()).sum();
    // Every block has more than 1 MB in the journal. The newest segment is new.
    assert!(size < 9 << 20, "{size} bytes");
    assert_eq!(log_counts(&bench.view()).iter().filter(|logs| **logs > 40_000).count() as u64, BLOCKS);
}

fn view_of(entry: &Entry) -> Option<&Arc<View>> {
    if let EventKind::View(view) = &entry.what { Some(view) } else { None }
}

//! Import of chain files: the store is the one that writing block by block yields.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::{
    collections::BTreeSet,
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
};

use alloy_consensus::Transaction as _;
use alloy_primitives::Address;
use foreseal_chain::{ChainMeta, StoreMeta, Summary, datadir::STORE};
use foreseal_journal::RealDisk;
use foreseal_node::{Development, Node, NodeError, Settings, StoreSettings, export_chain, import_chain};
use foreseal_state::{State, StateError, StateStore};
use foreseal_store::{Progress, Reader, Store};
use foreseal_testkit::{TransactionKinds, Wallet, Workload};
use support::{Bench, open_node, settings};

/// Smallest proof window that the settings allow.
const PROOFS: u64 = 1_024;
/// Empty blocks between blocks with transactions. Three such stretches are five groups of an import, of which the
/// first two have left the proof window at the end.
const EMPTY: u64 = 800;

/// A chain file, and the settings with which it can be imported.
struct ChainFile {
    folder: tempfile::TempDir,
    wallets: Vec<Wallet>,
}

impl ChainFile {
    /// Makes a chain of blocks with all kinds of transactions, and of empty ones.
    fn new() -> Self {
        let (folder, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(6));
        let made = Self { folder, wallets };
        let development = Some(Development::default());
        let settings = Settings { development, ..made.settings("made") };
        let bench = Bench::open(settings.clone(), Arc::default(), Arc::new(RealDisk)).unwrap();
        let mut workload = Workload::new(made.wallets.clone(), TransactionKinds::WithoutBlobs, 11);
        for _ in 0..3 {
            for block in 0..40 {
                for _ in 0..block % 6 {
                    bench.node.submit(&workload.next_transaction()).unwrap();
                }
                bench.node.develop(|development| development.mine(1, Some(1))).unwrap();
            }
            bench.node.develop(|development| development.mine(EMPTY, Some(1))).unwrap();
        }
        bench.node.drain().unwrap();
        drop(bench);
        export_chain(&settings, Arc::new(RealDisk), &made.file(), &mut |_| true).unwrap();
        made
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("chain.rlp")
    }

    fn settings(&self, name: &str) -> Settings {
        let store = StoreSettings { proofs: PROOFS, ..StoreSettings::default() };
        // The whole journal is one segment, so that none is removed.
        Settings { store, segment_bytes: 1 << 30, ..settings(&self.folder.path().join(name), &self.wallets) }
    }

    fn import(&self, name: &str, file: &Path) -> Result<Summary, NodeError> {
        import_chain(&self.settings(name), Arc::new(RealDisk), file, &mut |_| true)
    }

    /// Interrupts an import after this number of blocks of the file.
    fn import_blocks(&self, name: &str, count: u64) -> Summary {
        let report = &mut |progress: foreseal_chain::Progress| progress.done < count;
        import_chain(&self.settings(name), Arc::new(RealDisk), &self.file(), report).unwrap()
    }

    /// Writes the store of `to` by a replay of the journal of `from`, block by block.
    fn replay(&self, from: &str, to: &str) {
        let (from, folder) = (self.folder.path().join(from), self.folder.path().join(to));
        copy(&from, &folder);
        fs::remove_dir_all(folder.join(STORE)).unwrap();
        let nothing = self.folder.path().join("empty.rlp");
        fs::write(&nothing, []).unwrap();
        assert_eq!(self.import(to, &nothing).unwrap().blocks, 0);
    }

    /// Opens a data directory without starting the node.
    fn open(&self, name: &str) -> Node {
        open_node(Settings { produce: false, ..self.settings(name) }).unwrap()
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() { copy(&path, &target) } else { fs::copy(&path, &target).map(|_| ()).unwrap() }
    }
}

/// Returns the accounts that the transactions of a store name or create.
fn addresses(reader: &Reader, head: u64) -> BTreeSet<Address> {
    let mut addresses = BTreeSet::new();
    for number in 0..=head {
        for transaction in &reader.block(number).unwrap().unwrap().transactions {
            addresses.insert(transaction.sender());
            addresses.insert(transaction.sender().create(transaction.envelope().nonce()));
            addresses.extend(transaction.envelope().to());
        }
        let receipts = reader.receipts(number).unwrap().unwrap();
        addresses.extend(receipts.iter().flat_map(|receipt| &receipt.logs).map(|log| log.address));
    }
    addresses
}

/// Returns all accounts and slots as of a block, whose trie nodes are read and checked.
fn whole_state(reader: &Reader, number: u64) -> Result<Vec<String>, StateError> {
    let (_, record) = reader.record(number)?.unwrap();
    let state = State::from_store(Arc::new(reader.clone()), number, record.header.state_root);
    let mut all = Vec::new();
    for account in state.iter_accounts() {
        let account = account?;
        let slots = state.iter_slots(account.hash)?.collect::<Result<Vec<_>, _>>()?;
        all.push(format!("{account:?} {slots:?}"));
    }
    Ok(all)
}

/// Compares everything that two stores return.
fn assert_equal(one: &Store, other: &Store) {
    let (left, right) = (one.reader().unwrap(), other.reader().unwrap());
    let (progress, head) = (one.progress().unwrap(), one.head().unwrap().unwrap());
    let same = |other: &Progress| Progress { journal_sequence: progress.journal_sequence, ..*other };
    assert_eq!(progress, same(&other.progress().unwrap()));
    for number in 0..=head.number {
        let block = left.block(number).unwrap().unwrap();
        assert_eq!(format!("{block:?}"), format!("{:?}", right.block(number).unwrap().unwrap()));
        assert_eq!(left.record(number).unwrap(), right.record(number).unwrap());
        assert_eq!(left.receipts(number).unwrap(), right.receipts(number).unwrap());
        assert_eq!(right.number_of(&block.hash).unwrap(), Some(number));
        for transaction in &block.transactions {
            let hash = transaction.hash();
            assert_eq!(left.transaction_position(&hash).unwrap(), right.transaction_position(&hash).unwrap());
        }
    }
    for ordinal in 0..progress.logs {
        assert_eq!(left.log(ordinal).unwrap(), right.log(ordinal).unwrap());
    }
    for address in addresses(&left, head.number) {
        for at in (0..=head.number).step_by(13).chain([head.number]) {
            assert_eq!(left.account(&address, at), right.account(&address, at), "{address} at {at}");
        }
    }
    assert_eq!(progress.proofs_from, head.number - PROOFS);
    for number in (progress.proofs_from..=head.number).step_by(101).chain([head.number]) {
        let state = whole_state(&left, number).unwrap();
        assert!(state == whole_state(&right, number).unwrap(), "the states of block {number} differ");
    }
    for reader in [left, right] {
        let outside = whole_state(&reader, progress.proofs_from - 1);
        assert!(matches!(outside, Err(StateError::Pruned { .. })), "{outside:?}");
    }
}

/// Returns the finality and the clock. The journal positions next to them depend on the speed of the store.
fn chain_meta(store: &Store) -> ChainMeta {
    StoreMeta::decode(&store.writer_metadata().unwrap()).unwrap().chain
}

/// Verifies a store completely.
fn assert_clean(store: &Store) {
    let verified = store.verify(&mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(verified.faults, []);
}

#[test]
fn an_import_writes_the_same_store_as_a_replay_of_its_blocks() {
    let chain = ChainFile::new();
    let imported = chain.import("imported", &chain.file()).unwrap();
    assert_eq!((imported.blocks, imported.head), (3 * (40 + EMPTY), 3 * (40 + EMPTY)));
    chain.replay("imported", "replayed");
    let (one, other) = (chain.open("imported"), chain.open("replayed"));
    assert_equal(one.store(), other.store());
    assert_eq!(one.store().progress().unwrap(), other.store().progress().unwrap());
    assert_eq!(chain_meta(one.store()), chain_meta(other.store()));
    assert_clean(one.store());
    assert_clean(other.store());

    // Interrupted within a group and at its end, and continued.
    for (end, known) in [(20, 0), (532, 20), (632, 532), (1_332, 632)] {
        let part = chain.import_blocks("interrupted", end);
        assert_eq!((part.blocks, part.known), (end - known, known));
        let stopped = chain.open("interrupted");
        assert_eq!(stopped.store().head().unwrap().unwrap().number, end);
        assert_clean(stopped.store());
    }
    // Interrupted among the blocks that the chain has.
    let part = chain.import_blocks("interrupted", 600);
    assert_eq!((part.blocks, part.known, part.head), (0, 600, 1_332));
    let rest = chain.import("interrupted", &chain.file()).unwrap();
    assert_eq!((rest.known, rest.hash), (1_332, imported.hash));
    let continued = chain.open("interrupted");
    assert_equal(continued.store(), one.store());
    assert_clean(continued.store());
}

#[test]
fn blocks_before_a_damaged_one_stay_imported() {
    let chain = ChainFile::new();
    let bytes = fs::read(chain.file()).unwrap();
    let cut = chain.folder.path().join("cut.rlp");
    fs::write(&cut, &bytes[..bytes.len() - 10]).unwrap();
    let error = chain.import("cut", &cut).unwrap_err();
    assert!(error.to_string().starts_with("cannot read a block from "), "{error}");
    let last = 3 * (40 + EMPTY);
    let stored = chain.open("cut").store().head().unwrap().unwrap();
    assert_eq!(stored.number, last - 1);
    let rest = chain.import("cut", &chain.file()).unwrap();
    assert_eq!((rest.blocks, rest.known, rest.head), (1, last - 1, last));
}

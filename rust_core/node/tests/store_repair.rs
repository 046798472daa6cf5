//! Repair of a damaged store, by each method, and the recorded end of the journal after it.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::{
    fs,
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::Arc,
};

use alloy_primitives::{B256, Bytes, TxKind, U256};
use foreseal_backup::{Backup, BackupSource, back_up};
use foreseal_chain::SteppedClock;
use foreseal_journal::{RealDisk, RecordedEnd, check, recorded_end};
use foreseal_node::{
    BlockSource, FetchPlan, NodeError, RepairMethod, RepairProgress, RepairSources, Settings, SourceChain,
    StoreRepair, StoreRepairError, StoreSettings,
};
use foreseal_store::StoreError;
use foreseal_testkit::{Fees, Wallet};
use support::{Bench, settings};

const PAGE: usize = 4096;
/// Input of a transaction of block 2; nothing else in the store has these bytes.
const INPUT: [u8; 600] = [0xab; 600];

/// Another node with sealed blocks, whose responses the test controls.
#[derive(Clone)]
struct OtherNode {
    chain_id: u64,
    blocks: Vec<(B256, Vec<u8>)>,
    fetched: Vec<u64>,
}

impl OtherNode {
    fn from_bench(bench: &Bench) -> Self {
        let view = bench.view();
        let blocks = (0..=view.latest().number()).map(|number| {
            let block = view.sealed(number).unwrap().unwrap();
            let mut bytes = Vec::new();
            block.block.encode(&mut bytes);
            (block.block.hash, bytes)
        });
        Self { chain_id: bench.node.spec().chain_id(), blocks: blocks.collect(), fetched: Vec::new() }
    }

    fn cut(&self, head: u64) -> Self {
        let mut cut = self.clone();
        cut.blocks.truncate(usize::try_from(head).unwrap() + 1);
        cut
    }
}

impl BlockSource for OtherNode {
    fn chain(&mut self) -> Result<SourceChain, String> {
        let Self { chain_id, blocks, .. } = self;
        Ok(SourceChain { chain_id: *chain_id, genesis: blocks[0].0, head: blocks.len() as u64 - 1 })
    }

    fn hash(&mut self, number: u64) -> Result<Option<B256>, String> {
        Ok(self.blocks.get(usize::try_from(number).unwrap()).map(|block| block.0))
    }

    fn block(&mut self, number: u64) -> Result<Vec<u8>, String> {
        self.fetched.push(number);
        let block = self.blocks.get(usize::try_from(number).unwrap());
        block.map(|block| block.1.clone()).ok_or_else(|| "connection refused".to_owned())
    }
}

/// A stopped node, and the sources for its repair.
struct Stopped {
    _folder: tempfile::TempDir,
    settings: Settings,
    clock: Arc<SteppedClock>,
    /// Another node with the same blocks.
    blocks: OtherNode,
    /// An early backup: the journal may begin after it.
    early: Backup,
    /// A late backup.
    late: Backup,
}

impl Stopped {
    /// Creates a chain of 40 blocks. With `trimmed` the journal begins after block 1.
    fn new(trimmed: bool) -> Self {
        let (folder, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(2));
        let (datadir, clock) = (folder.path().join("chain"), Arc::<SteppedClock>::default());
        let retention = if trimmed { 0 } else { 1_024 };
        let store = StoreSettings { retention, ..StoreSettings::default() };
        let settings = Settings { store, segment_bytes: 1 << 16, ..settings(&datadir, &wallets) };
        let mut bench = Bench::open(settings.clone(), clock.clone(), Arc::new(RealDisk)).unwrap();
        let (early, late) = (folder.path().join("early"), folder.path().join("late"));
        for block in 0..40_u8 {
            let fill = if block == 1 { INPUT.to_vec() } else { vec![block; 4_000] };
            let to = TxKind::Call(wallets[1].address);
            let (value, gas) = (U256::from(1), 500_000);
            let sent =
                wallets[0].eip1559(u64::from(block), to, value, gas, Bytes::from(fill), Fees::default());
            bench.node.submit(&sent).unwrap();
            bench.tick();
            bench.seal();
            bench.node.drain().unwrap();
            match block {
                4 => copy(&bench, &datadir, &early),
                38 => copy(&bench, &datadir, &late),
                _ => {}
            }
        }
        let blocks = OtherNode::from_bench(&bench);
        bench.node.save().unwrap();
        drop(bench);
        let first = check(&datadir.join("journal"), Arc::new(RealDisk)).unwrap().first_sequence;
        assert_eq!(first > 0, trimmed, "{first}");
        let [early, late] = [early, late].map(|folder| Backup { folder });
        Self { _folder: folder, settings, clock, blocks, early, late }
    }

    fn datadir(&self) -> &Path {
        &self.settings.datadir
    }

    fn data(&self) -> PathBuf {
        self.datadir().join("store/data.mdb")
    }

    /// Damages the page with the transaction of block 2.
    fn damage_a_block(&self) {
        let mut bytes = fs::read(self.data()).unwrap();
        let positions: Vec<usize> =
            (0..bytes.len() - INPUT.len()).filter(|at| bytes[*at..*at + INPUT.len()] == INPUT).collect();
        assert!(!positions.is_empty());
        for at in positions {
            bytes[at + 300] ^= 1;
        }
        fs::write(self.data(), bytes).unwrap();
    }

    /// Damages the roots, so that nothing in the store can be read.
    fn damage_everything(&self) {
        let mut bytes = fs::read(self.data()).unwrap();
        bytes[..4 * PAGE].fill(0);
        fs::write(self.data(), bytes).unwrap();
    }

    fn repair<'p>(&'p self, sources: RepairSources<'p>) -> StoreRepair<'p> {
        StoreRepair::lock(self.datadir(), &self.settings.store, sources).unwrap()
    }

    fn mark(&self) -> RecordedEnd {
        recorded_end(&self.datadir().join("journal"), &RealDisk).unwrap().unwrap()
    }

    fn open(&self) -> Result<Bench, NodeError> {
        Bench::open(self.settings.clone(), self.clock.clone(), Arc::new(RealDisk))
    }

    /// Asserts that the store is sound, the chain is unchanged, the recorded end agrees and the node
    /// continues. Also asserts that a start rejects a truncated journal.
    fn assert_repaired(&self, before: &RecordedEnd) {
        let (after, report) =
            (self.mark(), check(&self.datadir().join("journal"), Arc::new(RealDisk)).unwrap());
        assert_eq!((after.next, after.hash, after.tip), (before.next, before.hash, before.tip));
        assert_eq!((report.fault, report.missing), (None, None));
        assert_eq!(after.next, report.first_sequence + report.appends);
        let damaged = self.datadir().join("store.damaged");
        assert!(damaged.join("data.mdb").exists());
        fs::remove_dir_all(damaged).unwrap();
        let mut bench = self.open().unwrap();
        bench.node.drain().unwrap();
        let verified = bench.node.store().verify(&mut |_| ControlFlow::Continue(())).unwrap();
        assert_eq!(verified.faults, []);
        assert_eq!(OtherNode::from_bench(&bench).blocks, self.blocks.blocks);
        bench.seal();
        assert!(bench.view().latest().number() > self.blocks.blocks.len() as u64 - 1);
        bench.node.drain().unwrap();
        bench.node.save().unwrap();
        drop(bench);
        self.assert_a_cut_tail_is_rejected();
    }

    fn assert_a_cut_tail_is_rejected(&self) {
        let newest = newest_segment(self.datadir());
        let content = fs::read(&newest).unwrap();
        let used = content.iter().rposition(|byte| *byte != 0).unwrap() + 1;
        let mut cut = content.clone();
        cut[used / 2..].fill(0);
        fs::write(&newest, &cut).unwrap();
        let end = self.datadir().join("journal.end");
        let recorded = fs::read(&end).unwrap();
        let rejected = self.open().err().expect("rejected").to_string();
        assert!(rejected.contains("the journal has lost"), "{rejected}");
        // Without the recorded end, the store proves the loss.
        fs::remove_file(&end).unwrap();
        let rejected = self.open().err().expect("rejected").to_string();
        assert!(rejected.contains("the journal has lost"), "{rejected}");
        fs::write(end, recorded).unwrap();
        fs::write(newest, content).unwrap();
        drop(self.open().unwrap());
    }
}

fn newest_segment(datadir: &Path) -> PathBuf {
    let segments = fs::read_dir(datadir.join("journal")).unwrap();
    segments.map(|entry| entry.unwrap().path()).max().unwrap()
}

fn copy(bench: &Bench, datadir: &Path, target: &Path) {
    let map_size = StoreSettings::default().map_size;
    let source = BackupSource { datadir, store: Some(bench.node.store()), map_size, with_key: false };
    back_up(&source, target, std::time::Duration::ZERO, &mut |_| ControlFlow::Continue(())).unwrap();
}

fn go_on(_: RepairProgress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

#[test]
fn the_journal_rebuilds_the_store_and_its_end_agrees() {
    let stopped = Stopped::new(false);
    stopped.damage_a_block();
    let before = stopped.mark();
    let mut repair = stopped.repair(RepairSources::default());
    let plan = repair.plan(&mut go_on).unwrap();
    assert_eq!(plan.method, RepairMethod::Replay);
    repair.apply(&plan.method, &mut go_on).unwrap();
    drop(repair);
    stopped.assert_repaired(&before);
}

#[test]
fn a_rewritten_store_agrees_with_the_recorded_end() {
    let stopped = Stopped::new(true);
    let before = stopped.mark();
    let mut repair = stopped.repair(RepairSources::default());
    // Tables that are derived from others need neither the journal nor another node.
    repair.apply(&RepairMethod::Rewrite, &mut go_on).unwrap();
    drop(repair);
    stopped.assert_repaired(&before);
}

#[test]
fn a_backup_replaces_the_store_and_the_end_agrees() {
    let stopped = Stopped::new(true);
    stopped.damage_a_block();
    let before = stopped.mark();
    let mut repair = stopped.repair(RepairSources { backup: Some(&stopped.late), node: None });
    let plan = repair.plan(&mut go_on).unwrap();
    assert_eq!(plan.method, RepairMethod::Backup);
    repair.apply(&plan.method, &mut go_on).unwrap();
    drop(repair);
    stopped.assert_repaired(&before);
}

fn fetch(method: &RepairMethod) -> FetchPlan {
    let RepairMethod::Fetch(plan) = method else { panic!("{method:?}") };
    *plan
}

/// The store is rebuilt from the blocks of another node, no matter how much of it is readable.
#[test]
fn another_node_rebuilds_what_the_journal_lacks() {
    for everything in [false, true] {
        let stopped = Stopped::new(true);
        if everything {
            stopped.damage_everything();
        } else {
            stopped.damage_a_block();
        }
        let before = stopped.mark();
        let mut node = stopped.blocks.clone();
        let mut repair = stopped.repair(RepairSources { backup: None, node: Some(&mut node) });
        let plan = repair.plan(&mut go_on).unwrap();
        let FetchPlan { backup, first, last, journal_head, source_head } = fetch(&plan.method);
        assert_eq!((backup, first, journal_head, source_head), (None, 1, 40, 40));
        assert!((2..40).contains(&last), "{last}");
        let mut shown = Vec::new();
        let mut watch = |step| {
            if let RepairProgress::Fetching { done, of } = step {
                shown.push((done, of));
            }
            ControlFlow::Continue(())
        };
        repair.apply(&plan.method, &mut watch).unwrap();
        drop(repair);
        assert_eq!(shown, (1..=last).map(|done| (done, last)).collect::<Vec<_>>());
        assert_eq!(node.fetched, (1..=last).collect::<Vec<_>>(), "no more than the journal lacks");
        stopped.assert_repaired(&before);
    }
}

/// A backup that ends before the journal begins is continued from the other node.
#[test]
fn a_backup_and_another_node_are_combined() {
    let stopped = Stopped::new(true);
    stopped.damage_everything();
    let before = stopped.mark();
    let reason = |method| match method {
        RepairMethod::Impossible(why) => why,
        other => panic!("{other:?}"),
    };
    let mut alone = stopped.repair(RepairSources { backup: Some(&stopped.early), node: None });
    let why = reason(alone.plan(&mut go_on).unwrap().method);
    assert!(why.contains("also pass a node with --from"), "{why}");
    drop(alone);
    let mut node = stopped.blocks.clone();
    let sources = RepairSources { backup: Some(&stopped.early), node: Some(&mut node) };
    let mut repair = stopped.repair(sources);
    let plan = repair.plan(&mut go_on).unwrap();
    let FetchPlan { backup, first, last, .. } = fetch(&plan.method);
    assert_eq!(backup.map(|number| number + 1), Some(first));
    repair.apply(&plan.method, &mut go_on).unwrap();
    drop(repair);
    assert_eq!(node.fetched, (first..=last).collect::<Vec<_>>());
    stopped.assert_repaired(&before);
}

/// Plans and applies a repair from a node that cannot be used; asserts that nothing changes. Returns the
/// error.
fn rejected(stopped: &Stopped, mut node: OtherNode) -> String {
    let damaged = fs::read(stopped.data()).unwrap();
    let mut repair = stopped.repair(RepairSources { backup: None, node: Some(&mut node) });
    let error = match repair.plan(&mut go_on) {
        Err(error) => error.to_string(),
        Ok(plan) => match plan.method {
            RepairMethod::Impossible(why) => why,
            method => repair.apply(&method, &mut go_on).unwrap_err().to_string(),
        },
    };
    drop(repair);
    assert_eq!(fs::read(stopped.data()).unwrap(), damaged);
    for name in ["store.damaged", "store.repaired", "store.restored"] {
        assert!(!stopped.datadir().join(name).exists(), "{name}");
    }
    assert!(error.contains("--from"), "{error}");
    error
}

/// Returns a node of another chain with the same genesis: its transactions differ.
fn other_chain(stopped: &Stopped) -> OtherNode {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings { datadir: folder.path().join("chain"), ..stopped.settings.clone() };
    let clock = Arc::<SteppedClock>::default();
    let mut bench = Bench::open(settings, clock, Arc::new(RealDisk)).unwrap();
    for _ in 0..40 {
        bench.seal();
    }
    OtherNode::from_bench(&bench)
}

#[test]
fn a_node_that_contradicts_the_data_directory_is_rejected() {
    let stopped = Stopped::new(true);
    stopped.damage_a_block();
    let other = other_chain(&stopped);
    // A block that the journal seals differs.
    let error = rejected(&stopped, other.clone());
    assert!(error.contains("but the journal of this data directory has 0x"), "{error}");
    let mut newest = stopped.blocks.clone();
    newest.blocks[40] = other.blocks[40].clone();
    let error = rejected(&stopped, newest);
    assert!(error.contains("block 40 of the node has hash 0x"), "{error}");
    // A block in the readable part of the store differs.
    let mut early = stopped.blocks.clone();
    early.blocks[3] = other.blocks[3].clone();
    let error = rejected(&stopped, early.clone());
    assert!(error.contains("block 3 of the node has hash 0x"), "{error}");
    assert!(error.contains("the intact part of the store"), "{error}");
    // Nothing in the store is readable: executing the block fails.
    stopped.damage_everything();
    let error = rejected(&stopped, early);
    assert!(error.contains("block 3 of the node is rejected"), "{error}");
}

/// The node reports the hash from the journal, but serves another block.
#[test]
fn a_node_that_misreports_a_block_hash_is_rejected() {
    let stopped = Stopped::new(true);
    stopped.damage_everything();
    let other = other_chain(&stopped);
    let mut honest = stopped.blocks.clone();
    let sources = RepairSources { backup: None, node: Some(&mut honest) };
    let last = fetch(&stopped.repair(sources).plan(&mut go_on).unwrap().method).last;
    // A complete other chain: each block executes, and the last one differs from the block that the journal
    // seals.
    let mut hidden = other.clone();
    for (block, own) in hidden.blocks.iter_mut().zip(&stopped.blocks.blocks) {
        block.0 = own.0;
    }
    let error = rejected(&stopped, hidden);
    assert!(error.contains(&format!("block {last} of the node has hash 0x")), "{error}");
    assert!(error.contains("but the journal of this data directory has 0x"), "{error}");
}

#[test]
fn an_interrupted_fetch_changes_nothing() {
    let stopped = Stopped::new(true);
    stopped.damage_a_block();
    let damaged = fs::read(stopped.data()).unwrap();
    let mut node = stopped.blocks.clone();
    let mut repair = stopped.repair(RepairSources { backup: None, node: Some(&mut node) });
    let plan = repair.plan(&mut go_on).unwrap();
    let mut stop = |step| match step {
        RepairProgress::Fetching { done: 2, .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let error = repair.apply(&plan.method, &mut stop).unwrap_err();
    drop(repair);
    assert!(matches!(error, StoreRepairError::Node(NodeError::Store(StoreError::Interrupted))), "{error}");
    assert_eq!(node.fetched, [1, 2]);
    assert_eq!(fs::read(stopped.data()).unwrap(), damaged);
    assert!(!stopped.datadir().join("store.repaired").exists());
}

#[test]
fn a_node_without_the_blocks_of_this_chain_is_rejected() {
    let stopped = Stopped::new(true);
    stopped.damage_a_block();
    let mut chain_id = stopped.blocks.clone();
    chain_id.chain_id += 1;
    assert!(rejected(&stopped, chain_id).contains("the node has chain id"));
    let mut genesis = stopped.blocks.clone();
    genesis.blocks[0].0 = B256::ZERO;
    assert!(rejected(&stopped, genesis).contains("the node has genesis 0x0000"));
    let error = rejected(&stopped, stopped.blocks.cut(1));
    assert!(error.contains("ends with block 1, but the journal continues after block"), "{error}");
    let mut wrong = stopped.blocks.clone();
    wrong.blocks[2].1 = wrong.blocks[4].1.clone();
    assert!(rejected(&stopped, wrong).contains("returned block 4 in place of block 2"));
    let mut noise = stopped.blocks.clone();
    noise.blocks[2].1 = vec![1; 40];
    assert!(rejected(&stopped, noise).contains("40 bytes that are not a block"));
}

/// The journal's end is checked before anything is created, so the proof that it was longer is not removed
/// with the store.
#[test]
fn a_store_is_not_rebuilt_from_a_truncated_journal() {
    for without_mark in [false, true] {
        let stopped = Stopped::new(false);
        stopped.damage_a_block();
        let newest = newest_segment(stopped.datadir());
        let mut bytes = fs::read(&newest).unwrap();
        let used = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
        bytes[used / 2..].fill(0);
        fs::write(newest, bytes).unwrap();
        if without_mark {
            fs::remove_file(stopped.datadir().join("journal.end")).unwrap();
        }
        let mut node = stopped.blocks.clone();
        for sources in [
            RepairSources::default(),
            RepairSources { backup: Some(&stopped.late), node: None },
            RepairSources { backup: None, node: Some(&mut node) },
        ] {
            let plan = stopped.repair(sources).plan(&mut go_on).unwrap();
            let RepairMethod::Impossible(why) = plan.method else { panic!("{:?}", plan.method) };
            assert!(why.contains("foreseal journal repair"), "{why}");
        }
    }
}

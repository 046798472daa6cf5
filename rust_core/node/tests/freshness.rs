//! Production that stalls or stops: the reported health, and the services that continue.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex},
    time::{Duration, Instant},
};

use alloy_primitives::B256;
use foreseal_chain::SteppedClock;
use foreseal_journal::{Disk, DiskFile, RealDisk};
use foreseal_node::{ControlError, Node, NodeEnvironment};
use foreseal_replication::Phase;
use foreseal_testkit::{Fees, Wallet};
use support::{Bench, STEP, environment, settings};

/// Timeout of a test whose node does not make progress.
const PATIENCE: Duration = Duration::from_secs(30);

/// A disk whose fsync can be made to hang, as on a network file system or a failing device.
#[derive(Clone, Default)]
struct HangingDisk(Arc<(Mutex<Sync>, Condvar)>);

#[derive(Default)]
struct Sync {
    hangs: bool,
    /// `true` while a call hangs.
    blocked: bool,
}

impl HangingDisk {
    fn set_hangs(&self, hangs: bool) {
        self.0.0.lock().unwrap().hangs = hangs;
        self.0.1.notify_all();
    }

    fn is_blocking(&self) -> bool {
        self.0.0.lock().unwrap().blocked
    }

    fn pass(&self) {
        let mut sync = self.0.0.lock().unwrap();
        while sync.hangs {
            sync.blocked = true;
            sync = self.0.1.wait(sync).unwrap();
        }
        sync.blocked = false;
    }
}

impl Disk for HangingDisk {
    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        RealDisk.create_dir(dir)
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        RealDisk.list(dir)
    }

    fn open(&self, path: &Path, write: bool) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(HangingFile(RealDisk.open(path, write)?, self.clone())))
    }

    fn create(&self, path: &Path, size: u64) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(HangingFile(RealDisk.create(path, size)?, self.clone())))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        RealDisk.remove(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.rename(from, to)
    }

    fn sync_dir(&self, dir: &Path) -> io::Result<()> {
        RealDisk.sync_dir(dir)
    }
}

struct HangingFile(Box<dyn DiskFile>, HangingDisk);

impl DiskFile for HangingFile {
    fn is_at(&self, path: &Path) -> io::Result<bool> {
        self.0.is_at(path)
    }

    fn size(&self) -> io::Result<u64> {
        self.0.size()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        self.0.write_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.1.pass();
        self.0.sync()
    }
}

/// Advances the clock step by step until `reached`. The writer sleeps by the machine's clock and ticks by
/// this one.
fn advance_until(clock: &SteppedClock, what: &str, reached: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !reached() {
        assert!(Instant::now() < end, "waited in vain: {what}");
        clock.advance(STEP);
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Invariants 5 and 7: stalled production is visible, and readers never block. The writer thread is the
/// node's own; it is blocked in an fsync that does not return.
#[test]
fn a_hanging_disk_fails_health_but_blocks_no_reader() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(2));
    let (clock, disk) = (Arc::<SteppedClock>::default(), HangingDisk::default());
    let environment = NodeEnvironment {
        clock: clock.clone(),
        randomness: Box::new(|| B256::repeat_byte(1)),
        secret: Box::new(|| B256::repeat_byte(1)),
        disk: Arc::new(disk.clone()),
    };
    let node = Node::open(settings(datadir.path(), &wallets), environment).unwrap();
    node.start();
    advance_until(&clock, "a sealed block", || node.view().is_some_and(|view| view.latest().number() > 0));
    let transfer = |nonce| wallets[0].transfer(nonce, wallets[1].address, 1, Fees::default());

    disk.set_hangs(true);
    let submitted = node.submit(&transfer(0)).unwrap();
    advance_until(&clock, "a writer that is held up", || disk.is_blocking());
    let (before, age) = (node.view().unwrap(), node.age());
    clock.advance(Duration::from_mins(1));

    assert_eq!(node.age(), age + Duration::from_mins(1));
    let limit = node.tick_limit();
    let reason = node.status().healthy(limit).unwrap_err();
    assert_eq!(reason, format!("last tick {} ms ago, limit 5000 ms", node.age().as_millis()));
    assert_eq!(node.status().ready(limit).unwrap_err(), reason);
    let view = node.view().unwrap();
    assert!(Arc::ptr_eq(&view, &before), "what is not durable is not shown");
    assert_eq!(view.pending().number(), view.latest().number() + 1, "pending is not latest in disguise");
    assert_eq!(view.transaction(&submitted).unwrap().map(drop), None);
    assert!(node.pool().contains(&submitted));
    // A supervisor can distinguish a thread that waits for the disk from one that hangs.
    let liveness = node.liveness();
    assert_eq!((&liveness.phase, liveness.interval), (&Phase::Producing, Some(STEP)));
    assert!(liveness.on_disk && liveness.thread.is_some());
    assert_eq!(node.liveness(), liveness);
    // The pool makes no durability promise, so it continues.
    let later = node.submit(&transfer(1)).unwrap();

    disk.set_hangs(false);
    let done = || node.view().unwrap().transaction(&later).unwrap().is_some();
    advance_until(&clock, "the step that was held up", done);
    assert!(node.view().unwrap().transaction(&submitted).unwrap().is_some());
    advance_until(&clock, "a fresh view", || node.status().ready(limit).is_ok());
    advance_until(&clock, "an idle writer", || {
        let now = node.liveness();
        now.thread.is_none() && !now.on_disk && now.count != liveness.count
    });
    // Stopping wakes a writer that sleeps by a clock that does not advance.
    node.stop();
}

#[test]
fn the_age_limit_is_five_steps_or_five_seconds() {
    let (ms, wallets) = (Duration::from_millis, Wallet::some(1));
    for (step, limit) in
        [(ms(10), 5_000), (ms(200), 5_000), (ms(1_000), 5_000), (ms(1_001), 5_005), (ms(2_000), 10_000)]
    {
        let datadir = tempfile::tempdir().unwrap();
        let mut settings = settings(datadir.path(), &wallets);
        settings.production.step = step;
        let bench = Bench::open(settings, Arc::default(), Arc::new(RealDisk)).unwrap();
        assert_eq!(bench.node.tick_limit(), ms(limit));
        let health = || {
            let (status, limit) = (bench.node.status(), bench.node.tick_limit());
            let (healthy, ready) = (status.healthy(limit), status.ready(limit));
            assert_eq!(healthy, ready);
            healthy
        };
        bench.clock.advance(ms(limit));
        assert_eq!(health(), Ok(()), "{step:?}");
        bench.clock.advance(ms(1));
        assert_eq!(health(), Err(format!("last tick {} ms ago, limit {limit} ms", limit + 1)), "{step:?}");
    }
}

/// A node that does not produce has no ticks that could be late.
#[test]
fn a_read_only_node_is_ready_at_any_age() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(1));
    let clock = Arc::<SteppedClock>::default();
    let settings = foreseal_node::Settings { produce: false, ..settings(datadir.path(), &wallets) };
    let node = Node::open(settings, environment(clock.clone())).unwrap();
    assert!(node.status().ready(node.tick_limit()).is_err(), "not before its journal is replayed");
    assert!(node.start_stepped().unwrap().is_none());
    clock.advance(Duration::from_hours(1));
    assert_eq!(node.status().ready(node.tick_limit()), Ok(()));
    assert_eq!(node.age(), Duration::from_hours(1), "and says so");
    assert_eq!(node.liveness().interval, None);
}

/// A long control request occupies the writer and is visible as work.
#[test]
fn liveness_names_the_thread_holding_the_writer() {
    let (datadir, wallets) = (tempfile::tempdir().unwrap(), Wallet::some(1));
    let mut bench = Bench::new(datadir.path(), &wallets);
    let ticked = bench.node.liveness();
    assert_eq!(ticked.thread, None);
    bench.tick();
    assert_ne!(bench.node.liveness().count, ticked.count);
    let own = std::fs::read_link("/proc/thread-self").unwrap();
    let done = bench.node.control(|_| {
        let thread = bench.node.liveness().thread.unwrap();
        assert_eq!(own.file_name().unwrap().to_str(), Some(thread.to_string().as_str()));
        Ok::<_, ControlError>(())
    });
    done.unwrap();
    assert_eq!(bench.node.liveness().thread, None);
}

//! What surrounds the node: its clocks, what its disk does wrong, and where its process ends.

use std::{
    panic::resume_unwind,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use alloy_primitives::B256;
use foreseal_journal::simulated::{Fault, Judge, Operation, SimulatedDisk};
use foreseal_node::{Clock, Node, Now, Point, Watcher};

use crate::{counts::Counts, follower::Published};

/// Both clocks, in milliseconds, each moved by itself.
#[derive(Debug)]
pub struct Clocks {
    unix: AtomicU64,
    monotonic: AtomicU64,
}

impl Default for Clocks {
    fn default() -> Self {
        Self { unix: AtomicU64::new(1_000_000_000), monotonic: AtomicU64::new(0) }
    }
}

impl Clocks {
    /// Time goes by.
    pub fn pass(&self, ms: u64) {
        self.unix.fetch_add(ms, Ordering::SeqCst);
        self.monotonic.fetch_add(ms, Ordering::SeqCst);
    }

    /// The wall clock is set, forwards or back; with the monotonic clock standing, as over a suspended machine.
    pub fn jump(&self, ms: i64) {
        let set = |unix: u64| unix.saturating_add_signed(ms).max(1_000);
        self.unix.store(set(self.unix.load(Ordering::SeqCst)), Ordering::SeqCst);
    }
}

impl Clock for Clocks {
    fn now(&self) -> Now {
        let read = |ms: &AtomicU64| Duration::from_millis(ms.load(Ordering::SeqCst));
        Now { unix: read(&self.unix), monotonic: read(&self.monotonic) }
    }
}

/// Operations of the disk among which one is chosen to go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Any,
    Write,
    Sync,
    /// Creation, removal, and syncs of the folder.
    Folder,
}

impl Class {
    fn holds(self, operation: Operation) -> bool {
        match self {
            Self::Any => true,
            Self::Write => matches!(operation, Operation::Write { .. }),
            Self::Sync => operation == Operation::Sync,
            Self::Folder => {
                matches!(operation, Operation::Create | Operation::Remove | Operation::SyncDir)
            }
        }
    }
}

/// What the disk does wrong.
#[derive(Debug)]
pub struct Weather {
    clocks: Arc<Clocks>,
    /// After so many operations of the class, this.
    armed: Option<(Class, u32, Fault)>,
    /// No space for new files, nor for writes.
    full: bool,
    /// So many operations take so many milliseconds each.
    slow: (u32, u64),
    /// So many syncs answer that all is durable, and nothing is.
    lost: u32,
    before: Option<Operation>,
    /// Something went wrong since this was last taken.
    struck: bool,
    pub counts: Counts,
}

/// The name of a crash in this operation, behind another one.
fn place(operation: Operation, before: Option<Operation>) -> &'static str {
    use Operation as O;
    match (operation, before) {
        (O::CreateDir, _) => "disk: the journal's folder is made",
        (O::Create, _) => "disk: a segment is created, without its size",
        (O::Sync, Some(O::Create)) => "disk: a segment is created, its size not synced",
        (O::Write { offset: 0 }, _) => "disk: a segment's header is written",
        (O::Sync, Some(O::Write { offset: 0 })) => "disk: a segment's header is not synced",
        (O::SyncDir, Some(O::Remove)) => "disk: trim, a removal is not synced",
        (O::SyncDir, _) => "disk: a segment's name is not synced",
        (O::Rename, _) => "disk: the recorded end gets its name",
        (O::Write { .. }, _) => "disk: an append is written",
        (O::Sync, Some(O::Write { .. })) => "disk: an append is written and not synced",
        (O::Sync, _) => "disk: opening, what was read is not synced",
        (O::Remove, _) => "disk: trim, a segment is removed",
    }
}

/// The name of another fault.
fn kind(operation: Operation, fault: Fault) -> &'static str {
    match (fault, operation) {
        (Fault::Lost, _) => "acknowledged write lost",
        (Fault::Full, _) => "full disk",
        (Fault::Short, Operation::Write { .. }) => "short write",
        (Fault::Broken, Operation::Write { .. }) => "failed write, half of it done",
        (_, Operation::Sync | Operation::SyncDir) => "failed sync",
        _ => "failed change of the folder",
    }
}

impl Weather {
    pub fn new(clocks: Arc<Clocks>) -> Self {
        let (armed, full, slow, lost, before) = (None, false, (0, 0), 0, None);
        Self { clocks, armed, full, slow, lost, before, struck: false, counts: Counts::default() }
    }

    /// Lets an operation go wrong; replaces an earlier order.
    pub fn arm(&mut self, class: Class, after: u32, fault: Fault) {
        self.armed = Some((class, after, fault));
    }

    pub fn set_full(&mut self, full: bool) {
        self.full = full;
    }

    pub fn set_slow(&mut self, operations: u32, ms: u64) {
        self.slow = (operations, ms);
    }

    /// Lets so many syncs lie.
    pub fn set_lost(&mut self, syncs: u32) {
        self.lost = syncs;
    }

    /// Whether the last operation was a write.
    pub fn was_writing(&self) -> bool {
        matches!(self.before, Some(Operation::Write { .. }))
    }

    /// Fair from now on.
    pub fn clear(&mut self) {
        (self.armed, self.full, self.slow, self.lost) = (None, false, (0, 0), 0);
    }

    /// Whether something went wrong since the last call.
    pub fn take_struck(&mut self) -> bool {
        std::mem::take(&mut self.struck)
    }

    fn due(&mut self, operation: Operation) -> Option<Fault> {
        let (class, after, fault) = self.armed?;
        if !class.holds(operation) {
            return None;
        }
        if let Some(after) = after.checked_sub(1) {
            self.armed = Some((class, after, fault));
            return None;
        }
        self.armed = None;
        Some(fault)
    }
}

impl Judge for Weather {
    fn judge(&mut self, operation: Operation) -> Option<Fault> {
        if let Some(left) = self.slow.0.checked_sub(1) {
            self.slow.0 = left;
            self.clocks.pass(self.slow.1);
            self.counts.fault("slow disk");
        }
        let full = self.full && matches!(operation, Operation::Create | Operation::Write { .. });
        let lies = self.lost > 0 && operation == Operation::Sync;
        self.lost -= u32::from(lies);
        let fault = self.due(operation).or(full.then_some(Fault::Full)).or(lies.then_some(Fault::Lost));
        let before = self.before.replace(operation);
        match fault {
            Some(Fault::Crash) => self.counts.crash(place(operation, before)),
            Some(fault) => self.counts.fault(kind(operation, fault)),
            None => return None,
        }
        self.struck = true;
        fault
    }
}

/// How the way of a thread ends at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The whole process.
    Process,
    /// The thread alone, by a fault of the program.
    Thread,
}

/// Looks on at the points of one process.
pub struct Watch {
    disk: SimulatedDisk,
    weather: Arc<Mutex<Weather>>,
    armed: Mutex<Option<(Point, u32, End)>>,
    ended: AtomicBool,
    node: OnceLock<Weak<Node>>,
    /// Of a sequencer that is followed: where it notes what it shows.
    published: Option<Arc<Published>>,
    /// How many appends there are, once it has started.
    appends: AtomicU64,
    follows: bool,
    /// Transactions that must be in the pool or on the chain, whenever somebody looks at both.
    kept: Mutex<Vec<B256>>,
    missed: Mutex<Option<String>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watch {
    pub fn new(disk: SimulatedDisk, weather: Arc<Mutex<Weather>>) -> Self {
        Self {
            disk,
            weather,
            armed: Mutex::default(),
            ended: AtomicBool::new(false),
            node: OnceLock::new(),
            published: None,
            appends: AtomicU64::new(0),
            follows: false,
            kept: Mutex::default(),
            missed: Mutex::default(),
        }
    }

    /// As [`Self::new`], of a sequencer that is followed.
    pub fn publishing(self, published: Option<Arc<Published>>) -> Self {
        Self { published, ..self }
    }

    /// Looks on at a follower, whose end is not that of the machine's disk.
    pub fn of_follower(disk: SimulatedDisk, weather: Arc<Mutex<Weather>>) -> Self {
        Self { follows: true, ..Self::new(disk, weather) }
    }

    /// The sequencer has started: what it shows is noted now, and from now on.
    pub fn begin(&self, node: &Arc<Node>) {
        self.look_at(node);
        self.appends.store(node.appends().unwrap_or(0), Ordering::SeqCst);
        self.publish();
    }

    fn publish(&self) {
        let (Some(published), Some(node)) = (&self.published, self.node.get().and_then(Weak::upgrade)) else {
            return;
        };
        let Some(view) = node.view() else { return };
        if let Err(what) = published.note(self.appends.load(Ordering::SeqCst), &view) {
            lock(&self.missed).get_or_insert(what);
        }
    }

    /// Ends the process or a thread when the point has been reached so many times more.
    pub fn arm(&self, point: Point, after: u32, end: End) {
        *lock(&self.armed) = Some((point, after, end));
    }

    /// Lets the process go on wherever it comes.
    pub fn disarm(&self) {
        *lock(&self.armed) = None;
    }

    pub fn look_at(&self, node: &Arc<Node>) {
        self.node.get_or_init(|| Arc::downgrade(node));
    }

    /// Sees that each of them is somewhere, until the next call.
    pub fn keep(&self, transactions: Vec<B256>) {
        *lock(&self.kept) = transactions;
    }

    /// Whether the process ended at a point.
    pub fn ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    /// What a reader missed.
    pub fn missed(&self) -> Option<String> {
        lock(&self.missed).clone()
    }

    /// As a reader does it: first the pool, then the newest view.
    fn look(&self, point: Point) {
        let Some(node) = self.node.get().and_then(Weak::upgrade) else { return };
        let Some(view) = node.view() else { return };
        for hash in lock(&self.kept).iter() {
            let pooled = node.pool().contains(hash);
            if !pooled && !matches!(view.transaction(hash), Ok(Some(_))) {
                let what = format!("at {point:?}, transaction {hash} is neither in the pool nor in the view");
                lock(&self.missed).get_or_insert(what);
            }
        }
    }

    fn ends(&self, point: Point) -> Option<End> {
        let mut armed = lock(&self.armed);
        let (at, after, end) = (*armed)?;
        if at != point {
            return None;
        }
        if let Some(after) = after.checked_sub(1) {
            *armed = Some((at, after, end));
            return None;
        }
        *armed = None;
        Some(end)
    }
}

/// The name of a crash at this point.
fn name(point: Point, follows: bool) -> &'static str {
    match point {
        Point::BeforePublish if follows => "follower: before publish",
        Point::Published if follows => "follower: after publish",
        Point::BeforeAppend => "before append",
        Point::Appended => "after sync, before adopt",
        Point::BetweenSealAndOpen => "between seal and open",
        Point::BeforePublish => "before publish",
        Point::Published => "after publish, before pool removal",
        Point::BeforeTrim => "before trim",
        Point::BeforeStoreCommit => "before store commit",
        Point::StoreCommitted => "after store commit, before it is known",
    }
}

impl Watcher for Watch {
    fn reached(&self, point: Point) {
        match point {
            Point::Appended => drop(self.appends.fetch_add(1, Ordering::SeqCst)),
            Point::Published => self.publish(),
            _ => {}
        }
        if matches!(point, Point::BeforePublish | Point::Published) {
            self.look(point);
        }
        match self.ends(point) {
            None => return,
            Some(End::Process) => {
                if !self.follows {
                    self.disk.stop();
                }
                self.ended.store(true, Ordering::SeqCst);
                lock(&self.weather).counts.crash(name(point, self.follows));
            }
            Some(End::Thread) => lock(&self.weather).counts.fault("store's thread panics"),
        }
        // Not `panic!`: nothing is printed.
        resume_unwind(Box::new(point));
    }
}

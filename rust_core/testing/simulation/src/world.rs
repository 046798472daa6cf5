//! Environment of the node: its clocks, the faults of its disk, and the points at which its process ends.

use std::{
    panic::resume_unwind,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use alloy_primitives::B256;
use foreseal_chain::{Clock, ClockReading};
use foreseal_node::{InspectionPoint, Node, Watcher};
use foreseal_simulated_disk::{DiskFault, FaultPolicy, Operation, SimulatedDisk};

use crate::{counts::Counts, view_digests::ViewDigests};

/// Wall clock and monotonic clock, in milliseconds.
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
    /// Advances both clocks.
    pub fn pass(&self, ms: u64) {
        self.unix.fetch_add(ms, Ordering::SeqCst);
        self.monotonic.fetch_add(ms, Ordering::SeqCst);
    }

    /// Sets the wall clock forward or back while the monotonic clock stands still, as over a suspend of the
    /// machine.
    pub fn jump(&self, ms: i64) {
        let set = |unix: u64| unix.saturating_add_signed(ms).max(1_000);
        self.unix.store(set(self.unix.load(Ordering::SeqCst)), Ordering::SeqCst);
    }
}

impl Clock for Clocks {
    fn now(&self) -> ClockReading {
        let read = |ms: &AtomicU64| Duration::from_millis(ms.load(Ordering::SeqCst));
        ClockReading { unix: read(&self.unix), monotonic: read(&self.monotonic) }
    }
}

/// Disk operations that an armed fault may hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationClass {
    Any,
    Write,
    Sync,
    /// Creation and removal of files, and syncs of the directory.
    Folder,
}

impl OperationClass {
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

/// DiskFault plan of the disk.
#[derive(Debug)]
pub struct FaultPlan {
    clocks: Arc<Clocks>,
    /// Class of operations, number of them that still succeed, and the fault of the next one.
    armed: Option<(OperationClass, u32, DiskFault)>,
    /// Disk full: creating files and writing fail.
    full: bool,
    /// Number of slow operations left, and the milliseconds that each takes.
    slow: (u32, u64),
    /// Number of syncs that return success without making anything durable.
    lost: u32,
    before: Option<Operation>,
    /// `true` if a fault occurred since the last call of `drain_struck`.
    struck: bool,
    pub counts: Counts,
}

/// Returns the name of a crash in `operation` if `before` was the previous operation.
fn crash_point(operation: Operation, before: Option<Operation>) -> &'static str {
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

/// Returns the name of a fault other than a crash.
fn kind(operation: Operation, fault: DiskFault) -> &'static str {
    match (fault, operation) {
        (DiskFault::Lost, _) => "acknowledged write lost",
        (DiskFault::Full, _) => "full disk",
        (DiskFault::Short, Operation::Write { .. }) => "short write",
        (DiskFault::Broken, Operation::Write { .. }) => "failed write, half of it written",
        (_, Operation::Sync | Operation::SyncDir) => "failed sync",
        _ => "failed change of the folder",
    }
}

impl FaultPlan {
    pub fn new(clocks: Arc<Clocks>) -> Self {
        let (armed, full, slow, lost, before) = (None, false, (0, 0), 0, None);
        Self { clocks, armed, full, slow, lost, before, struck: false, counts: Counts::default() }
    }

    /// Arms a fault that hits after `after` more operations of the class. Replaces an armed one.
    pub fn arm(&mut self, class: OperationClass, after: u32, fault: DiskFault) {
        self.armed = Some((class, after, fault));
    }

    pub fn set_full(&mut self, full: bool) {
        self.full = full;
    }

    pub fn set_slow(&mut self, operations: u32, ms: u64) {
        self.slow = (operations, ms);
    }

    /// Makes the next `syncs` syncs return success without effect.
    pub fn set_lost(&mut self, syncs: u32) {
        self.lost = syncs;
    }

    /// Returns `true` if the last operation was a write.
    pub fn was_writing(&self) -> bool {
        matches!(self.before, Some(Operation::Write { .. }))
    }

    /// Cancels all faults.
    pub fn clear(&mut self) {
        (self.armed, self.full, self.slow, self.lost) = (None, false, (0, 0), 0);
    }

    /// Returns `true` if a fault occurred since the last call.
    pub fn drain_struck(&mut self) -> bool {
        std::mem::take(&mut self.struck)
    }

    fn due(&mut self, operation: Operation) -> Option<DiskFault> {
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

impl FaultPolicy for FaultPlan {
    fn judge(&mut self, operation: Operation) -> Option<DiskFault> {
        if let Some(left) = self.slow.0.checked_sub(1) {
            self.slow.0 = left;
            self.clocks.pass(self.slow.1);
            self.counts.fault("slow disk");
        }
        let full = self.full && matches!(operation, Operation::Create | Operation::Write { .. });
        let lies = self.lost > 0 && operation == Operation::Sync;
        self.lost -= u32::from(lies);
        let fault =
            self.due(operation).or(full.then_some(DiskFault::Full)).or(lies.then_some(DiskFault::Lost));
        let before = self.before.replace(operation);
        match fault {
            Some(DiskFault::Crash) => self.counts.crash(crash_point(operation, before)),
            Some(fault) => self.counts.fault(kind(operation, fault)),
            None => return None,
        }
        self.struck = true;
        fault
    }
}

/// Scope of a failure at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashScope {
    /// The whole process.
    Process,
    /// The thread alone, as after a panic.
    Thread,
}

/// Watcher of the points that one process reaches.
pub struct NodeProbe {
    disk: SimulatedDisk,
    fault_plan: Arc<Mutex<FaultPlan>>,
    armed: Mutex<Option<(InspectionPoint, u32, CrashScope)>>,
    ended: AtomicBool,
    node: OnceLock<Weak<Node>>,
    /// Record of published views; `None` unless the node is a sequencer with followers.
    published: Option<Arc<ViewDigests>>,
    /// Total number of appends; valid once the node has started.
    appends: AtomicU64,
    follows: bool,
    /// Transactions that every reader must find in the pool or on the chain.
    retained: Mutex<Vec<B256>>,
    missed: Mutex<Option<String>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl NodeProbe {
    pub fn new(disk: SimulatedDisk, fault_plan: Arc<Mutex<FaultPlan>>) -> Self {
        Self {
            disk,
            fault_plan,
            armed: Mutex::default(),
            ended: AtomicBool::new(false),
            node: OnceLock::new(),
            published: None,
            appends: AtomicU64::new(0),
            follows: false,
            retained: Mutex::default(),
            missed: Mutex::default(),
        }
    }

    /// Records published views in `published`, for a sequencer with followers.
    pub fn publishing(self, published: Option<Arc<ViewDigests>>) -> Self {
        Self { published, ..self }
    }

    /// Creates the watcher of a follower, whose end does not stop the disk.
    pub fn for_follower(disk: SimulatedDisk, fault_plan: Arc<Mutex<FaultPlan>>) -> Self {
        Self { follows: true, ..Self::new(disk, fault_plan) }
    }

    /// Records the current view of a sequencer that has started, and every later one.
    pub fn begin(&self, node: &Arc<Node>) {
        self.set_node(node);
        self.appends.store(node.appends().unwrap_or(0), Ordering::SeqCst);
        self.publish();
    }

    fn publish(&self) {
        let (Some(published), Some(node)) = (&self.published, self.node.get().and_then(Weak::upgrade)) else {
            return;
        };
        let Some(view) = node.view() else { return };
        if let Err(what) = published.record(self.appends.load(Ordering::SeqCst), &view) {
            lock(&self.missed).get_or_insert(what);
        }
    }

    /// Ends the process or a thread when `point` is reached after it was passed `after` more times.
    pub fn arm(&self, point: InspectionPoint, after: u32, end: CrashScope) {
        *lock(&self.armed) = Some((point, after, end));
    }

    /// Cancels an armed end.
    pub fn disarm(&self) {
        *lock(&self.armed) = None;
    }

    pub fn set_node(&self, node: &Arc<Node>) {
        self.node.get_or_init(|| Arc::downgrade(node));
    }

    /// Requires that each transaction is in the pool or the view before and after every publication, until
    /// the next call.
    pub fn set_retained(&self, transactions: Vec<B256>) {
        *lock(&self.retained) = transactions;
    }

    /// Returns `true` if the process ended at a point.
    pub fn ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    /// Returns the first violation that a reader observed.
    pub fn missed(&self) -> Option<String> {
        lock(&self.missed).clone()
    }

    /// Checks that each transaction in `retained` is in the pool or the newest view, as a reader would find it.
    fn inspect(&self, point: InspectionPoint) {
        let Some(node) = self.node.get().and_then(Weak::upgrade) else { return };
        let Some(view) = node.view() else { return };
        for hash in lock(&self.retained).iter() {
            let pooled = node.pool().contains(hash);
            if !pooled && !matches!(view.transaction(hash), Ok(Some(_))) {
                let what = format!("at {point:?}, transaction {hash} is neither in the pool nor in the view");
                lock(&self.missed).get_or_insert(what);
            }
        }
    }

    fn ends(&self, point: InspectionPoint) -> Option<CrashScope> {
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

/// Returns the name of a crash at this point.
fn name(point: InspectionPoint, follows: bool) -> &'static str {
    match point {
        InspectionPoint::BeforePublish if follows => "follower: before publish",
        InspectionPoint::Published if follows => "follower: after publish",
        InspectionPoint::BeforeAppend => "before append",
        InspectionPoint::Appended => "after sync, before adopt",
        InspectionPoint::BetweenSealAndOpen => "between seal and open",
        InspectionPoint::BeforePublish => "before publish",
        InspectionPoint::Published => "after publish, before pool removal",
        InspectionPoint::BeforeTrim => "before trim",
        InspectionPoint::BeforeStoreCommit => "before store commit",
        InspectionPoint::StoreCommitted => "after store commit, before it is known",
    }
}

impl Watcher for NodeProbe {
    fn reached(&self, point: InspectionPoint) {
        match point {
            InspectionPoint::Appended => drop(self.appends.fetch_add(1, Ordering::SeqCst)),
            InspectionPoint::Published => self.publish(),
            _ => {}
        }
        if matches!(point, InspectionPoint::BeforePublish | InspectionPoint::Published) {
            self.inspect(point);
        }
        match self.ends(point) {
            None => return,
            Some(CrashScope::Process) => {
                if !self.follows {
                    self.disk.stop();
                }
                self.ended.store(true, Ordering::SeqCst);
                lock(&self.fault_plan).counts.crash(name(point, self.follows));
            }
            Some(CrashScope::Thread) => lock(&self.fault_plan).counts.fault("store's thread panics"),
        }
        // Unlike `panic!`, this prints nothing.
        resume_unwind(Box::new(point));
    }
}

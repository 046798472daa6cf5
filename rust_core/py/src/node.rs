//! The node, exported to Python.

use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use alloy_primitives::B256;
use bytes::Bytes;
use foreseal_backup::DataDirCopySource;
use foreseal_chain::{ReadMode, SystemClock, View};
use foreseal_journal::RealDisk;
use foreseal_node::{Liveness, Node, NodeEnvironment, Role};
use foreseal_replication::FollowerStatus;
use foreseal_rpc::{Api, RpcError, Subscriptions};
use foreseal_scheduler::Lane;
use parking_lot::Mutex;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bootstrap::bootstrap;
use crate::caller::PyCaller;
use crate::completions::{Completions, Drained, Finished, Outcome};
use crate::engine_api::{self, EngineListeners};
use crate::entrance::{PyEntrance, PyEntranceLimits};
use crate::errors::{CoreError, rpc_error};
use crate::freshness::Freshness;
use crate::input::Input;
use crate::lanes;
use crate::large_result::PyLargeResult;
use crate::log;
use crate::memory;
use crate::metrics::metrics_json;
use crate::node_core::{Core, Request, caller_of};
use crate::pending_body::PyPendingBody;
use crate::pending_calls::PendingCalls;
use crate::progress::check_signals;
use crate::settings::{PyLimits, PySettings};
use crate::settings_error::SettingsError;
use crate::streams::{PyNotification, Streams, py_notice};
use crate::trusted_setup::load_in_background;
use crate::watchdog;

/// Result of `drain`: outcomes by ticket, and notices.
type DrainedEntries<'py> = (Vec<(u64, Bound<'py, PyAny>)>, Vec<PyNotification>);

/// A follower's name, lag, ms since it connected, and metrics.
type Report<'py> = (String, u64, u64, Bound<'py, PyBytes>);

/// Liveness: phase, count, interval in ms, `true` while it waits for the disk, thread id.
type Signs = (&'static str, i64, Option<u64>, bool, Option<u32>);

fn answer(py: Python<'_>, result: Result<Option<Bytes>, RpcError>) -> PyResult<Option<Bound<'_, PyBytes>>> {
    Ok(result.map_err(rpc_error)?.map(|json| PyBytes::new(py, &json)))
}

/// A node: the chain of one data directory, its pool, and the thread that writes it.
///
/// `settings` is a JSON object with these members:
///
/// * `datadir`; `chain`: {"kind": "stored"}, {"kind": "file", "path"} or {"kind": "dev", "chain_id",
///   "mnemonic", "accounts", "balance" in wei, "gas_limit"}
/// * `block_time` and `step` in ms, `gas_limit`, `safe_depth` and `finalized_depth` in blocks,
///   `fee_recipient`, `extra_data`, `produce`, `sequencer_key` (a path), `new_sequencer_key`, `development`
/// * `limits`, `threads`, `queue`, `log` (`levels`, `form` text or json, `process`, `server`)
/// * `feed` (a path: serves followers and snapshots on this Unix socket) with `snapshot_rate` (bytes per
///   second), or `follow` (the path of such a socket: this process follows) with `name`; `cluster`: settings of
///   a node that works with other machines
/// * `engine`: {"listen" (host and port), "jwt" (a path), "flashblocks_ws" (host and port)}: a driver builds the
///   blocks through the Engine API
///
/// The data directory is locked at once; a process with `follow` writes nothing and does not lock it. Nothing
/// else happens before `start`.
///
/// Raises NodeError: kind "in-use" if another process holds the data directory, "settings" or "genesis" if
/// those are invalid; of a node that waits for a snapshot of another, "stopped" after a signal of
/// `start_stop_watchdog`.
#[pyclass(name = "Node", module = "foreseal._core", frozen)]
pub struct PyNode {
    core: Arc<Core>,
    /// The methods for callers of this handle.
    api: Arc<Api>,
}

#[pymethods]
impl PyNode {
    #[new]
    fn new(py: Python<'_>, settings: Input<'_>) -> PyResult<Self> {
        let settings: &[u8] = &settings;
        let mut signals = Ok(());
        let core = py.detach(|| {
            open(settings, &mut || {
                signals = check_signals();
                signals.is_err() || watchdog::is_stopping()
            })
        });
        signals?;
        let core = core?;
        let api = core.api.clone();
        Ok(Self { core: Arc::new(core), api })
    }

    /// Returns a handle to the same node that also serves the methods of administrators, for the admin
    /// listener. Outcomes of all handles arrive through one `event_fd` and `drain`, so their tickets must
    /// differ.
    fn for_admin(&self) -> Self {
        Self { core: self.core.clone(), api: Arc::new(self.api.for_admin()) }
    }

    /// Returns a handle to the same node with other limits, for a tier of callers. `limits` is a JSON object
    /// as in the settings; absent members have the defaults of the core. Tickets of all handles must differ,
    /// as for `for_admin`.
    ///
    /// Raises NodeError, kind "settings", if `limits` is invalid.
    fn for_tier(&self, limits: Input<'_>) -> PyResult<Self> {
        let limits = PyLimits::parse(&limits).map_err(CoreError::from)?;
        Ok(Self { core: self.core.clone(), api: Arc::new(self.api.with_limits(limits)) })
    }

    /// Returns a handle to the same node that reads views in another mode: "standard", "sealed" or "preconfirmed".
    ///
    /// The mode decides how names of blocks resolve, and whether transactions of the block being built are
    /// included. Tickets of all handles must differ, as for `for_admin`.
    ///
    /// Raises ValueError for another name.
    fn in_mode(&self, name: &str) -> PyResult<Self> {
        let mode = ReadMode::from_name(name).ok_or_else(|| {
            PyValueError::new_err(format!("name: must be standard, sealed or preconfirmed, got {name}"))
        })?;
        Ok(Self { core: self.core.clone(), api: Arc::new(self.api.in_mode(mode)) })
    }

    /// Returns HOST:PORT of the Engine API's listener; None if this process has none.
    fn engine_address(&self) -> Option<String> {
        self.core.engine.lock().as_ref().map(|engine| engine.server.address().to_string())
    }

    /// Starts the writing thread, which replays the journal and then produces blocks. Returns at once.
    fn start(&self) {
        let node = self.core.api.node();
        node.start();
        load_in_background(node);
    }

    /// Answers `method`, whose `params` are a JSON array, from the newest view. Returns JSON bytes, or None
    /// if a thread of its lane will answer; `drain` then returns the outcome under `ticket`. Calls without a
    /// `caller` share one place in the fair queue.
    ///
    /// Raises RpcError.
    #[pyo3(signature = (method, params, ticket, caller=None))]
    fn call<'py>(
        &self,
        py: Python<'py>,
        method: &str,
        params: Input<'_>,
        ticket: u64,
        caller: Option<PyRef<'_, PyCaller>>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let view = self.core.api.node().view();
        let (params, caller): (&[u8], _) = (&params, caller_of(caller.as_deref()));
        let request = Request { api: &self.api, view: view.as_ref(), method, params, ticket, caller };
        answer(py, self.core.call(request))
    }

    /// Cancels the call with this ticket before it starts, or soon after; its outcome, if any, is an error. A
    /// submission is never withdrawn.
    fn cancel(&self, ticket: u64) {
        self.core.scheduler.cancel(ticket);
    }

    /// Returns the lanes by name, each with the seconds that its oldest job has waited.
    fn waiting(&self) -> Vec<(&'static str, f64)> {
        let lanes = Lane::ALL.map(|lane| (lane.name(), self.core.scheduler.oldest(lane).as_secs_f64()));
        lanes.to_vec()
    }

    /// Creates the entrance of requests.
    ///
    /// Raises ValueError if `limits.quick` is not a valid time.
    fn entrance(&self, limits: PyEntranceLimits) -> PyResult<PyEntrance> {
        PyEntrance::create(Some((self.core.clone(), self.api.clone())), limits)
    }

    /// Returns the view of a body's calls, which can answer further ones consistently.
    fn view_of(&self, body: &PyPendingBody) -> PyView {
        PyView { core: self.core.clone(), api: self.api.clone(), view: body.body().view().cloned() }
    }

    /// Number of calls that are queued for, or run on, worker threads.
    #[getter]
    fn running(&self) -> usize {
        self.core.running.load(Ordering::Relaxed)
    }

    /// Returns a descriptor that is readable while `drain` has entries; it is valid as long as the node.
    fn event_fd(&self) -> RawFd {
        self.core.completions.descriptor()
    }

    /// Subscribes to the channel that `params`, those of eth_subscribe as a JSON array, name. Call it, like
    /// `drain`, only on the thread of the event loop.
    ///
    /// Returns the channel, and the first sequence number of its notices that belongs to this subscription.
    /// Returns None if `params` have a cursor that is not the newest step: read the later steps with
    /// foreseal_getFlashblocks first.
    ///
    /// Raises RpcError.
    fn subscribe(&self, params: Input<'_>) -> PyResult<Option<(u64, u64)>> {
        self.core.streams.subscribe(&params, self.api.mode()).map_err(rpc_error)
    }

    /// Removes one subscriber of the channel.
    fn unsubscribe(&self, channel: u64) {
        self.core.streams.unsubscribe(channel);
    }

    /// Returns finished work and notices, each oldest first.
    ///
    /// Finished work is a list of (ticket, outcome). An outcome is JSON bytes (a `LargeResult` above
    /// 1 MiB) or RpcError, and None for a `PendingBody` that waits.
    ///
    /// A notice is (channel, sequence number, JSON of each `result`, place of the newest step after it). Results that
    /// are large together are a `DeferredMessages` instead. None instead of the results reports a loss: subscriptions
    /// that began at this sequence number or before cannot continue.
    fn drain<'py>(&self, py: Python<'py>) -> PyResult<DrainedEntries<'py>> {
        let object = |outcome: Outcome| match outcome {
            Ok(json) => PyLargeResult::wrap(py, json),
            Err(error) => Ok(rpc_error(error).into_value(py).into_bound(py).into_any()),
        };
        let finished = |finished| match finished {
            Finished::Call(outcome) => object(outcome),
            Finished::Body { .. } => Ok(py.None().into_bound(py)),
        };
        let Drained { outcomes, notices } = self.core.completions.drain();
        let outcomes = outcomes.into_iter().map(|(ticket, all)| Ok((ticket, finished(all)?)));
        let outcomes = outcomes.collect::<PyResult<_>>()?;
        let notices = notices.into_iter().map(|notice| py_notice(py, notice)).collect::<PyResult<_>>()?;
        Ok((outcomes, notices))
    }

    /// Returns the block number and step index of the newest view, ms since the last tick, and the number of the
    /// ownership of the chain (0 without a quorum journal). (0, 0) while the node starts.
    fn freshness(&self) -> (u64, u64, u64, u64) {
        let (Freshness { block, step, age, epoch }, _) = Freshness::read(self.core.api.node());
        (block, step, age, epoch)
    }

    /// Returns the progress of the writing thread: the phase, a count that changes with progress, the longest
    /// normal time between two changes in ms (None if no change is expected), `True` while it waits for the
    /// disk, and the kernel's id of the thread that is working.
    fn liveness(&self) -> Signs {
        let Liveness { phase, count, interval, on_disk, thread } = self.core.api.node().liveness();
        let interval = interval.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        (phase.name(), count, interval, on_disk, thread)
    }

    /// Returns `True` if the node is healthy, otherwise `False` and the reason: production ended, its last
    /// tick is too old, or submissions wait too long for a thread.
    fn health(&self) -> (bool, String) {
        let node = self.core.api.node();
        let healthy = node.status().healthy(node.tick_limit());
        verdict(healthy.and_then(|()| self.core.check_submissions()))
    }

    /// Returns the detected damage of the store; None if there is none.
    fn damage(&self) -> Option<String> {
        self.core.api.node().status().damage
    }

    /// Returns the result of `health`, and `False` while the journal is replayed.
    fn ready(&self) -> (bool, String) {
        let node = self.core.api.node();
        let ready = node.status().ready(node.tick_limit());
        verdict(ready.and_then(|()| self.core.check_submissions()))
    }

    /// Returns the result of `foreseal_status` as JSON. Raises RpcError.
    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let view = self.core.api.node().view();
        let json = self.core.api.call(view.as_ref(), "foreseal_status", b"[]").map_err(rpc_error)?;
        Ok(PyBytes::new(py, &json))
    }

    /// Sends the metrics of a follower to its sequencer; they replace metrics not sent yet.
    fn report(&self, metrics: Input<'_>) {
        self.core.api.node().report(metrics.to_vec());
    }

    /// Returns the connected followers: name, lag in appends, ms since it connected, and its latest metrics
    /// (empty before the first).
    fn reports<'py>(&self, py: Python<'py>) -> Vec<Report<'py>> {
        let report = |follower: FollowerStatus| {
            let FollowerStatus { name, lag, connected, report, .. } = follower;
            let connected = u64::try_from(connected.as_millis()).unwrap_or(u64::MAX);
            (name, lag, connected, PyBytes::new(py, &report))
        };
        self.core.api.node().followers().into_iter().map(report).collect()
    }

    /// Returns metrics since the node was opened, as JSON for `/metrics`: histograms of times, counts, sizes.
    fn metrics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let api = &self.core.api;
        let engine = self.core.engine.lock().as_ref().map(|listeners| listeners.engine.metrics().clone());
        let lanes = self.core.scheduler.status();
        let json = metrics_json(&api.node().metrics(), &api.caches(), &lanes, engine.as_deref());
        Ok(PyBytes::new(py, &serde_json::to_vec(&json).map_err(CoreError::from)?))
    }

    /// Ends the long command of a development chain that runs, after the block that it mines, and rejects later ones.
    /// Call it when a stop begins, so that the stop does not wait for the last block.
    fn end_commands(&self) {
        self.core.api.node().end_commands();
    }

    /// Stops production, saves the pool and closes the journal. Calls that wait for a worker thread or a step
    /// are rejected with -32002; running ones finish. Blocks until this is done; a second call does nothing.
    fn stop(&self, py: Python<'_>) {
        py.detach(|| {
            self.core.api.node().end_commands();
            drop(self.core.engine.lock().take());
            self.core.scheduler.stop();
            self.core.waits.stop();
            self.core.streams.stop();
            self.core.api.node().stop();
        });
    }
}

/// The chain at one view. All calls are answered from it, except those that read the pool.
#[pyclass(name = "View", module = "foreseal._core", frozen)]
pub struct PyView {
    core: Arc<Core>,
    api: Arc<Api>,
    /// `None` if it was created while the node started.
    view: Option<Arc<View>>,
}

#[pymethods]
impl PyView {
    /// Answers a call from this view; otherwise the same as `Node.call`.
    #[pyo3(signature = (method, params, ticket, caller=None))]
    fn call<'py>(
        &self,
        py: Python<'py>,
        method: &str,
        params: Input<'_>,
        ticket: u64,
        caller: Option<PyRef<'_, PyCaller>>,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let (params, caller): (&[u8], _) = (&params, caller_of(caller.as_deref()));
        let view = self.view.as_ref();
        answer(py, self.core.call(Request { api: &self.api, view, method, params, ticket, caller }))
    }
}

fn open(settings: &[u8], is_stopping: &mut dyn FnMut() -> bool) -> Result<Core, CoreError> {
    let settings = PySettings::parse(settings)?;
    log::install(&settings.log).map_err(SettingsError::from)?;
    memory::retain_freed_memory();
    memory::start_trimming(settings.max_free_memory)?;
    let environment = NodeEnvironment {
        clock: settings.clock(),
        randomness: Box::new(random),
        secret: Box::new(random),
        disk: Arc::new(RealDisk),
    };
    let node_settings = settings.node()?;
    if !matches!(node_settings.role, Role::Worker { .. }) {
        settings.check_engine(&node_settings)?;
        bootstrap(&node_settings, is_stopping)?;
    }
    // Before the node creates anything.
    let secret = settings.engine_api().map(engine_api::secret).transpose()?;
    let node = Arc::new(Node::open(node_settings, environment)?);
    node.serve_directory_copies(Arc::new(DataDirCopySource {
        datadir: settings.datadir.clone(),
        store: node.store().clone(),
        limit: settings.snapshot_rate,
        clock: Arc::new(SystemClock::default()),
    }));
    let completions = Arc::new(Completions::new()?);
    let scheduler = lanes::start(settings.threads, settings.queue)?;
    let subscriptions = Arc::new(Subscriptions::new(node.clone(), settings.limits().terms));
    let streams = Streams::start(subscriptions, completions.clone())?;
    let api = Arc::new(Api::new(node, settings.limits(), random()).with_keys(settings.keys()?));
    let waits = PendingCalls::start(api.clone(), completions.clone())?;
    let engine = settings.engine_api().zip(secret);
    let engine = engine.map(|(engine, secret)| EngineListeners::start(&api, engine, secret)).transpose()?;
    let running = Arc::default();
    Ok(Core { api, scheduler, waits, streams, completions, running, engine: Mutex::new(engine) })
}

fn random() -> B256 {
    B256::from(rand::random::<[u8; 32]>())
}

fn verdict(result: Result<(), String>) -> (bool, String) {
    result.map_or_else(|reason| (false, reason), |()| (true, "ok".to_owned()))
}

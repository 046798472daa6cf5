//! A node without a thread and without timers, for tests: its owner advances it.

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::{Address, B256, U256};
use foreseal_chain::SteppedClock;
use foreseal_journal::RealDisk;
use foreseal_keccak::keccak;
use foreseal_node::{ControlError, Mining, Node, NodeEnvironment, NodeError, Producer, Sequencer, Settings};
use foreseal_primitives::{Change, Override};
use foreseal_rpc::Api;
use parking_lot::{Mutex, RwLock};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{CoreError, rpc_error};
use crate::input::Input;
use crate::settings::PySettings;

/// A development node on the caller's thread. It makes a step, seals a block and moves its clock only on
/// request.
///
/// `settings` are those of `Node`; `time` is the start of the clock, seconds since 1970. The same settings,
/// time and calls give the same blocks, including hashes and signatures. Raises NodeError.
#[pyclass(name = "SteppedNode", module = "foreseal._core", frozen)]
pub struct PySteppedNode {
    /// `None` after `stop`: files, threads and address space of the node are released then.
    running: RwLock<Option<Arc<RunningNode>>>,
}

/// A node that is not stopped.
struct RunningNode {
    api: Api,
    producer: Mutex<Option<Producer>>,
}

impl Drop for RunningNode {
    fn drop(&mut self) {
        self.producer.get_mut().take();
        self.api.node().stop();
    }
}

/// Bytes that are preallocated for a segment of the journal: many chains share the memory of a test run.
const SEGMENT_BYTES: u64 = 1 << 20;

#[pymethods]
impl PySteppedNode {
    #[new]
    fn new(py: Python<'_>, settings: Input<'_>, time: u64) -> PyResult<Self> {
        let settings: &[u8] = &settings;
        Ok(py.detach(|| Self::open(settings, Duration::from_secs(time)))?)
    }

    /// Answers `method`, whose `params` are a JSON array, from the newest view: JSON bytes. Raises RpcError.
    fn call<'py>(&self, py: Python<'py>, method: &str, params: Input<'_>) -> PyResult<Bound<'py, PyBytes>> {
        let params: &[u8] = &params;
        let running = self.running()?;
        let answer = py.detach(|| running.api.call_newest(method, params));
        Ok(PyBytes::new(py, &answer.map_err(rpc_error)?))
    }

    /// Pre-confirms the transactions of the pool. Raises NodeError, as do all methods below.
    fn step(&self, py: Python<'_>) -> PyResult<()> {
        let running = self.running()?;
        Ok(py.detach(|| {
            let mut producer = running.producer.lock();
            let producer = producer.as_mut().ok_or(CoreError::Closed)?;
            producer.tick(running.api.node().now(), &mut || true).map_err(NodeError::from)?;
            Ok::<_, CoreError>(())
        })?)
    }

    /// Seals the block being built with the transactions of the pool, unless it has none; the clock moves as
    /// for `mine`.
    fn seal(&self, py: Python<'_>) -> PyResult<()> {
        self.step(py)?;
        let view = self.running()?.api.node().view();
        if view.is_some_and(|view| !view.pending().block.transactions.is_empty()) {
            self.mine(py, 1)?;
        }
        Ok(())
    }

    /// Seals `blocks` blocks, the first with the transactions of the pool; the clock moves to the timestamp
    /// of the last.
    fn mine(&self, py: Python<'_>, blocks: u64) -> PyResult<()> {
        self.control(py, |writer| writer.development().mine(blocks, None))
    }

    /// Moves the clock, and with it the block being built, by `seconds`.
    fn increase_time(&self, py: Python<'_>, seconds: u64) -> PyResult<()> {
        self.control(py, |writer| writer.development().increase_time(seconds).map(drop))
    }

    /// Returns the time of the clock, seconds since 1970.
    fn time(&self, py: Python<'_>) -> PyResult<u64> {
        self.control(py, |writer| Ok(writer.now().unix.as_secs()))
    }

    /// Sets the balance of `address` (20 bytes) to `wei` (big-endian, at most 32 bytes).
    fn set_balance(&self, py: Python<'_>, address: Input<'_>, wei: Input<'_>) -> PyResult<()> {
        let address =
            Address::try_from(&*address).map_err(|_| PyValueError::new_err("an address has 20 bytes"))?;
        let wei = U256::try_from_be_slice(&wei)
            .ok_or_else(|| PyValueError::new_err("a balance has at most 256 bits"))?;
        self.control(py, |writer| {
            writer.development().write(&Override { address, change: Change::Balance(wei) })
        })
    }

    /// Takes a snapshot of chain, pool and clock. Returns its number for `revert`.
    fn snapshot(&self, py: Python<'_>) -> PyResult<u64> {
        self.control(py, |writer| writer.development().snapshot())
    }

    /// Reverts to a snapshot and removes it and all later ones; returns False if there is none with this
    /// number.
    fn revert(&self, py: Python<'_>, snapshot: u64) -> PyResult<bool> {
        self.control(py, |writer| writer.development().revert(snapshot))
    }

    /// Closes the journal and the store, and unlocks the data directory, once calls on other threads have ended.
    /// Further calls raise NodeError. A second call does nothing.
    fn stop(&self, py: Python<'_>) {
        py.detach(|| drop(self.running.write().take()));
    }
}

impl PySteppedNode {
    fn open(settings: &[u8], unix: Duration) -> Result<Self, CoreError> {
        let settings = PySettings::parse(settings)?;
        let mut blocks = 0_u64;
        let randomness = Box::new(move || {
            blocks += 1;
            keccak(&blocks.to_be_bytes())
        });
        let environment = NodeEnvironment {
            clock: Arc::new(SteppedClock::starting_at(unix)),
            randomness,
            // The key is public: the commitments of such a chain have no value.
            secret: Box::new(|| keccak(b"the key of a chain that is stepped by hand")),
            disk: Arc::new(RealDisk),
        };
        let chosen = Settings { segment_bytes: SEGMENT_BYTES, ..settings.node()? };
        let node = Arc::new(Node::open(chosen, environment)?);
        let producer = node.start_stepped()?;
        node.develop(|development| development.set_mining(Mining::Manual))?;
        // Callers are in this process, so guessable filter ids are harmless.
        let api = Api::new(node, settings.limits(), B256::ZERO).with_keys(settings.keys()?);
        let running = RunningNode { api, producer: Mutex::new(producer) };
        Ok(Self { running: RwLock::new(Some(Arc::new(running))) })
    }

    fn control<T: Send>(
        &self,
        py: Python<'_>,
        act: impl FnOnce(&mut Sequencer) -> Result<T, ControlError> + Send,
    ) -> PyResult<T> {
        let running = self.running()?;
        Ok(py.detach(|| running.api.node().control(act)).map_err(CoreError::from)?)
    }

    fn running(&self) -> Result<Arc<RunningNode>, CoreError> {
        self.running.read().clone().ok_or(CoreError::Closed)
    }
}

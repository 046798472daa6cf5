//! The thread that delivers notices to subscribers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use std::{io, thread};

use foreseal_chain::ReadMode;
use foreseal_rpc::{DeferredChunk, DeferredMessages, DeliveryPump, Notification, RpcError, Subscriptions};
use parking_lot::Mutex;
use pyo3::prelude::*;

use crate::completions::Completions;

/// Longest sleep of the thread when nothing happens.
const IDLE: Duration = Duration::from_hours(1);

/// Channel, sequence number, messages, and the place of the newest step after it. The messages are a list of the JSON
/// of each `result`, a `DeferredMessages`, or None.
pub type PyNotification = (u64, u64, Py<PyAny>, (u64, u64, String));

/// The subscriptions and the thread that delivers their notices.
pub struct Streams {
    subscriptions: Arc<Subscriptions>,
    completions: Arc<Completions>,
    stopped: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Streams {
    /// Starts the thread, which pushes notices to `completions`.
    pub fn start(subscriptions: Arc<Subscriptions>, completions: Arc<Completions>) -> io::Result<Self> {
        let stopped = Arc::new(AtomicBool::new(false));
        let mut pump = DeliveryPump::new(subscriptions.clone());
        let (sink, ended) = (completions.clone(), stopped.clone());
        let run = move || {
            while sink.wait_for_room() && !ended.load(Ordering::Acquire) {
                if pump.wait_for_entries(IDLE) {
                    pump.deliver(&mut |notice| sink.offer_notice(notice));
                }
            }
        };
        let thread = thread::Builder::new().name("foreseal-feed".to_owned()).spawn(run)?;
        Ok(Self { subscriptions, completions, stopped, thread: Mutex::new(Some(thread)) })
    }

    /// Adds a subscriber on an endpoint with `mode`. Returns its channel, and the first sequence number that
    /// belongs to it; `None` while the cursor is not the newest step.
    pub fn subscribe(&self, params: &[u8], mode: ReadMode) -> Result<Option<(u64, u64)>, RpcError> {
        let Some(subscribed) = self.subscriptions.subscribe(params, mode)? else { return Ok(None) };
        if let Some(notice) = subscribed.first {
            self.completions.push_notice(notice);
        }
        Ok(Some((subscribed.channel, subscribed.start)))
    }

    /// Removes a subscriber of the channel.
    pub fn unsubscribe(&self, channel: u64) {
        self.subscriptions.unsubscribe(channel);
    }

    /// Ends the thread and waits for it.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.completions.close();
        self.subscriptions.node().feed().wake();
        if let Some(thread) = self.thread.lock().take() {
            // The pump catches its own panics, so the thread cannot have panicked.
            let _ = thread.join();
        }
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Messages of a large change, which a thread renders in chunks as their readers accept them.
#[pyclass(name = "DeferredMessages", module = "foreseal._core", frozen)]
pub struct PyDeferredMessages(DeferredMessages);

#[pymethods]
impl PyDeferredMessages {
    /// Upper bound of the size of the change as JSON, in bytes.
    #[getter]
    fn size(&self) -> usize {
        self.0.size()
    }

    /// Renders chunk `number`: the JSON of each `result`, and `True` if it is the last chunk. Chunks are rendered in
    /// order for the first time; None is returned for a later one.
    fn render(&self, py: Python<'_>, number: usize) -> Option<(Vec<String>, bool)> {
        let DeferredChunk { messages, is_last } = py.detach(|| self.0.render(number))?;
        Some((messages, is_last))
    }
}

/// Converts a notice for Python.
pub fn py_notice(py: Python<'_>, notice: Notification) -> PyResult<PyNotification> {
    let Notification { channel, sequence, messages, deferred, cursor } = notice;
    let messages = match deferred {
        Some(deferred) => Bound::new(py, PyDeferredMessages(deferred))?.into_any().unbind(),
        None => messages.into_pyobject(py)?.unbind(),
    };
    Ok((channel, sequence, messages, (cursor.number, cursor.index, format!("{:#x}", cursor.hash))))
}

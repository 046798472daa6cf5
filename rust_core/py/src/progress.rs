//! Long-running work that reports its progress to Python.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use pyo3::call::PyCallArgs;
use pyo3::prelude::*;

use crate::errors::CoreError;

/// Interval between two calls into Python, which report progress and handle signals.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// A Python callable that receives the progress of the work. An exception from it, or Ctrl-C, ends the work.
pub struct Progress {
    callable: Py<PyAny>,
    looked: Option<Instant>,
    ended: PyResult<()>,
}

impl Progress {
    /// Calls the callable the first time, then about ten times a second, and always if `at_once`.
    pub fn report<A>(&mut self, at_once: bool, arguments: A) -> ControlFlow<()>
    where
        A: for<'py> PyCallArgs<'py>,
    {
        if !at_once && self.looked.is_some_and(|looked| looked.elapsed() < PROGRESS_INTERVAL) {
            return ControlFlow::Continue(());
        }
        self.looked = Some(Instant::now());
        self.ended = Python::attach(|py| {
            self.callable.call1(py, arguments)?;
            py.check_signals()
        });
        if self.ended.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

/// Runs `work` on a data directory without the GIL.
pub fn watched<T: Send>(
    py: Python<'_>,
    progress: Bound<'_, PyAny>,
    work: impl FnOnce(&mut Progress) -> Result<T, CoreError> + Send,
) -> PyResult<T> {
    watching(py, progress, work)
}

/// Runs `work` without the GIL; it may fail with any error that converts to `PyErr`.
pub fn watching<T: Send, E: Send>(
    py: Python<'_>,
    progress: Bound<'_, PyAny>,
    work: impl FnOnce(&mut Progress) -> Result<T, E> + Send,
) -> PyResult<T>
where
    PyErr: From<E>,
{
    let mut progress = Progress { callable: progress.unbind(), looked: None, ended: Ok(()) };
    let result = py.detach(|| work(&mut progress));
    progress.ended?;
    Ok(result?)
}

/// Runs the Python handlers of signals that arrived during a call into Rust. On another thread than the main one it
/// does nothing.
pub fn check_signals() -> PyResult<()> {
    Python::attach(|py| {
        py.check_signals()?;
        Ok(())
    })
}

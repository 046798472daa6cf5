//! Long work that tells Python how far it is.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use pyo3::call::PyCallArgs;
use pyo3::prelude::*;

use crate::errors::CoreError;

/// Time between two looks at Python: for its progress and its signals.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A callable of Python that hears how far the work is. What it raises, and Ctrl-C, ends the work.
pub struct Progress {
    callable: Py<PyAny>,
    looked: Option<Instant>,
    ended: PyResult<()>,
}

impl Progress {
    /// Calls it the first time, then about ten times a second, and whenever it is to know `at_once`.
    pub fn tell<A>(&mut self, at_once: bool, arguments: A) -> ControlFlow<()>
    where
        A: for<'py> PyCallArgs<'py>,
    {
        if !at_once && self.looked.is_some_and(|looked| looked.elapsed() < LOOK_EVERY) {
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

/// Does `work` on a data directory without the GIL.
pub fn watched<T: Send>(
    py: Python<'_>,
    progress: Bound<'_, PyAny>,
    work: impl FnOnce(&mut Progress) -> Result<T, CoreError> + Send,
) -> PyResult<T> {
    watching(py, progress, work)
}

/// Does `work` that fails in any way without the GIL.
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

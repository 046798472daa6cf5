//! Commands that run the Ethereum test vectors.

use std::path::PathBuf;

use foreseal_conformance::{Suite, chain_spec, run_lines};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::CoreError;
use crate::settings_error::SettingsError;

/// Runs the state tests in `paths` (files, folders, .tar.zst archives), or those of one `fork`, on all cores.
/// `sink` receives one line of JSON a case, as bytes, in the order of paths and names. Returns (passed,
/// failed).
///
/// Raises NodeError: kind "io" if a path cannot be read, "settings" if no fork has that name. An exception
/// from `sink`, or Ctrl-C, ends the run.
#[pyfunction]
pub fn statetest(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    fork: Option<String>,
    sink: Bound<'_, PyAny>,
) -> PyResult<(usize, usize)> {
    run(py, Suite::State, &paths, fork.as_deref(), sink.unbind())
}

/// Runs the blockchain tests in `paths`; otherwise the same as `statetest`.
#[pyfunction]
pub fn blocktest(py: Python<'_>, paths: Vec<PathBuf>, sink: Bound<'_, PyAny>) -> PyResult<(usize, usize)> {
    run(py, Suite::Blockchain, &paths, None, sink.unbind())
}

fn run(
    py: Python<'_>,
    suite: Suite,
    paths: &[PathBuf],
    fork: Option<&str>,
    sink: Py<PyAny>,
) -> PyResult<(usize, usize)> {
    let mut ended: PyResult<()> = Ok(());
    let result: Result<_, CoreError> = py.detach(|| {
        if let Some(fork) = fork.filter(|name| chain_spec(name).is_none()) {
            return Err(SettingsError::Fork(fork.to_owned()).into());
        }
        let counts = run_lines(suite, paths, fork, |line| {
            ended = Python::attach(|py| {
                sink.call1(py, (PyBytes::new(py, line.as_bytes()),))?;
                py.check_signals()
            });
            ended.is_ok()
        });
        counts.map_err(CoreError::from)
    });
    ended?;
    let counts = result?;
    Ok((counts.cases - counts.failed, counts.failed))
}

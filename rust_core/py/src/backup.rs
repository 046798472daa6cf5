//! Backups of data directories.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use foreseal_node::{Clock, Copied, CopiedPart, Source, StoreSettings, SystemClock, back_up, restore};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::CoreError;

/// Time between two looks at Python: for its progress and its signals.
const LOOK_EVERY: Duration = Duration::from_millis(100);

fn name(part: CopiedPart) -> &'static str {
    match part {
        CopiedPart::Store => "store",
        CopiedPart::Journal => "journal",
    }
}

/// Does `work`, which tells `progress` about ten times a second as progress(part, bytes so far, bytes at most). What that
/// raises, and Ctrl-C, ends it.
fn run<'py>(
    py: Python<'py>,
    progress: Bound<'py, PyAny>,
    work: impl FnOnce(&mut dyn FnMut(Copied) -> ControlFlow<()>) -> Result<Vec<u8>, CoreError> + Send,
) -> PyResult<Bound<'py, PyBytes>> {
    let progress = progress.unbind();
    let mut ended: PyResult<()> = Ok(());
    let result = py.detach(|| {
        let mut looked: Option<(CopiedPart, Instant)> = None;
        work(&mut |Copied { part, done, of }| {
            if looked.is_some_and(|(before, at)| before == part && at.elapsed() < LOOK_EVERY && done < of) {
                return ControlFlow::Continue(());
            }
            looked = Some((part, Instant::now()));
            ended = Python::attach(|py| {
                progress.call1(py, (name(part), done, of))?;
                py.check_signals()
            });
            if ended.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
    });
    ended?;
    Ok(PyBytes::new(py, &result?))
}

/// Copies the data directory `dir`, on which a node may run, to the folder `target`, which is new or empty. JSON: the manifest of
/// the backup. `progress` is called as progress(part, done, of) in bytes. `with_key` takes the key that signs steps along;
/// `map_size` is the greatest size of the store in bytes.
///
/// Raises NodeError: kind "settings" if `target` cannot be used, "genesis" if `dir` holds no chain, "corrupt" if it is damaged,
/// "io" if something cannot be read or written.
#[pyfunction]
#[pyo3(signature = (dir, target, progress, with_key = false, map_size = None))]
pub fn run_backup<'py>(
    py: Python<'py>,
    dir: PathBuf,
    target: PathBuf,
    progress: Bound<'py, PyAny>,
    with_key: bool,
    map_size: Option<usize>,
) -> PyResult<Bound<'py, PyBytes>> {
    let map_size = map_size.unwrap_or(StoreSettings::default().map_size);
    run(py, progress, move |watch| {
        let source = Source { datadir: &dir, store: None, map_size, with_key };
        let now = SystemClock::default().now().unix;
        Ok(serde_json::to_vec(&back_up(&source, &target, now, watch)?)?)
    })
}

/// Makes the data directory `dir`, which is new or empty, of the backup in the folder `backup`. JSON: the backup's manifest.
/// `progress` and `map_size` are those of `run_backup`.
///
/// Raises NodeError as `run_backup` does.
#[pyfunction]
#[pyo3(signature = (backup, dir, progress, map_size = None))]
pub fn run_restore<'py>(
    py: Python<'py>,
    backup: PathBuf,
    dir: PathBuf,
    progress: Bound<'py, PyAny>,
    map_size: Option<usize>,
) -> PyResult<Bound<'py, PyBytes>> {
    let map_size = map_size.unwrap_or(StoreSettings::default().map_size);
    run(py, progress, move |watch| Ok(serde_json::to_vec(&restore(&backup, &dir, map_size, watch)?)?))
}

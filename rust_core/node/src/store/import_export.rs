//! Import and export of a data directory's chain.

use std::{
    fs::File,
    io::{self, BufWriter, Write},
    path::Path,
    sync::Arc,
};

use foreseal_chain::{BlockWindow, Progress, Report, Summary, datadir::DataDir};
use foreseal_journal::Disk;

use crate::{
    errors::node_error::NodeError,
    settings::Settings,
    store::{
        import::Import,
        opened_chain::OpenedChain,
        start::{Started, start},
        store_writer::StoreObservers,
    },
};

/// Executes every block in `path` on the chain of the data directory, checks every root, and journals the
/// block.
///
/// # Errors
/// Stops at the first invalid block; the error names the block and the difference. The blocks before it stay
/// imported.
pub fn import_chain(
    settings: &Settings,
    disk: Arc<dyn Disk>,
    path: &Path,
    report: Report<'_>,
) -> Result<Summary, NodeError> {
    // Nothing reads the blocks meanwhile, so they leave memory once they are stored.
    let mut settings = settings.clone();
    settings.store.recent = BlockWindow { blocks: 1, transactions: 0, ..settings.store.recent };
    let (_datadir, started) = open_offline(&settings, disk)?;
    Import::new(started, &settings, path)?.run(report)
}

/// Writes the sealed blocks after genesis to `path`.
pub fn export_chain(
    settings: &Settings,
    disk: Arc<dyn Disk>,
    path: &Path,
    report: Report<'_>,
) -> Result<Summary, NodeError> {
    let (_datadir, Started { chain, .. }) = open_offline(settings, disk)?;
    let failed = |error: io::Error| NodeError::io("write", path, &error);
    let mut out = BufWriter::new(File::create(path).map_err(failed)?);
    let (mut blocks, mut written) = (0, 0);
    for number in 1..=chain.latest().number() {
        let Some(executed) = chain.block(number)? else { break };
        let mut bytes = Vec::with_capacity(executed.block.size());
        executed.block.encode(&mut bytes);
        out.write_all(&bytes).map_err(failed)?;
        blocks += 1;
        written += bytes.len() as u64;
        if !report(Progress { block: executed.number(), done: blocks, bytes: written }) {
            break;
        }
    }
    out.into_inner().map_err(|e| failed(e.into_error()))?.sync_all().map_err(failed)?;
    let head = chain.latest();
    Ok(Summary { blocks, known: 0, head: head.number(), hash: head.block.hash })
}

/// Locks the data directory and resumes from store and journal, without a pool or a producing thread.
fn open_offline(settings: &Settings, disk: Arc<dyn Disk>) -> Result<(DataDir, Started), NodeError> {
    let datadir = DataDir::lock(&settings.datadir)?;
    let OpenedChain { origin, store } =
        OpenedChain::open(&datadir, settings.genesis.clone(), settings, None)?;
    let started = start(&datadir, origin, settings, (store, disk, StoreObservers::default()), &mut |_| {})?;
    Ok((datadir, started))
}

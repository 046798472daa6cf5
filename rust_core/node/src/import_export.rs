//! Import and export of a data directory's chain.

use std::{
    fs::File,
    io::{self, BufReader, BufWriter, Write},
    path::Path,
    sync::Arc,
};

use foreseal_chain::{BlockReader, Progress, Report, Summary, datadir::DataDir};
use foreseal_journal::{Disk, Record};

use crate::{
    NodeError, Settings,
    start::{Started, start},
    store_files::open_store,
    store_writer::StoreObservers,
};

/// Number of imported blocks that share one journal append: an fsync per block would cost more than the
/// block.
const BLOCKS_PER_APPEND: usize = 64;
/// Size of the blocks, in bytes, after which an append is made even if there are fewer.
const BYTES_PER_APPEND: usize = 16 << 20;

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
    let (_datadir, Started { mut chain, mut journal, mut store_writer }) = open_offline(settings, disk)?;
    let file = File::open(path).map_err(|e| NodeError::io("open", path, &e))?;
    let mut blocks = BlockReader::new(BufReader::new(file));
    let (mut imported, mut known) = (0, 0);
    let (mut pending, mut pending_bytes) = (Vec::<Record>::new(), 0);
    let outcome = loop {
        let bytes = match blocks.next_block() {
            Ok(Some(bytes)) => bytes,
            Ok(None) => break Ok(()),
            Err(error) => break Err(NodeError::io("read a block from", path, &error)),
        };
        match chain.import_next(&bytes) {
            Ok(true) => imported += 1,
            Ok(false) => {
                known += 1;
                continue;
            }
            Err(error) => break Err(error.into()),
        }
        pending_bytes += bytes.len();
        pending.push(Record::Import { block: bytes.into() });
        if pending.len() == BLOCKS_PER_APPEND || pending_bytes >= BYTES_PER_APPEND {
            pending_bytes = 0;
            let sequence = journal.append(&std::mem::take(&mut pending))?;
            store_writer.follow(&mut chain, sequence)?;
            store_writer.trim(&mut journal);
        }
        let progress =
            Progress { block: chain.latest().number(), done: imported, bytes: blocks.bytes_read() };
        if !report(progress) {
            break Ok(());
        }
    };
    if !pending.is_empty() {
        let sequence = journal.append(&pending)?;
        store_writer.follow(&mut chain, sequence)?;
    }
    store_writer.drain()?;
    outcome?;
    let head = chain.latest();
    Ok(Summary { blocks: imported, known, head: head.number(), hash: head.block.hash })
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
    let spec = datadir.spec(settings.genesis.clone(), |_| Ok::<_, NodeError>(()))?;
    let store = open_store(&datadir, &spec, &settings.store)?;
    let started = start(&datadir, spec, settings, (store, disk, StoreObservers::default()), &mut |_| {})?;
    Ok((datadir, started))
}

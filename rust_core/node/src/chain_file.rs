//! Chain files: RLP-encoded blocks, concatenated, in the format of geth and hive.

use std::{
    fs::File,
    io::{self, BufReader, BufWriter, Read, Write},
    path::Path,
    sync::Arc,
};

use foreseal_journal::{Disk, Record};

use crate::{
    NodeError, Settings,
    datadir::DataDir,
    start::{Started, start},
    store_link::Beside,
};

/// Number of imported blocks that share one journal append: an fsync per block would cost more than the
/// block.
const BLOCKS_PER_APPEND: usize = 64;
/// Size of the blocks, in bytes, after which an append is made even if there are fewer.
const BYTES_PER_APPEND: usize = 16 << 20;
/// Maximum size of a block, in bytes: far above any real one, so that a wrong file is rejected early.
const MAX_BLOCK_BYTES: usize = 64 << 20;

/// Progress of an import or export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Number of the block just processed.
    pub block: u64,
    /// Number of blocks processed by this call.
    pub done: u64,
    /// Bytes of the file read or written so far.
    pub bytes: u64,
}

/// Callback after each block; returning `false` stops cleanly after that block.
pub type Report<'a> = &'a mut dyn FnMut(Progress) -> bool;

/// Result of an import or export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Number of blocks executed or written.
    pub blocks: u64,
    /// Number of blocks in the file that the chain already had.
    pub known: u64,
    /// Number of the newest sealed block; `hash` is its hash.
    pub head: u64,
    pub hash: alloy_primitives::B256,
}

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
    let (_datadir, Started { mut chain, mut journal, mut link }) = open_offline(settings, disk)?;
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
            link.follow(&mut chain, sequence)?;
            link.trim(&mut journal);
        }
        let progress = Progress { block: chain.latest().number(), done: imported, bytes: blocks.read };
        if !report(progress) {
            break Ok(());
        }
    };
    if !pending.is_empty() {
        let sequence = journal.append(&pending)?;
        link.follow(&mut chain, sequence)?;
    }
    link.drain()?;
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
    let spec = datadir.spec(settings.genesis.as_ref(), |_| Ok(()))?;
    let store = datadir.open_store(&spec, &settings.store)?;
    let started = start(&datadir, spec, settings, (store, disk, Beside::default()), &mut |_| {})?;
    Ok((datadir, started))
}

/// Reader of consecutive RLP lists.
pub struct BlockReader<R> {
    reader: R,
    /// Number of bytes returned so far.
    read: u64,
}

impl<R: Read> BlockReader<R> {
    /// Creates a reader that starts at the beginning of a file.
    pub fn new(reader: R) -> Self {
        Self { reader, read: 0 }
    }

    /// Returns the next block's bytes; `None` at the end of the file.
    pub fn next_block(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = vec![0; 1];
        if self.reader.read(&mut bytes)? == 0 {
            return Ok(None);
        }
        let length_bytes = match bytes[0] {
            0xc0..=0xf7 => 0,
            first @ 0xf8.. => usize::from(first - 0xf7),
            _ => return Err(invalid("it does not begin with an RLP list")),
        };
        self.extend(&mut bytes, length_bytes)?;
        let length = payload_length(&bytes).ok_or_else(|| invalid("a block's RLP length is invalid"))?;
        if length > MAX_BLOCK_BYTES {
            return Err(invalid("a block is longer than 64 MiB"));
        }
        self.extend(&mut bytes, length)?;
        self.read += bytes.len() as u64;
        Ok(Some(bytes))
    }

    fn extend(&mut self, bytes: &mut Vec<u8>, more: usize) -> io::Result<()> {
        // Memory grows with the bytes that arrive, not with the announced length.
        let read = self.reader.by_ref().take(more as u64).read_to_end(bytes)?;
        if read < more { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }
}

/// Returns the payload length that the first bytes of a list announce; `None` if it is invalid.
fn payload_length(head: &[u8]) -> Option<usize> {
    if let [short @ 0xc0..=0xf7] = head {
        return Some(usize::from(short - 0xc0));
    }
    let digits = &head[1..];
    if digits.len() > 8 || digits.first() == Some(&0) {
        return None;
    }
    let length = digits.iter().fold(0_u64, |sum, digit| sum << 8 | u64::from(*digit));
    usize::try_from(length).ok().filter(|length| *length > 55)
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(bytes: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        let mut blocks = BlockReader::new(bytes);
        std::iter::from_fn(|| blocks.next_block().transpose()).collect()
    }

    #[test]
    fn lists_are_read_one_after_the_other() {
        let mut long = vec![0xf8, 60];
        long.extend([0x01; 60]);
        let file = [vec![0xc0], long.clone(), vec![0xc2, 1, 2]].concat();
        assert_eq!(read_all(&file).unwrap(), [vec![0xc0], long, vec![0xc2, 1, 2]]);
        assert!(read_all(&[]).unwrap().is_empty());
    }

    /// Regression found by a fuzzer: a few bytes caused an allocation of 64 MiB.
    #[test]
    fn a_length_that_the_file_does_not_have_takes_no_memory() {
        let mut bytes = vec![0xfb, 0x03, 0xff, 0xff, 0xff];
        bytes.extend([0x01; 100]);
        let mut blocks = BlockReader::new(&bytes[..]);
        let mut block = vec![0; 1];
        assert_eq!(blocks.next_block().unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        blocks = BlockReader::new(&bytes[..]);
        assert!(blocks.extend(&mut block, 1 << 26).is_err());
        assert!(block.capacity() < 1 << 12, "{}", block.capacity());
    }

    #[test]
    fn a_cut_or_wrong_file_is_an_error() {
        for bad in [&[0xc2, 1][..], &[0x80], &[0xf8], &[0xf8, 1, 0], &[0xff; 9], &[0xf9, 0, 60]] {
            assert!(read_all(bad).is_err(), "{bad:?}");
        }
    }
}

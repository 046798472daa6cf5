//! Decoding of a chain file ahead of its execution.

use std::{
    io::{self, Read},
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread::JoinHandle,
};

use foreseal_evm::RecoveredBlock;
use rayon::{ThreadPoolBuilder, prelude::*};

use crate::chain_file::BlockReader;

/// Size in bytes from which on blocks are decoded together. One block more may be larger.
const GROUP_BYTES: usize = 128 << 10;
/// Number of decoded groups that wait for execution.
const WAITING_GROUPS: usize = 2;

/// A block of a chain file that is ready for execution.
pub struct FileBlock {
    /// RLP of the block.
    pub bytes: Vec<u8>,
    pub block: RecoveredBlock,
    /// Number of bytes of the file up to the end of this block.
    pub end: u64,
}

/// Reasons why a chain file yields no further block.
#[derive(Debug)]
pub enum ChainFileError {
    Read(io::Error),
    NotABlock(alloy_rlp::Error),
}

type DecodedGroup = Vec<Result<FileBlock, ChainFileError>>;

/// Iterator over the blocks of a chain file in order; the first error comes in its place.
///
/// A thread reads and decodes them and recovers their senders on all cores, while the caller executes earlier ones. It
/// reads ahead by a bounded number of bytes.
pub struct ReadAhead {
    groups: Receiver<DecodedGroup>,
    group: std::vec::IntoIter<Result<FileBlock, ChainFileError>>,
    thread: Option<JoinHandle<()>>,
}

impl ReadAhead {
    /// Starts the thread. Dropping the iterator ends it after its current read. If `is_regular` is `false`, blocks
    /// may arrive slowly, so none waits for the next one.
    pub fn start<R: Read + Send + 'static>(mut blocks: BlockReader<R>, is_regular: bool) -> io::Result<Self> {
        let (sender, groups) = sync_channel(WAITING_GROUPS);
        let size = if is_regular { GROUP_BYTES } else { 1 };
        // In the pool of all threads, small tasks of the execution would wait for whole groups of senders.
        let pool = ThreadPoolBuilder::new().thread_name(|index| format!("foreseal-sender-{index}"));
        let pool = pool.build().map_err(io::Error::other)?;
        let thread = std::thread::Builder::new().name("foreseal-import".to_owned());
        let thread =
            thread.spawn(move || pool.install(|| while send_group(&mut blocks, size, &sender) {}))?;
        Ok(Self { groups, group: Vec::new().into_iter(), thread: Some(thread) })
    }
}

impl Iterator for ReadAhead {
    type Item = Result<FileBlock, ChainFileError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(block) = self.group.next() {
                return Some(block);
            }
            if let Ok(group) = self.groups.recv() {
                self.group = group.into_iter();
                continue;
            }
            // The end of the file, unless the thread panicked.
            if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join) {
                std::panic::resume_unwind(panic);
            }
            return None;
        }
    }
}

/// Reads and sends one group. Returns `false` if nothing follows or nothing more is received.
fn send_group<R: Read>(
    blocks: &mut BlockReader<R>,
    group_bytes: usize,
    sender: &SyncSender<DecodedGroup>,
) -> bool {
    let (mut group, mut size, mut end) = (Vec::new(), 0, None);
    while end.is_none() && size < group_bytes {
        match blocks.next_block() {
            Ok(Some(bytes)) => {
                size += bytes.len();
                group.push((bytes, blocks.bytes_read()));
            }
            Ok(None) => end = Some(None),
            Err(error) => end = Some(Some(error)),
        }
    }
    let mut decoded: DecodedGroup = group.into_par_iter().map(|(bytes, end)| decode(bytes, end)).collect();
    let goes_on = end.is_none();
    decoded.extend(end.flatten().map(|error| Err(ChainFileError::Read(error))));
    sender.send(decoded).is_ok() && goes_on
}

fn decode(bytes: Vec<u8>, end: u64) -> Result<FileBlock, ChainFileError> {
    let block = alloy_rlp::decode_exact(&bytes).map_err(ChainFileError::NotABlock)?;
    Ok(FileBlock { bytes, block: RecoveredBlock::new(block), end })
}

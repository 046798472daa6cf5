//! Import of a chain file, in groups of blocks.
//!
//! A thread reads and decodes blocks and recovers their senders. This thread executes them and appends each group to
//! the journal at once. The store's thread then writes the group in one transaction. All of them work at the same
//! time, on different groups.

use std::{
    fs::File,
    io::{BufReader, Error},
    path::Path,
};

use foreseal_chain::{
    BlockReader, Chain, ChainError, ChainFileError, FileBlock, Progress, ReadAhead, Report, Summary,
    count_blocks,
};
use foreseal_evm::RecoveredBlock;
use foreseal_journal::{LocalJournal, Record};
use foreseal_primitives::BlockBytes;

use crate::{
    errors::node_error::NodeError,
    settings::Settings,
    store::{start::Started, store_writer::StoreWriter},
};

/// Maximum number of blocks in a group: an fsync per block would cost more than the block.
const GROUP_BLOCKS: usize = 512;
/// Size of the blocks, in bytes, from which on a group is complete.
const GROUP_BYTES: usize = 4 << 20;

/// An import in progress.
pub(crate) struct Import<'p> {
    chain: Chain,
    journal: LocalJournal,
    store_writer: StoreWriter,
    path: &'p Path,
    file: File,
    is_regular: bool,
    /// Number of blocks in the file that follow the current one; 0 if it is not known.
    blocks_left: u64,
    /// Number of newest blocks for which the store retains trie nodes.
    proofs: u64,
    /// Executed blocks that are not in the journal yet, and their size.
    group: Vec<Record>,
    group_bytes: usize,
    imported: u64,
    known: u64,
}

impl<'p> Import<'p> {
    /// Opens the file. Nothing is imported yet.
    pub fn new(started: Started, settings: &Settings, path: &'p Path) -> Result<Self, NodeError> {
        let open = || File::open(path).map_err(|e| NodeError::io("open", path, &e));
        let file = open()?;
        // Only a regular file can be read twice.
        let is_regular = file.metadata().is_ok_and(|metadata| metadata.is_file());
        let blocks_left = if is_regular { count_blocks(open()?) } else { 0 };
        let Started { chain, journal, store_writer } = started;
        Ok(Self {
            chain,
            journal,
            store_writer,
            path,
            file,
            is_regular,
            blocks_left,
            proofs: settings.store.proofs,
            group: Vec::new(),
            group_bytes: 0,
            imported: 0,
            known: 0,
        })
    }

    /// Imports the file up to its end, to the first error, or until `report` returns `false`. The blocks up to
    /// there are stored.
    pub fn run(mut self, report: Report<'_>) -> Result<Summary, NodeError> {
        let outcome = self.import(report);
        // Blocks of an incomplete group may be the last ones for now, so each of them can be proved.
        self.commit(false)?;
        self.store_writer.drain()?;
        outcome?;
        let head = self.chain.latest();
        let (head, hash) = (head.number(), head.block.hash);
        Ok(Summary { blocks: self.imported, known: self.known, head, hash })
    }

    fn import(&mut self, report: Report<'_>) -> Result<(), NodeError> {
        let file = self.file.try_clone().map_err(|error| self.unreadable(&error))?;
        let mut blocks = BlockReader::new(BufReader::new(file));
        if !self.skip_known(&mut blocks, report)? {
            return Ok(());
        }
        let blocks = ReadAhead::start(blocks, self.is_regular).map_err(|error| self.unreadable(&error))?;
        for block in blocks {
            let block = block.map_err(|error| match error {
                ChainFileError::Read(error) => self.unreadable(&error),
                ChainFileError::NotABlock(error) => ChainError::NotABlock(error).into(),
            })?;
            if !self.add(block, report)? {
                break;
            }
        }
        Ok(())
    }

    fn unreadable(&self, error: &Error) -> NodeError {
        NodeError::io("read a block from", self.path, error)
    }

    /// Skips the blocks at the start of the file that the chain has; their senders are not recovered. Returns `false`
    /// if the import is to stop after one of them.
    fn skip_known(
        &mut self,
        blocks: &mut BlockReader<BufReader<File>>,
        report: Report<'_>,
    ) -> Result<bool, NodeError> {
        while let Some(bytes) = blocks.next_block().map_err(|error| self.unreadable(&error))? {
            let block: BlockBytes = alloy_rlp::decode_exact(&bytes).map_err(ChainError::NotABlock)?;
            let number = block.header.number;
            if !self.has_block(number, block.header.hash_slow())? {
                blocks.put_back(bytes);
                break;
            }
            if !report(self.skip(number, blocks.bytes_read())) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn has_block(&self, number: u64, hash: alloy_primitives::B256) -> Result<bool, NodeError> {
        Ok(self.chain.has_block(number, hash).map_err(ChainError::from)?)
    }

    /// Counts a block that the chain has. `end` is its end in the file, in bytes.
    fn skip(&mut self, number: u64, end: u64) -> Progress {
        self.known += 1;
        self.blocks_left = self.blocks_left.saturating_sub(1);
        self.progress(number, end)
    }

    fn progress(&self, block: u64, bytes: u64) -> Progress {
        Progress { block, done: self.imported + self.known, bytes }
    }

    /// Adds a block of the file. Returns `false` if the import is to stop after it.
    fn add(&mut self, block: FileBlock, report: Report<'_>) -> Result<bool, NodeError> {
        let FileBlock { bytes, block, end } = block;
        let number = block.header().number;
        if self.has_block(number, block.hash())? {
            return Ok(report(self.skip(number, end)));
        }
        self.execute(&block)?;
        self.imported += 1;
        self.blocks_left = self.blocks_left.saturating_sub(1);
        self.group_bytes += bytes.len();
        self.group.push(Record::Import { block: bytes.into() });
        let is_full = self.group.len() == GROUP_BLOCKS || self.group_bytes >= GROUP_BYTES;
        if is_full || self.blocks_left == self.proofs {
            // Blocks that leave the proof window during this import need no trie nodes of their own.
            self.commit(self.blocks_left >= self.proofs)?;
            self.store_writer.trim(&mut self.journal);
        }
        Ok(report(self.progress(number, end)))
    }

    /// Executes a block on the newest one. The store may discard the trie nodes as of which the chain is read at any
    /// time, by the write of a group; the block is then executed again, read as of the newest stored block.
    fn execute(&mut self, block: &RecoveredBlock) -> Result<(), NodeError> {
        loop {
            let Err(error) = self.chain.import_recovered(block) else { return Ok(()) };
            let Some(oldest) = error.oldest_stored_nodes() else { return Err(error.into()) };
            while self.chain.read_from_newest_stored() < oldest {
                // The write is complete, but not announced yet.
                self.store_writer.check()?;
                std::thread::yield_now();
            }
        }
    }

    /// Appends the group to the journal and queues it for the store.
    fn commit(&mut self, newest_nodes: bool) -> Result<(), NodeError> {
        if self.group.is_empty() {
            return Ok(());
        }
        self.group_bytes = 0;
        let sequence = self.journal.append(&std::mem::take(&mut self.group))?;
        Ok(self.store_writer.follow_import(&mut self.chain, sequence, newest_nodes)?)
    }
}

#![doc = include_str!("../README.md")]

mod archive;
mod archive_caches;
mod block_at_step;
mod block_counts;
mod cached_block;
mod chain;
mod chain_file;
mod clock;
pub mod datadir;
mod executed_block;
mod feed;
mod finality;
mod genesis_block;
mod hash_index;
mod header_and_state;
mod history;
mod log_search;
mod memory_size;
mod newest_stored_block;
mod read_ahead;
mod read_mode;
mod reorged_blocks;
mod replay;
mod sealed;
mod sealed_chain;
mod states;
mod step_cursor;
mod store_meta;
mod store_update;
mod stored;
mod sync;
mod view;
mod view_mode;

pub use archive_caches::{ArchiveCaches, CacheSizes};
pub use block_at_step::{BlockAtStep, Change};
pub use block_counts::BlockCounts;
pub use chain::{BranchHashes, Chain, ChainError, ExpiredBlocks, Recorded, Resumed};
pub use chain_file::{BlockReader, Progress, Report, Summary, count_blocks};
pub use clock::{Clock, ClockReading, FastClock, SteppedClock, SystemClock};
pub use executed_block::{ExecutedBlock, Step, Written};
pub use feed::{
    Entry, EventKind, Feed, FeedError, FeedPosition, StepLogs, changes, changes_and_seals, cursor_gone,
    step_at, step_with_logs,
};
pub use finality::{Finality, FinalityDepth};
pub use genesis_block::GenesisBlock;
pub use hash_index::{HashIndex, Position, STEP_WINDOW};
pub use header_and_state::HeaderAndState;
pub use history::History;
pub use log_search::{LogMatches, LogSearch, matching_logs};
pub use memory_size::{block_size, changes_size, flashblock_size};
pub use newest_stored_block::NewestStoredBlock;
pub use read_ahead::{ChainFileError, FileBlock, ReadAhead};
pub use read_mode::ReadMode;
pub use reorged_blocks::{ReorgedBlock, ReorgedBlocks, UnreplayedJournal};
pub use replay::{ReplayError, replay};
pub use sealed::BlockWindow;
pub use sealed_chain::{SealedPosition, sealed_by, sealed_chain, sealed_until};
pub use step_cursor::StepCursor;
pub use store_meta::{InvalidStoreMeta, JournalCheckpoint, StoreMeta};
pub use store_update::{BlockChanges, ChainMeta, StoreUpdate};
pub use stored::StoredHistory;
pub use view::{BlockId, ResolveError, View};

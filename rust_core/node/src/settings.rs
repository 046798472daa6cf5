//! What a node can be told.

use std::{path::PathBuf, time::Duration};

use alloy_genesis::Genesis;
use alloy_primitives::{Address, B256, Bytes};
use foreseal_builder::Opening;

use crate::{Chain, FinalityDepth, Recent, STEP_WINDOW, ScrubSettings, backlog::most_blocks};

/// Longest extra data of a header, in bytes.
const MAX_EXTRA_DATA: usize = 32;
/// Shortest step.
const LEAST_STEP: Duration = Duration::from_millis(10);

/// How blocks are produced.
#[derive(Clone, Debug)]
pub struct Production {
    /// Seconds between blocks, at least 1.
    pub block_time: u64,
    /// Time between steps: 10 ms or more, at most the block time.
    pub step: Duration,
    /// Fee recipient.
    pub beneficiary: Address,
    /// Gas limit to move towards; `None` keeps the genesis' own.
    pub gas_limit: Option<u64>,
    /// At most 32 bytes.
    pub extra_data: Bytes,
}

impl Default for Production {
    fn default() -> Self {
        Self {
            block_time: 2,
            step: Duration::from_millis(200),
            beneficiary: Address::ZERO,
            gas_limit: None,
            extra_data: Bytes::from_static(b"foreseal"),
        }
    }
}

/// A setting that cannot be used, named.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    #[error("block time must be a whole number of seconds, at least 1s")]
    BlockTime,
    #[error("step must be at least 10ms and at most the block time of {block_time}s")]
    Step { block_time: u64 },
    #[error("extra data has {0} bytes, a header takes at most 32")]
    ExtraData(usize),
    #[error("proofs must be kept for 1024 blocks at least, not {0}")]
    Proofs(u64),
    #[error(
        "proofs must be kept for {least} blocks at least with this recent and backlog, not {proofs}: memory may be that \
         far behind the store"
    )]
    Behind { proofs: u64, least: u64 },
}

impl Production {
    /// What the block after the newest sealed one of `chain` would be, where none is being built.
    pub(crate) fn idle_opening(&self, chain: &Chain) -> Opening {
        let latest = &chain.latest().block.header;
        Opening {
            merged: chain.merged(),
            timestamp: latest.timestamp.saturating_add(self.block_time),
            mix_hash: B256::ZERO,
            beneficiary: self.beneficiary,
            gas_limit: self.gas_limit.unwrap_or(latest.gas_limit),
            extra_data: self.extra_data.clone(),
            base_fee: None,
        }
    }

    /// Checks the settings against each other.
    pub fn check(&self) -> Result<(), SettingsError> {
        if self.block_time == 0 {
            return Err(SettingsError::BlockTime);
        }
        if self.step < LEAST_STEP || self.step > Duration::from_secs(self.block_time) {
            return Err(SettingsError::Step { block_time: self.block_time });
        }
        if self.extra_data.len() > MAX_EXTRA_DATA {
            return Err(SettingsError::ExtraData(self.extra_data.len()));
        }
        Ok(())
    }
}

/// What a development chain allows, and how much of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Development {
    /// Snapshots that are kept.
    pub snapshots: u64,
    /// Blocks that are mined on one demand.
    pub mined: u64,
}

impl Default for Development {
    fn default() -> Self {
        Self { snapshots: 10_000, mined: 100_000 }
    }
}

/// How the store is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreSettings {
    /// Greatest size in bytes: address space, not disk.
    pub map_size: usize,
    /// For how many of the newest blocks accounts and slots can be proved, and steps be named; 1,024 at least.
    pub proofs: u64,
    /// Blocks that stay in memory although they are stored.
    pub recent: Recent,
    /// Transactions that may be sealed and not yet stored before the builder takes less; a block counts 500 more.
    pub backlog: usize,
    /// Blocks that the journal is kept for after they are stored.
    pub retention: u64,
    /// Seconds since 1970: what a store that is made or upgraded notes of when that was.
    pub at: u64,
    pub scrub: ScrubSettings,
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self {
            map_size: foreseal_store::Options::MAP_SIZE,
            proofs: STEP_WINDOW,
            recent: Recent::default(),
            backlog: 50_000,
            retention: 1024,
            at: 0,
            scrub: ScrubSettings::default(),
        }
    }
}

impl StoreSettings {
    /// Checks the settings against each other.
    pub fn check(&self) -> Result<(), SettingsError> {
        if self.proofs < STEP_WINDOW {
            return Err(SettingsError::Proofs(self.proofs));
        }
        // States are read as of the oldest block in memory. The store, whose nodes go back from its own newest block, can
        // take all that waits for it before memory lets go of anything.
        let behind = self.recent.blocks.saturating_add(most_blocks(self.backlog));
        let least = u64::try_from(behind).unwrap_or(u64::MAX);
        if self.proofs < least {
            return Err(SettingsError::Behind { proofs: self.proofs, least });
        }
        Ok(())
    }
}

/// What a process does with the chain of its data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Writes it. Followers are served on this Unix socket, if one is named.
    Sequencer { feed: Option<PathBuf> },
    /// Follows the process that serves this socket and writes nothing. Its name is for metrics.
    Follower { feed: PathBuf, name: String },
}

impl Default for Role {
    /// A process by itself.
    fn default() -> Self {
        Self::Sequencer { feed: None }
    }
}

/// Settings of a node.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Folder of journal, lock and saved pool; made if absent.
    pub datadir: PathBuf,
    /// The chain; `None` takes the one that the data directory was made with.
    pub genesis: Option<Genesis>,
    pub production: Production,
    /// `false` only serves: submissions are pooled and nothing executes.
    pub produce: bool,
    pub finality: FinalityDepth,
    pub pool: foreseal_pool::PoolConfig,
    /// File with the key that signs steps; `None` takes the one in the data directory, and makes it if there is none.
    pub sequencer_key: Option<PathBuf>,
    /// Accepts a key of another signer than the one whose steps the data directory holds.
    pub new_sequencer_key: bool,
    /// Bytes of a journal segment.
    pub segment_bytes: u64,
    pub store: StoreSettings,
    /// Whether helpers of tests may change the chain at will. Never where anybody's money is.
    pub development: Option<Development>,
    pub role: Role,
}

impl Settings {
    /// Everything by its default: the chain that `datadir` holds, produced.
    pub fn new(datadir: PathBuf) -> Self {
        Self {
            datadir,
            genesis: None,
            production: Production::default(),
            produce: true,
            finality: FinalityDepth::default(),
            pool: foreseal_pool::PoolConfig::default(),
            sequencer_key: None,
            new_sequencer_key: false,
            segment_bytes: foreseal_journal::Options::SEGMENT_BYTES,
            store: StoreSettings::default(),
            development: None,
            role: Role::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_cannot_be_further_behind_the_store_than_proofs_are_kept() {
        let default = StoreSettings::default();
        assert_eq!(default.check(), Ok(()));
        assert_eq!(StoreSettings { proofs: 1_023, ..default }.check(), Err(SettingsError::Proofs(1_023)));
        let recent = |blocks| Recent { blocks, ..default.recent };
        // 50,000 / 125 blocks of the backlog, and one in the making.
        assert_eq!(StoreSettings { recent: recent(1_024 - 401), ..default }.check(), Ok(()));
        let more = StoreSettings { recent: recent(1_024 - 400), ..default };
        assert_eq!(more.check(), Err(SettingsError::Behind { proofs: 1_024, least: 1_025 }));
        assert_eq!(StoreSettings { proofs: 1_025, ..more }.check(), Ok(()));
        let greatest = StoreSettings { backlog: usize::MAX, recent: recent(usize::MAX), ..default };
        assert!(matches!(greatest.check(), Err(SettingsError::Behind { .. })));
    }
}

//! Settings of a node and their checks.

pub(crate) mod cluster_settings;
pub(crate) mod environment;
pub(crate) mod memory_budget;
pub(crate) mod mining;
pub(crate) mod queue_limits;

use std::{path::PathBuf, time::Duration};

use alloy_genesis::Genesis;
use foreseal_chain::{BlockWindow, CacheSizes, FinalityDepth, STEP_WINDOW};
use foreseal_primitives::{ChainSpec, ForkPoint, SpecId};
use foreseal_replication::{FeedAddress, InvalidProduction, Production};

use crate::settings::{
    cluster_settings::ClusterSettings,
    memory_budget::MemoryBudget,
    mining::Mining,
    queue_limits::{QueueLimits, max_blocks},
};

/// Maximum gas limit of blocks whose transactions have no cap of their own (EIP-7825). A byte of a log costs 8 gas, and
/// an append of the journal has at most 2^30 bytes, a part of which state changes need.
const MAX_GAS_LIMIT: u64 = 6 << 30;

/// Rejected setting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    #[error("a driver cannot build blocks {0}")]
    Driver(&'static str),
    #[error(
        "a driver builds the blocks of an OP chain: start with --engine and --engine-jwt, and op-node as the driver"
    )]
    OptimismWithoutDriver,
    #[error(
        "gas limit must be at most {max}, got {gas_limit}: the logs of one transaction could exceed an append of the \
         journal"
    )]
    GasLimit { gas_limit: u64, max: u64 },
    #[error(transparent)]
    Production(#[from] InvalidProduction),
    #[error("proofs must be at least 1024 blocks, got {0}")]
    Proofs(u64),
    #[error(
        "proofs must be available for {least} blocks at least with this recent and backlog, not {proofs}: memory may be that \
         far behind the store"
    )]
    Behind { proofs: u64, least: u64 },
}

/// Field of an error that has the reason of a revert.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RevertReasonField {
    /// Only `data`, encoded: the form of the specification.
    #[default]
    Data,
    /// `message` as well, decoded.
    Message,
}

/// Mining mode at start, errors, and limits of the development methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Development {
    /// Seals each submission at once: [`Mining::Automatic`](crate::Mining::Automatic) from the start.
    pub automine: bool,
    /// Field that has the revert reason in errors of `eth_call` and `eth_estimateGas`.
    pub revert_reason: RevertReasonField,
    /// Maximum number of snapshots.
    pub snapshots: u64,
    /// Maximum number of blocks mined by one request.
    pub mined: u64,
}

impl Default for Development {
    fn default() -> Self {
        Self {
            automine: false,
            revert_reason: RevertReasonField::default(),
            snapshots: 10_000,
            mined: 100_000,
        }
    }
}

/// Rate of the scrub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScrubSettings {
    /// Read rate in bytes per second; 0 disables the scrub.
    pub rate: u64,
    /// Time between the end of a pass and the start of the next.
    pub pause: Duration,
}

impl Default for ScrubSettings {
    fn default() -> Self {
        Self { rate: 8 << 20, pause: Duration::from_hours(24) }
    }
}

/// Settings of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreSettings {
    /// Maximum size in bytes: address space, not disk.
    pub map_size: usize,
    /// Number of newest blocks for which account and slot proofs and steps are available; at least 1,024.
    pub proofs: u64,
    /// Window of blocks that stay in memory although they are stored; `memory` bounds its bytes.
    pub recent: BlockWindow,
    /// Limit on sealed but not stored work, in transactions, above which the builder is throttled; a block
    /// counts 500 more.
    pub backlog: usize,
    /// Number of blocks for which the journal is retained after they are stored.
    pub retention: u64,
    /// Maximum size of the journal in bytes. Above it, segments that the store has passed are removed before their
    /// retention ends.
    pub retention_bytes: u64,
    /// Current time in Unix seconds, which a store that is created records.
    pub at: u64,
    pub scrub: ScrubSettings,
    /// Memory budget of the process. The capacities of `caches` and the bytes of `recent` are shares of it.
    pub memory: MemoryBudget,
    /// Capacities of all caches of the node.
    pub caches: CacheSizes,
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self {
            map_size: foreseal_store::StoreOptions::MAP_SIZE,
            proofs: STEP_WINDOW,
            recent: BlockWindow::default(),
            backlog: 50_000,
            retention: 1024,
            retention_bytes: 8 << 30,
            at: 0,
            scrub: ScrubSettings::default(),
            memory: MemoryBudget::default(),
            caches: CacheSizes::default(),
        }
        .with_memory(MemoryBudget::default())
    }
}

impl StoreSettings {
    /// Returns the settings with another memory budget, and with all that are shares of it.
    #[must_use]
    pub fn with_memory(self, memory: MemoryBudget) -> Self {
        let recent = BlockWindow {
            bytes: memory.window_bytes(),
            reorged_bytes: memory.reorged_bytes(),
            ..self.recent
        };
        Self { recent, memory, caches: memory.caches(), ..self }
    }

    /// Returns the limits of the queue of blocks for the store.
    pub(crate) fn queue_limits(&self) -> QueueLimits {
        self.memory.queue_limits(self.backlog)
    }

    /// Checks the settings against each other.
    pub fn check(&self) -> Result<(), SettingsError> {
        if self.proofs < STEP_WINDOW {
            return Err(SettingsError::Proofs(self.proofs));
        }
        // States are read at the oldest block in memory, and the store's trie nodes reach back from its own
        // newest block. The store may write its whole backlog before memory drops a block, so the proof
        // window must cover both.
        let behind = self.recent.blocks.saturating_add(max_blocks(self.backlog));
        let least = u64::try_from(behind).unwrap_or(u64::MAX);
        if self.proofs < least {
            return Err(SettingsError::Behind { proofs: self.proofs, least });
        }
        Ok(())
    }
}

/// Role of a process for the chain of its data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Writes the chain. Serves followers on this Unix socket, if one is set.
    Sequencer { feed: Option<PathBuf> },
    /// Follows the process that serves this socket and writes nothing. The name appears in metrics.
    Worker { feed: PathBuf, name: String },
    /// Follows a node with another data directory, and writes what it receives to its own. Serves followers on
    /// the Unix socket `feed`, if one is set.
    Replica { feed: Option<PathBuf>, upstream: Vec<FeedAddress> },
}

impl Default for Role {
    /// Returns a sequencer without followers.
    fn default() -> Self {
        Self::Sequencer { feed: None }
    }
}

/// Settings of a node.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Directory of journal, lock and saved pool; created if absent.
    pub datadir: PathBuf,
    /// Genesis of the chain; `None` uses the genesis that the data directory was created with.
    pub genesis: Option<Genesis>,
    pub production: Production,
    /// Maximum time by which the newest block may be ahead of the clock; production pauses above it.
    pub max_clock_lead: Duration,
    /// `false` only serves reads: submissions are pooled and nothing executes.
    pub produce: bool,
    /// `true` if a consensus client opens and seals the blocks, and names the safe and the finalized block.
    pub driver: bool,
    pub finality: FinalityDepth,
    pub pool: foreseal_pool::PoolConfig,
    /// File with the key that signs steps; `None` uses the key in the data directory, which is created if
    /// absent.
    pub sequencer_key: Option<PathBuf>,
    /// Accepts a key whose signer differs from the one that signed the steps in the data directory.
    pub new_sequencer_key: bool,
    /// Size of a journal segment, in bytes.
    pub segment_bytes: u64,
    pub store: StoreSettings,
    /// Development methods, which change the chain at will, and their limits. Never enable them on a chain
    /// that carries real value.
    pub development: Option<Development>,
    pub role: Role,
    /// Other machines.
    pub cluster: ClusterSettings,
}

impl Settings {
    /// Default of [`Self::max_clock_lead`]. Synchronized clocks differ by far less, a lead that long is worked off in
    /// ten minutes with the default block time, and deadlines in contracts are usually longer.
    pub const MAX_CLOCK_LEAD: Duration = Duration::from_mins(5);

    /// Returns `true` if the node neither shares a quorum journal nor follows another machine.
    pub(crate) fn works_alone(&self) -> bool {
        self.cluster.quorum.is_none() && !matches!(self.role, Role::Replica { .. })
    }

    /// Checks that the other settings allow a driver, if there is one.
    pub(crate) fn check_driver(&self) -> Result<(), SettingsError> {
        if !self.driver {
            return Ok(());
        }
        let reason = if self.cluster.quorum.is_some() {
            "with a quorum journal: after a takeover, the driver would have to follow the new leader"
        } else if !matches!(self.role, Role::Sequencer { .. }) {
            "on a node that follows another"
        } else if self.development.is_some() {
            "of a development chain, whose blocks methods of RPC seal"
        } else if !self.produce {
            "on a node that only serves"
        } else {
            return Ok(());
        };
        Err(SettingsError::Driver(reason))
    }

    /// Checks that these settings can build blocks of a chain.
    pub(crate) fn check_chain(&self, spec: &ChainSpec) -> Result<(), SettingsError> {
        if spec.optimism().is_some() && self.produce && !self.driver {
            return Err(SettingsError::OptimismWithoutDriver);
        }
        let genesis = spec.genesis();
        let start = ForkPoint { number: 0, timestamp: genesis.timestamp, merged: true };
        let gas_limit = self.production.gas_limit.unwrap_or(genesis.gas_limit);
        if self.produce && gas_limit > MAX_GAS_LIMIT && !spec.fork(start).is_enabled_in(SpecId::OSAKA) {
            return Err(SettingsError::GasLimit { gas_limit, max: MAX_GAS_LIMIT });
        }
        Ok(())
    }

    /// Returns the distance of the safe and the finalized block. A driver names them, so none of its own follows.
    pub(crate) fn finality_depth(&self) -> FinalityDepth {
        if self.driver { FinalityDepth { safe: u64::MAX, finalized: u64::MAX } } else { self.finality }
    }

    /// Returns the mining mode of a node that starts.
    pub(crate) fn initial_mining(&self) -> Mining {
        let automine = self.development.is_some_and(|development| development.automine);
        match self.driver {
            true => Mining::Driver,
            false if automine => Mining::Automatic,
            false => Mining::Interval { seconds: self.production.block_time },
        }
    }

    /// Returns `true` if the node produces blocks as soon as its journal is replayed.
    pub(crate) fn leads_at_start(&self) -> bool {
        self.produce && matches!(self.role, Role::Sequencer { .. }) && self.cluster.quorum.is_none()
    }

    /// Returns the default settings: produce blocks on the chain that `datadir` holds.
    pub fn new(datadir: PathBuf) -> Self {
        Self {
            datadir,
            genesis: None,
            production: Production::default(),
            max_clock_lead: Self::MAX_CLOCK_LEAD,
            produce: true,
            driver: false,
            finality: FinalityDepth::default(),
            pool: foreseal_pool::PoolConfig::default(),
            sequencer_key: None,
            new_sequencer_key: false,
            segment_bytes: foreseal_journal::JournalOptions::SEGMENT_BYTES,
            store: StoreSettings::default(),
            development: None,
            role: Role::default(),
            cluster: ClusterSettings::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_memory_window_beyond_the_proof_window_is_rejected() {
        let default = StoreSettings::default();
        assert_eq!(default.check(), Ok(()));
        assert_eq!(StoreSettings { proofs: 1_023, ..default }.check(), Err(SettingsError::Proofs(1_023)));
        let recent = |blocks| BlockWindow { blocks, ..default.recent };
        // 50,000 / 125 blocks of the backlog, plus the one that is being added.
        assert_eq!(StoreSettings { recent: recent(1_024 - 401), ..default }.check(), Ok(()));
        let more = StoreSettings { recent: recent(1_024 - 400), ..default };
        assert_eq!(more.check(), Err(SettingsError::Behind { proofs: 1_024, least: 1_025 }));
        assert_eq!(StoreSettings { proofs: 1_025, ..more }.check(), Ok(()));
        let greatest = StoreSettings { backlog: usize::MAX, recent: recent(usize::MAX), ..default };
        assert!(matches!(greatest.check(), Err(SettingsError::Behind { .. })));
    }
}

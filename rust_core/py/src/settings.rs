//! Settings from Python: one JSON object.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use alloy_genesis::GenesisAccount;
use alloy_primitives::{Address, Bytes, U256};
use foreseal_chain::{BlockWindow, Clock, FastClock, FinalityDepth, SystemClock, datadir::stored_spec};
use foreseal_node::{
    Development, MemoryBudget, RevertReasonField, Role, ScrubSettings, Settings, StoreSettings,
};
use foreseal_pool::PoolConfig;
use foreseal_primitives::{
    ChainSpec, DEV_GAS_LIMIT, DevGenesis, create2_deployer, dev_genesis, parse_genesis,
};
use foreseal_replication::Production;
use foreseal_rpc::{Key, Limits};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::{Deserialize, Serialize};

use crate::accounts::{self, DerivedAccount};
use crate::cluster_settings::PyCluster;
use crate::log::PyLog;
use crate::settings_error::SettingsError;

/// All settings that Python may set. Absent members have their defaults.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct PySettings {
    pub datadir: PathBuf,
    #[serde(default)]
    chain: ChainSource,
    /// Milliseconds.
    block_time: Option<u64>,
    /// Milliseconds.
    step: Option<u64>,
    /// Milliseconds.
    max_clock_lead: Option<u64>,
    gas_limit: Option<u64>,
    /// Blocks by which `safe` trails `latest`.
    safe_depth: Option<u64>,
    /// Blocks by which `finalized` trails `latest`.
    finalized_depth: Option<u64>,
    fee_recipient: Option<Address>,
    extra_data: Option<Bytes>,
    #[serde(default = "yes")]
    produce: bool,
    /// File with the key that signs steps.
    sequencer_key: Option<PathBuf>,
    /// Accepts a key of another signer than the one before.
    #[serde(default)]
    new_sequencer_key: bool,
    /// Enables test helpers that change the chain.
    #[serde(default)]
    development: bool,
    /// Seals each submission at once; requires `development`.
    #[serde(default)]
    automine: bool,
    /// Field that has the revert reason in errors; `message` requires `development`.
    #[serde(default)]
    revert_reason: RevertReason,
    #[serde(default)]
    store: PyStore,
    /// Memory budget of this process for data of the chain, in bytes.
    memory: Option<u64>,
    #[serde(default)]
    pool: PyPool,
    #[serde(default)]
    limits: PyLimits,
    /// Worker threads, for calls too long for the event loop.
    #[serde(default = "threads")]
    pub threads: usize,
    /// Largest number of calls that wait for a worker thread.
    #[serde(default = "queue")]
    pub queue: usize,
    /// Unix socket on which followers are served.
    feed: Option<PathBuf>,
    /// Maximum rate of a snapshot that a follower fetches, in bytes per second.
    pub snapshot_rate: Option<NonZeroU64>,
    /// Unix socket of the sequencer that this process follows.
    follow: Option<PathBuf>,
    /// Name of a follower, for metrics.
    #[serde(default)]
    name: String,
    /// Other machines; absent if the node works alone.
    #[serde(default)]
    cluster: PyCluster,
    /// Engine API; absent if the node builds its blocks itself.
    engine: Option<PyEngineApi>,
    /// Speed of the node's clocks as a multiple of the machine's.
    #[serde(default = "real_time")]
    pub speed: u32,
    /// Bytes of freed memory that the process retains.
    #[serde(default = "max_free_memory")]
    pub max_free_memory: u64,
    /// Log settings.
    #[serde(default)]
    pub log: PyLog,
}

/// Listeners of a node under a driver.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PyEngineApi {
    /// Host and port.
    pub listen: String,
    /// File with the secret of its tokens.
    pub jwt: PathBuf,
    /// Host and port of the listener of flashblocks; absent if they are not published.
    pub flashblocks_ws: Option<String>,
}

/// Field that has the revert reason; see `foreseal_node::RevertReasonField`.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum RevertReason {
    #[default]
    Data,
    Message,
}

impl From<RevertReason> for RevertReasonField {
    fn from(field: RevertReason) -> Self {
        match field {
            RevertReason::Data => Self::Data,
            RevertReason::Message => Self::Message,
        }
    }
}

fn max_free_memory() -> u64 {
    crate::memory::DEFAULT_MAX_FREE
}

/// Source of the chain's genesis.
#[derive(Default, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
enum ChainSource {
    /// The chain in the data directory.
    #[default]
    Stored,
    /// A genesis file in geth's format.
    File { path: PathBuf },
    /// The development chain.
    Dev {
        chain_id: u64,
        mnemonic: String,
        accounts: u32,
        /// Balance of each account, in wei.
        balance: U256,
        gas_limit: Option<u64>,
        /// Timestamp of the genesis block in Unix seconds; the default is the time of its creation.
        timestamp: Option<u64>,
        /// Genesis accounts in addition to the funded ones and the system contracts, in the format of a
        /// genesis file.
        #[serde(default)]
        alloc: BTreeMap<Address, GenesisAccount>,
    },
}

/// Settings of the store; see `foreseal_node::StoreSettings`.
#[derive(Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct PyStore {
    /// Bytes.
    map: Option<usize>,
    /// Blocks.
    proofs: Option<u64>,
    /// Blocks.
    recent: Option<usize>,
    /// Transactions.
    backlog: Option<usize>,
    /// Blocks.
    retention: Option<u64>,
    /// Bytes.
    retention_bytes: Option<u64>,
    /// Bytes a second.
    scrub_rate: Option<u64>,
    /// Milliseconds.
    scrub_pause: Option<u64>,
}

/// Settings of the pool; see `foreseal_pool::PoolConfig`.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct PyPool {
    /// Wei per gas.
    #[serde(default)]
    min_tip: u64,
    max_gas: Option<u64>,
}

impl PyPool {
    fn config(&self, max_bytes: usize) -> PoolConfig {
        PoolConfig { min_tip: self.min_tip.into(), max_gas: self.max_gas, max_bytes, ..PoolConfig::default() }
    }
}

/// Limits of single requests; see `foreseal_rpc::Limits`.
#[derive(Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PyLimits {
    logs: Option<u64>,
    /// Milliseconds.
    log_time: Option<u64>,
    filters: Option<u64>,
    /// Addresses and topics.
    terms: Option<u64>,
    flashblocks: Option<u64>,
    /// Bytes.
    flashblock_bytes: Option<usize>,
    call_gas: Option<u64>,
    /// Milliseconds.
    call_time: Option<u64>,
    simulate_gas: Option<u64>,
    /// Bytes.
    response: Option<usize>,
    /// Bytes.
    trace_bytes: Option<usize>,
    slots: Option<u64>,
    pool_transactions: Option<u64>,
    /// Milliseconds.
    sync_time: Option<u64>,
}

fn yes() -> bool {
    true
}

fn real_time() -> u32 {
    1
}

fn threads() -> usize {
    2
}

fn queue() -> usize {
    1024
}

impl PySettings {
    /// Parses the JSON object.
    pub fn parse(json: &[u8]) -> Result<Self, SettingsError> {
        let settings: Self = serde_json::from_slice(json)?;
        if settings.threads == 0 {
            return Err(SettingsError::NoThreads);
        }
        if settings.feed.is_some() && settings.follow.is_some() {
            return Err(SettingsError::FeedAndFollow);
        }
        Ok(settings)
    }

    /// Returns the clock of the node.
    pub fn clock(&self) -> Arc<dyn Clock> {
        if self.speed == 1 { Arc::new(SystemClock::default()) } else { Arc::new(FastClock::new(self.speed)) }
    }

    /// Returns the settings of the node. Reads the genesis file, if one is named.
    pub fn node(&self) -> Result<Settings, SettingsError> {
        let genesis = match &self.chain {
            ChainSource::Stored => None,
            ChainSource::File { path } => Some(read_genesis(path)?),
            ChainSource::Dev { chain_id, mnemonic, accounts, balance, gas_limit, timestamp, alloc } => {
                let accounts = accounts::derive(mnemonic, *accounts)?;
                // A damaged genesis is reported when it is opened.
                let stored = stored_spec(&self.datadir).ok().flatten();
                let stored = stored.as_ref().map(ChainSpec::genesis);
                let mut genesis = dev_genesis(&DevGenesis {
                    chain_id: *chain_id,
                    gas_limit: gas_limit.unwrap_or(DEV_GAS_LIMIT),
                    timestamp: timestamp
                        .or(stored.map(|stored| stored.timestamp))
                        .unwrap_or_else(|| self.creation_time()),
                    accounts: accounts.into_iter().map(|account| account.address).collect(),
                    balance: *balance,
                });
                let (deployer, code) = create2_deployer();
                let account = GenesisAccount { nonce: Some(1), code: Some(code), ..Default::default() };
                genesis.alloc.insert(deployer, account);
                genesis.alloc.extend(alloc.clone());
                Some(genesis)
            }
        };
        let store = self.store();
        Ok(Settings {
            genesis,
            production: self.production()?,
            max_clock_lead: self.max_clock_lead.map_or(Settings::MAX_CLOCK_LEAD, Duration::from_millis),
            produce: self.produce,
            driver: self.engine_api().is_some(),
            sequencer_key: self.sequencer_key.clone(),
            new_sequencer_key: self.new_sequencer_key,
            development: self.development.then(|| Development {
                automine: self.automine,
                revert_reason: self.revert_reason.into(),
                ..Development::default()
            }),
            finality: self.finality(),
            pool: self.pool.config(store.memory.pool_bytes()),
            store,
            role: self.role()?,
            cluster: self.cluster.settings(&self.name, self.follow.is_none())?,
            ..Settings::new(self.datadir.clone())
        })
    }

    /// Returns the timestamp of the genesis block of a new development chain: the begin of the current slot, so that
    /// blocks are sealed when slots end.
    fn creation_time(&self) -> u64 {
        let now = self.clock().now().unix.as_secs();
        let block_time =
            self.block_time.map_or(Production::default().block_time, |millis| millis / 1000).max(1);
        now - now % block_time
    }

    /// Returns the Engine API of this process: that of the sequencer, if the node has several processes.
    pub fn engine_api(&self) -> Option<&PyEngineApi> {
        self.engine.as_ref().filter(|_| self.follow.is_none())
    }

    fn role(&self) -> Result<Role, SettingsError> {
        if let Some(feed) = &self.follow {
            return Ok(Role::Worker { feed: feed.clone(), name: self.name.clone() });
        }
        let feed = self.feed.clone();
        let upstream = self.cluster.upstream()?;
        Ok(if upstream.is_empty() { Role::Sequencer { feed } } else { Role::Replica { feed, upstream } })
    }

    fn store(&self) -> StoreSettings {
        let default = StoreSettings::default();
        StoreSettings {
            map_size: self.store.map.unwrap_or(default.map_size),
            proofs: self.store.proofs.unwrap_or(default.proofs),
            recent: BlockWindow {
                blocks: self.store.recent.unwrap_or(default.recent.blocks),
                ..default.recent
            },
            backlog: self.store.backlog.unwrap_or(default.backlog),
            retention: self.store.retention.unwrap_or(default.retention),
            retention_bytes: self.store.retention_bytes.unwrap_or(default.retention_bytes),
            scrub: ScrubSettings {
                rate: self.store.scrub_rate.unwrap_or(default.scrub.rate),
                pause: self.store.scrub_pause.map_or(default.scrub.pause, Duration::from_millis),
            },
            at: SystemClock::default().now().unix.as_secs(),
            ..default
        }
        .with_memory(self.memory.map_or(default.memory, MemoryBudget::new))
    }

    fn finality(&self) -> FinalityDepth {
        let default = FinalityDepth::default();
        FinalityDepth {
            safe: self.safe_depth.unwrap_or(default.safe),
            finalized: self.finalized_depth.unwrap_or(default.finalized),
        }
    }

    fn production(&self) -> Result<Production, SettingsError> {
        let default = Production::default();
        let block_time = match self.block_time {
            None => default.block_time,
            Some(ms) if ms % 1000 == 0 => ms / 1000,
            Some(ms) => return Err(SettingsError::BlockTime(ms)),
        };
        Ok(Production {
            block_time,
            step: self.step.map_or(default.step, Duration::from_millis),
            beneficiary: self.fee_recipient.unwrap_or(default.beneficiary),
            gas_limit: self.gas_limit,
            extra_data: self.extra_data.clone().unwrap_or(default.extra_data),
        })
    }

    /// Checks the engine of the quorum journal of `node`, if it has one.
    pub fn check_engine(&self, node: &Settings) -> Result<(), SettingsError> {
        node.cluster.quorum.as_ref().map_or(Ok(()), |quorum| self.cluster.check_quorum_store(&*quorum.store))
    }

    /// Returns the keys that a development node signs with: those of its development chain.
    pub fn keys(&self) -> Result<Vec<Key>, SettingsError> {
        match &self.chain {
            ChainSource::Dev { mnemonic, accounts, .. } if self.development => {
                let derived = accounts::derive(mnemonic, *accounts)?;
                let key =
                    |account: DerivedAccount| Key { address: account.address, secret: account.key.into() };
                Ok(derived.into_iter().map(key).collect())
            }
            ChainSource::Dev { .. } | ChainSource::File { .. } | ChainSource::Stored => Ok(Vec::new()),
        }
    }

    /// Returns the limits of single requests.
    pub fn limits(&self) -> Limits {
        self.limits.limits()
    }
}

impl PyLimits {
    /// Parses the JSON object of a tier's limits.
    pub fn parse(json: &[u8]) -> Result<Limits, SettingsError> {
        Ok(serde_json::from_slice::<Self>(json)?.limits())
    }

    fn limits(&self) -> Limits {
        let default = Limits::default();
        Limits {
            logs: self.logs.unwrap_or(default.logs),
            log_time: self.log_time.map_or(default.log_time, Duration::from_millis),
            filters: self.filters.unwrap_or(default.filters),
            terms: self.terms.unwrap_or(default.terms),
            flashblocks: self.flashblocks.unwrap_or(default.flashblocks),
            flashblock_bytes: self.flashblock_bytes.unwrap_or(default.flashblock_bytes),
            call_gas: self.call_gas.unwrap_or(default.call_gas),
            call_time: self.call_time.map_or(default.call_time, Duration::from_millis),
            simulate_gas: self.simulate_gas.unwrap_or(default.simulate_gas),
            response: self.response.unwrap_or(default.response),
            trace_bytes: self.trace_bytes.unwrap_or(default.trace_bytes),
            slots: self.slots.unwrap_or(default.slots),
            pool_transactions: self.pool_transactions.unwrap_or(default.pool_transactions),
            sync_time: self.sync_time.map_or(default.sync_time, Duration::from_millis),
        }
    }
}

/// Defaults of the core for the settings whose defaults Python needs, as JSON.
#[derive(Serialize)]
struct Defaults {
    block_time: u64,
    step: u128,
    max_clock_lead: u64,
    gas_limit: Option<u64>,
    safe_depth: u64,
    finalized_depth: u64,
    fee_recipient: Address,
    extra_data: Bytes,
    produce: bool,
    queue: usize,
    store: PyStore,
    memory: u64,
    limits: PyLimits,
}

/// Returns the defaults of the core as JSON, in the format of the settings of `Node`.
#[pyfunction]
pub fn default_settings(py: Python<'_>) -> PyResult<Bound<'_, PyBytes>> {
    let (production, finality) = (Production::default(), FinalityDepth::default());
    let defaults = Defaults {
        block_time: production.block_time * 1000,
        step: production.step.as_millis(),
        max_clock_lead: ms(Settings::MAX_CLOCK_LEAD),
        gas_limit: production.gas_limit,
        safe_depth: finality.safe,
        finalized_depth: finality.finalized,
        fee_recipient: production.beneficiary,
        extra_data: production.extra_data,
        produce: yes(),
        queue: queue(),
        store: StoreSettings::default().into(),
        memory: MemoryBudget::default().bytes(),
        limits: Limits::default().into(),
    };
    let json = serde_json::to_vec(&defaults).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(PyBytes::new(py, &json))
}

impl From<StoreSettings> for PyStore {
    fn from(store: StoreSettings) -> Self {
        Self {
            map: Some(store.map_size),
            proofs: Some(store.proofs),
            recent: Some(store.recent.blocks),
            backlog: Some(store.backlog),
            retention: Some(store.retention),
            retention_bytes: Some(store.retention_bytes),
            scrub_rate: Some(store.scrub.rate),
            scrub_pause: u64::try_from(store.scrub.pause.as_millis()).ok(),
        }
    }
}

impl From<Limits> for PyLimits {
    fn from(limits: Limits) -> Self {
        Self {
            logs: Some(limits.logs),
            log_time: Some(ms(limits.log_time)),
            filters: Some(limits.filters),
            terms: Some(limits.terms),
            flashblocks: Some(limits.flashblocks),
            flashblock_bytes: Some(limits.flashblock_bytes),
            call_gas: Some(limits.call_gas),
            call_time: Some(ms(limits.call_time)),
            simulate_gas: Some(limits.simulate_gas),
            response: Some(limits.response),
            trace_bytes: Some(limits.trace_bytes),
            slots: Some(limits.slots),
            pool_transactions: Some(limits.pool_transactions),
            sync_time: Some(ms(limits.sync_time)),
        }
    }
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Reads a genesis file.
pub fn read_genesis(path: &Path) -> Result<alloy_genesis::Genesis, SettingsError> {
    let text = fs::read_to_string(path)
        .map_err(|error| SettingsError::GenesisFile { path: path.to_owned(), error })?;
    parse_genesis(&text).map_err(|error| SettingsError::Genesis { path: path.to_owned(), error })
}

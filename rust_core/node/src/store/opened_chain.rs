//! Chain of a data directory before its journal is replayed: its rules, its store, and the genesis block if the
//! store is empty.

use std::sync::Arc;

use alloy_genesis::Genesis;
use foreseal_builder::NextBlockAttributes;
use foreseal_chain::{
    Chain, ClockReading, GenesisBlock,
    datadir::{DataDir, DataDirError, summarized_spec},
};
use foreseal_primitives::ChainSpec;
use foreseal_store::Store;

use crate::{
    clock::slot::BlockSlot, errors::node_error::NodeError, settings::Settings, store::store_files::open_store,
};

/// Rules of a chain, and its genesis block if that is computed.
pub(crate) struct ChainOrigin {
    pub spec: Arc<ChainSpec>,
    pub genesis: Option<GenesisBlock>,
}

impl From<Arc<ChainSpec>> for ChainOrigin {
    fn from(spec: Arc<ChainSpec>) -> Self {
        Self { spec, genesis: None }
    }
}

/// Rules and store of a chain.
pub(crate) struct OpenedChain {
    /// Rules without the allocation of the genesis, and the genesis block if the store is empty.
    pub origin: ChainOrigin,
    pub store: Store,
}

impl OpenedChain {
    /// Reads or stores the genesis, and opens the store. The state of the genesis is computed at most once, and only
    /// if the store does not have it or the recorded rules are not used. A chain that is to run at the time `now` is
    /// checked first.
    pub fn open(
        datadir: &DataDir,
        given: Option<Genesis>,
        settings: &Settings,
        now: Option<ClockReading>,
    ) -> Result<Self, NodeError> {
        let summarized = if given.is_none() { summarized_spec(datadir.path())? } else { None };
        let (spec, mut genesis) = if let Some(spec) = summarized {
            (Arc::new(spec), None)
        } else {
            let genesis = read_genesis(datadir, given, settings, now)?;
            (genesis.spec().clone(), Some(genesis))
        };
        if now.is_some() {
            settings.check_chain(&spec)?;
        }
        let store = open_store(datadir, &spec, &settings.store)?;
        if store.head()?.is_some() {
            genesis = None;
        } else if genesis.is_none() {
            // The store was removed: the first block needs the allocation.
            genesis = Some(read_genesis(datadir, None, settings, now)?);
        }
        Ok(Self { origin: ChainOrigin { spec, genesis }, store })
    }
}

/// Returns the block of the stored genesis, which must equal the given one. If none is stored, stores the given one
/// once block 1 could be opened on it.
fn read_genesis(
    datadir: &DataDir,
    given: Option<Genesis>,
    settings: &Settings,
    now: Option<ClockReading>,
) -> Result<GenesisBlock, NodeError> {
    let mut tried = None;
    let spec = datadir.spec(given, |spec| {
        let Some(now) = now else { return Ok(()) };
        settings.check_chain(spec)?;
        if settings.produce {
            check_system_contracts(spec)?;
        }
        if settings.produce && !settings.driver {
            let genesis = GenesisBlock::new(spec.clone());
            try_first_block(&genesis, settings, now)?;
            tried = Some(genesis);
        }
        Ok::<_, NodeError>(())
    })?;
    let genesis = tried.unwrap_or_else(|| GenesisBlock::new(spec));
    Ok(genesis.without_allocation().map_err(DataDirError::from)?)
}

/// Checks that a new chain has the contracts that each of its blocks calls.
fn check_system_contracts(spec: &ChainSpec) -> Result<(), NodeError> {
    let missing = spec.missing_request_contracts(spec.genesis().timestamp);
    if missing.is_empty() {
        return Ok(());
    }
    let named: Vec<_> = missing.iter().map(|(eip, address)| format!("{address} (EIP-{eip})")).collect();
    Err(NodeError::MissingSystemContracts { contracts: named.join(", ") })
}

/// Opens block 1 of a new chain in memory, with the code that opens every block, to check that the genesis is
/// usable.
fn try_first_block(genesis: &GenesisBlock, settings: &Settings, now: ClockReading) -> Result<(), NodeError> {
    let production = &settings.production;
    let chain = Chain::from_genesis(genesis, settings.finality);
    let BlockSlot { timestamp, .. } =
        BlockSlot::next_after(now, genesis.spec().genesis().timestamp, production.block_time);
    let attributes = NextBlockAttributes { merged: true, timestamp, ..production.idle_opening(&chain) };
    match chain.prepare_open(&attributes) {
        Ok(_) => Ok(()),
        Err(why) => Err(NodeError::DeadGenesis { why }),
    }
}

//! The quorum store and the chain that a command concerns.

use std::path::PathBuf;
use std::sync::Arc;

use foreseal_journal::Identity;
use foreseal_primitives::ChainSpec;
use foreseal_quorum::{CheckMode, EtcdStore, QuorumStoreError, list_chains};
use serde::Deserialize;

use crate::chain_identity::chain_identity;
use crate::cluster_settings::PyQuorum;
use crate::settings::read_genesis;
use crate::settings_error::SettingsError;

/// QuorumStore and chain that a command concerns.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PyClusterTarget {
    journal: PyQuorum,
    /// Genesis file of the chain.
    genesis: Option<PathBuf>,
    chain_id: Option<u64>,
}

/// Reasons why a command has no chain to work on.
#[derive(Debug, thiserror::Error)]
pub enum ClusterTargetError {
    #[error("no chain has keys below {prefix} in this etcd: check the prefix of the journal URL")]
    NoChain { prefix: String },
    #[error("this etcd has no chain with id {chain_id} below {prefix}, but: {chains}")]
    OtherChain { chain_id: u64, prefix: String, chains: String },
    #[error("this etcd has several chains below {prefix}: {chains}; name one with --chain or --genesis")]
    SeveralChains { prefix: String, chains: String },
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    QuorumStore(#[from] QuorumStoreError),
}

impl PyClusterTarget {
    /// Parses the JSON object.
    pub fn parse(json: &[u8]) -> Result<Self, SettingsError> {
        Ok(serde_json::from_slice(json)?)
    }

    /// Connects to the quorum store. Returns it with the prefix of its keys.
    pub fn connect(&self) -> Result<(Arc<EtcdStore>, String), SettingsError> {
        let (quorum, prefix) = self.journal.connect()?;
        Ok((Arc::new(quorum), prefix))
    }

    /// Returns `Forced` if a quorum store that is too old or has a single member is accepted.
    pub fn mode(&self) -> CheckMode {
        if self.journal.force { CheckMode::Forced } else { CheckMode::Strict }
    }

    /// Returns the chain of the genesis file, or the only one in the quorum store that matches.
    pub fn identity(&self, quorum: &EtcdStore, prefix: &str) -> Result<Identity, ClusterTargetError> {
        if let Some(path) = &self.genesis {
            let spec = ChainSpec::new(read_genesis(path)?);
            let spec = spec.map_err(|error| SettingsError::ChainSpec(error.to_string()))?;
            return Ok(chain_identity(&spec));
        }
        let prefix = prefix.to_owned();
        let chains = list_chains(quorum, &prefix)?;
        let is_wanted = |chain: &&Identity| self.chain_id.is_none_or(|id| id == chain.chain_id);
        let matching: Vec<_> = chains.iter().filter(is_wanted).collect();
        let show = |chain: &&Identity| format!("{} ({})", chain.chain_id, chain.genesis);
        let error = match (matching.as_slice(), self.chain_id) {
            ([chain], _) => return Ok(**chain),
            ([], Some(chain_id)) if !chains.is_empty() => {
                let listed = chains.iter().map(|chain| show(&chain)).collect::<Vec<_>>().join(", ");
                ClusterTargetError::OtherChain { chain_id, prefix, chains: listed }
            }
            ([], _) => ClusterTargetError::NoChain { prefix },
            (several, _) => {
                let listed = several.iter().map(show).collect::<Vec<_>>().join(", ");
                ClusterTargetError::SeveralChains { prefix, chains: listed }
            }
        };
        Err(error)
    }
}

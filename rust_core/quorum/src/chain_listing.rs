//! Chains below a prefix of the quorum store.

use alloy_primitives::B256;
use foreseal_journal::Identity;

use crate::{
    quorum_error::QuorumStoreError,
    quorum_store::{KeyRange, QuorumRequest, QuorumResponse, QuorumStore},
};

/// Maximum number of chains that are listed.
const MAX_CHAINS: usize = 64;

/// Lists the chains that have keys below `prefix`, the path of an [`EtcdUrl`](crate::EtcdUrl); at most 64.
///
/// # Errors
/// Returns the quorum store's error if a majority does not answer.
pub fn list_chains(quorum: &dyn QuorumStore, prefix: &str) -> Result<Vec<Identity>, QuorumStoreError> {
    let prefix = format!("{}/", prefix.trim_end_matches('/'));
    let to = format!("{}0", prefix.trim_end_matches('/'));
    let (mut from, mut chains) = (prefix.clone(), Vec::new());
    // Each round reads one key and continues after all keys of its chain.
    for _ in 0..MAX_CHAINS {
        let range = KeyRange { from: from.clone(), to: to.clone(), limit: 1, keys_only: true };
        let QuorumResponse::Range { entries, .. } = quorum.call(&QuorumRequest::Range(range))? else {
            return Err(QuorumStoreError::invalid_response("expected the response of a range"));
        };
        let Some(entry) = entries.into_iter().next() else { break };
        let Some(rest) = entry.key.strip_prefix(&prefix) else { break };
        from = match rest.split_once('/') {
            Some((name, _)) => {
                chains.extend(parse_identity(name));
                format!("{prefix}{name}0")
            }
            None => format!("{}\0", entry.key),
        };
    }
    Ok(chains)
}

/// Parses a chain id and a hash of a genesis, joined by a dash.
fn parse_identity(name: &str) -> Option<Identity> {
    let (chain_id, genesis) = name.split_once('-')?;
    Some(Identity { chain_id: chain_id.parse().ok()?, genesis: genesis.parse::<B256>().ok()? })
}

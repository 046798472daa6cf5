//! Data of a new machine: an empty data directory is filled with a snapshot of another node.

use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use foreseal_backup::{SnapshotTarget, receive_snapshot};
use foreseal_chain::datadir::{CopyProgress, genesis_hash};
use foreseal_journal::Identity;
use foreseal_node::Settings;
use foreseal_primitives::ChainSpec;
use foreseal_replication::quorum::{QuorumKeys, QuorumLog};
use foreseal_replication::{FeedAddress, FeedConnector, fetch_snapshot};

use crate::errors::CoreError;
use crate::settings_error::SettingsError;

/// Time between attempts.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// Time after which a node with a genesis of its own starts from it.
const MAX_WAIT_WITH_GENESIS: Duration = Duration::from_secs(10);
/// Time between progress messages.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

/// Fills an empty data directory of a node that follows others with a snapshot of one of them.
///
/// Without a reachable node it waits. A node with a genesis of its own then starts from that: it can follow if
/// the others still have the whole chain in their journals.
///
/// # Errors
/// Returns an error of the credentials or of the genesis.
pub fn bootstrap(settings: &Settings) -> Result<(), CoreError> {
    if !is_empty(&settings.datadir) {
        return Ok(());
    }
    let expected = settings.genesis.clone().map(ChainSpec::new).transpose();
    let expected = expected.map_err(|error| SettingsError::ChainSpec(error.to_string()))?;
    let identity = expected.map(|spec| Identity { chain_id: spec.chain_id(), genesis: genesis_hash(&spec) });
    let security = settings.cluster.credentials.load().map_err(|error| CoreError::Node(error.into()))?;
    let connector = FeedConnector::new(security);
    let (began, mut logged) = (Instant::now(), None);
    loop {
        let Some(addresses) = addresses(settings, identity) else { return Ok(()) };
        for address in &addresses {
            match fetch(settings, &connector, address, identity) {
                Ok(()) => return Ok(()),
                Err(reason) if logged.as_ref() == Some(&reason) => {}
                Err(reason) => {
                    tracing::warn!(%address, reason, "no snapshot for the empty data directory yet");
                    logged = Some(reason);
                }
            }
        }
        if identity.is_some() && began.elapsed() > MAX_WAIT_WITH_GENESIS {
            tracing::warn!("starting from the genesis: no other node sent a snapshot");
            return Ok(());
        }
        std::thread::sleep(RETRY_INTERVAL);
    }
}

fn is_empty(datadir: &Path) -> bool {
    !datadir.join("genesis.json").exists() && !datadir.join("journal").exists()
        || fs::read_dir(datadir).is_ok_and(|mut entries| entries.next().is_none())
}

/// Returns the feeds that may send a snapshot; `None` if there is nothing to follow.
fn addresses(settings: &Settings, identity: Option<Identity>) -> Option<Vec<FeedAddress>> {
    if let foreseal_node::Role::Replica { upstream, .. } = &settings.role {
        return Some(upstream.clone());
    }
    let quorum = settings.cluster.quorum.as_ref()?;
    // Without the chain's identity, its keys in the engine are not known: a member needs a genesis.
    let log = QuorumLog::new(quorum.engine.clone(), QuorumKeys::new(&quorum.prefix, &identity?));
    match log.observe() {
        // A chain without an owner begins here, or at the first node that is not a standby.
        Ok(observed) => {
            let owner = observed.owner?.owner;
            Some(FeedAddress::parse(&owner.feed).into_iter().collect())
        }
        Err(error) => {
            tracing::warn!(%error, "cannot read the owner of the chain");
            Some(Vec::new())
        }
    }
}

fn fetch(
    settings: &Settings,
    connector: &FeedConnector,
    address: &FeedAddress,
    identity: Option<Identity>,
) -> Result<(), String> {
    let stream = connector.connect(address).map_err(|error| error.to_string())?;
    let map_size = settings.store.map_size;
    let mut shown = Instant::now();
    let mut watch = |progress: CopyProgress| {
        if shown.elapsed() >= PROGRESS_INTERVAL {
            shown = Instant::now();
            let CopyProgress { done, of, .. } = progress;
            tracing::info!(bytes = done, of, "receiving a snapshot");
        }
        ControlFlow::Continue(())
    };
    tracing::info!(%address, "the data directory is empty: receiving a snapshot");
    let received = fetch_snapshot(&stream, identity, |identity, input| {
        let target = SnapshotTarget { datadir: &settings.datadir, map_size, identity: Some(identity) };
        receive_snapshot(input, &target, &mut watch)
    });
    let manifest = received.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
    tracing::info!(next = manifest.journal_next, "received a snapshot");
    Ok(())
}

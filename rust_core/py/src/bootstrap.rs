//! Data of a new machine: an empty data directory is filled with a snapshot of another node.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use foreseal_backup::{BackupError, CopyTarget, is_new, receive_copy};
use foreseal_chain::datadir::CopyProgress;
use foreseal_journal::Identity;
use foreseal_node::{Role, Settings};
use foreseal_primitives::ChainSpec;
use foreseal_quorum::{QuorumKeys, QuorumLog};
use foreseal_replication::wire::Ending;
use foreseal_replication::{DirectoryCopyError, FeedAddress, FeedConnector, fetch_directory_copy};

use crate::chain_identity::chain_identity;
use crate::errors::CoreError;
use crate::settings_error::SettingsError;

/// Time between attempts.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// Time after which a node with a genesis of its own starts from it, unless another node is busy with snapshots.
const MAX_WAIT_WITH_GENESIS: Duration = Duration::from_secs(10);
/// Time between progress messages.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);
/// Time between checks for a stop.
const STOP_INTERVAL: Duration = Duration::from_millis(100);

/// Outcome of an attempt that may be repeated.
enum Attempt {
    Received,
    /// The sender sends other snapshots meanwhile.
    Busy(String),
    Failed(String),
}

/// Fills the empty data directory of a node that follows others.
struct Bootstrap<'a> {
    settings: &'a Settings,
    /// Chain of the genesis file; `None` accepts any.
    identity: Option<Identity>,
    connector: FeedConnector,
    is_stopping: &'a mut dyn FnMut() -> bool,
    checked: Option<Instant>,
}

/// Fills an empty data directory of a node that follows others with a snapshot of one of them.
///
/// Without a reachable node it waits. A node with a genesis of its own then starts from that: it can follow if the
/// others still have the whole chain in their journals. `is_stopping` is called ten times a second, and ends the wait.
///
/// # Errors
/// Returns an error of the credentials, of the genesis, of the data directory or of its disk, or of a node that has
/// another chain; and [`CoreError::Stopped`].
pub fn bootstrap(settings: &Settings, is_stopping: &mut dyn FnMut() -> bool) -> Result<(), CoreError> {
    if !is_new(&settings.datadir)? {
        return Ok(());
    }
    let spec = settings.genesis.clone().map(ChainSpec::new).transpose();
    let spec = spec.map_err(|error| SettingsError::ChainSpec(error.to_string()))?;
    let security = settings.cluster.credentials.load().map_err(|error| CoreError::Node(error.into()))?;
    let identity = spec.as_ref().map(chain_identity);
    Bootstrap { settings, identity, connector: FeedConnector::new(security), is_stopping, checked: None }
        .run()
}

impl Bootstrap<'_> {
    fn run(&mut self) -> Result<(), CoreError> {
        let (mut began, mut logged) = (Instant::now(), None);
        loop {
            let Some(addresses) = self.addresses() else { return Ok(()) };
            for address in &addresses {
                let reason = match self.fetch(address)? {
                    Attempt::Received => return Ok(()),
                    Attempt::Busy(reason) => {
                        began = Instant::now();
                        reason
                    }
                    Attempt::Failed(reason) => reason,
                };
                if logged.as_ref() != Some(&reason) {
                    tracing::warn!(%address, reason, "no snapshot for the empty data directory yet");
                    logged = Some(reason);
                }
            }
            if self.identity.is_some() && began.elapsed() > MAX_WAIT_WITH_GENESIS {
                tracing::warn!("starting from the genesis: no other node sent a snapshot");
                return Ok(());
            }
            self.pause()?;
        }
    }

    /// Returns the feeds that may send a snapshot; `None` if there is nothing to follow.
    fn addresses(&self) -> Option<Vec<FeedAddress>> {
        if let Role::Replica { upstream, .. } = &self.settings.role {
            return Some(upstream.clone());
        }
        let quorum = self.settings.cluster.quorum.as_ref()?;
        // Without the chain's identity, its keys in the engine are not known: a member needs a genesis.
        let log = QuorumLog::new(quorum.store.clone(), QuorumKeys::new(&quorum.prefix, &self.identity?));
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

    /// Requests a snapshot from one node. An error is one that another attempt does not mend.
    fn fetch(&mut self, address: &FeedAddress) -> Result<Attempt, CoreError> {
        let Self { settings, identity, .. } = *self;
        let stream = match self.connector.connect(address) {
            Ok(stream) => stream,
            Err(error) => return Ok(Attempt::Failed(error.to_string())),
        };
        let map_size = settings.store.map_size;
        let mut shown = Instant::now();
        let mut watch = |progress: CopyProgress| {
            if shown.elapsed() >= PROGRESS_INTERVAL {
                shown = Instant::now();
                let CopyProgress { done, of, .. } = progress;
                tracing::info!(bytes = done, of, "receiving a snapshot");
            }
            if self.is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        tracing::info!(%address, "the data directory is empty: receiving a snapshot");
        let received = fetch_directory_copy(&stream, identity, |identity, input| {
            let target = CopyTarget { datadir: &settings.datadir, map_size, identity: Some(identity) };
            receive_copy(input, &target, &mut watch)
        });
        match received {
            Ok(Ok(manifest)) => {
                tracing::info!(next = manifest.journal_next, "received a snapshot");
                Ok(Attempt::Received)
            }
            Ok(Err(BackupError::Interrupted)) => Err(CoreError::Stopped),
            Ok(Err(
                error @ (BackupError::Stream { .. }
                | BackupError::SenderFailed(_)
                | BackupError::DamagedCopy { .. }
                | BackupError::NotACopy { .. }),
            )) => Ok(Attempt::Failed(error.to_string())),
            Ok(Err(error)) => Err(error.into()),
            Err(error @ DirectoryCopyError::OtherChain { .. }) => Err(error.into()),
            Err(error @ DirectoryCopyError::Ended(Ending::Busy { .. })) => {
                Ok(Attempt::Busy(error.to_string()))
            }
            Err(error) => Ok(Attempt::Failed(error.to_string())),
        }
    }

    /// Waits until the next attempt.
    fn pause(&mut self) -> Result<(), CoreError> {
        let until = Instant::now() + RETRY_INTERVAL;
        while Instant::now() < until {
            std::thread::sleep(STOP_INTERVAL);
            if self.is_stopped() {
                return Err(CoreError::Stopped);
            }
        }
        Ok(())
    }

    fn is_stopped(&mut self) -> bool {
        if self.checked.is_some_and(|checked| checked.elapsed() < STOP_INTERVAL) {
            return false;
        }
        self.checked = Some(Instant::now());
        (self.is_stopping)()
    }
}

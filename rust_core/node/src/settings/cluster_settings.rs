//! Settings of a node that works with other machines.

use std::{fmt, sync::Arc, time::Duration};

use foreseal_quorum::QuorumStore;
use foreseal_replication::{FeedAddress, FeedCredentials, ListenerLimits};

/// Settings of a node that works with other machines. The default works alone.
#[derive(Clone, Debug)]
pub struct ClusterSettings {
    /// Name of this process in status and metrics of the others.
    pub name: String,
    /// Address at which followers on other machines connect.
    pub listen: Option<FeedAddress>,
    /// Address that others use for it; `None` for the address that is listened at.
    pub advertise: Option<FeedAddress>,
    /// Address of the RPC server, for display.
    pub rpc: String,
    /// Credentials for serving and following.
    pub credentials: FeedCredentials,
    pub limits: ListenerLimits,
    /// Age of the last tick beyond which a node that follows another machine is unhealthy.
    pub max_age: Duration,
    /// Quorum journal; `None` writes the journal on this machine only.
    pub quorum: Option<QuorumSettings>,
}

impl Default for ClusterSettings {
    fn default() -> Self {
        Self {
            name: String::new(),
            listen: None,
            advertise: None,
            rpc: String::new(),
            credentials: FeedCredentials::default(),
            limits: ListenerLimits::default(),
            max_age: Duration::from_secs(2),
            quorum: None,
        }
    }
}

/// Settings of a quorum journal.
#[derive(Clone)]
pub struct QuorumSettings {
    /// Connection to the quorum store.
    pub store: Arc<dyn QuorumStore>,
    /// Prefix of the keys in the quorum store.
    pub prefix: String,
    /// `true` only takes over from an owner; a chain without one waits for another process.
    pub standby: bool,
}

impl fmt::Debug for QuorumSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { prefix, standby, .. } = self;
        f.debug_struct("QuorumSettings")
            .field("prefix", prefix)
            .field("standby", standby)
            .finish_non_exhaustive()
    }
}

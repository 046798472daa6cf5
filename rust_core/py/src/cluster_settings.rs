//! Settings of a node that works with other machines, from Python.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use foreseal_node::{ClusterSettings, QuorumSettings};
use foreseal_quorum::{
    EtcdClientCertificate, EtcdSettings, EtcdStore, EtcdTls, EtcdUrl, EtcdUser, QuorumStore, check_members,
};
use foreseal_replication::{FeedAddress, FeedCredentials};
use serde::Deserialize;

use crate::settings_error::SettingsError;

/// Settings of a node that works with other machines; see `foreseal_node::ClusterSettings`.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PyCluster {
    #[serde(default)]
    name: String,
    /// Addresses of feeds that this node follows.
    #[serde(default)]
    follow: Vec<String>,
    /// `HOST:PORT` of the feed for other machines.
    feed_listen: Option<String>,
    feed_advertise: Option<String>,
    feed_ca: Option<PathBuf>,
    feed_cert: Option<PathBuf>,
    feed_key: Option<PathBuf>,
    feed_token_file: Option<PathBuf>,
    /// URL of the RPC server, for display.
    #[serde(default)]
    rpc: String,
    /// Milliseconds.
    max_age: Option<u64>,
    #[serde(default)]
    standby: bool,
    journal: Option<PyQuorum>,
}

/// Connection to the quorum store of a quorum journal.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PyQuorum {
    pub url: String,
    pub ca: Option<PathBuf>,
    pub cert: Option<PathBuf>,
    pub key: Option<PathBuf>,
    pub user: Option<String>,
    pub password_file: Option<PathBuf>,
    /// Accepts a quorum store that is too old or has a single member.
    #[serde(default)]
    pub force: bool,
}

impl PyQuorum {
    /// Connects to the quorum store. Returns it with the prefix of its keys.
    pub fn connect(&self) -> Result<(EtcdStore, String), SettingsError> {
        let url = EtcdUrl::parse(&self.url)?;
        let prefix = url.prefix.clone();
        let client = match (&self.cert, &self.key) {
            (None, None) => None,
            (Some(cert), Some(key)) => {
                Some(EtcdClientCertificate { certificate_file: cert.clone(), key_file: key.clone() })
            }
            _ => return Err(SettingsError::Cluster("journal_cert and journal_key belong together")),
        };
        let tls = match (&self.ca, client) {
            (Some(ca), client) => Some(EtcdTls { ca_file: ca.clone(), client }),
            (None, None) => None,
            (None, Some(_)) => {
                return Err(SettingsError::Cluster("journal_cert needs journal_ca, the CA of the engine"));
            }
        };
        let user = match (&self.user, &self.password_file) {
            (None, None) => None,
            (Some(name), Some(file)) => Some(EtcdUser { name: name.clone(), password_file: file.clone() }),
            _ => {
                return Err(SettingsError::Cluster("journal_user and journal_password_file belong together"));
            }
        };
        Ok((EtcdStore::new(&EtcdSettings { url, tls, user })?, prefix))
    }
}

impl PyCluster {
    /// Returns the addresses of the feeds that this node follows.
    pub fn upstream(&self) -> Result<Vec<FeedAddress>, SettingsError> {
        let addresses: Result<Vec<_>, _> = self.follow.iter().map(|text| FeedAddress::parse(text)).collect();
        Ok(addresses?)
    }

    /// Returns the credentials of the feed.
    pub fn credentials(&self) -> FeedCredentials {
        FeedCredentials {
            ca: self.feed_ca.clone(),
            certificate: self.feed_cert.clone(),
            key: self.feed_key.clone(),
            token: self.feed_token_file.clone(),
        }
    }

    /// Returns the settings of the node; `process` is its name if none is set. Only a process that `writes` its data
    /// directory uses the quorum journal.
    pub fn settings(&self, process: &str, writes: bool) -> Result<ClusterSettings, SettingsError> {
        let default = ClusterSettings::default();
        let quorum = self.journal.as_ref().filter(|_| writes).map(|journal| {
            let (quorum, prefix) = journal.connect()?;
            Ok::<_, SettingsError>(QuorumSettings { store: Arc::new(quorum), prefix, standby: self.standby })
        });
        Ok(ClusterSettings {
            name: if self.name.is_empty() { process.to_owned() } else { self.name.clone() },
            listen: self.feed_listen.as_deref().map(|text| self.address(text)).transpose()?,
            advertise: self.feed_advertise.as_deref().map(|text| self.address(text)).transpose()?,
            rpc: self.rpc.clone(),
            credentials: self.credentials(),
            max_age: self.max_age.map_or(default.max_age, Duration::from_millis),
            quorum: quorum.transpose()?,
            ..default
        })
    }

    /// Returns an address of this node's feed: with TLS if there is a certificate.
    fn address(&self, text: &str) -> Result<FeedAddress, SettingsError> {
        let scheme = if self.feed_cert.is_some() { "tls" } else { "tcp" };
        Ok(FeedAddress::parse(&format!("{scheme}://{text}"))?)
    }

    /// Checks versions and number of members of the quorum store. A quorum store that does not answer is no error: the
    /// node waits for it.
    pub fn check_quorum_store(&self, quorum: &dyn QuorumStore) -> Result<(), SettingsError> {
        let force = self.journal.as_ref().is_some_and(|journal| journal.force);
        let findings = match check_members(quorum) {
            Ok(membership) => membership.findings,
            Err(error) => {
                tracing::warn!(%error, "cannot check the engine of the quorum journal");
                return Ok(());
            }
        };
        for finding in findings {
            if finding.is_configuration() && !force {
                return Err(SettingsError::QuorumSetup(finding.to_string()));
            }
            tracing::warn!(%finding, "the engine of the quorum journal needs attention");
        }
        Ok(())
    }
}

//! Settings of a connection to etcd.

use std::path::{Path, PathBuf};

use tonic::transport::{Certificate, ClientTlsConfig, Identity};

use super::etcd_url::EtcdUrl;

/// Settings of a connection to an etcd cluster.
#[derive(Clone, Debug)]
pub struct EtcdSettings {
    pub url: EtcdUrl,
    /// `None` connects without TLS.
    pub tls: Option<EtcdTls>,
    /// `None` sends no authentication token.
    pub user: Option<EtcdUser>,
}

/// Files of a TLS connection, in PEM. Keys on the curve P-521, as `etcd --auto-tls` creates them, are not supported.
#[derive(Clone, Debug)]
pub struct EtcdTls {
    /// Certificate authority that signed the members' certificates.
    pub ca_file: PathBuf,
    /// Certificate and key of this client; `None` if the members require none.
    pub client: Option<EtcdClientCertificate>,
}

/// Files of a client's certificate and key, in PEM.
#[derive(Clone, Debug)]
pub struct EtcdClientCertificate {
    pub certificate_file: PathBuf,
    pub key_file: PathBuf,
}

/// User of etcd's authentication.
#[derive(Clone, Debug)]
pub struct EtcdUser {
    pub name: String,
    /// File with the password; trailing line breaks are ignored. Read again for each new token.
    pub password_file: PathBuf,
}

/// Faults of the settings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EtcdSetupError {
    #[error("cannot read {}: {reason}", path.display())]
    File { path: PathBuf, reason: String },
    #[error("cannot connect to etcd at {endpoint}: {reason}")]
    Endpoint { endpoint: String, reason: String },
    #[error("cannot start the threads of the etcd client: {reason}")]
    Runtime { reason: String },
}

impl EtcdTls {
    pub(super) fn config(&self) -> Result<ClientTlsConfig, EtcdSetupError> {
        let authority = Certificate::from_pem(read_file(&self.ca_file)?);
        let config = ClientTlsConfig::new().ca_certificate(authority);
        let Some(client) = &self.client else { return Ok(config) };
        let (certificate, key) = (read_file(&client.certificate_file)?, read_file(&client.key_file)?);
        Ok(config.identity(Identity::from_pem(certificate, key)))
    }
}

impl EtcdUser {
    pub(super) fn password(&self) -> Result<String, EtcdSetupError> {
        let bytes = read_file(&self.password_file)?;
        let text = String::from_utf8(bytes).map_err(|_| EtcdSetupError::File {
            path: self.password_file.clone(),
            reason: "the password must be UTF-8".to_owned(),
        })?;
        Ok(text.trim_end_matches(['\r', '\n']).to_owned())
    }
}

fn read_file(path: &Path) -> Result<Vec<u8>, EtcdSetupError> {
    std::fs::read(path)
        .map_err(|error| EtcdSetupError::File { path: path.to_owned(), reason: error.to_string() })
}

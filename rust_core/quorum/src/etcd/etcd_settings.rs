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
    #[error("the password would be sent to {endpoint} without encryption: name the CA of the etcd members")]
    PlainPassword { endpoint: String },
    #[error("cannot start the threads of the etcd client: {reason}")]
    Runtime { reason: String },
}

impl EtcdSettings {
    /// Checks that the password leaves this machine only over TLS.
    pub(super) fn check_password(&self) -> Result<(), EtcdSetupError> {
        match (&self.user, &self.tls, self.url.remote_endpoint()) {
            (Some(_), None, Some(endpoint)) => {
                Err(EtcdSetupError::PlainPassword { endpoint: endpoint.to_owned() })
            }
            _ => Ok(()),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, tls: bool, user: bool) -> Result<(), EtcdSetupError> {
        let file = PathBuf::from("file");
        let settings = EtcdSettings {
            url: EtcdUrl::parse(url).unwrap(),
            tls: tls.then(|| EtcdTls { ca_file: file.clone(), client: None }),
            user: user.then(|| EtcdUser { name: "foreseal".to_owned(), password_file: file }),
        };
        settings.check_password()
    }

    #[test]
    fn password_leaves_this_machine_over_tls_only() {
        let remote = "etcd://127.0.0.1:1,10.0.0.2:1,[::1]:1";
        let endpoint = "10.0.0.2:1".to_owned();
        assert_eq!(check(remote, false, true), Err(EtcdSetupError::PlainPassword { endpoint }));
        for (url, tls, user) in [
            (remote, true, true),
            (remote, false, false),
            ("etcd://127.0.0.1:1,localhost:1,[::1]:1", false, true),
        ] {
            assert_eq!(check(url, tls, user), Ok(()), "{url}");
        }
    }
}

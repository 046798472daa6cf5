//! Certificates and tokens, made for one test.

use std::{fs, path::PathBuf};

use foreseal_replication::{FeedCredentials, FeedSecurity};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use tempfile::TempDir;

/// A certificate authority with a folder of its own.
pub struct Authority {
    folder: TempDir,
    issuer: Issuer<'static, KeyPair>,
}

/// Files of a certificate with its key.
pub struct Identity {
    pub certificate: Option<PathBuf>,
    pub key: Option<PathBuf>,
}

impl Authority {
    pub fn new() -> Self {
        let (folder, key) = (tempfile::tempdir().unwrap(), KeyPair::generate().unwrap());
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        fs::write(folder.path().join("ca.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
        Self { folder, issuer: Issuer::new(params, key) }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn ca(&self) -> PathBuf {
        self.path("ca.pem")
    }

    /// Issues a certificate for a host name or IP address.
    pub fn issue(&self, host: &str) -> Identity {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![host.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let (certificate_path, key_path) =
            (self.path(&format!("{host}.pem")), self.path(&format!("{host}.key")));
        fs::write(&certificate_path, certificate.pem()).unwrap();
        fs::write(&key_path, key.serialize_pem()).unwrap();
        Identity { certificate: Some(certificate_path), key: Some(key_path) }
    }

    /// Writes a token file.
    pub fn token(&self, token: &str) -> PathBuf {
        let path = self.path(token);
        fs::write(&path, format!("{token}\n")).unwrap();
        path
    }

    /// Returns the credentials of a listener on 127.0.0.1 that admits followers with a certificate.
    pub fn server(&self) -> FeedCredentials {
        let Identity { certificate, key } = self.issue("127.0.0.1");
        FeedCredentials { ca: Some(self.ca()), certificate, key, token: None }
    }

    /// Returns the credentials of a follower without certificate and token.
    pub fn anonymous(&self) -> FeedCredentials {
        FeedCredentials { ca: Some(self.ca()), ..FeedCredentials::default() }
    }

    /// Returns the credentials of a follower with a certificate.
    pub fn follower(&self) -> FeedCredentials {
        let Identity { certificate, key } = self.issue("follower.example");
        FeedCredentials { certificate, key, ..self.anonymous() }
    }
}

/// Returns the credentials of both sides, by certificates.
pub fn trusted_pair() -> (FeedSecurity, FeedSecurity) {
    let authority = Authority::new();
    (authority.server().load().unwrap(), authority.follower().load().unwrap())
}

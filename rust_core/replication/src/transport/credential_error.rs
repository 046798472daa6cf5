//! Faults of the files with a feed's credentials.

use std::{io, path::PathBuf};

/// Fault of the files with a feed's credentials.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    #[error("cannot read the {what} {}: {why}", path.display())]
    Read { what: &'static str, path: PathBuf, why: io::Error },
    #[error("the {what} {} is not valid PEM: {why}", path.display())]
    Pem { what: &'static str, path: PathBuf, why: String },
    #[error("the {what} {} contains no certificate", path.display())]
    NoCertificate { what: &'static str, path: PathBuf },
    #[error("the CA file {} contains a certificate that cannot be used: {why}", path.display())]
    Ca { path: PathBuf, why: String },
    #[error("the certificate {} cannot be used with the key {}: {why}", certificate.display(), key.display())]
    Pair { certificate: PathBuf, key: PathBuf, why: String },
    #[error("the certificate {} has no key: set both or none", path.display())]
    CertificateAlone { path: PathBuf },
    #[error("the key {} has no certificate: set both or none", path.display())]
    KeyAlone { path: PathBuf },
    #[error("the token in {} must have 16 to 1024 bytes, got {bytes}", path.display())]
    TokenSize { path: PathBuf, bytes: u64 },
}

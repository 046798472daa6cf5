//! Files with a feed's credentials.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{
    ClientConfig, RootCertStore, ServerConfig,
    client::{Resumption, WebPkiServerVerifier},
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivateKeyDer, pem, pem::PemObject},
    server::{NoServerSessionStorage, WebPkiClientVerifier},
    version::TLS13,
};

use super::{CredentialError, FeedSecurity, feed_token::FeedToken};

/// Maximum size of a file with certificates or a key, in bytes.
const MAX_PEM_SIZE: u64 = 1 << 20;

/// Files with the credentials of a process that serves or follows a feed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeedCredentials {
    /// Certificates that sign those of the peers.
    pub ca: Option<PathBuf>,
    /// Certificate chain of this process.
    pub certificate: Option<PathBuf>,
    /// Private key of the certificate.
    pub key: Option<PathBuf>,
    /// Shared secret of 16 to 1024 bytes.
    pub token: Option<PathBuf>,
}

/// A certificate chain with its key, and the files that contain them.
struct OwnCertificate<'p> {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    files: (&'p Path, &'p Path),
}

impl FeedCredentials {
    /// Loads the files.
    ///
    /// # Errors
    /// Names the file and its fault.
    pub fn load(&self) -> Result<FeedSecurity, CredentialError> {
        let ca = self.ca.as_deref().map(load_ca).transpose()?;
        let own = self.own_certificate()?;
        let token = self.token.as_deref().map(FeedToken::load).transpose()?;
        let server = match &own {
            Some(own) if ca.is_some() || token.is_some() => {
                Some(server_config(own, ca.as_ref(), token.is_some())?)
            }
            _ => None,
        };
        let client = ca.as_ref().map(|ca| client_config(ca, own.as_ref())).transpose()?;
        Ok(FeedSecurity { server, client, token })
    }

    fn own_certificate(&self) -> Result<Option<OwnCertificate<'_>>, CredentialError> {
        let files = match (self.certificate.as_deref(), self.key.as_deref()) {
            (None, None) => return Ok(None),
            (Some(path), None) => return Err(CredentialError::CertificateAlone { path: path.to_owned() }),
            (None, Some(path)) => return Err(CredentialError::KeyAlone { path: path.to_owned() }),
            (Some(certificate), Some(key)) => (certificate, key),
        };
        let chain = load_certificates("certificate", files.0)?;
        let key = PrivateKeyDer::from_pem_slice(&read("key", files.1)?);
        let key = key.map_err(|why| CredentialError::Pem {
            what: "key",
            path: files.1.to_owned(),
            why: match why {
                pem::Error::NoItemsFound => "it contains no private key".to_owned(),
                why => why.to_string(),
            },
        })?;
        Ok(Some(OwnCertificate { chain, key, files }))
    }
}

impl OwnCertificate<'_> {
    fn invalid(&self, why: &rustls::Error) -> CredentialError {
        let (certificate, key) = (self.files.0.to_owned(), self.files.1.to_owned());
        CredentialError::Pair { certificate, key, why: why.to_string() }
    }
}

/// Trusted certificates, and the file that contains them.
struct TrustedCa<'p> {
    roots: Arc<RootCertStore>,
    path: &'p Path,
}

impl TrustedCa<'_> {
    fn invalid(&self, why: &impl ToString) -> CredentialError {
        CredentialError::Ca { path: self.path.to_owned(), why: why.to_string() }
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn server_config(
    own: &OwnCertificate<'_>,
    ca: Option<&TrustedCa<'_>>,
    has_token: bool,
) -> Result<Arc<ServerConfig>, CredentialError> {
    let config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])
        .map_err(|why| own.invalid(&why))?;
    let config = match ca {
        Some(ca) => {
            let verifier = WebPkiClientVerifier::builder_with_provider(ca.roots.clone(), provider());
            // A follower without a certificate may still have the token.
            let verifier = if has_token { verifier.allow_unauthenticated() } else { verifier };
            config.with_client_cert_verifier(verifier.build().map_err(|why| ca.invalid(&why))?)
        }
        None => config.with_no_client_auth(),
    };
    let config = config.with_single_cert(own.chain.clone(), own.key.clone_key());
    let mut config = config.map_err(|why| own.invalid(&why))?;
    // Connections last long: a resumed session would save little, and skip the check of the certificate.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

fn client_config(
    ca: &TrustedCa<'_>,
    own: Option<&OwnCertificate<'_>>,
) -> Result<Arc<ClientConfig>, CredentialError> {
    let verifier = WebPkiServerVerifier::builder_with_provider(ca.roots.clone(), provider());
    let config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])
        .map_err(|why| ca.invalid(&why))?
        .with_webpki_verifier(verifier.build().map_err(|why| ca.invalid(&why))?);
    let mut config = match own {
        Some(own) => config
            .with_client_auth_cert(own.chain.clone(), own.key.clone_key())
            .map_err(|why| own.invalid(&why))?,
        None => config.with_no_client_auth(),
    };
    config.resumption = Resumption::disabled();
    Ok(Arc::new(config))
}

fn load_ca(path: &Path) -> Result<TrustedCa<'_>, CredentialError> {
    let mut roots = RootCertStore::empty();
    for certificate in load_certificates("CA file", path)? {
        let added = roots.add(certificate);
        added.map_err(|why| CredentialError::Ca { path: path.to_owned(), why: why.to_string() })?;
    }
    Ok(TrustedCa { roots: Arc::new(roots), path })
}

fn load_certificates(
    what: &'static str,
    path: &Path,
) -> Result<Vec<CertificateDer<'static>>, CredentialError> {
    let bytes = read(what, path)?;
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    let certificates = certificates.map_err(|why| CredentialError::Pem {
        what,
        path: path.to_owned(),
        why: why.to_string(),
    })?;
    if certificates.is_empty() {
        return Err(CredentialError::NoCertificate { what, path: path.to_owned() });
    }
    Ok(certificates)
}

fn read(what: &'static str, path: &Path) -> Result<Vec<u8>, CredentialError> {
    let failed = |why| CredentialError::Read { what, path: path.to_owned(), why };
    let size = fs::metadata(path).map_err(failed)?.len();
    if size > MAX_PEM_SIZE {
        return Err(failed(io::Error::other(format!("it has {size} bytes, more than {MAX_PEM_SIZE}"))));
    }
    fs::read(path).map_err(failed)
}

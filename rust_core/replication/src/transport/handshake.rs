//! The handshake of a new connection, on the listener's side.

use std::{io, sync::Arc, time::Duration};

use rustls::ServerConfig;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};
use tokio_rustls::TlsAcceptor;

use super::{
    bridge::linger,
    feed_token::FeedToken,
    preamble::{Verdict, read_preamble},
};

/// An encrypted or plain connection.
pub(super) trait NetworkStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> NetworkStream for T {}

/// A connection that may reach a session, and its share of the connection limit.
pub(super) struct AdmittedConnection {
    pub network: Box<dyn NetworkStream>,
    pub permit: OwnedSemaphorePermit,
}

/// Reason for which a connection is not admitted.
#[derive(Debug, thiserror::Error)]
pub(super) enum HandshakeError {
    #[error("TLS handshake failed: {0}")]
    Tls(io::Error),
    #[error("connection lost before its preamble: {0}")]
    Preamble(io::Error),
    #[error(transparent)]
    Rejected(Verdict),
    #[error("not authenticated within {0:?}")]
    Timeout(Duration),
}

/// Rules by which connections are admitted.
pub(super) struct HandshakeRules {
    /// Configuration of TLS; `None` for a loopback listener without encryption.
    pub tls: Option<Arc<ServerConfig>>,
    pub token: Option<FeedToken>,
    pub timeout: Duration,
    /// Permits of the connection limit.
    pub connections: Arc<Semaphore>,
}

impl HandshakeRules {
    /// Authenticates the peer within the time limit.
    pub async fn admit(&self, tcp: TcpStream) -> Result<AdmittedConnection, HandshakeError> {
        let late = |_| HandshakeError::Timeout(self.timeout);
        let Some(tls) = &self.tls else {
            return timeout(self.timeout, self.check_preamble(tcp, false)).await.map_err(late)?;
        };
        let run = async {
            match TlsAcceptor::from(tls.clone()).accept(tcp).into_fallible().await {
                Ok(stream) => {
                    // The verifier has accepted a certificate that is present.
                    let has_certificate = stream.get_ref().1.peer_certificates().is_some();
                    self.check_preamble(stream, has_certificate).await
                }
                Err((error, tcp)) => {
                    // The alert must arrive, so that the peer can report the reason.
                    linger(tcp).await;
                    Err(HandshakeError::Tls(error))
                }
            }
        };
        timeout(self.timeout, run).await.map_err(late)?
    }

    async fn check_preamble(
        &self,
        mut stream: impl NetworkStream + 'static,
        has_certificate: bool,
    ) -> Result<AdmittedConnection, HandshakeError> {
        let token = read_preamble(&mut stream).await.map_err(HandshakeError::Preamble)?;
        let admitted = match token {
            None => Err(Verdict::InvalidPreamble),
            Some(token) if has_certificate || self.has_token(&token) => {
                self.connections.clone().try_acquire_owned().map_err(|_| Verdict::TooManyConnections)
            }
            Some(_) => Err(Verdict::Unauthorized),
        };
        let verdict = admitted.as_ref().err().copied().unwrap_or(Verdict::Admitted);
        let sent = async {
            stream.write_all(&[verdict.to_byte()]).await?;
            stream.flush().await
        };
        sent.await.map_err(HandshakeError::Preamble)?;
        match admitted {
            Ok(permit) => Ok(AdmittedConnection { network: Box::new(stream), permit }),
            Err(verdict) => {
                linger(stream).await;
                Err(HandshakeError::Rejected(verdict))
            }
        }
    }

    fn has_token(&self, candidate: &[u8]) -> bool {
        self.token.as_ref().is_some_and(|token| token.matches(candidate))
    }
}

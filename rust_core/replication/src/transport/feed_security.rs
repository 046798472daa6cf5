//! Loaded credentials of a feed.

use std::{io, sync::Arc};

use rustls::{ClientConfig, ServerConfig};

use super::{FeedAddress, feed_token::FeedToken};

/// Loaded credentials of a process that serves or follows a feed. The default has none, which suffices for
/// Unix sockets.
#[derive(Clone, Debug, Default)]
pub struct FeedSecurity {
    /// Present with a certificate and something by which followers are admitted.
    pub(super) server: Option<Arc<ServerConfig>>,
    /// Present with a CA.
    pub(super) client: Option<Arc<ClientConfig>>,
    pub(super) token: Option<FeedToken>,
}

impl FeedSecurity {
    /// Checks that the credentials suffice to listen at `address`.
    pub fn check_listen(&self, address: &FeedAddress) -> io::Result<()> {
        match address {
            FeedAddress::Unix(_) => Ok(()),
            FeedAddress::Tcp { .. } if self.token.is_some() => Ok(()),
            FeedAddress::Tcp { .. } => Err(insufficient("to listen at a tcp:// address needs a token")),
            FeedAddress::Tls { .. } if self.server.is_some() => Ok(()),
            FeedAddress::Tls { .. } => Err(insufficient(
                "to listen at a tls:// address needs a certificate with its key, and a CA or a token",
            )),
        }
    }

    /// Checks that the credentials suffice to connect to `address`.
    pub fn check_connect(&self, address: &FeedAddress) -> io::Result<()> {
        match address {
            FeedAddress::Tls { .. } if self.client.is_none() => {
                Err(insufficient("to connect to a tls:// address needs the CA of its certificate"))
            }
            _ => Ok(()),
        }
    }
}

fn insufficient(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

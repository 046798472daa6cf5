//! Connection to one member.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use http::uri::PathAndQuery;
use parking_lot::Mutex;
use prost::Message;
use tonic::{
    Request, Status,
    client::Grpc,
    metadata::AsciiMetadataValue,
    transport::{Channel, ClientTlsConfig, Endpoint},
};
use tonic_prost::ProstCodec;

use super::etcd_settings::EtcdSetupError;

/// Time for a connection, its TLS handshake included.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(400);
/// Time between pings on a connection; etcd rejects clients that ping more often than every 5 s.
const PING_INTERVAL: Duration = Duration::from_secs(10);
const PING_TIMEOUT: Duration = Duration::from_secs(1);
/// Unanswered attempts after which the connection is replaced: a cut connection would resume only after TCP's
/// growing intervals.
const MAX_TIMEOUTS: u32 = 2;
/// Maximum size of a response in bytes.
const MAX_RESPONSE_BYTES: usize = 512 << 20;
const STREAM_WINDOW: u32 = 4 << 20;
const CONNECTION_WINDOW: u32 = 8 << 20;

/// Connection to one member of the cluster. Methods must run in the context of a runtime.
pub(super) struct EtcdEndpoint {
    /// Address as `host:port`.
    pub(super) address: String,
    endpoint: Endpoint,
    channel: Mutex<Channel>,
    timeouts: AtomicU32,
}

/// Content of one attempt.
pub(super) struct Attempt<'a, M> {
    pub(super) path: &'static str,
    pub(super) message: &'a M,
    pub(super) token: Option<AsciiMetadataValue>,
    pub(super) timeout: Duration,
}

impl EtcdEndpoint {
    /// Returns an endpoint that connects with its first attempt.
    pub(super) fn new(address: &str, tls: Option<&ClientTlsConfig>) -> Result<Self, EtcdSetupError> {
        let endpoint = Self::configure(address, tls).map_err(|error| EtcdSetupError::Endpoint {
            endpoint: address.to_owned(),
            reason: error_chain(&error),
        })?;
        let channel = Mutex::new(endpoint.connect_lazy());
        Ok(Self { address: address.to_owned(), endpoint, channel, timeouts: AtomicU32::new(0) })
    }

    fn configure(address: &str, tls: Option<&ClientTlsConfig>) -> Result<Endpoint, tonic::transport::Error> {
        let scheme = if tls.is_some() { "https" } else { "http" };
        let endpoint = Endpoint::from_shared(format!("{scheme}://{address}"))?
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_nodelay(true)
            .http2_keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PING_TIMEOUT)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW);
        tls.map_or(Ok(endpoint.clone()), |tls| endpoint.tls_config(tls.clone()))
    }

    /// Sends a message and returns the response, or a status without an answer after the timeout.
    pub(super) async fn send<M, R>(&self, attempt: Attempt<'_, M>) -> Result<R, Status>
    where
        M: Message + Clone + 'static,
        R: Message + Default + 'static,
    {
        let channel = self.channel.lock().clone();
        let timeout = attempt.timeout;
        if let Ok(result) = tokio::time::timeout(timeout, unary(channel, attempt)).await {
            self.timeouts.store(0, Ordering::Relaxed);
            return result;
        }
        if self.timeouts.fetch_add(1, Ordering::Relaxed) + 1 >= MAX_TIMEOUTS {
            self.timeouts.store(0, Ordering::Relaxed);
            *self.channel.lock() = self.endpoint.connect_lazy();
        }
        Err(Status::deadline_exceeded(format!("no answer within {} ms", timeout.as_millis())))
    }
}

async fn unary<M, R>(channel: Channel, attempt: Attempt<'_, M>) -> Result<R, Status>
where
    M: Message + Clone + 'static,
    R: Message + Default + 'static,
{
    let mut client = Grpc::new(channel).max_decoding_message_size(MAX_RESPONSE_BYTES);
    client.ready().await.map_err(|error| Status::unavailable(error_chain(&error)))?;
    let mut request = Request::new(attempt.message.clone());
    if let Some(token) = attempt.token {
        request.metadata_mut().insert("token", token);
    }
    let path = PathAndQuery::from_static(attempt.path);
    let response = client.unary(request, path, ProstCodec::<M, R>::default()).await?;
    Ok(response.into_inner())
}

/// Returns the message of an error with those of its sources.
fn error_chain(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        message = format!("{message}: {error}");
        source = error.source();
    }
    message
}

//! The listeners of a node for a driver: the Engine API, and flashblocks.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use bytes::Bytes;
use foreseal_engine::{Engine, EngineServer, FlashblocksServer, RequestHandler, TokenSecret};
use foreseal_rpc::Api;

use crate::settings::PyEngineApi;
use crate::settings_error::SettingsError;

/// Answers the calls of a driver that are not those of the Engine API.
struct ApiRequests(Arc<Api>);

impl RequestHandler for ApiRequests {
    fn call(&self, method: &str, params: &[u8]) -> Result<Bytes, Bytes> {
        self.0.call_newest(method, params).map_err(|error| {
            let mut json = Vec::new();
            error.write_json(&mut json);
            json.into()
        })
    }
}

/// Reads or creates the secret of the tokens.
///
/// # Errors
/// Returns an error if that is not possible.
pub fn secret(settings: &PyEngineApi) -> Result<TokenSecret, SettingsError> {
    Ok(TokenSecret::read_or_create(&settings.jwt)?)
}

/// The running listeners; they end when this value is dropped.
pub struct EngineListeners {
    /// The Engine API, with its metrics.
    pub engine: Arc<Engine>,
    pub server: EngineServer,
    _flashblocks: Option<FlashblocksServer>,
}

impl EngineListeners {
    /// Starts the listener of the Engine API, and that of flashblocks if it has an address.
    ///
    /// # Errors
    /// Returns an error if an address cannot be used.
    pub fn start(api: &Arc<Api>, settings: &PyEngineApi, secret: TokenSecret) -> Result<Self, SettingsError> {
        let node = api.node();
        let flashblocks = settings.flashblocks_ws.as_ref().map(|listen| {
            let failed = |error| SettingsError::FlashblocksListener { address: listen.clone(), error };
            let server = first_address(listen).and_then(|at| FlashblocksServer::start(node.clone(), at));
            let server = server.map_err(failed)?;
            tracing::info!(address = %server.address(), "flashblocks are served");
            Ok::<_, SettingsError>(server)
        });
        let flashblocks = flashblocks.transpose()?;
        let failed = |error| SettingsError::EngineListener { address: settings.listen.clone(), error };
        let engine = Arc::new(Engine::new(node.clone(), Arc::new(ApiRequests(api.clone()))));
        let server = first_address(&settings.listen)
            .and_then(|at| EngineServer::start(engine.clone(), at, secret))
            .map_err(failed)?;
        tracing::info!(address = %server.address(), "the Engine API is served");
        Ok(Self { engine, server, _flashblocks: flashblocks })
    }
}

fn first_address(listen: &str) -> io::Result<SocketAddr> {
    listen.to_socket_addrs()?.next().ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
}

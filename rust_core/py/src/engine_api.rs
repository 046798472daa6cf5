//! The Engine API's listener of a node.

use std::net::ToSocketAddrs;
use std::sync::Arc;

use bytes::Bytes;
use foreseal_engine::{Engine, EngineServer, RequestHandler, TokenSecret};
use foreseal_rpc::Api;

use crate::settings::PyEngineApi;
use crate::settings_error::SettingsError;

/// Answers the calls of a driver that are not those of the Engine API.
struct ApiRequests(Arc<Api>);

impl RequestHandler for ApiRequests {
    fn call(&self, method: &str, params: &[u8]) -> Result<Bytes, Bytes> {
        let view = self.0.node().view();
        self.0.call(view.as_ref(), method, params).map_err(|error| {
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

/// Starts the listener of the Engine API.
///
/// # Errors
/// Returns an error if the address cannot be used.
pub fn start(
    api: &Arc<Api>,
    settings: &PyEngineApi,
    secret: TokenSecret,
) -> Result<(Arc<Engine>, EngineServer), SettingsError> {
    let failed = |error| SettingsError::EngineListener { address: settings.listen.clone(), error };
    let mut addresses = settings.listen.to_socket_addrs().map_err(failed)?;
    let address = addresses.next().ok_or_else(|| failed(std::io::ErrorKind::AddrNotAvailable.into()))?;
    let engine = Arc::new(Engine::new(api.node().clone(), Arc::new(ApiRequests(api.clone()))));
    let server = EngineServer::start(engine.clone(), address, secret).map_err(failed)?;
    tracing::info!(address = %server.address(), "the Engine API is served");
    Ok((engine, server))
}

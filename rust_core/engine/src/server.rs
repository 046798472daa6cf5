//! The listener of the Engine API: HTTP/1.1 with a token for each request, on threads of its own.

use std::{convert::Infallible, io, net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;

use crate::{
    connection_places::ConnectionPlace,
    engine::Engine,
    listener::{Listener, ListenerOptions},
    token::TokenSecret,
};

/// Maximum number of connections.
const MAX_CONNECTIONS: usize = 64;
/// Maximum size of a body, in bytes: a block with its transactions in hex.
const MAX_BODY: usize = 128 << 20;
/// Time in which a connection must send a valid token.
const STRANGER_TIME: Duration = Duration::from_secs(5);
/// Maximum time for the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum time for the body of a request.
const BODY_TIMEOUT: Duration = Duration::from_mins(1);

/// Running listener. It ends when this value is dropped.
#[derive(Debug)]
pub struct EngineServer {
    listener: Listener,
}

impl EngineServer {
    /// Listens at `address` for requests that have a token of `secret`.
    ///
    /// # Errors
    /// Returns an error if the address cannot be used.
    pub fn start(engine: Arc<Engine>, address: SocketAddr, secret: TokenSecret) -> io::Result<Self> {
        let secret = Arc::new(secret);
        let options = ListenerOptions {
            name: "foreseal-engine",
            max_connections: MAX_CONNECTIONS,
            stranger_time: STRANGER_TIME,
            // A connection has one call in progress at most.
            blocking_threads: MAX_CONNECTIONS,
        };
        let listener = Listener::start(address, options, move |stream, place| {
            serve(stream, place, engine.clone(), secret.clone())
        })?;
        Ok(Self { listener })
    }

    /// Returns the address of the listener.
    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }
}

/// Serves one connection until it ends.
async fn serve(
    stream: TcpStream,
    place: Arc<ConnectionPlace>,
    engine: Arc<Engine>,
    secret: Arc<TokenSecret>,
) {
    let answer = service_fn(|request| answer(place.clone(), engine.clone(), secret.clone(), request));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(stream), answer);
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection of the engine listener ended");
    }
}

async fn answer(
    place: Arc<ConnectionPlace>,
    engine: Arc<Engine>,
    secret: Arc<TokenSecret>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let token = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    // Before the body is read: a stranger costs one signature.
    if let Err(error) = secret.check(token, engine.node.now().unix.as_secs()) {
        return Ok(text(StatusCode::UNAUTHORIZED, error.to_string()));
    }
    place.retain();
    if request.method() != Method::POST {
        return Ok(text(StatusCode::METHOD_NOT_ALLOWED, "send a JSON-RPC request with POST".to_owned()));
    }
    let body = Limited::new(request.into_body(), MAX_BODY).collect();
    let body = match tokio::time::timeout(BODY_TIMEOUT, body).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            return Ok(text(StatusCode::PAYLOAD_TOO_LARGE, format!("the body exceeds {MAX_BODY} bytes")));
        }
        Ok(Err(error)) => return Ok(text(StatusCode::BAD_REQUEST, error.to_string())),
        Err(_) => return Ok(text(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time".to_owned())),
    };
    let answered = tokio::task::spawn_blocking(move || engine.respond(&body)).await;
    Ok(match answered {
        Ok(None) => {
            let mut response = Response::new(Full::default());
            *response.status_mut() = StatusCode::NO_CONTENT;
            response
        }
        Ok(Some(json)) => {
            let mut response = Response::new(Full::new(json));
            let json = header::HeaderValue::from_static("application/json");
            response.headers_mut().insert(header::CONTENT_TYPE, json);
            response
        }
        Err(error) => {
            tracing::error!(%error, "an engine call panicked");
            text(StatusCode::INTERNAL_SERVER_ERROR, "internal error".to_owned())
        }
    })
}

fn text(status: StatusCode, message: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(message.into()));
    *response.status_mut() = status;
    // The body was not read, so the connection cannot carry another request.
    response.headers_mut().insert(header::CONNECTION, header::HeaderValue::from_static("close"));
    response
}

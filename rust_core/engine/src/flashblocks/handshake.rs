//! Rules for the request with which a reader connects.

use std::sync::Arc;

use http::{StatusCode, header};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_tungstenite::tungstenite::handshake::server::{Callback, ErrorResponse, Request, Response};

/// Paths that readers use.
const PATHS: [&str; 2] = ["/", "/ws"];

/// Place among the readers, once the handshake has succeeded.
pub(super) type ReaderPermit = Arc<Mutex<Option<OwnedSemaphorePermit>>>;

/// Check of a request. If it is accepted, the connection gets a place among the readers.
pub(super) struct HandshakeRules {
    pub readers: Arc<Semaphore>,
    pub permit: ReaderPermit,
}

impl Callback for HandshakeRules {
    fn on_request(self, request: &Request, response: Response) -> Result<Response, ErrorResponse> {
        if !PATHS.contains(&request.uri().path()) {
            return Err(rejection(StatusCode::NOT_FOUND, "flashblocks are served at / and /ws"));
        }
        // Readers are programs. A page of any site could read the stream of a node that only its visitor reaches.
        if request.headers().contains_key(header::ORIGIN) {
            return Err(rejection(
                StatusCode::FORBIDDEN,
                "browsers are not served: remove the header Origin",
            ));
        }
        let Ok(permit) = self.readers.try_acquire_owned() else {
            return Err(rejection(StatusCode::SERVICE_UNAVAILABLE, "too many readers"));
        };
        *self.permit.lock() = Some(permit);
        Ok(response)
    }
}

fn rejection(status: StatusCode, reason: &str) -> ErrorResponse {
    let mut response = ErrorResponse::new(Some(format!("{reason}\n")));
    *response.status_mut() = status;
    response
}

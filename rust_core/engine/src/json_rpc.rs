//! JSON-RPC 2.0 envelopes of the engine's listener.

use bytes::Bytes;
use serde::{Deserialize, Serialize, de::IgnoredAny};
use serde_json::value::RawValue;

use crate::{
    engine::{Engine, to_json},
    errors::ErrorObject,
};

/// Maximum number of calls of a batch.
const MAX_BATCH: usize = 1_000;

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    method: String,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct Response<'a> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a RawValue>,
}

impl Engine {
    /// Answers the body of a request: one call or a batch, in order. Returns `None` if it has only notifications.
    pub fn respond(&self, body: &[u8]) -> Option<Bytes> {
        if let Err(error) = serde_json::from_slice::<IgnoredAny>(body) {
            return Some(failure(-32700, &format!("the body is not JSON: {error}")));
        }
        let is_batch = body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[');
        if !is_batch {
            return match serde_json::from_slice::<Request<'_>>(body) {
                Ok(request) => self.respond_to(&request),
                Err(error) => Some(failure(-32600, &format!("the body is not a JSON-RPC request: {error}"))),
            };
        }
        let requests = match serde_json::from_slice::<Vec<Request<'_>>>(body) {
            Ok(requests) if requests.is_empty() => return Some(failure(-32600, "the batch is empty")),
            Ok(requests) if requests.len() > MAX_BATCH => {
                return Some(failure(-32600, &format!("a batch may have at most {MAX_BATCH} calls")));
            }
            Ok(requests) => requests,
            Err(error) => {
                return Some(failure(-32600, &format!("the body is not a JSON-RPC batch: {error}")));
            }
        };
        let answers: Vec<Bytes> = requests.iter().filter_map(|request| self.respond_to(request)).collect();
        if answers.is_empty() {
            return None;
        }
        Some([b"[".as_slice(), &answers.join(&b','), b"]"].concat().into())
    }

    fn respond_to(&self, request: &Request<'_>) -> Option<Bytes> {
        let params = request.params.unwrap_or(empty_array());
        let outcome = self.call(&request.method, params);
        let id = request.id?;
        let raw = |json: &Bytes| serde_json::from_slice::<Box<RawValue>>(json).ok();
        let (result, error) = match &outcome {
            Ok(json) => (raw(json), None),
            Err(json) => (None, raw(json)),
        };
        Some(to_json(&Response { jsonrpc: "2.0", id, result: result.as_deref(), error: error.as_deref() }))
    }
}

fn empty_array() -> &'static RawValue {
    serde_json::from_str("[]").unwrap_or(RawValue::NULL)
}

fn failure(code: i64, message: &str) -> Bytes {
    let object = ErrorObject { code, message: message.to_owned().into(), data: None };
    let error = serde_json::value::to_raw_value(&object).ok();
    to_json(&Response { jsonrpc: "2.0", id: RawValue::NULL, result: None, error: error.as_deref() })
}

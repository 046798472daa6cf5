//! Calls of a driver: dispatch, and the methods that need no chain.

use std::sync::Arc;

use alloy_primitives::B256;
use bytes::Bytes;
use foreseal_node::Node;
use foreseal_primitives::ChainSpec;
use serde::de::DeserializeOwned;
use serde_json::{Value, json, value::RawValue};

use crate::{
    errors::{EngineError, ErrorObject},
    metrics::EngineMetrics,
};

/// Methods of the Engine API that this node has, except `engine_exchangeCapabilities` itself.
const CAPABILITIES: [&str; 14] = [
    "engine_forkchoiceUpdatedV1",
    "engine_forkchoiceUpdatedV2",
    "engine_forkchoiceUpdatedV3",
    "engine_getClientVersionV1",
    "engine_getPayloadV1",
    "engine_getPayloadV2",
    "engine_getPayloadV3",
    "engine_getPayloadV4",
    "engine_getPayloadV5",
    "engine_newPayloadV1",
    "engine_newPayloadV2",
    "engine_newPayloadV3",
    "engine_newPayloadV4",
    "engine_exchangeCapabilities",
];

/// Code of this client in `engine_getClientVersionV1`.
const CLIENT_CODE: &str = "FS";

/// Answers calls of methods that are not those of the Engine API.
pub trait RequestHandler: Send + Sync {
    /// Returns the JSON of the result, or of the error object.
    ///
    /// # Errors
    /// Returns the JSON of an error object.
    fn call(&self, method: &str, params: &[u8]) -> Result<Bytes, Bytes>;
}

/// The Engine API of a node.
pub struct Engine {
    pub(crate) node: Arc<Node>,
    requests: Arc<dyn RequestHandler>,
    metrics: Arc<EngineMetrics>,
}

/// Result of a call: JSON, or the error object.
pub(crate) type CallResult = Result<Bytes, Bytes>;

impl Engine {
    /// Creates the Engine API of `node`. `requests` answers all other methods.
    pub fn new(node: Arc<Node>, requests: Arc<dyn RequestHandler>) -> Self {
        Self { node, requests, metrics: Arc::default() }
    }

    /// Returns the metrics of engine calls.
    pub fn metrics(&self) -> &Arc<EngineMetrics> {
        &self.metrics
    }

    pub(crate) fn spec(&self) -> &ChainSpec {
        self.node.spec()
    }

    /// Calls a method with its parameters, a JSON array.
    pub(crate) fn call(&self, method: &str, params: &RawValue) -> CallResult {
        let Some(name) = CAPABILITIES.iter().find(|known| **known == method) else {
            if method.starts_with("engine_") {
                return Err(error_json(EngineError::UnknownMethod(method.to_owned())));
            }
            if let Some(error) = self.missing_tag(method, params) {
                return Err(error);
            }
            return self.requests.call(method, params.get().as_bytes());
        };
        let begun = self.node.now().monotonic;
        let result = self.run(name, params);
        let time = self.node.now().monotonic.saturating_sub(begun);
        self.metrics.record(name, time, result.is_err());
        match result {
            Ok(value) => Ok(to_json(&value)),
            Err(error) => {
                tracing::debug!(method, %error, "engine call failed");
                Err(error_json(error))
            }
        }
    }

    fn run(&self, method: &str, params: &RawValue) -> Result<Value, EngineError> {
        let params: Vec<&RawValue> = serde_json::from_str(params.get())
            .map_err(|error| EngineError::InvalidParams(format!("params must be an array: {error}")))?;
        let params = Arguments(&params);
        match method {
            "engine_forkchoiceUpdatedV1" => self.update_fork_choice(1, params),
            "engine_forkchoiceUpdatedV2" => self.update_fork_choice(2, params),
            "engine_forkchoiceUpdatedV3" => self.update_fork_choice(3, params),
            "engine_newPayloadV1" => self.new_payload(1, params),
            "engine_newPayloadV2" => self.new_payload(2, params),
            "engine_newPayloadV3" => self.new_payload(3, params),
            "engine_newPayloadV4" => self.new_payload(4, params),
            "engine_getPayloadV1" => self.get_payload(1, params),
            "engine_getPayloadV2" => self.get_payload(2, params),
            "engine_getPayloadV3" => self.get_payload(3, params),
            "engine_getPayloadV4" => self.get_payload(4, params),
            "engine_getPayloadV5" => self.get_payload(5, params),
            "engine_exchangeCapabilities" => exchange_capabilities(params),
            "engine_getClientVersionV1" => Ok(client_version()),
            _ => Err(EngineError::UnknownMethod(method.to_owned())),
        }
    }

    /// Returns the error for the tag `safe` or `finalized` while the driver has named no such block. A driver reads
    /// these tags when it starts, and knows this error from other engines.
    fn missing_tag(&self, method: &str, params: &RawValue) -> Option<Bytes> {
        if method != "eth_getBlockByNumber" {
            return None;
        }
        let params: Vec<Value> = serde_json::from_str(params.get()).ok()?;
        let tag = params.first()?.as_str().filter(|tag| matches!(*tag, "safe" | "finalized"))?;
        match self.node.drive(|payloads| Ok(payloads.knows_safe_block())) {
            Ok(true) => None,
            Ok(false) => Some(error_json(EngineError::Unavailable(format!("{tag} block not found")))),
            Err(error) => Some(error_json(error.into())),
        }
    }
}

/// Parameters of a call.
#[derive(Clone, Copy)]
pub(crate) struct Arguments<'a>(&'a [&'a RawValue]);

impl Arguments<'_> {
    /// Returns the parameter at this index, which is called `name`.
    pub fn required<T: DeserializeOwned>(&self, index: usize, name: &str) -> Result<T, EngineError> {
        self.optional(index, name)?
            .ok_or_else(|| EngineError::InvalidParams(format!("parameter {index} ({name}) is missing")))
    }

    /// Returns the parameter at this index, if it is there and not null.
    pub fn optional<T: DeserializeOwned>(&self, index: usize, name: &str) -> Result<Option<T>, EngineError> {
        let Some(raw) = self.0.get(index) else { return Ok(None) };
        serde_json::from_str(raw.get())
            .map_err(|error| EngineError::InvalidParams(format!("parameter {index} ({name}): {error}")))
    }
}

fn exchange_capabilities(params: Arguments<'_>) -> Result<Value, EngineError> {
    let theirs: Vec<String> = params.required(0, "capabilities")?;
    tracing::debug!(count = theirs.len(), "the driver announced its methods");
    Ok(json!(CAPABILITIES[..CAPABILITIES.len() - 1]))
}

fn client_version() -> Value {
    json!([{
        "code": CLIENT_CODE,
        "name": "Foreseal",
        "version": env!("CARGO_PKG_VERSION"),
        // A build does not know its commit.
        "commit": "0x00000000",
    }])
}

/// Returns the hash, or `None` for the zero hash, which stands for no block.
pub(crate) fn non_zero(hash: B256) -> Option<B256> {
    (!hash.is_zero()).then_some(hash)
}

pub(crate) fn to_json(value: &impl serde::Serialize) -> Bytes {
    // Neither strings nor numbers of these types can fail to serialize.
    serde_json::to_vec(value).unwrap_or_default().into()
}

fn error_json(error: EngineError) -> Bytes {
    let object: ErrorObject = error.object();
    to_json(&object)
}

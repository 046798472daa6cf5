//! Errors of the Engine API, with the codes of its specification.

use std::borrow::Cow;

use foreseal_node::ControlError;
use serde::Serialize;

/// Error of a call, as JSON-RPC renders it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ErrorObject {
    pub code: i64,
    pub message: Cow<'static, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<ErrorDetail>,
}

/// Reason of an error whose message is fixed by the specification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ErrorDetail {
    pub err: String,
}

/// Reasons for which an Engine API method fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    #[error("the method {0} does not exist/is not available")]
    UnknownMethod(String),
    #[error("{0}")]
    InvalidParams(String),
    #[error("Unknown payload")]
    UnknownPayload,
    #[error("Invalid forkchoice state: {0}")]
    ForkChoice(String),
    #[error("Invalid payload attributes: {0}")]
    Attributes(String),
    #[error("Unsupported fork: {0}")]
    UnsupportedFork(String),
    /// The node cannot answer now.
    #[error("{0}")]
    Unavailable(String),
    #[error("{0}")]
    Internal(String),
}

impl EngineError {
    /// Returns the error as JSON-RPC renders it. Codes: Engine API, "Errors".
    pub fn object(self) -> ErrorObject {
        let fixed = |code, message: &'static str, err| ErrorObject {
            code,
            message: message.into(),
            data: Some(ErrorDetail { err }),
        };
        let free = |code, message: String| ErrorObject { code, message: message.into(), data: None };
        match self {
            Self::UnknownMethod(_) => free(-32601, self.to_string()),
            Self::InvalidParams(reason) => free(-32602, reason),
            Self::UnknownPayload => free(-38001, "Unknown payload".to_owned()),
            Self::ForkChoice(reason) => fixed(-38002, "Invalid forkchoice state", reason),
            Self::Attributes(reason) => fixed(-38003, "Invalid payload attributes", reason),
            Self::UnsupportedFork(reason) => fixed(-38005, "Unsupported fork", reason),
            Self::Unavailable(reason) => free(-32000, reason),
            Self::Internal(reason) => free(-32603, reason),
        }
    }
}

impl From<ControlError> for EngineError {
    fn from(error: ControlError) -> Self {
        match error {
            ControlError::ForkChoice(reason) => Self::ForkChoice(reason),
            ControlError::Finalized { .. } => Self::ForkChoice(error.to_string()),
            ControlError::Attributes(reason) => Self::Attributes(reason),
            ControlError::Starting
            | ControlError::Stopped(_)
            | ControlError::Busy
            | ControlError::NoDriver => Self::Unavailable(error.to_string()),
            error => Self::Internal(error.to_string()),
        }
    }
}

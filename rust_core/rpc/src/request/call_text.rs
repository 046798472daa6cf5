//! Text of one call of a body, borrowed from it or owned.

use std::borrow::Cow;

use super::envelope::{BorrowedCall, general::ParsedCall};
use crate::errors::rpc_error::RpcError;

/// One call of a body.
pub(super) trait CallText<'a> {
    /// Returns the JSON of the id; `None` for a notification.
    fn id(&self) -> Option<&str>;

    /// Returns the id for a response that outlives the call.
    fn response_id(&self) -> Option<Cow<'a, str>>;

    /// Returns the method and the JSON of the parameters, or the error of an invalid request.
    fn request(&self) -> Result<(&str, &str), &RpcError>;
}

impl<'a> CallText<'a> for BorrowedCall<'a> {
    fn id(&self) -> Option<&str> {
        Some(self.id)
    }

    fn response_id(&self) -> Option<Cow<'a, str>> {
        Some(Cow::Borrowed(self.id))
    }

    fn request(&self) -> Result<(&str, &str), &RpcError> {
        Ok((self.method, self.params))
    }
}

impl<'a> CallText<'a> for ParsedCall<'_> {
    fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    fn response_id(&self) -> Option<Cow<'a, str>> {
        self.id.clone().map(Cow::Owned)
    }

    fn request(&self) -> Result<(&str, &str), &RpcError> {
        self.request.as_ref().map(|request| (request.method.as_str(), request.params))
    }
}

/// A call that outlives its body.
#[derive(Clone, Debug)]
pub(super) struct OwnedCall {
    id: Option<String>,
    request: Result<(String, String), RpcError>,
}

impl OwnedCall {
    pub(super) fn new<'a>(call: &impl CallText<'a>) -> Self {
        let request = call.request().map(|(method, params)| (method.to_owned(), params.to_owned()));
        Self { id: call.id().map(str::to_owned), request: request.map_err(Clone::clone) }
    }

    /// Returns the only entry of a body that is rejected as a whole.
    pub(super) fn rejected(error: RpcError) -> Self {
        Self { id: Some("null".to_owned()), request: Err(error) }
    }
}

impl<'a> CallText<'a> for OwnedCall {
    fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    fn response_id(&self) -> Option<Cow<'a, str>> {
        self.id.clone().map(Cow::Owned)
    }

    fn request(&self) -> Result<(&str, &str), &RpcError> {
        self.request.as_ref().map(|(method, params)| (method.as_str(), params.as_str()))
    }
}

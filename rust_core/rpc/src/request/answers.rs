//! Answers to the calls of one body, and the response made of them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;

use super::call_counts::SlowCall;
use crate::errors::rpc_error::RpcError;

/// Initial buffer size for each answer of a batch, in bytes.
const ANSWER_SIZE: usize = 128;

/// HTTP statuses of responses.
const OK: u16 = 200;
const NO_CONTENT: u16 = 204;
const TOO_MANY: u16 = 429;

/// Outcome of a call as JSON.
#[derive(Debug)]
pub(super) enum CallJson {
    Result(Bytes),
    Error(Vec<u8>),
}

impl CallJson {
    fn new(outcome: Result<Bytes, RpcError>) -> Self {
        match outcome {
            Ok(result) => Self::Result(result),
            Err(error) => {
                let mut json = Vec::with_capacity(ANSWER_SIZE);
                error.write_json(&mut json);
                Self::Error(json)
            }
        }
    }

    /// Returns the parts of the answer to the call with this id.
    fn segments<'a>(&'a self, id: &'a str) -> [&'a [u8]; 5] {
        let (member, value): (&[u8], &[u8]) = match self {
            Self::Result(result) => (b",\"result\":", result),
            Self::Error(error) => (b",\"error\":", error),
        };
        [b"{\"jsonrpc\":\"2.0\",\"id\":", id.as_bytes(), member, value, b"}"]
    }
}

/// Status of a response over HTTP, and the seconds after which the caller may retry.
///
/// That of a batch is 200, also if its calls fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpStatus {
    pub code: u16,
    /// 0: retrying does not help, or is always allowed.
    pub retry_after: u64,
}

impl HttpStatus {
    const OK: Self = Self { code: OK, retry_after: 0 };

    /// Returns the status of a call with this outcome.
    fn for_outcome(outcome: &Result<Bytes, RpcError>) -> Self {
        match outcome.as_ref().err().and_then(RpcError::retry_after) {
            None => Self::OK,
            Some(wait) => Self { code: TOO_MANY, retry_after: ceil_seconds(wait) },
        }
    }
}

fn ceil_seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

/// Answers to the calls of one body.
#[derive(Debug)]
pub(super) struct Answers {
    pub(super) is_batch: bool,
    /// Number of answered calls.
    count: usize,
    /// Answers to the first `joined` calls of a batch, without the closing bracket.
    json: Vec<u8>,
    joined: usize,
    /// Answers to later calls by position; empty for a notification.
    later: BTreeMap<usize, Vec<u8>>,
    /// Answer to the only call of a body that is no batch; `None` for a notification.
    single: Option<CallJson>,
    status: HttpStatus,
    /// Bytes that results may still use.
    allowance: usize,
    /// Bytes that all results may use.
    limit: usize,
}

impl Answers {
    /// Returns no answers yet, to a body of `calls` calls whose results may have `limit` bytes together.
    pub(super) fn new(is_batch: bool, calls: usize, limit: usize) -> Self {
        let json = if is_batch { Vec::with_capacity(ANSWER_SIZE * calls) } else { Vec::new() };
        Self {
            is_batch,
            count: 0,
            json,
            joined: 0,
            later: BTreeMap::new(),
            single: None,
            status: HttpStatus::OK,
            allowance: limit,
            limit,
        }
    }

    /// Returns the number of answered calls.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Returns the error of the calls of a batch once its results have used up all bytes.
    pub(super) fn exhausted(&self) -> Option<RpcError> {
        (self.is_batch && self.allowance == 0).then(|| RpcError::response_too_large(self.limit))
    }

    /// Returns `outcome`, or an error in place of a result that is too large. A result uses up some of the bytes that
    /// all results share.
    pub(super) fn admit(&mut self, outcome: Result<Bytes, RpcError>) -> Result<Bytes, RpcError> {
        let result = outcome?;
        let left = self.allowance.checked_sub(result.len());
        self.allowance = left.unwrap_or(0);
        if left.is_some() { Ok(result) } else { Err(RpcError::response_too_large(self.limit)) }
    }

    /// Adds the answer to the call at `index`, whose id is `None` for a notification.
    pub(super) fn add(&mut self, index: usize, id: Option<&str>, outcome: Result<Bytes, RpcError>) {
        self.add_with_status(index, id, HttpStatus::for_outcome(&outcome), outcome);
    }

    /// Adds the answer to the call at `index`, with the status that the response has if the call stands alone.
    pub(super) fn add_with_status(
        &mut self,
        index: usize,
        id: Option<&str>,
        status: HttpStatus,
        outcome: Result<Bytes, RpcError>,
    ) {
        self.count += 1;
        let outcome = CallJson::new(outcome);
        if !self.is_batch {
            self.single = id.is_some().then_some(outcome);
            self.status = status;
        } else if index == self.joined {
            self.join(id.map(|id| outcome.segments(id)));
            while let Some(answer) = self.later.remove(&self.joined) {
                self.join((!answer.is_empty()).then_some([&answer, b"", b"", b"", b""]));
            }
        } else {
            self.later.insert(index, id.map_or_else(Vec::new, |id| outcome.segments(id).concat()));
        }
    }

    fn join(&mut self, answer: Option<[&[u8]; 5]>) {
        self.joined += 1;
        let Some(parts) = answer else { return };
        self.json.push(if self.json.is_empty() { b'[' } else { b',' });
        for part in parts {
            self.json.extend_from_slice(part);
        }
    }

    /// Drops all answers.
    pub(super) fn clear(&mut self) {
        (self.json, self.single) = (Vec::new(), None);
        self.later.clear();
    }

    /// Counts a call as answered, without an answer.
    pub(super) fn skip(&mut self) {
        self.count += 1;
    }

    /// Returns the size of the answers in bytes, without ids and envelopes of a single call.
    pub(super) fn size(&self) -> usize {
        match &self.single {
            Some(CallJson::Result(json)) => json.len(),
            Some(CallJson::Error(json)) => json.len(),
            None => self.json.len(),
        }
    }

    /// Returns the response; `id` is that of the only call. All calls are answered.
    pub(super) fn into_reply(mut self, id: Option<Cow<'_, str>>, slow: Vec<SlowCall>) -> BodyReply<'_> {
        let json = if let (Some(outcome), Some(id)) = (self.single.take(), id) {
            ReplyJson(Json::Call { id, outcome })
        } else {
            if !self.json.is_empty() {
                self.json.push(b']');
            }
            ReplyJson(Json::Batch(self.json))
        };
        let status =
            if json.is_empty() { HttpStatus { code: NO_CONTENT, retry_after: 0 } } else { self.status };
        BodyReply { status, json, slow }
    }
}

/// Response to a body, and its calls that were not quick.
#[derive(Debug)]
pub struct BodyReply<'a> {
    pub status: HttpStatus,
    pub json: ReplyJson<'a>,
    pub slow: Vec<SlowCall>,
}

/// JSON of a response; empty if all calls were notifications.
#[derive(Debug)]
pub struct ReplyJson<'a>(Json<'a>);

#[derive(Debug)]
enum Json<'a> {
    /// One answer in parts, which are copied only once, into the message.
    Call {
        id: Cow<'a, str>,
        outcome: CallJson,
    },
    Batch(Vec<u8>),
}

impl ReplyJson<'_> {
    /// Returns the size in bytes.
    pub fn size(&self) -> usize {
        self.segments().iter().map(|part| part.len()).sum()
    }

    /// Returns `true` if there is no response.
    pub fn is_empty(&self) -> bool {
        matches!(&self.0, Json::Batch(json) if json.is_empty())
    }

    /// Returns the parts.
    pub fn segments(&self) -> [&[u8]; 5] {
        match &self.0 {
            Json::Call { id, outcome } => outcome.segments(id),
            Json::Batch(json) => [json, b"", b"", b"", b""],
        }
    }

    /// Returns the result of a single call of at least `size` bytes, which need not be copied.
    pub fn large_result(&self, size: usize) -> Option<&Bytes> {
        match &self.0 {
            Json::Call { outcome: CallJson::Result(result), .. } if result.len() >= size => Some(result),
            _ => None,
        }
    }
}

//! Fast path of requests: from the bytes of a body to the bytes of its response, on the receiving thread.
//!
//! ```text
//! body -> envelope -> method, or none -> InlineAttempt -> result or error -> response
//!            |               |                |
//!            '---------------'----------------'---> None: the request takes the slow path, nothing was done
//! ```

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use alloy_primitives::map::HashMap;
use bytes::Bytes;
use foreseal_chain::View;
use parking_lot::{Mutex, RwLock};
use serde::de::IgnoredAny;

use crate::backoff::AdaptiveBackoff;
use crate::envelope::{BorrowedCall, CommonBody, parse_common};
use crate::rpc_error::METHOD_NOT_FOUND;
use crate::submit::SEND;
use crate::{
    Access, Api, Error, ExecutionMode, InlineAttempt, Method, RpcError, Submissions, method, methods,
};

/// Longest run of a batch on the fast path. A longer one restarts on the slow path, which interleaves it with
/// other requests. Its calls change nothing, so repeating them is safe.
const MAX_BATCH_TIME: Duration = Duration::from_millis(1);

/// Initial buffer size for each response of a batch, in bytes.
const RESPONSE_SIZE: usize = 128;

/// Name under which calls of unknown methods are counted: callers could invent any number of names.
const UNKNOWN: &str = "";

/// Limits of the fast path.
#[derive(Clone, Copy, Debug)]
pub struct FastPathLimits {
    /// Largest result, in bytes; the results of a batch share it.
    pub response: usize,
    /// Deepest nesting of arrays and objects.
    pub depth: usize,
    /// Most calls in a batch.
    pub batch: usize,
    /// Longest time of a quick call. A longer one is returned to the caller with its time.
    pub quick: Duration,
}

/// Call that was not quick.
#[derive(Clone, Debug, PartialEq)]
pub struct SlowCall {
    /// Name of the method; empty if it is unknown.
    pub method: &'static str,
    pub time: Duration,
    /// Bytes of the result; 0 for an error.
    pub size: usize,
}

/// Quick calls of one method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedCalls {
    /// Name of the method; empty if it is unknown.
    pub method: &'static str,
    pub calls: u64,
    /// Time of all of them.
    pub time: Duration,
}

/// Failed calls of one method with one code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedCalls {
    /// Name of the method; empty if it is unknown.
    pub method: &'static str,
    pub code: i64,
    pub calls: u64,
}

/// Response to a request body, and its calls that were not quick.
#[derive(Debug)]
pub struct FastResponse<'a> {
    json: Json<'a>,
    pub slow: Vec<SlowCall>,
}

/// JSON of a response.
#[derive(Debug)]
enum Json<'a> {
    /// One response in parts, which are copied only once, into the message.
    Call {
        id: &'a str,
        outcome: CallJson,
    },
    Batch(Vec<u8>),
}

impl FastResponse<'_> {
    /// Returns the parts of the JSON.
    pub fn segments(&self) -> [&[u8]; 5] {
        match &self.json {
            Json::Call { id, outcome } => outcome.segments(id),
            Json::Batch(json) => [json, b"", b"", b"", b""],
        }
    }
}

/// Outcome of a call as JSON.
#[derive(Debug)]
enum CallJson {
    Result(Bytes),
    Error(Vec<u8>),
}

impl CallJson {
    fn new(outcome: Result<Bytes, RpcError>) -> Self {
        match outcome {
            Ok(result) => Self::Result(result),
            Err(error) => {
                let mut json = Vec::with_capacity(RESPONSE_SIZE);
                error.write_json(&mut json);
                Self::Error(json)
            }
        }
    }

    /// Returns the parts of the response to the call with this id.
    fn segments<'a>(&'a self, id: &'a str) -> [&'a [u8]; 5] {
        let (member, value): (&[u8], &[u8]) = match self {
            Self::Result(result) => (b",\"result\":", result),
            Self::Error(error) => (b",\"error\":", error),
        };
        [b"{\"jsonrpc\":\"2.0\",\"id\":", id.as_bytes(), member, value, b"}"]
    }
}

/// Number and time of quick calls since the last [`FastPath::drain_calls`].
#[derive(Debug, Default)]
struct CallCounter {
    calls: AtomicU64,
    nanos: AtomicU64,
}

impl CallCounter {
    fn add(&self, time: Duration) {
        self.calls.fetch_add(1, Relaxed);
        self.nanos.fetch_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX), Relaxed);
    }

    fn drain(&self, method: &'static str) -> CountedCalls {
        let (calls, nanos) = (self.calls.swap(0, Relaxed), self.nanos.swap(0, Relaxed));
        CountedCalls { method, calls, time: Duration::from_nanos(nanos) }
    }
}

/// Method of the fast path.
#[derive(Debug)]
struct FastMethod {
    method: &'static Method,
    /// `true` if Python owns the method.
    is_excluded: AtomicBool,
    backoff: AdaptiveBackoff,
    counter: CallCounter,
}

/// Method of a call: a row, or `None` for a method that neither the table nor Python has.
type Target<'a> = Option<&'a FastMethod>;

/// Time, size and error code of a call.
struct CallMeasurement {
    time: Duration,
    size: usize,
    code: Option<i64>,
}

impl CallMeasurement {
    fn new(time: Duration, outcome: &Result<Bytes, RpcError>) -> Self {
        Self {
            time,
            size: outcome.as_ref().map_or(0, Bytes::len),
            code: outcome.as_ref().err().map(|error| error.code),
        }
    }
}

/// Responds to request bodies on the receiving thread.
///
/// A body qualifies if it is written in the plain form of [`read`], and each of its methods runs at once and
/// changes nothing, or is unknown. Methods that nearly always run at once ([`ExecutionMode::FastPath`])
/// qualify too, unless this call would take long. Errors are final.
pub struct FastPath {
    api: Arc<Api>,
    rows: HashMap<&'static str, FastMethod>,
    unknown: CallCounter,
    /// Methods outside the table that Python owns.
    owned: RwLock<HashSet<String>>,
    failed: Mutex<HashMap<(&'static str, i64), u64>>,
    limits: FastPathLimits,
    /// Backoff of batches with calls that may be long.
    batches: AdaptiveBackoff,
}

impl FastPath {
    /// Serves the methods that run at once, or are tried inline, and are open to everyone.
    pub fn new(api: Arc<Api>, limits: FastPathLimits) -> Self {
        let served = methods().filter(|method| {
            matches!(method.mode, ExecutionMode::Inline | ExecutionMode::FastPath)
                && method.access == Access::Everyone
        });
        let row = |method| FastMethod {
            method,
            is_excluded: AtomicBool::new(false),
            backoff: AdaptiveBackoff::default(),
            counter: CallCounter::default(),
        };
        let rows = served.map(|method| (method.name, row(method))).collect();
        Self {
            api,
            rows,
            unknown: CallCounter::default(),
            owned: RwLock::default(),
            failed: Mutex::default(),
            limits,
            batches: AdaptiveBackoff::default(),
        }
    }

    /// Returns the methods that this path serves.
    pub fn api(&self) -> &Arc<Api> {
        &self.api
    }

    /// Excludes `method`, which Python owns, from now on.
    pub fn exclude(&self, method: &str) {
        match self.rows.get(method) {
            Some(row) => row.is_excluded.store(true, Relaxed),
            None => {
                self.owned.write().insert(method.to_owned());
            }
        }
    }

    /// Returns the quick calls since the last `take`.
    pub fn drain_calls(&self) -> Vec<CountedCalls> {
        let rows = self.rows.values().map(|row| row.counter.drain(row.method.name));
        rows.chain([self.unknown.drain(UNKNOWN)]).filter(|counted| counted.calls > 0).collect()
    }

    /// Returns the failed calls since the last `drain_failed_calls`.
    pub fn drain_failed_calls(&self) -> Vec<FailedCalls> {
        let failed = std::mem::take(&mut *self.failed.lock());
        failed.into_iter().map(|((method, code), calls)| FailedCalls { method, code, calls }).collect()
    }

    /// Parses `body`; returns `None` if it does not have the common form.
    pub fn parse<'a>(&self, body: &'a [u8]) -> Option<CommonBody<'a>> {
        parse_common(body, self.limits.depth, self.limits.batch)
    }

    /// Returns the calls of `body` as submissions, if it contains only submissions that the core owns.
    pub fn submissions(&self, body: &CommonBody<'_>) -> Option<Submissions> {
        Submissions::new(&self.api, body).filter(|_| !self.owned.read().contains(SEND))
    }

    /// Responds to `body` from `view`; returns `None` if it must take the slow path.
    pub fn respond<'a>(&self, view: Option<&Arc<View>>, body: &CommonBody<'a>) -> Option<FastResponse<'a>> {
        match body {
            CommonBody::Call(call) => self.respond_to_call(view, call),
            CommonBody::Batch(calls) => {
                let targets = self.targets(calls)?;
                let may_be_long =
                    targets.iter().flatten().any(|row| row.method.mode == ExecutionMode::FastPath);
                if may_be_long && !self.batches.admits() {
                    return None;
                }
                let response = self.respond_to_batch(view, &targets, calls);
                match &response {
                    _ if !may_be_long => {}
                    Some(_) => self.batches.record_fast(),
                    None => self.batches.record_slow(),
                }
                response
            }
        }
    }

    fn respond_to_call<'a>(
        &self,
        view: Option<&Arc<View>>,
        call: &BorrowedCall<'a>,
    ) -> Option<FastResponse<'a>> {
        let target = self.target(call)?;
        if target.is_some_and(|row| !row.backoff.admits()) {
            return None;
        }
        let begun = Instant::now();
        let mut outcome = self.run(view, target, call)?;
        if outcome.as_ref().is_ok_and(|result| result.len() > self.limits.response) {
            outcome = Err(RpcError::response_too_large(self.limits.response));
        }
        let mut slow = Vec::new();
        self.count(target, &CallMeasurement::new(begun.elapsed(), &outcome), &mut slow);
        Some(FastResponse { json: Json::Call { id: call.id, outcome: CallJson::new(outcome) }, slow })
    }

    fn respond_to_batch(
        &self,
        view: Option<&Arc<View>>,
        targets: &[Target<'_>],
        calls: &[BorrowedCall<'_>],
    ) -> Option<FastResponse<'static>> {
        let mut counted = Vec::with_capacity(calls.len());
        let begun = Instant::now();
        let mut now = begun;
        let mut json = Vec::with_capacity(RESPONSE_SIZE * calls.len());
        let mut allowance = self.limits.response;
        for (target, call) in targets.iter().zip(calls) {
            // Once the allowance is used up, no call runs and none is counted by its name.
            let (target, mut outcome) = if allowance > 0 {
                (*target, self.run(view, *target, call)?)
            } else {
                is_json(call.params).then_some((None, Err(self.too_large())))?
            };
            if let Ok(result) = &outcome {
                let left = allowance.checked_sub(result.len());
                allowance = left.unwrap_or(0);
                if left.is_none() {
                    outcome = Err(self.too_large());
                }
            }
            // The end of one call is the start of the next: reading the clock has a cost.
            let before = std::mem::replace(&mut now, Instant::now());
            if now - begun > MAX_BATCH_TIME {
                return None;
            }
            counted.push((target, CallMeasurement::new(now - before, &outcome)));
            json.push(if json.is_empty() { b'[' } else { b',' });
            for part in CallJson::new(outcome).segments(call.id) {
                json.extend_from_slice(part);
            }
        }
        json.push(b']');
        let mut slow = Vec::new();
        for (target, measured) in counted {
            self.count(target, &measured, &mut slow);
        }
        Some(FastResponse { json: Json::Batch(json), slow })
    }

    fn too_large(&self) -> RpcError {
        RpcError::response_too_large(self.limits.response)
    }

    /// Returns the method of a call; `None` if the call must take the slow path.
    fn target(&self, call: &BorrowedCall<'_>) -> Option<Target<'_>> {
        if let Some(row) = self.rows.get(call.method) {
            return (!row.is_excluded.load(Relaxed)).then_some(Some(row));
        }
        let is_unknown = method(call.method).is_none() && !self.owned.read().contains(call.method);
        is_unknown.then_some(None)
    }

    /// Returns the methods of all `calls`. Most batches repeat one method, which is looked up once.
    fn targets(&self, calls: &[BorrowedCall<'_>]) -> Option<Vec<Target<'_>>> {
        let mut targets: Vec<Target<'_>> = Vec::with_capacity(calls.len());
        for call in calls {
            let last = targets.last().copied().flatten().filter(|row| row.method.name == call.method);
            targets.push(if last.is_some() { last } else { self.target(call)? });
        }
        Some(targets)
    }

    /// Returns the outcome of one call; `None` if it needs the slow path.
    fn run(
        &self,
        view: Option<&Arc<View>>,
        target: Target<'_>,
        call: &BorrowedCall<'_>,
    ) -> Option<Result<Bytes, RpcError>> {
        let Some(row) = target else {
            return is_json(call.params).then(|| Err(Error::UnknownMethod(call.method.to_owned()).into()));
        };
        let attempt = self.api.attempt(view, row.method, call.params.as_bytes());
        if row.method.mode == ExecutionMode::FastPath {
            match attempt {
                InlineAttempt::TooSlowInline => row.backoff.record_slow(),
                InlineAttempt::Answered(_) | InlineAttempt::Failed(_) => row.backoff.record_fast(),
                InlineAttempt::TooLargeInline | InlineAttempt::Malformed => {}
            }
        }
        match attempt {
            InlineAttempt::Answered(result) => Some(Ok(result)),
            InlineAttempt::Failed(error) => Some(Err(error)),
            InlineAttempt::TooSlowInline | InlineAttempt::TooLargeInline | InlineAttempt::Malformed => None,
        }
    }

    /// Counts a call; adds it to `slow` if it was not quick.
    fn count(&self, target: Target<'_>, measured: &CallMeasurement, slow: &mut Vec<SlowCall>) {
        let target = target.filter(|_| measured.code != Some(METHOD_NOT_FOUND));
        let name = target.map_or(UNKNOWN, |row| row.method.name);
        if measured.time > self.limits.quick {
            slow.push(SlowCall { method: name, time: measured.time, size: measured.size });
        } else {
            target.map_or(&self.unknown, |row| &row.counter).add(measured.time);
        }
        if let Some(code) = measured.code {
            *self.failed.lock().entry((name, code)).or_default() += 1;
        }
    }
}

/// Returns `true` if `params`, the content of a pair of brackets, is valid JSON.
fn is_json(params: &str) -> bool {
    params == "[]" || serde_json::from_str::<IgnoredAny>(params).is_ok()
}

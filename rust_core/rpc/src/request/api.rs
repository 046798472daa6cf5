//! Entry point: takes a method name and its parameters, returns JSON or an error.

use std::{sync::Arc, time::Duration};

use alloy_primitives::B256;
use bytes::Bytes;
use foreseal_cache::CacheMetrics;
use foreseal_chain::{ReadMode, View};
use foreseal_node::{Node, QueryHandler as _};

use super::{
    attempt::{InlineAttempt, MAX_PARAMS_SIZE},
    reread::reread,
};
use crate::{
    context::{
        call_context::{AnswerProgress, Context, mode_of_view},
        keys::{Development, Key},
        limits::Limits,
    },
    errors::{error::Error, rpc_error::RpcError},
    json::json_caches::JsonCaches,
    methods::{
        method::{ExecutionMode, Method, MethodFn},
        panic_guard::guarded,
    },
    params::positional::Params,
    request::table,
    streams::{
        filters::backend::{FilterBackend, FilterClient},
        wait::{PendingCall, PendingVerification, Reply},
    },
};

/// JSON-RPC methods over one node.
pub struct Api {
    node: Arc<Node>,
    limits: Limits,
    /// Limits of attempts on the receiving thread.
    tight: Limits,
    filters: Arc<FilterBackend>,
    caches: Arc<JsonCaches>,
    development: Arc<Development>,
    /// `true` if callers arrive on the admin listener.
    admin: bool,
    /// Mode of the callers' endpoint.
    mode: ReadMode,
}

impl Api {
    /// Creates the API of `node` with `limits`. `secret` makes filter ids hard to guess.
    pub fn new(node: Arc<Node>, limits: Limits, secret: B256) -> Self {
        let filters = FilterBackend::for_node(&node, secret);
        let caches = Arc::new(JsonCaches::new(node.memory()));
        let (tight, development) = (limits.for_inline_attempt(), Arc::default());
        let mode = ReadMode::Standard;
        Self { node, limits, tight, filters, caches, development, admin: false, mode }
    }

    /// Adds the keys of accounts for which a development node signs. Call this before [`Self::for_admin`].
    #[must_use]
    pub fn with_keys(self, keys: Vec<Key>) -> Self {
        Self { development: Arc::new(Development::new(keys)), ..self }
    }

    /// Stores filters in the process that the node follows, reached through `client`.
    #[must_use]
    pub fn with_filters_at(self, client: Arc<dyn FilterClient>) -> Self {
        Self { filters: Arc::new(FilterBackend::Remote(client)), ..self }
    }

    /// Answers a filter request from a process that follows this one. Returns `None` if the bytes are not a
    /// valid request.
    pub fn answer_about_filters(&self, request: &[u8]) -> Option<Vec<u8>> {
        self.filters.answer(request, self.node.pool(), self.node.now().monotonic)
    }

    /// Returns the API for the admin listener: the same methods plus those for administrators.
    #[must_use]
    pub fn for_admin(&self) -> Self {
        Self { admin: true, ..self.with_limits(self.limits) }
    }

    /// Returns the same methods with other limits, for another tier of callers.
    ///
    /// All tiers share the filters: a caller of this tier cannot create one once the total reaches
    /// `limits.filters`.
    #[must_use]
    pub fn with_limits(&self, limits: Limits) -> Self {
        let Self { node, filters, caches, development, admin, mode, .. } = self;
        Self {
            node: node.clone(),
            limits,
            tight: limits.for_inline_attempt(),
            filters: filters.clone(),
            caches: caches.clone(),
            development: development.clone(),
            admin: *admin,
            mode: *mode,
        }
    }

    /// Returns the same methods for another endpoint.
    #[must_use]
    pub fn in_mode(&self, mode: ReadMode) -> Self {
        Self { mode, ..self.with_limits(self.limits) }
    }

    /// Returns the mode in which requests read views.
    pub fn mode(&self) -> ReadMode {
        self.mode
    }

    /// Returns the metrics of the caches of JSON.
    pub fn caches(&self) -> [CacheMetrics; 2] {
        self.caches.metrics()
    }

    /// Returns the time limit of a call from its arrival, including the time in the queue.
    pub fn time_limit(&self) -> Duration {
        self.limits.call_time.max(self.limits.log_time)
    }

    /// Returns the node.
    pub fn node(&self) -> &Arc<Node> {
        &self.node
    }

    /// Calls the method with this name.
    ///
    /// `params` is a JSON array, `null`, or empty. The caller loads one `view` for all calls of a batch; it
    /// is `None` while the node starts.
    pub fn call(&self, view: Option<&Arc<View>>, name: &str, params: &[u8]) -> Result<Bytes, RpcError> {
        let method = table::method(name).ok_or_else(|| Error::UnknownMethod(name.to_owned()))?;
        self.run(view, method, params)
    }

    /// Calls the method with this name on the newest view, and reads again if an unwind overtakes that view.
    pub fn call_newest(&self, name: &str, params: &[u8]) -> Result<Bytes, RpcError> {
        reread(&self.node, self.node.view().as_ref(), |view| self.call(view, name, params))
    }

    /// Calls `method` on exactly this view. A panic in it becomes an error and does not end the process.
    ///
    /// A method that would have to wait is polled once and then fails.
    ///
    /// # Errors
    ///
    /// Returns -32001 if an unwind has replaced the blocks that the view reads from the store.
    pub fn run(
        &self,
        view: Option<&Arc<View>>,
        method: &'static Method,
        params: &[u8],
    ) -> Result<Bytes, RpcError> {
        match self.start(view, method, params, false)? {
            Reply::Ready(answer) => Ok(answer),
            Reply::Later(wait) => self.poll(method, &wait)?.ok_or_else(|| wait.abandon().into()),
            Reply::Verification(pending) => match self.verify(method, *pending)? {
                Reply::Ready(answer) => Ok(answer),
                Reply::Later(wait) => self.poll(method, &wait)?.ok_or_else(|| wait.abandon().into()),
                Reply::Verification(_) => unreachable!("it is verified"),
            },
        }
    }

    /// Verifies the submission of a call of `method`, and continues the call. The result is never
    /// [`Reply::Verification`].
    pub fn verify(&self, method: &'static Method, pending: PendingVerification) -> Result<Reply, RpcError> {
        guarded(method.name, || pending.run(&self.node)).map_err(RpcError::from)
    }

    /// Calls `method` like [`Self::run`], but may return [`Reply::Later`] or [`Reply::Verification`], and reads again
    /// from the newest view if an unwind has replaced the blocks that `view` reads from the store.
    ///
    /// The caller then polls the wait after every change of the node and at its deadline, or continues with
    /// [`Self::verify`] in the lane for that.
    pub fn begin(
        &self,
        view: Option<&Arc<View>>,
        method: &'static Method,
        params: &[u8],
    ) -> Result<Reply, RpcError> {
        reread(&self.node, view, |view| self.start(view, method, params, false).map_err(RpcError::from))
    }

    /// Tries to answer a call of `method` on the receiving thread.
    ///
    /// Execution or search takes at most 200 us, not counting the time that the system needs to read a page
    /// of the store. No block is executed again to obtain a state. An attempt has side effects only if
    /// `method` has. An error is final: a thread of the worker pool would return the same one.
    pub fn attempt(&self, view: Option<&Arc<View>>, method: &'static Method, params: &[u8]) -> InlineAttempt {
        if method.mode == ExecutionMode::FastPath && params.len() > MAX_PARAMS_SIZE {
            return InlineAttempt::TooSlowInline;
        }
        match self.start(view, method, params, true) {
            Ok(Reply::Ready(answer)) => InlineAttempt::Answered(answer),
            Ok(Reply::Later(_) | Reply::Verification(_)) => InlineAttempt::TooSlowInline,
            Err(Error::TooLargeInline) => InlineAttempt::TooLargeInline,
            Err(error) if error.is_too_slow_inline() => InlineAttempt::TooSlowInline,
            Err(Error::Params(error)) if error.is_malformed() => InlineAttempt::Malformed,
            Err(error) => match RpcError::from(error) {
                // A thread of the worker pool reads again from a newer view.
                error if error.is_view_gone() => InlineAttempt::TooSlowInline,
                error => InlineAttempt::Failed(error),
            },
        }
    }

    fn start(
        &self,
        view: Option<&Arc<View>>,
        method: &'static Method,
        params: &[u8],
        attempt: bool,
    ) -> Result<Reply, Error> {
        let mode = method.read_mode(self.mode);
        let converted = view.and_then(|view| {
            let mode = mode_of_view(&self.node, view, mode);
            (view.mode() != mode).then(|| view.in_mode(mode))
        });
        let view = converted.as_ref().or(view);
        let progress = AnswerProgress::default();
        let context = Context {
            node: &self.node,
            view,
            mode,
            limits: if attempt { &self.tight } else { &self.limits },
            filters: &self.filters,
            caches: &self.caches,
            development: &self.development,
            admin: self.admin,
            attempt,
            progress: &progress,
        };
        let reply = guarded(method.name, || {
            method.check_access(&context)?;
            let mut params = Params::parse(params, method.name, method.arguments)?;
            match method.run {
                MethodFn::Answer(answer) => Ok(Reply::Ready(answer(&context, &mut params)?.into())),
                MethodFn::Shared(share) => share(&context, &mut params).map(Reply::Ready),
                MethodFn::Begin(begin) => begin(&context, &mut params),
            }
        })?;
        let Reply::Ready(answer) = reply else { return Ok(reply) };
        context.check_min_size(answer.len(), progress.has_logs.get())?;
        Ok(Reply::Ready(answer))
    }

    /// Returns the result of `method` if the wait is over, otherwise `None`.
    pub fn poll(&self, method: &'static Method, wait: &PendingCall) -> Result<Option<Bytes>, RpcError> {
        match guarded(method.name, || wait.poll(&self.node)).map_err(RpcError::from) {
            // The caller polls again once the view after the unwind is published.
            Err(error) if error.is_view_gone() => Ok(None),
            result => result,
        }
    }
}

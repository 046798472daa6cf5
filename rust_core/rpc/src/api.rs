//! Entry point: takes a method name and its parameters, returns JSON or an error.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use alloy_primitives::B256;
use bytes::Bytes;
use foreseal_cache::CacheMetrics;
use foreseal_chain::View;
use foreseal_evm::{CallLimits, Deadline};
use foreseal_node::{Answering as _, Node};
use foreseal_primitives::mutant;

use crate::{
    Access, Attempt, Cost, Development, Error, Key, Method, RpcError, Wait, attempt,
    filters::{FilterKeeper, Filters},
    params::Params,
    rendered::Rendered,
    table::{self, Run},
};

/// Limits of one request. Each is a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of logs in the result of one `eth_getLogs`. Does not apply to a range of a single
    /// block.
    pub logs: u64,
    /// Time limit of one `eth_getLogs`. Does not apply to a range of a single block.
    pub log_time: Duration,
    /// Maximum number of filters that exist at once.
    pub filters: u64,
    /// Maximum number of addresses and topics, together, in the filter of a subscription.
    pub terms: u64,
    /// Maximum number of flashblocks in one `foreseal_getFlashblocks`.
    pub flashblocks: u64,
    /// Size in bytes of flashblocks after which the result of `foreseal_getFlashblocks` ends.
    pub flashblock_bytes: usize,
    /// Gas limit of one `eth_call` or estimate.
    pub call_gas: u64,
    /// Time limit of one `eth_call`, estimate or trace.
    pub call_time: Duration,
    /// Gas limit of all calls of one `eth_simulateV1` together.
    pub simulate_gas: u64,
    /// Maximum number of storage slots in one `eth_getProof` or `eth_getStorageValues`.
    pub slots: u64,
    /// Maximum number of transactions in the result of one `txpool_content` or `txpool_inspect`.
    pub pool_transactions: u64,
    /// Maximum timeout that a caller of `eth_sendRawTransactionSync` may request.
    pub sync_time: Duration,
    /// Maximum size in bytes of the result of one trace request.
    pub trace_bytes: usize,
}

impl Limits {
    /// Returns the execution limits of a call that starts now.
    pub(crate) fn call(&self) -> CallLimits {
        CallLimits { gas: self.call_gas, deadline: Deadline::after(self.call_time) }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            logs: 10_000,
            filters: 1_000,
            terms: 1_000,
            flashblocks: 1_000,
            flashblock_bytes: 8 << 20,
            log_time: Duration::from_secs(5),
            call_gas: 400_000_000,
            call_time: Duration::from_secs(5),
            simulate_gas: 50_000_000,
            slots: 1024,
            pool_transactions: 20_000,
            sync_time: Duration::from_secs(30),
            trace_bytes: 64 << 20,
        }
    }
}

/// Resources that a method may access.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub(crate) node: &'a Node,
    view: Option<&'a Arc<View>>,
    pub(crate) limits: &'a Limits,
    pub(crate) filters: &'a Filters,
    pub(crate) rendered: &'a Rendered,
    pub(crate) development: &'a Development,
    /// `true` if the call arrived on the admin listener.
    admin: bool,
    /// `true` if the call is an attempt on the fast path: see [`Api::attempt`].
    attempt: bool,
}

impl<'a> Context<'a> {
    /// Returns `true` if the call is an attempt on the fast path, within tight limits.
    pub(crate) fn is_attempt(&self) -> bool {
        self.attempt
    }

    /// Returns the view of the request.
    pub(crate) fn view(&self) -> Result<&'a Arc<View>, Error> {
        self.view.ok_or(Error::Starting)
    }

    /// Rejects a method that this caller may not call.
    pub(crate) fn admit(&self, method: &Method) -> Result<(), Error> {
        match method.access {
            Access::Development if self.node.settings().development.is_none() => {
                Err(Error::DevelopmentOnly(method.name))
            }
            Access::Admin if !self.admin => Err(Error::AdminOnly(method.name)),
            Access::Everyone | Access::Development | Access::Admin => Ok(()),
        }
    }

    /// Returns the newest view, for methods that read the pool. They read the pool first, so that a
    /// transaction that moves from the pool to the chain in between is found in the view.
    pub(crate) fn newest_view(&self) -> Result<Arc<View>, Error> {
        self.node.view().ok_or(Error::Starting)
    }
}

/// Outcome of starting a call.
#[derive(Debug)]
pub enum Reply {
    /// Result as JSON.
    Ready(Bytes),
    Later(Wait),
}

/// JSON-RPC methods over one node.
pub struct Api {
    node: Arc<Node>,
    limits: Limits,
    /// Limits of attempts on the fast path.
    tight: Limits,
    filters: Arc<Filters>,
    rendered: Arc<Rendered>,
    development: Arc<Development>,
    /// `true` if callers arrive on the admin listener.
    admin: bool,
}

impl Api {
    /// Creates the API of `node` with `limits`. `secret` makes filter ids hard to guess.
    pub fn new(node: Arc<Node>, limits: Limits, secret: B256) -> Self {
        let filters = Filters::of(&node, secret);
        let rendered = Arc::new(Rendered::new(node.cache_sizes().block_json));
        let (tight, development) = (limits.of_attempt(), Arc::default());
        Self { node, limits, tight, filters, rendered, development, admin: false }
    }

    /// Adds the keys of accounts for which a development node signs. Call this before [`Self::for_admin`].
    #[must_use]
    pub fn with_keys(self, keys: Vec<Key>) -> Self {
        Self { development: Arc::new(Development::new(keys)), ..self }
    }

    /// Stores filters in the process that the node follows, reached through `keeper`.
    #[must_use]
    pub fn with_filters_at(self, keeper: Arc<dyn FilterKeeper>) -> Self {
        Self { filters: Arc::new(Filters::There(keeper)), ..self }
    }

    /// Answers a filter request from a process that follows this one. Returns `None` if the bytes are not a
    /// valid request.
    pub fn answer_about_filters(&self, question: &[u8]) -> Option<Vec<u8>> {
        self.filters.answer(question, self.node.pool(), self.node.now().monotonic)
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
        let Self { node, filters, rendered, development, admin, .. } = self;
        Self {
            node: node.clone(),
            limits,
            tight: limits.of_attempt(),
            filters: filters.clone(),
            rendered: rendered.clone(),
            development: development.clone(),
            admin: *admin,
        }
    }

    /// Returns the metrics of the cache of rendered blocks.
    pub fn block_json(&self) -> CacheMetrics {
        self.rendered.metrics()
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

    /// Calls `method`. A panic in it becomes an error and does not end the process.
    ///
    /// A method that would have to wait is polled once and then fails.
    pub fn run(
        &self,
        view: Option<&Arc<View>>,
        method: &'static Method,
        params: &[u8],
    ) -> Result<Bytes, RpcError> {
        match self.begin(view, method, params)? {
            Reply::Ready(answer) => Ok(answer),
            Reply::Later(wait) => self.poll(method, &wait)?.ok_or_else(|| wait.give_up().into()),
        }
    }

    /// Calls `method` like [`Self::run`], but may return [`Reply::Later`].
    ///
    /// The caller then polls the wait after every change of the node and at its deadline.
    pub fn begin(
        &self,
        view: Option<&Arc<View>>,
        method: &'static Method,
        params: &[u8],
    ) -> Result<Reply, RpcError> {
        self.start(view, method, params, false).map_err(RpcError::from)
    }

    /// Tries to answer a call of `method` on the receiving thread.
    ///
    /// Execution or search takes at most 200 us, not counting the time that the system needs to read a page
    /// of the store. No block is executed again to obtain a state. An attempt has side effects only if
    /// `method` has.
    pub fn attempt(&self, view: Option<&Arc<View>>, method: &'static Method, params: &[u8]) -> Attempt {
        if method.cost == Cost::Short && params.len() > attempt::PARAMS {
            return Attempt::Long;
        }
        match self.start(view, method, params, true) {
            Ok(Reply::Ready(answer)) => Attempt::Answered(answer),
            Ok(Reply::Later(_)) => Attempt::Long,
            Err(error) if error.is_long() => Attempt::Long,
            Err(_) => Attempt::Failed,
        }
    }

    fn start(
        &self,
        view: Option<&Arc<View>>,
        method: &'static Method,
        params: &[u8],
        attempt: bool,
    ) -> Result<Reply, Error> {
        let newest = if mutant!("read-newest-view") { self.node.view() } else { None };
        let view = newest.as_ref().or(view);
        let context = Context {
            node: &self.node,
            view,
            limits: if attempt { &self.tight } else { &self.limits },
            filters: &self.filters,
            rendered: &self.rendered,
            development: &self.development,
            admin: self.admin,
            attempt,
        };
        guarded(method.name, || {
            context.admit(method)?;
            let mut params = Params::parse(params, method.name, method.arguments)?;
            match method.run {
                Run::Answer(answer) => Ok(Reply::Ready(answer(&context, &mut params)?.into())),
                Run::Share(share) => share(&context, &mut params).map(Reply::Ready),
                Run::Begin(begin) => begin(&context, &mut params),
            }
        })
    }

    /// Returns the result of `method` if the wait is over, otherwise `None`.
    pub fn poll(&self, method: &'static Method, wait: &Wait) -> Result<Option<Bytes>, RpcError> {
        guarded(method.name, || wait.poll(&self.node)).map_err(RpcError::from)
    }
}

/// Runs `work` and turns a panic into an error. Unwinding is safe: the node's state is behind immutable views
/// and locks that a panic releases.
pub(crate) fn guarded<T>(method: &'static str, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<&str>().copied();
        let reason = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("");
        tracing::error!(method, reason, "method panicked");
        Err(Error::Panicked)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_internal_error() {
        let result: Result<(), Error> = guarded("test", || panic!("on purpose"));
        let error = RpcError::from(result.unwrap_err());
        assert_eq!((error.code, error.message.as_str()), (-32603, "internal error"));
        assert_eq!(guarded("test", || Ok(5)).unwrap(), 5);
    }
}

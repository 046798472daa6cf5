//! The door: a method's name and its parameters in, JSON or an error out.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use alloy_primitives::B256;
use bytes::Bytes;
use foreseal_evm::{CallLimits, Deadline};
use foreseal_node::{Answering as _, Node, View};
use foreseal_types::mutant;

use crate::{
    Access, Attempt, Cost, Development, Error, Key, Method, RpcError, Wait, attempt,
    filters::{FilterKeeper, Filters},
    params::Params,
    rendered::Rendered,
    table::{self, Run},
};

/// What one request may take. Each is a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Logs in the answer of one `eth_getLogs`, unless the range is a single block.
    pub logs: u64,
    /// Time for it, unless the range is a single block.
    pub log_time: Duration,
    /// Filters that exist at once.
    pub filters: u64,
    /// Addresses and topics of a subscription's filter together.
    pub terms: u64,
    /// Flashblocks of one `foreseal_getFlashblocks`.
    pub flashblocks: u64,
    /// Bytes of flashblocks after which its answer ends.
    pub flashblock_bytes: usize,
    /// Gas of one `eth_call` or estimate.
    pub call_gas: u64,
    /// Time for one `eth_call`, estimate or trace.
    pub call_time: Duration,
    /// Gas of all calls of one `eth_simulateV1` together.
    pub simulate_gas: u64,
    /// Storage slots of one `eth_getProof` or `eth_getStorageValues`.
    pub slots: u64,
    /// Transactions in the answer of one `txpool_content` or `txpool_inspect`.
    pub pool_transactions: u64,
    /// Longest time that `eth_sendRawTransactionSync` may be asked to wait.
    pub sync_time: Duration,
    /// Bytes of the answer to one request for traces.
    pub trace_bytes: usize,
}

impl Limits {
    /// Those of a call that begins now.
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

/// What a method may look at.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub(crate) node: &'a Node,
    view: Option<&'a Arc<View>>,
    pub(crate) limits: &'a Limits,
    pub(crate) filters: &'a Filters,
    pub(crate) rendered: &'a Rendered,
    pub(crate) development: &'a Development,
    /// Whether the caller came by the admin listener.
    admin: bool,
    /// Whether it is tried in place: see [`Api::attempt`].
    attempt: bool,
}

impl<'a> Context<'a> {
    /// Whether the call is tried in place, within tight limits.
    pub(crate) fn is_attempt(&self) -> bool {
        self.attempt
    }

    /// The request's one view.
    pub(crate) fn view(&self) -> Result<&'a Arc<View>, Error> {
        self.view.ok_or(Error::Starting)
    }

    /// Refuses a method that is not for whoever calls here.
    pub(crate) fn admit(&self, method: &Method) -> Result<(), Error> {
        match method.access {
            Access::Development if self.node.settings().development.is_none() => {
                Err(Error::DevelopmentOnly(method.name))
            }
            Access::Admin if !self.admin => Err(Error::AdminOnly(method.name)),
            Access::Everyone | Access::Development | Access::Admin => Ok(()),
        }
    }

    /// The newest view, for what reads the pool: the pool is read first, so that a transaction between the two is
    /// seen in the view.
    pub(crate) fn newest_view(&self) -> Result<Arc<View>, Error> {
        self.node.view().ok_or(Error::Starting)
    }
}

/// How a call went on.
#[derive(Debug)]
pub enum Reply {
    /// The answer, JSON.
    Ready(Bytes),
    Later(Wait),
}

/// The methods over one node.
pub struct Api {
    node: Arc<Node>,
    limits: Limits,
    /// Those of attempts.
    tight: Limits,
    filters: Arc<Filters>,
    rendered: Arc<Rendered>,
    development: Arc<Development>,
    /// Whether callers come by the admin listener.
    admin: bool,
}

impl Api {
    /// Answers for `node` within `limits`. `secret` makes the ids of filters hard to guess.
    pub fn new(node: Arc<Node>, limits: Limits, secret: B256) -> Self {
        let filters = Filters::of(&node, secret);
        let (tight, rendered, development) = (limits.of_attempt(), Arc::default(), Arc::default());
        Self { node, limits, tight, filters, rendered, development, admin: false }
    }

    /// With the keys of accounts that a development node signs for. Before [`Self::for_admin`].
    #[must_use]
    pub fn with_keys(self, keys: Vec<Key>) -> Self {
        Self { development: Arc::new(Development::new(keys)), ..self }
    }

    /// With the filters of clients kept by the process that the node follows.
    #[must_use]
    pub fn with_filters_at(self, keeper: Arc<dyn FilterKeeper>) -> Self {
        Self { filters: Arc::new(Filters::There(keeper)), ..self }
    }

    /// Answers what a process that follows this one asks of the filters; `None` to what is no such question.
    pub fn answer_about_filters(&self, question: &[u8]) -> Option<Vec<u8>> {
        self.filters.answer(question, self.node.pool(), self.node.now().monotonic)
    }

    /// The same methods, and those for administrators: for the admin listener.
    #[must_use]
    pub fn for_admin(&self) -> Self {
        Self { admin: true, ..self.with_limits(self.limits) }
    }

    /// The same methods within other limits: for a tier of callers. Of the filters, which all callers have together,
    /// nobody here makes one more once there are as many as `limits` says.
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

    /// Returns the time that a call may take from its arrival on, waiting for a thread included.
    pub fn time_limit(&self) -> Duration {
        self.limits.call_time.max(self.limits.log_time)
    }

    /// The node.
    pub fn node(&self) -> &Arc<Node> {
        &self.node
    }

    /// Calls the method with this name; `params` is a JSON array, `null`, or empty. Everything that a batch asks is
    /// answered from the one `view` that its caller loaded; `None` while the node starts.
    pub fn call(&self, view: Option<&Arc<View>>, name: &str, params: &[u8]) -> Result<Bytes, RpcError> {
        let method = table::method(name).ok_or_else(|| Error::UnknownMethod(name.to_owned()))?;
        self.run(view, method, params)
    }

    /// Calls `method`. A panic in it becomes an error: no request ends the process. A method that would have to wait is
    /// given no time.
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

    /// As [`Self::run`], for a caller who can come back: with the wait, when the node changed and at its deadline.
    pub fn begin(
        &self,
        view: Option<&Arc<View>>,
        method: &'static Method,
        params: &[u8],
    ) -> Result<Reply, RpcError> {
        self.start(view, method, params, false).map_err(RpcError::from)
    }

    /// Tries to answer a call of `method` where it came in: its execution or search takes 200 us at most (but for what the
    /// system does to bring a page of the store), and nothing is executed again to have a state. Changes nothing where
    /// `method` changes nothing.
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

    /// What `method` answers by now; `None` when it has to wait on.
    pub fn poll(&self, method: &'static Method, wait: &Wait) -> Result<Option<Bytes>, RpcError> {
        guarded(method.name, || wait.poll(&self.node)).map_err(RpcError::from)
    }
}

/// Runs `work`; the node's state is behind immutable views and locks that a panic releases.
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

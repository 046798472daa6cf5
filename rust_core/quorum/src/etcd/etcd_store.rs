//! The quorum store on an etcd cluster.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use prost::Message;
use tokio::runtime::{Builder, Runtime};
use tonic::metadata::AsciiMetadataValue;

use super::{
    etcd_endpoint::{Attempt, EtcdEndpoint},
    etcd_settings::{EtcdSettings, EtcdSetupError, EtcdUser},
    messages::{
        AuthenticateRequest, AuthenticateResponse, CompactionRequest, HashKvRequest, HashKvResponse,
        MemberListRequest, MemberListResponse, RangeResponse, StatusRequest, TxnResponse, WriteResponse,
    },
    status_error::{needs_token, quorum_error},
    translation::{
        key_values, member_status, range_request, to_signed, to_unsigned, transaction_request,
        transaction_response,
    },
};
use crate::{
    quorum_error::QuorumStoreError,
    quorum_store::{
        EndpointHash, EndpointStatus, HashReading, QuorumMember, QuorumRequest, QuorumResponse, QuorumStore,
    },
};

/// Duration of an attempt at one endpoint.
const ATTEMPT_TIMEOUT: Duration = Duration::from_millis(400);
/// Duration of an authentication, whose password hash is slow by design.
const AUTHENTICATION_TIMEOUT: Duration = Duration::from_secs(1);
/// Duration of a hash of all keys.
const HASH_TIMEOUT: Duration = Duration::from_secs(10);
/// Minimum duration of a round with a transient error, so that callers that repeat it do not spin.
const MIN_TRANSIENT_ROUND: Duration = Duration::from_millis(50);

const TXN: &str = "/etcdserverpb.KV/Txn";
const RANGE: &str = "/etcdserverpb.KV/Range";
const COMPACT: &str = "/etcdserverpb.KV/Compact";
const MEMBER_LIST: &str = "/etcdserverpb.Cluster/MemberList";
const STATUS: &str = "/etcdserverpb.Maintenance/Status";
const HASH_KV: &str = "/etcdserverpb.Maintenance/HashKV";
const AUTHENTICATE: &str = "/etcdserverpb.Auth/Authenticate";

/// Client of an etcd cluster over gRPC. Calls block, and must not run inside an asynchronous runtime.
///
/// A call makes one round over the endpoints, beginning with the one that answered last. An attempt lasts
/// 400 ms by default; then the next endpoint receives the same request. A transaction whose attempt was not
/// answered may still be executed, also later and in addition to the answered attempt: callers protect it by
/// comparisons.
pub struct EtcdStore {
    endpoints: Vec<EtcdEndpoint>,
    /// Index of the endpoint that answered last.
    preferred: AtomicUsize,
    user: Option<EtcdUser>,
    attempt_timeout: Duration,
    token: Mutex<Option<AsciiMetadataValue>>,
    /// `None` only while the quorum store is dropped.
    runtime: Option<Runtime>,
}

impl EtcdStore {
    /// Returns a client that connects with its first request.
    ///
    /// # Errors
    /// Returns the first fault of the settings and their files.
    pub fn new(settings: &EtcdSettings) -> Result<Self, EtcdSetupError> {
        settings.check_password()?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("etcd")
            .enable_all()
            .build()
            .map_err(|error| EtcdSetupError::Runtime { reason: error.to_string() })?;
        let guard = runtime.enter();
        let tls = settings.tls.as_ref().map(super::etcd_settings::EtcdTls::config).transpose()?;
        if let Some(user) = &settings.user {
            user.password()?;
        }
        let endpoints = settings.url.endpoints.iter();
        let endpoints = endpoints
            .map(|address| EtcdEndpoint::new(address, tls.as_ref()))
            .collect::<Result<Vec<_>, _>>()?;
        drop(guard);
        Ok(Self {
            endpoints,
            preferred: AtomicUsize::new(0),
            user: settings.user.clone(),
            attempt_timeout: ATTEMPT_TIMEOUT,
            token: Mutex::new(None),
            runtime: Some(runtime),
        })
    }

    /// Sets the duration of an attempt at one endpoint, 400 ms by default.
    #[must_use]
    pub fn with_attempt_timeout(mut self, timeout: Duration) -> Self {
        self.attempt_timeout = timeout;
        self
    }

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.runtime.as_ref().expect("the runtime exists until the engine is dropped").block_on(future)
    }

    /// Sends a message to one endpoint after the other until one answers. Pauses after a transient error.
    fn round<M, R>(&self, path: &'static str, message: &M) -> Result<R, QuorumStoreError>
    where
        M: Message + Clone + 'static,
        R: Message + Default + 'static,
    {
        let started = Instant::now();
        let result = self.try_endpoints(path, message);
        if result.as_ref().is_err_and(QuorumStoreError::is_transient) {
            // A full quorum store and a closed port answer at once.
            let rest = MIN_TRANSIENT_ROUND.saturating_sub(started.elapsed());
            self.block_on(async { tokio::time::sleep(rest).await });
        }
        result
    }

    fn try_endpoints<M, R>(&self, path: &'static str, message: &M) -> Result<R, QuorumStoreError>
    where
        M: Message + Clone + 'static,
        R: Message + Default + 'static,
    {
        let first = self.preferred.load(Ordering::Relaxed);
        let (mut reasons, mut rejected, mut rejections) = (Vec::new(), None, 0);
        for offset in 0..self.endpoints.len() {
            let index = (first + offset) % self.endpoints.len();
            let endpoint = &self.endpoints[index];
            match self.attempt(endpoint, path, message, self.attempt_timeout) {
                Err(QuorumStoreError::Unanswered { reason }) => {
                    reasons.push(format!("{}: {reason}", endpoint.address));
                    continue;
                }
                // One endpoint may be broken, or be another program: the others decide.
                Err(error @ QuorumStoreError::Rejected { .. }) => {
                    reasons.push(error.to_string());
                    rejected.get_or_insert(error);
                    rejections += 1;
                    continue;
                }
                // An earlier attempt of this round may succeed, so this error does not decide the outcome. The
                // next round begins here.
                Err(error) if reasons.len() > rejections => reasons.push(error.to_string()),
                result => {
                    self.preferred.store(index, Ordering::Relaxed);
                    return result;
                }
            }
            self.preferred.store(index, Ordering::Relaxed);
            break;
        }
        if let Some(error) = rejected.filter(|_| rejections == self.endpoints.len()) {
            return Err(error);
        }
        Err(QuorumStoreError::unanswered(reasons.join("; ")))
    }

    /// Sends a message to one endpoint, a second time if the authentication token was invalid.
    fn attempt<M, R>(
        &self,
        endpoint: &EtcdEndpoint,
        path: &'static str,
        message: &M,
        timeout: Duration,
    ) -> Result<R, QuorumStoreError>
    where
        M: Message + Clone + 'static,
        R: Message + Default + 'static,
    {
        let cached = self.token.lock().clone();
        let token = match (&self.user, cached) {
            (None, _) => None,
            (Some(_), Some(token)) => Some(token),
            (Some(user), None) => Some(self.authenticate(endpoint, user)?),
        };
        let send = |token| self.block_on(endpoint.send(Attempt { path, message, token, timeout }));
        let result = match (send(token), &self.user) {
            (Err(status), Some(user)) if needs_token(&status) => {
                send(Some(self.authenticate(endpoint, user)?))
            }
            (result, _) => result,
        };
        result.map_err(|status| quorum_error(&endpoint.address, &status))
    }

    /// Requests a new token from one endpoint; all endpoints accept it.
    fn authenticate(
        &self,
        endpoint: &EtcdEndpoint,
        user: &EtcdUser,
    ) -> Result<AsciiMetadataValue, QuorumStoreError> {
        let rejected =
            |reason: String| QuorumStoreError::Rejected { endpoint: endpoint.address.clone(), reason };
        let password = user.password().map_err(|error| rejected(error.to_string()))?;
        let message = AuthenticateRequest { name: user.name.clone(), password };
        let (path, timeout) = (AUTHENTICATE, AUTHENTICATION_TIMEOUT);
        let attempt = Attempt { path, message: &message, token: None, timeout };
        let response: Result<AuthenticateResponse, _> = self.block_on(endpoint.send(attempt));
        let response = response.map_err(|status| quorum_error(&endpoint.address, &status))?;
        let token = AsciiMetadataValue::try_from(response.token)
            .map_err(|_| rejected("the authentication token is not ASCII".to_owned()))?;
        *self.token.lock() = Some(token.clone());
        Ok(token)
    }

    fn statuses(&self) -> Vec<EndpointStatus> {
        let status = |endpoint: &EtcdEndpoint| EndpointStatus {
            endpoint: endpoint.address.clone(),
            status: self
                .attempt(endpoint, STATUS, &StatusRequest {}, self.attempt_timeout)
                .map(member_status),
        };
        self.endpoints.iter().map(status).collect()
    }

    fn hashes(&self, revision: u64) -> Vec<EndpointHash> {
        let message = HashKvRequest { revision: to_signed(revision) };
        let reading = |response: HashKvResponse| HashReading {
            member: response.header.map_or(0, |header| header.member_id),
            hash: response.hash,
            compaction: to_unsigned(response.compact_revision),
        };
        let hash = |endpoint: &EtcdEndpoint| EndpointHash {
            endpoint: endpoint.address.clone(),
            hash: self.attempt(endpoint, HASH_KV, &message, HASH_TIMEOUT).map(reading),
        };
        self.endpoints.iter().map(hash).collect()
    }

    fn members(&self) -> Result<Vec<QuorumMember>, QuorumStoreError> {
        let response: MemberListResponse =
            self.round(MEMBER_LIST, &MemberListRequest { linearizable: true })?;
        let members = response.members.into_iter().map(|member| QuorumMember {
            id: member.id,
            name: member.name,
            urls: member.client_urls,
            is_learner: member.is_learner,
        });
        Ok(members.collect())
    }
}

impl QuorumStore for EtcdStore {
    fn call(&self, request: &QuorumRequest) -> Result<QuorumResponse, QuorumStoreError> {
        Ok(match request {
            QuorumRequest::Transaction { comparisons, success, failure } => {
                let message = transaction_request(comparisons, success, failure);
                transaction_response(self.round::<_, TxnResponse>(TXN, &message)?)
            }
            QuorumRequest::Range(range) => {
                let response: RangeResponse = self.round(RANGE, &range_request(range))?;
                QuorumResponse::Range { entries: key_values(response.kvs), more: response.more }
            }
            QuorumRequest::Compact { revision } => {
                let message = CompactionRequest { revision: to_signed(*revision) };
                self.round::<_, WriteResponse>(COMPACT, &message)?;
                QuorumResponse::Compacted
            }
            QuorumRequest::Status => QuorumResponse::Status(self.statuses()),
            QuorumRequest::Members => QuorumResponse::Members(self.members()?),
            QuorumRequest::HashKv { revision } => QuorumResponse::HashKv(self.hashes(*revision)),
        })
    }
}

impl Drop for EtcdStore {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Waits for no connection.
            runtime.shutdown_background();
        }
    }
}

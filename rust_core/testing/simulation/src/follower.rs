//! A follower's process: the frames that it receives, and checks of the views that it publishes.

use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes};
use foreseal_chain::View;
use foreseal_node::Node;
use foreseal_pool::Status;
use foreseal_replication::{ConnectionError, ManualFollower, RingLimits, SubmissionHandle, SubmitError};
use foreseal_state::{StateError, StateReader};

use crate::{
    ledger::Check,
    pipe::Pipe,
    view_digests::{ViewDigest, ViewDigests},
    world::NodeProbe,
};

/// A transaction submitted through a follower, with its response pending.
pub struct Sent {
    pub underway: SubmissionHandle,
    pub raw: Bytes,
    pub hash: B256,
}

/// Outcome of a submission through a follower.
pub enum SubmissionOutcome {
    Accepted,
    /// The connection ended; the transaction may have been accepted or not.
    Unknown,
    /// The transaction was never sent to the sequencer.
    Away,
    Rejected,
}

/// A follower's process.
pub struct Follower {
    pub node: Arc<Node>,
    pub follows: ManualFollower,
    pub watch: Arc<NodeProbe>,
    /// The view that was checked last, and the number of appends applied at that time.
    seen: Option<(Arc<View>, Option<u64>)>,
    sent: Vec<Sent>,
}

impl Follower {
    pub fn new(node: Node, watch: Arc<NodeProbe>, ring: RingLimits) -> Result<Self, String> {
        let node = Arc::new(node);
        watch.set_node(&node);
        node.start_manual(watch.clone(), ring).map_err(|error| error.to_string())?;
        let follows = node.follow_manual().ok_or("it is no follower")?;
        Ok(Self { node, follows, watch, seen: None, sent: Vec::new() })
    }

    /// Receives a frame or the end of the stream. Returns `None` if the process ends meanwhile, and
    /// `Some(Err)` with the reason if the connection ends.
    ///
    /// # Errors
    /// Returns the property that was violated.
    pub fn receive(
        &mut self,
        input: &mut Pipe,
        lasting: bool,
    ) -> Result<Option<Result<(), ConnectionError>>, String> {
        let live = self.follows.is_live();
        let tracked = if live && lasting { self.tracked() } else { Vec::new() };
        self.watch.set_retained(tracked.clone());
        let Some(heard) = crate::quietly(|| self.follows.receive(input)) else { return Ok(None) };
        self.watch.set_retained(Vec::new());
        if let Some(missed) = self.watch.missed() {
            return Err(format!("on a follower, {missed}"));
        }
        if live && heard.is_ok() {
            tracked.iter().try_for_each(|hash| self.find(hash))?;
        }
        Ok(Some(heard))
    }

    /// Returns the transactions in its pool and in its pending block.
    fn tracked(&self) -> Vec<B256> {
        let pooled = self.node.pool().all().iter().map(|pooled| pooled.hash()).collect::<Vec<_>>();
        let view = self.node.view();
        let pending = view.iter().flat_map(|view| view.pending().block.transactions.iter());
        pooled.into_iter().chain(pending.map(|one| one.hash())).collect()
    }

    /// Checks like a reader that a transaction is found: first the pool, then the newest view.
    fn find(&self, hash: &B256) -> Check {
        let status = self.node.pool().status(hash);
        let Some(view) = self.node.view() else { return Ok(()) };
        match (status, view.transaction(hash)) {
            (Status::Unknown, Ok(None)) => {
                Err(format!("transaction {hash} is in neither pool nor view of a follower"))
            }
            (_, Err(error)) if error != StateError::ViewGone => Err(error.to_string()),
            _ => Ok(()),
        }
    }

    /// Checks that its view equals the one that the sequencer published, and that it publishes nothing while
    /// it catches up.
    pub fn poll(&mut self, published: &ViewDigests) -> Check {
        let Some(view) = self.node.view() else { return Ok(()) };
        let (next, live) = (self.follows.next(), self.follows.is_live());
        let (seen, appends) = match &self.seen {
            Some((seen, appends)) => (Arc::ptr_eq(seen, &view), *appends),
            None => (false, None),
        };
        match next {
            Some(next) if live => {
                if !seen || appends != Some(next) {
                    published.check(next, &view)?;
                }
                self.seen = Some((view, Some(next)));
                Ok(())
            }
            _ if seen => Ok(()),
            _ => Err("a follower shows something new before it is up to date".to_owned()),
        }
    }

    /// Forwards a transaction to the sequencer. Returns `false` if the follower rejects it itself.
    pub fn send(&mut self, raw: &Bytes, runnable: bool) -> Result<bool, String> {
        let decoded = self.node.decode(raw).ok();
        let Some(submission) = decoded.and_then(|decoded| decoded.verify().ok()) else { return Ok(false) };
        let hash = submission.hash();
        match self.node.send(submission, runnable) {
            Ok(foreseal_node::Sent::SubmissionHandle(underway)) => {
                self.sent.push(Sent { underway, raw: raw.clone(), hash });
                Ok(true)
            }
            Ok(foreseal_node::Sent::Done(_)) => Err("a follower admits a transaction by itself".to_owned()),
            Err(_) => Ok(false),
        }
    }

    /// Ends the process. Returns the submissions that have no response, and never get one.
    pub fn into_sent(self) -> impl Iterator<Item = Sent> {
        self.sent.into_iter()
    }

    /// Returns the submissions that have a response. On a `lasting` chain, checks that each accepted one is
    /// in its pool or view. Elsewhere, a return to a snapshot may have removed it before the response.
    pub fn answers(&mut self, lasting: bool) -> Result<Vec<(Sent, SubmissionOutcome)>, String> {
        let mut answered = Vec::new();
        for sent in std::mem::take(&mut self.sent) {
            let what = match sent.underway.poll() {
                None => {
                    self.sent.push(sent);
                    continue;
                }
                Some(Ok(foreseal_pool::Admission::Added(_))) => {
                    if lasting {
                        self.find(&sent.hash).map_err(|what| format!("answered too early: {what}"))?;
                    }
                    SubmissionOutcome::Accepted
                }
                Some(Err(SubmitError::Unknown { .. })) => SubmissionOutcome::Unknown,
                Some(Err(SubmitError::Away)) => SubmissionOutcome::Away,
                Some(_) => SubmissionOutcome::Rejected,
            };
            answered.push((sent, what));
        }
        Ok(answered)
    }

    /// Compares it with the sequencer, including the pool. Returns a description of the difference, `None` if
    /// there is none.
    pub fn differs(&self, sequencer: &Node, accounts: &[Address]) -> Result<Option<String>, String> {
        if !self.follows.is_live() || self.follows.next() != sequencer.appends() {
            return Ok(Some(format!(
                "it has {:?} appends of {:?}: {:?}",
                self.follows.next(),
                sequencer.appends(),
                self.node.status().phase
            )));
        }
        let (Some(own), Some(there)) = (self.node.view(), sequencer.view()) else {
            return Ok(Some("there is no view".to_owned()));
        };
        let shown = |view: &View| ViewDigest::compute(view, accounts).map_err(|error| error.to_string());
        if shown(&own)? != shown(&there)? {
            return Ok(Some("another view".to_owned()));
        }
        let pool = |node: &Node, view: &View| {
            let next = accounts.iter().map(|address| {
                let account = view.pending().state.account(address).ok().flatten();
                node.pool().next_nonce(address, account.map_or(0, |account| account.nonce))
            });
            let hashes = node.pool().all().iter().map(|one| one.hash()).collect::<Vec<_>>();
            (hashes, node.pool().counts(), next.collect::<Vec<_>>())
        };
        let same = pool(&self.node, &own) == pool(sequencer, &there);
        Ok((!same).then(|| "another pool".to_owned()))
    }
}

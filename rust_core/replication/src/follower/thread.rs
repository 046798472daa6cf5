//! The thread that follows the sequencer over one connection after the other.

use std::{
    collections::BTreeSet,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use super::{
    FollowerClient,
    session::{ConnectionOutcome, Session},
};
use crate::{error::ReplicationError, phase::Phase, wire::FollowerRole};

/// Delays between connection attempts. They are short so that a restarted sequencer is found quickly; an
/// attempt costs next to nothing.
const FIRST_WAIT: Duration = Duration::from_millis(20);
const LONGEST_WAIT: Duration = Duration::from_millis(160);
/// Delay after a sequencer rejected a follower that may have another one.
const REJECTED_WAIT: Duration = Duration::from_secs(1);
/// Maximum number of reasons of which a series of failed attempts is logged.
const MAX_LOGGED_REASONS: usize = 16;

impl FollowerClient {
    /// Starts the thread without blocking; a second call does nothing.
    pub fn start(self: &Arc<Self>) -> Result<(), ReplicationError> {
        let mut thread = self.thread.lock();
        if thread.is_some() || self.backend.is_stopping() {
            return Ok(());
        }
        let own = self.clone();
        let run = move || {
            own.backend.run_following(&mut || {
                if catch_unwind(AssertUnwindSafe(|| own.run())).is_err() {
                    let reason = "internal error in the following thread".to_owned();
                    own.backend.set_phase(Phase::Failed(reason));
                }
            });
        };
        let spawned = std::thread::Builder::new().name("foreseal-follow".to_owned()).spawn(run);
        let failed =
            |error: io::Error| ReplicationError::Thread { name: "foreseal-follow", why: error.to_string() };
        *thread = Some(spawned.map_err(failed)?);
        Ok(())
    }

    fn run(self: &Arc<Self>) {
        let Some(mut session) = Session::new(self.clone()) else { return };
        let (mut wait, mut logged) = (FIRST_WAIT, BTreeSet::<String>::new());
        while !self.backend.is_stopping() {
            if !self.upstream.has_addresses() {
                self.backend.sleep(FIRST_WAIT);
                continue;
            }
            let ended = self.connect(&mut session);
            self.upstream.disconnect();
            if self.backend.is_stopping() {
                break;
            }
            self.note_end(&ended);
            let (reason, was_live) = match ended {
                ConnectionOutcome::Failed(reason) => {
                    tracing::error!(reason, "cannot follow the sequencer");
                    return;
                }
                // A worker has only one sequencer, which must have its chain and its version.
                ConnectionOutcome::Rejected(reason) if self.is_worker() => {
                    tracing::error!(reason, "cannot follow the sequencer");
                    return;
                }
                ConnectionOutcome::Rejected(reason) => {
                    wait = REJECTED_WAIT;
                    (reason, false)
                }
                ConnectionOutcome::Lost { reason, was_live } => {
                    wait = if was_live { FIRST_WAIT } else { (wait * 2).min(LONGEST_WAIT) };
                    (reason, was_live)
                }
            };
            // One log line for a series of attempts that fail in the same way.
            if was_live || logged.len() >= MAX_LOGGED_REASONS {
                logged.clear();
            }
            if !logged.contains(&reason) {
                tracing::warn!(reason, "sequencer not followed: retrying");
                logged.insert(reason);
            }
            self.backend.sleep(wait);
        }
        self.backend.set_phase(Phase::Stopped);
    }

    fn is_worker(&self) -> bool {
        self.profile.role == FollowerRole::Worker
    }

    /// Publishes the outcome of a connection as the phase.
    pub(super) fn note_end(&self, ended: &ConnectionOutcome) {
        self.backend.set_phase(match ended {
            ConnectionOutcome::Failed(reason) => Phase::Failed(reason.clone()),
            ConnectionOutcome::Rejected(reason) if self.is_worker() => Phase::Failed(reason.clone()),
            ConnectionOutcome::Rejected(reason) | ConnectionOutcome::Lost { reason, .. } => {
                Phase::Disconnected(reason.clone())
            }
        });
    }

    /// Follows over one connection until it ends.
    fn connect(&self, session: &mut Session) -> ConnectionOutcome {
        let stream = match self.upstream.connect() {
            Ok(stream) => stream,
            Err(error) => return ConnectionOutcome::lost(error.to_string()),
        };
        // A thread that stops the node either sees the stream or is seen here.
        if self.backend.is_stopping() {
            return ConnectionOutcome::lost("it is stopping".to_owned());
        }
        session.run(&stream)
    }
}

//! The thread that follows the sequencer over one connection after the other.

use std::{
    os::unix::net::UnixStream,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use super::{
    FollowerClient,
    session::{ConnectionOutcome, Session},
};
use crate::{Phase, ReplicationError};

/// Delays between connection attempts. They are short so that a restarted sequencer is found quickly; an
/// attempt costs next to nothing.
const FIRST_WAIT: Duration = Duration::from_millis(20);
const LONGEST_WAIT: Duration = Duration::from_millis(160);

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
        *thread =
            Some(spawned.map_err(|error| ReplicationError::io("start a thread for", &self.socket, &error))?);
        Ok(())
    }

    fn run(self: &Arc<Self>) {
        let (mut session, mut wait, mut logged) = (Session::new(self.clone()), FIRST_WAIT, None);
        while !self.backend.is_stopping() {
            let ended = self.connect(&mut session);
            self.disconnect();
            if self.backend.is_stopping() {
                break;
            }
            self.note_end(&ended);
            match ended {
                ConnectionOutcome::Refused(reason) => {
                    tracing::error!(reason, "cannot follow the sequencer");
                    return;
                }
                ConnectionOutcome::Lost { reason, was_live } => {
                    // One log line for a series of attempts that fail in the same way.
                    if was_live || logged.as_ref() != Some(&reason) {
                        tracing::warn!(reason, "sequencer not followed: retrying");
                        logged = Some(reason);
                    }
                    wait = if was_live { FIRST_WAIT } else { (wait * 2).min(LONGEST_WAIT) };
                }
            }
            self.backend.sleep(wait);
        }
        self.backend.set_phase(Phase::Stopped);
    }

    /// Publishes the outcome of a connection as the phase.
    pub(super) fn note_end(&self, ended: &ConnectionOutcome) {
        self.backend.set_phase(match ended {
            ConnectionOutcome::Refused(reason) => Phase::Failed(reason.clone()),
            ConnectionOutcome::Lost { reason, .. } => Phase::Disconnected(reason.clone()),
        });
    }

    /// Follows over one connection until it ends.
    fn connect(&self, session: &mut Session) -> ConnectionOutcome {
        let stream = match UnixStream::connect(&self.socket) {
            Ok(stream) => stream,
            Err(error) => return ConnectionOutcome::lost(format!("{}: {error}", self.socket.display())),
        };
        match stream.try_clone() {
            Ok(own) => *self.stream.lock() = Some(own),
            Err(error) => return ConnectionOutcome::lost(error.to_string()),
        }
        // A thread that stops the node either sees the stream or is seen here.
        if self.backend.is_stopping() {
            return ConnectionOutcome::lost("it is stopping".to_owned());
        }
        session.run(&stream)
    }
}

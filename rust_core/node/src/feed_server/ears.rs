//! What a follower says.

use std::{
    io::{self, Read},
    os::unix::net::UnixStream,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use foreseal_types::mutant;

use super::{Source, answers::Answers, connection::Attached, peers::Peer};
use crate::wire::{Down, GREATEST_UP, Outcome, Up, read_frame};

/// What is heard of a follower.
#[derive(Debug, Default)]
pub(super) struct Ears {
    answers: Answers,
    /// Whether there is nothing more to hear.
    gone: AtomicBool,
}

impl Ears {
    /// Frames of answers whose place in the log is reached at `at`.
    pub fn due(&self, at: u64) -> Vec<Vec<u8>> {
        self.answers.due(at)
    }

    /// Whether nothing more will be heard.
    pub fn are_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }

    /// Hears the next frame; whether there may be another.
    pub fn hear(&self, input: &mut impl Read, source: &Source, peer: &Peer) -> bool {
        let Ok(Some((kind, body))) = read_frame(input, GREATEST_UP) else { return false };
        match Up::decode(kind, body) {
            Ok(up) => self.take(up, source, peer),
            Err(error) => {
                tracing::warn!(%error, name = peer.name, "a follower says what cannot be read");
                return false;
            }
        }
        true
    }

    /// Nothing more will be heard.
    pub fn end(&self, source: &Source) {
        self.gone.store(true, Ordering::Release);
        source.log.wake();
    }

    fn take(&self, up: Up, source: &Source, peer: &Peer) {
        let Source { log, shared, .. } = source;
        match up {
            Up::Alive { next } => peer.next.store(next, Ordering::Release),
            Up::Report(metrics) => *peer.report.lock() = metrics,
            Up::Submit { number, runnable, submission } => {
                let outcome = Outcome::of(shared.admit_forwarded(&submission, runnable));
                // What it did to the pool is in the log by now.
                let at = if mutant!("answer-before-event") { 0 } else { log.standing().end };
                self.answers.add(at, Down::Answer { number, outcome }.encode());
                log.wake();
            }
            Up::Ask { number, question } => {
                let now = shared.clock.now().monotonic;
                let answer = shared.desk.answer(&question, &shared.pool, now).unwrap_or_default();
                // Whatever the answer builds on is in the log by now.
                self.answers.add(log.standing().end, Down::Told { number, answer: answer.into() }.encode());
                log.wake();
            }
            Up::Damaged(report) => shared.confirm_damage(&report, &peer.name),
            Up::Hello(_) => {}
        }
    }
}

/// However a thread ends that hears, also by a panic: its connection does not go on without it.
struct Hearing {
    ears: Arc<Ears>,
    source: Arc<Source>,
}

impl Drop for Hearing {
    fn drop(&mut self) {
        self.ears.end(&self.source);
    }
}

/// Starts the thread that hears what the follower says.
pub(super) fn listen(mut stream: UnixStream, attached: &Attached) -> io::Result<Arc<Ears>> {
    let ears = Arc::<Ears>::default();
    let (peer, source) = (attached.peer.clone(), attached.source.clone());
    let hearing = Hearing { ears: ears.clone(), source };
    let run = move || {
        let Hearing { ears, source } = &hearing;
        while ears.hear(&mut stream, source, &peer) {}
    };
    std::thread::Builder::new().name("foreseal-feed-ear".to_owned()).spawn(run)?;
    Ok(ears)
}

//! What is on the way to the sequencer.

use std::{
    io::Write,
    os::unix::net::UnixStream,
    sync::atomic::{AtomicBool, Ordering},
};

use alloy_primitives::Bytes;
use parking_lot::{Condvar, Mutex};

use super::leader::Known;
use crate::{feed_server::BEAT, wire::Up};

/// Written by whoever has something to say, sent by one thread per connection.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    waiting: Mutex<Waiting>,
    added: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    report: Option<Bytes>,
}

impl Outbox {
    /// Puts metrics in place of those that wait.
    pub fn report(&self, metrics: Bytes) {
        self.waiting.lock().report = Some(metrics);
        self.added.notify_all();
    }

    /// Ends the wait of the one who sends.
    pub fn wake(&self) {
        let _waiting = self.waiting.lock();
        self.added.notify_all();
    }

    /// Sends what is added, and a sign of life now and then, until it is over or the connection breaks.
    pub fn send(&self, mut stream: &UnixStream, known: &Known, over: &AtomicBool) {
        while !over.load(Ordering::Acquire) {
            let mut frames = Up::Alive { next: known.next() }.encode();
            {
                let mut waiting = self.waiting.lock();
                if waiting.report.is_none() && !over.load(Ordering::Acquire) {
                    self.added.wait_for(&mut waiting, BEAT);
                }
                if let Some(metrics) = waiting.report.take() {
                    frames.extend(Up::Report(metrics).encode());
                }
            }
            if stream.write_all(&frames).is_err() {
                return;
            }
        }
    }
}

//! The thread that renders steps and passes them to the readers.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use foreseal_node::{Node, PayloadSteps};

use super::{
    message::FlashblockMessage,
    reader_queue::{DisconnectReason, JoiningReaders, ReaderQueue},
};

/// Maximum time between two checks for changes; changes wake the thread.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// Publisher of the steps of payloads. It owns everything that it publishes, so a reader is admitted between two steps.
pub(super) struct FlashblockPublisher {
    pub node: Arc<Node>,
    pub joining: JoiningReaders,
    pub stopping: Arc<AtomicBool>,
    pub readers: Vec<Arc<ReaderQueue>>,
    pub newest: Option<PayloadMessages>,
}

/// Messages of a payload. While there are no readers, none are rendered.
pub(super) struct PayloadMessages {
    sequence: u64,
    messages: Vec<FlashblockMessage>,
    /// `true` if all readers have what they get of the payload: readers after its end get nothing of it.
    is_complete: bool,
}

impl PayloadMessages {
    fn new(payload: &PayloadSteps) -> Self {
        Self { sequence: payload.sequence, messages: Vec::new(), is_complete: false }
    }

    /// Renders the steps that are not rendered yet. Returns their messages.
    fn render(&mut self, payload: &PayloadSteps) -> &[FlashblockMessage] {
        let known = self.messages.len();
        let new = payload.steps_from(known).map(|step| FlashblockMessage::render(payload.id, step));
        self.messages.extend(new);
        &self.messages[known..]
    }
}

impl FlashblockPublisher {
    /// Publishes until the server stops.
    pub fn run(mut self) {
        let mut seen = u64::MAX;
        while !self.stopping.load(Ordering::Acquire) {
            let (count, payloads) = self.node.payloads().wait(seen, MAX_WAIT);
            seen = count;
            let published = catch_unwind(AssertUnwindSafe(|| {
                self.publish(&payloads);
                self.admit(payloads.last());
            }));
            if published.is_err() {
                tracing::error!("publishing flashblocks panicked");
                self.newest = None;
                self.disconnect(DisconnectReason::Failed);
            }
        }
        self.disconnect(DisconnectReason::Stopping);
    }

    /// Passes the steps that are new to the readers.
    fn publish(&mut self, payloads: &[PayloadSteps]) {
        self.readers.retain(|reader| reader.ended().is_none());
        for payload in payloads {
            let known = self.newest.as_ref().map(|newest| newest.sequence);
            match known {
                Some(known) if payload.sequence < known => continue,
                Some(known) if payload.sequence == known => {}
                _ => {
                    let missed = known.map_or(0, |known| payload.sequence - known - 1);
                    if missed > 0 && !self.readers.is_empty() {
                        tracing::warn!(missed, "flashblocks of payloads were not published in time");
                    }
                    self.newest = Some(PayloadMessages::new(payload));
                }
            }
            let Some(newest) = self.newest.as_mut() else { continue };
            if newest.is_complete || self.readers.is_empty() {
                continue;
            }
            for message in newest.render(payload) {
                self.readers.retain(|reader| reader.push(message));
            }
        }
    }

    /// Admits the readers that have connected: each begins with the messages of the open block.
    fn admit(&mut self, newest: Option<&PayloadSteps>) {
        let joining = std::mem::take(&mut *self.joining.lock());
        if joining.is_empty() {
            return;
        }
        let backlog = match (newest.filter(|payload| payload.is_open), &mut self.newest) {
            (Some(payload), Some(newest)) => {
                newest.render(payload);
                &newest.messages[..]
            }
            (None, Some(newest)) => {
                newest.is_complete = true;
                &[]
            }
            (_, None) => &[],
        };
        for reader in joining {
            reader.begin(backlog);
            self.readers.push(reader);
        }
    }

    fn disconnect(&mut self, reason: DisconnectReason) {
        self.readers.append(&mut self.joining.lock());
        self.readers.drain(..).for_each(|reader| reader.end(reason));
    }
}

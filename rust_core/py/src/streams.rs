//! The thread that delivers notices to subscribers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use std::{io, thread};

use foreseal_rpc::{DeliveryPump, Notification, RpcError, Subscriptions};
use parking_lot::Mutex;

use crate::completions::Completions;

/// Longest sleep of the thread when nothing happens.
const IDLE: Duration = Duration::from_hours(1);

/// Channel, sequence number, the JSON of each `result` or None, and the place of the newest step after it.
pub type PyNotification = (u64, u64, Option<Vec<String>>, (u64, u64, String));

/// The subscriptions and the thread that delivers their notices.
pub struct Streams {
    subscriptions: Arc<Subscriptions>,
    completions: Arc<Completions>,
    stopped: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Streams {
    /// Starts the thread, which pushes notices to `completions`.
    pub fn start(subscriptions: Arc<Subscriptions>, completions: Arc<Completions>) -> io::Result<Self> {
        let stopped = Arc::new(AtomicBool::new(false));
        let mut pump = DeliveryPump::new(subscriptions.clone());
        let (sink, ended) = (completions.clone(), stopped.clone());
        let run = move || {
            while sink.wait_for_room() && !ended.load(Ordering::Acquire) {
                if pump.deliver_next(IDLE) {
                    pump.deliver(&mut |notice| sink.offer_notice(notice));
                }
            }
        };
        let thread = thread::Builder::new().name("foreseal-feed".to_owned()).spawn(run)?;
        Ok(Self { subscriptions, completions, stopped, thread: Mutex::new(Some(thread)) })
    }

    /// Adds a subscriber. Returns its channel, and the first sequence number that belongs to it; `None` while
    /// the cursor is not the newest step.
    pub fn subscribe(&self, params: &[u8]) -> Result<Option<(u64, u64)>, RpcError> {
        let Some(subscribed) = self.subscriptions.subscribe(params)? else { return Ok(None) };
        if let Some(notice) = subscribed.first {
            self.completions.push_notice(notice);
        }
        Ok(Some((subscribed.channel, subscribed.start)))
    }

    /// Removes a subscriber of the channel.
    pub fn unsubscribe(&self, channel: u64) {
        self.subscriptions.unsubscribe(channel);
    }

    /// Ends the thread and waits for it.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.completions.close();
        self.subscriptions.node().feed().wake();
        if let Some(thread) = self.thread.lock().take() {
            // The pump catches its own panics, so the thread cannot have panicked.
            let _ = thread.join();
        }
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Converts a notice for Python.
pub fn py_notice(notice: Notification) -> PyNotification {
    let Notification { channel, sequence, messages, cursor } = notice;
    (channel, sequence, messages, (cursor.number, cursor.index, format!("{:#x}", cursor.hash)))
}

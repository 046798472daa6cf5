//! Places for the connections of a listener: those of strangers are for a short time.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use tokio::{sync::Notify, time::sleep};

/// Places for connections. When none is free, the oldest connection that has not earned its place loses it.
#[derive(Debug)]
pub(crate) struct ConnectionPlaces {
    max: usize,
    /// Time in which a connection must earn its place.
    stranger_time: Duration,
    table: Mutex<PlaceTable>,
    /// Wakes the accepting task after a connection has ended.
    freed: Notify,
}

#[derive(Debug, Default)]
struct PlaceTable {
    taken: usize,
    next_id: u64,
    /// Connections that have not earned their places, oldest first, each with the signal that closes it.
    strangers: BTreeMap<u64, Arc<Notify>>,
}

/// Place of one connection; it is free again when this value is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionPlace {
    id: u64,
    close: Arc<Notify>,
    places: Arc<ConnectionPlaces>,
}

impl ConnectionPlaces {
    pub fn new(max: usize, stranger_time: Duration) -> Arc<Self> {
        Arc::new(Self { max, stranger_time, table: Mutex::default(), freed: Notify::new() })
    }

    /// Returns a place, after the oldest stranger has left if all are taken. Waits while all of them are earned.
    pub async fn enter(self: &Arc<Self>) -> Arc<ConnectionPlace> {
        loop {
            // The only waiter of this signal, which is stored if it comes before the wait.
            if let Some(place) = self.try_enter() {
                return place;
            }
            self.freed.notified().await;
        }
    }

    fn try_enter(self: &Arc<Self>) -> Option<Arc<ConnectionPlace>> {
        let mut table = self.table.lock();
        if table.taken >= self.max {
            if let Some((_, close)) = table.strangers.pop_first() {
                close.notify_one();
            }
            return None;
        }
        let (id, close) = (table.next_id, Arc::new(Notify::new()));
        table.taken += 1;
        table.next_id += 1;
        table.strangers.insert(id, close.clone());
        Some(Arc::new(ConnectionPlace { id, close, places: self.clone() }))
    }
}

impl ConnectionPlace {
    /// Keeps the place for as long as the connection lasts: it is no stranger's.
    pub fn retain(&self) {
        self.places.table.lock().strangers.remove(&self.id);
    }

    /// Completes when the connection must end: a stranger's time is over, or another connection needs the place.
    pub async fn lost(&self) {
        tokio::select! {
            () = self.close.notified() => return,
            () = sleep(self.places.stranger_time) => {}
        }
        // A stranger that was told to leave is no longer listed, like one that keeps its place.
        if self.places.table.lock().strangers.remove(&self.id).is_none() {
            self.close.notified().await;
        }
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        let mut table = self.places.table.lock();
        table.strangers.remove(&self.id);
        table.taken -= 1;
        drop(table);
        self.places.freed.notify_one();
    }
}

//! Queries from followers that only the sequencer can answer. The node transports them; the layer above
//! defines them.

use std::{fmt, sync::Arc, time::Duration};

use foreseal_pool::Pool;
use parking_lot::Mutex;

/// Handler for the queries of followers, on the sequencer.
pub trait QueryHandler: Send + Sync {
    /// Returns the answer without blocking; `None` if the query is malformed. `now` is the node's monotonic
    /// time.
    fn answer(&self, query: &[u8], pool: &Pool, now: Duration) -> Option<Vec<u8>>;
}

/// Slot for the handler, empty until one is registered.
#[derive(Default)]
pub(crate) struct RequestHandler(Mutex<Option<Arc<dyn QueryHandler>>>);

impl RequestHandler {
    pub fn register(&self, handler: Arc<dyn QueryHandler>) {
        *self.0.lock() = Some(handler);
    }

    pub fn answer(&self, query: &[u8], pool: &Pool, now: Duration) -> Option<Vec<u8>> {
        let answering = self.0.lock().clone()?;
        answering.answer(query, pool, now)
    }
}

impl fmt::Debug for RequestHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestHandler").field("answers", &self.0.lock().is_some()).finish()
    }
}

//! Queries from followers that only the sequencer can answer. The node transports them; the layer above
//! defines them.

use std::{fmt, sync::Arc, time::Duration};

use foreseal_pool::Pool;
use parking_lot::Mutex;

use crate::{Node, node::NodeRole};

/// Handler for the queries of followers, on the sequencer.
pub trait QueryHandler: Send + Sync {
    /// Returns the answer without blocking; `None` if the query is malformed. `now` is the node's monotonic
    /// time.
    fn answer(&self, question: &[u8], pool: &Pool, now: Duration) -> Option<Vec<u8>>;
}

/// Slot for the handler, empty until one is registered.
#[derive(Default)]
pub(crate) struct RequestHandler(Mutex<Option<Arc<dyn QueryHandler>>>);

impl RequestHandler {
    pub fn answer(&self, question: &[u8], pool: &Pool, now: Duration) -> Option<Vec<u8>> {
        let answering = self.0.lock().clone()?;
        answering.answer(question, pool, now)
    }
}

impl fmt::Debug for RequestHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestHandler").field("answers", &self.0.lock().is_some()).finish()
    }
}

impl Node {
    /// Registers `answering` as the handler for the queries of this node's followers.
    pub fn answer_with(&self, answering: Arc<dyn QueryHandler>) {
        *self.shared.desk.0.lock() = Some(answering);
    }

    /// Sends a query to the sequencer and waits for the answer, at most for `most` of real time. Returns
    /// `None` if no answer arrives, or if this node is no follower. On return, this node shows at least the
    /// view that the sequencer showed when it answered.
    pub fn ask(&self, question: Vec<u8>, most: Duration) -> Option<Vec<u8>> {
        match &self.part {
            NodeRole::Writer(_) => None,
            NodeRole::Follower(following) => following.ask(question, most),
        }
    }
}

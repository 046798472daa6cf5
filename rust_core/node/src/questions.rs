//! Questions of followers that the sequencer alone can answer. The node carries them; what they mean is for the layer above.

use std::{fmt, sync::Arc, time::Duration};

use foreseal_pool::Pool;
use parking_lot::Mutex;

use crate::{Node, node::Part};

/// Answers the questions of followers where the chain is written.
pub trait Answering: Send + Sync {
    /// The answer, at once; `None` to what is no question. `now` is the node's monotonic time.
    fn answer(&self, question: &[u8], pool: &Pool, now: Duration) -> Option<Vec<u8>>;
}

/// Who answers, once there is somebody.
#[derive(Default)]
pub(crate) struct Desk(Mutex<Option<Arc<dyn Answering>>>);

impl Desk {
    pub fn answer(&self, question: &[u8], pool: &Pool, now: Duration) -> Option<Vec<u8>> {
        let answering = self.0.lock().clone()?;
        answering.answer(question, pool, now)
    }
}

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desk").field("answers", &self.0.lock().is_some()).finish()
    }
}

impl Node {
    /// Lets `answering` answer what followers of this node ask.
    pub fn answer_with(&self, answering: Arc<dyn Answering>) {
        *self.shared.desk.0.lock() = Some(answering);
    }

    /// Asks the sequencer and waits for its answer, at most for `most` by the machine's time; `None` if there is none, and where
    /// nobody is followed. When it is here, this node shows whatever the sequencer showed when it answered.
    pub fn ask(&self, question: Vec<u8>, most: Duration) -> Option<Vec<u8>> {
        match &self.part {
            Part::Writer(_) => None,
            Part::Follower(following) => following.ask(question, most),
        }
    }
}

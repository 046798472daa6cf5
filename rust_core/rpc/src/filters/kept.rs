//! Location of the filters: in this process, or in the process that it follows.

use std::{fmt, sync::Arc, time::Duration};

use alloy_primitives::B256;
use foreseal_node::{Answering, Node};
use foreseal_pool::Pool;

use super::{
    asked::{Question, Said},
    registry::Registry,
};
use crate::{Context, Error};

/// Client of the process that stores the filters of all its followers.
pub trait FilterKeeper: Send + Sync {
    /// Sends a request to [`Api::answer_about_filters`](crate::Api::answer_about_filters) of that process and
    /// returns its response, or `None` if it cannot be reached.
    ///
    /// When the response arrives, the local node already shows everything that the other process showed when
    /// it responded.
    fn ask(&self, question: Vec<u8>) -> Option<Vec<u8>>;
}

/// Maximum time that a call waits for the sequencer.
const WAIT: Duration = Duration::from_secs(2);

impl FilterKeeper for Node {
    fn ask(&self, question: Vec<u8>) -> Option<Vec<u8>> {
        Self::ask(self, question, WAIT)
    }
}

/// Filters in this process or in another one.
pub enum Filters {
    Here(Registry),
    There(Arc<dyn FilterKeeper>),
}

impl Filters {
    /// Creates the filters of `node`.
    ///
    /// A sequencer stores them, also for its followers; a follower uses those of the sequencer. `secret`
    /// makes the ids hard to guess.
    pub fn of(node: &Arc<Node>, secret: B256) -> Arc<Self> {
        if node.is_follower() {
            return Arc::new(Self::There(node.clone()));
        }
        let filters = Arc::new(Self::Here(Registry::new(secret)));
        node.answer_with(filters.clone());
        filters
    }

    /// Sends `question` and returns the response; a response that reports an error becomes an [`Error`].
    pub fn ask(&self, context: &Context<'_>, question: Question) -> Result<Said, Error> {
        let node = context.node;
        let said = match self {
            Self::Here(registry) => registry.handle(question, node.pool(), node.now().monotonic),
            Self::There(keeper) => {
                let said = keeper.ask(question.encode()).ok_or(Error::FiltersAway)?;
                Said::decode(&said).map_err(|_| Error::FiltersAway)?
            }
        };
        match said {
            Said::NotFound => Err(Error::FilterNotFound),
            Said::TooMany { max } => Err(Error::TooManyFilters { max }),
            Said::Missed { missed, max } => Err(Error::ArrivalsMissed { missed, max }),
            said => Ok(said),
        }
    }
}

impl Answering for Filters {
    /// Returns `None` if the bytes are not a valid request, or if another process stores the filters.
    fn answer(&self, question: &[u8], pool: &Pool, now: Duration) -> Option<Vec<u8>> {
        match self {
            Self::Here(registry) => {
                Some(registry.handle(Question::decode(question).ok()?, pool, now).encode())
            }
            Self::There(_) => None,
        }
    }
}

impl fmt::Debug for Filters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Here(registry) => f.debug_tuple("Here").field(registry).finish(),
            Self::There(_) => f.write_str("There"),
        }
    }
}

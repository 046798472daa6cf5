//! Where the filters are: here, or in the process that this one follows.

use std::{fmt, sync::Arc, time::Duration};

use alloy_primitives::B256;
use foreseal_node::{Answering, Node};
use foreseal_pool::Pool;

use super::{
    asked::{Question, Said},
    registry::Registry,
};
use crate::{Context, Error};

/// The process that keeps the filters of all that follow it.
pub trait FilterKeeper: Send + Sync {
    /// Brings a question to [`Api::answer_about_filters`](crate::Api::answer_about_filters) there, and the answer back; `None`
    /// if that cannot be reached. When the answer is here, the node shows everything that was shown there when it was given.
    fn ask(&self, question: Vec<u8>) -> Option<Vec<u8>>;
}

/// Longest time that a call waits for the sequencer.
const WAIT: Duration = Duration::from_secs(2);

impl FilterKeeper for Node {
    fn ask(&self, question: Vec<u8>) -> Option<Vec<u8>> {
        Self::ask(self, question, WAIT)
    }
}

/// Filters, wherever they are.
pub enum Filters {
    Here(Registry),
    There(Arc<dyn FilterKeeper>),
}

impl Filters {
    /// Those of `node`: kept here, also for those who follow it, or by the sequencer. `secret` makes the ids hard to guess.
    pub fn of(node: &Arc<Node>, secret: B256) -> Arc<Self> {
        if node.is_follower() {
            return Arc::new(Self::There(node.clone()));
        }
        let filters = Arc::new(Self::Here(Registry::new(secret)));
        node.answer_with(filters.clone());
        filters
    }

    /// The answer to `question`; never one of those that are errors.
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
    /// `None` to what is no question, or where the filters are elsewhere.
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

//! Location of the filters: in this process, or in the process that it follows.

use std::{fmt, sync::Arc, time::Duration};

use alloy_primitives::B256;
use foreseal_node::{Node, QueryHandler};
use foreseal_pool::Pool;
use foreseal_primitives::wire::{decode, to_vec};

use super::{
    filter_protocol::{FilterRequest, FilterResponse},
    filter_registry::FilterRegistry,
};
use crate::errors::error::Error;

/// Client of the process that stores the filters of all its followers.
pub trait FilterClient: Send + Sync {
    /// Sends a request to [`Api::answer_about_filters`](crate::Api::answer_about_filters) of that process and
    /// returns its response, or `None` if it cannot be reached.
    ///
    /// When the response arrives, the local node already shows everything that the other process showed when
    /// it responded.
    fn query(&self, request: Vec<u8>) -> Option<Vec<u8>>;
}

/// Maximum time that a call waits for the sequencer.
const WAIT: Duration = Duration::from_secs(2);

impl FilterClient for Node {
    fn query(&self, request: Vec<u8>) -> Option<Vec<u8>> {
        Self::query(self, request, WAIT)
    }
}

/// Filters in this process or in another one.
pub enum FilterBackend {
    Local(FilterRegistry),
    Remote(Arc<dyn FilterClient>),
}

impl FilterBackend {
    /// Creates the filters of `node`.
    ///
    /// A sequencer stores them, also for its followers; a follower uses those of the sequencer. `secret`
    /// makes the ids hard to guess.
    pub fn for_node(node: &Arc<Node>, secret: B256) -> Arc<Self> {
        if node.is_worker() {
            return Arc::new(Self::Remote(node.clone()));
        }
        let filters = Arc::new(Self::Local(FilterRegistry::new(secret)));
        node.answer_with(filters.clone());
        filters
    }

    /// Sends `request` and returns the response; a response that reports an error becomes an [`Error`].
    pub fn request(&self, node: &Node, request: FilterRequest) -> Result<FilterResponse, Error> {
        let response = match self {
            Self::Local(registry) => registry.handle(request, node.pool(), node.now().monotonic),
            Self::Remote(client) => {
                let response = client.query(to_vec(&request)).ok_or(Error::FiltersAway)?;
                decode(&response).map_err(|_| Error::FiltersAway)?
            }
        };
        match response {
            FilterResponse::NotFound => Err(Error::FilterNotFound),
            FilterResponse::TooMany { max } => Err(Error::TooManyFilters { max }),
            FilterResponse::Missed { missed, max } => Err(Error::ArrivalsMissed { missed, max }),
            response => Ok(response),
        }
    }
}

impl QueryHandler for FilterBackend {
    /// Returns `None` if the bytes are not a valid request, or if another process stores the filters.
    fn answer(&self, request: &[u8], pool: &Pool, now: Duration) -> Option<Vec<u8>> {
        match self {
            Self::Local(registry) => Some(to_vec(&registry.handle(decode(request).ok()?, pool, now))),
            Self::Remote(_) => None,
        }
    }
}

impl fmt::Debug for FilterBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(registry) => f.debug_tuple("Local").field(registry).finish(),
            Self::Remote(_) => f.write_str("Remote"),
        }
    }
}

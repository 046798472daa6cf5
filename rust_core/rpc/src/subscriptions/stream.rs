//! What a subscription gives, read from the parameters of `eth_subscribe`.

use foreseal_node::Place;
use foreseal_types::LogFilter;
use serde_json::value::RawValue;

use crate::{
    Error, Limit,
    params::{Cursor, Filter, Invalid, Param, Params, Reason, SubscriptionName},
};

/// What a subscription gives. Those that are written differently and mean the same are equal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Headers of sealed blocks.
    NewHeads,
    /// Logs of sealed blocks.
    Logs(LogFilter),
    /// Transactions as they enter the pool: hashes, or all of them.
    NewPendingTransactions { full: bool },
    /// Whether the node catches up.
    Syncing,
    /// Logs of steps.
    PendingLogs(LogFilter),
    /// Transactions of steps: hashes, or all of them with their receipts.
    NewFlashblockTransactions { full: bool },
    /// The block being built, at each step.
    NewFlashblocks,
    /// Each step, and the ticks between them.
    Feed,
}

/// What one `eth_subscribe` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub stream: Stream,
    /// The last step that the caller has, of a feed that goes on.
    pub cursor: Option<Place>,
}

impl Request {
    /// Reads the parameters of `eth_subscribe`; a filter may name `most` addresses and topics.
    pub fn read(params: &mut Params<'_>, most: u64) -> Result<Self, Error> {
        use SubscriptionName as Name;
        let name = params.required()?;
        let mut cursor = None;
        let stream = match name {
            Name::NewHeads | Name::Syncing | Name::NewFlashblocks => {
                params.optional::<Nothing>()?;
                match name {
                    Name::NewHeads => Stream::NewHeads,
                    Name::Syncing => Stream::Syncing,
                    _ => Stream::NewFlashblocks,
                }
            }
            Name::Logs => Stream::Logs(filter(params, most)?),
            Name::PendingLogs => Stream::PendingLogs(filter(params, most)?),
            Name::NewPendingTransactions => {
                Stream::NewPendingTransactions { full: params.optional()?.unwrap_or(false) }
            }
            Name::NewFlashblockTransactions => {
                Stream::NewFlashblockTransactions { full: params.optional()?.unwrap_or(false) }
            }
            Name::Feed => {
                cursor = params.optional()?.map(|Cursor(place)| place);
                Stream::Feed
            }
        };
        Ok(Self { stream, cursor })
    }
}

/// Without one, every log matches. The range of blocks of a filter means nothing here.
fn filter(params: &mut Params<'_>, most: u64) -> Result<LogFilter, Error> {
    let Some(Filter { addresses, topics, .. }) = params.optional()? else { return Ok(LogFilter::default()) };
    let filter = LogFilter::new(addresses, topics);
    Limit { name: "terms", max: most }.check(filter.size())?;
    Ok(filter)
}

/// An argument that the stream has no use for.
struct Nothing;

impl Param<'_> for Nothing {
    fn read(_: &RawValue) -> Result<Self, Invalid> {
        Err(Reason::NoOptions.into())
    }
}

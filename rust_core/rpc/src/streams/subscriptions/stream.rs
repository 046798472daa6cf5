//! Streams of `eth_subscribe`, parsed from its parameters.

use foreseal_chain::ReadMode;
use foreseal_primitives::LogFilter;
use serde_json::value::RawValue;

use crate::{
    errors::error::{Error, Limit},
    params::{
        argument::{Argument, Kind},
        filter::Filter,
        invalid::{Invalid, Param, Reason},
        positional::Params,
        subscription::{Cursor, SubscriptionName},
    },
};

/// Name of the method that subscribes.
pub const SUBSCRIBE: &str = "eth_subscribe";

/// Arguments of the method that subscribes.
pub const ARGUMENTS: &[Argument] = &[
    Argument::required("subscription", Kind::Subscription),
    Argument::optional("options", Kind::SubscriptionOptions).or("default of the subscription"),
];

/// Content of a subscription. Streams with the same meaning are equal, even if requested differently.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    /// Headers of sealed blocks.
    NewHeads,
    /// Logs of sealed blocks.
    Logs(LogFilter),
    /// Transactions that enter the pool: hashes, or full transactions.
    NewPendingTransactions { full: bool },
    /// Sync state of the node.
    Syncing,
    /// Logs of steps.
    PendingLogs(LogFilter),
    /// Transactions of steps: hashes, or full transactions with their receipts.
    NewFlashblockTransactions { full: bool },
    /// The pending block at each step.
    NewFlashblocks,
    /// Each step, and the ticks between them.
    Feed,
}

/// Parsed request of `eth_subscribe`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubscribeRequest {
    pub stream: Stream,
    /// Position of the caller, if it resumes a feed.
    pub cursor: Option<Cursor>,
}

impl SubscribeRequest {
    /// Parses the parameters of `eth_subscribe`, a JSON array. A filter may have at most `max_terms` addresses and
    /// topics. On an endpoint whose `latest` is the newest step, logs are those of steps.
    pub fn parse(params: &[u8], max_terms: u64, mode: ReadMode) -> Result<Self, Error> {
        let request = Self::read(&mut Params::parse(params, SUBSCRIBE, ARGUMENTS)?, max_terms)?;
        Ok(match (request.stream, mode) {
            (Stream::Logs(filter), ReadMode::Preconfirmed) => {
                Self { stream: Stream::PendingLogs(filter), ..request }
            }
            (stream, _) => Self { stream, ..request },
        })
    }

    /// Reads the parameters of `eth_subscribe`. A filter may have at most `max_terms` addresses and topics.
    pub fn read(params: &mut Params<'_>, max_terms: u64) -> Result<Self, Error> {
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
            Name::Logs => Stream::Logs(filter(params, max_terms)?),
            Name::PendingLogs => Stream::PendingLogs(filter(params, max_terms)?),
            Name::NewPendingTransactions => {
                Stream::NewPendingTransactions { full: params.optional()?.unwrap_or(false) }
            }
            Name::NewFlashblockTransactions => {
                Stream::NewFlashblockTransactions { full: params.optional()?.unwrap_or(false) }
            }
            Name::Feed => {
                cursor = params.optional()?;
                Stream::Feed
            }
        };
        Ok(Self { stream, cursor })
    }
}

/// Parses a log filter. The default matches every log; the block range of a filter is ignored.
fn filter(params: &mut Params<'_>, max_terms: u64) -> Result<LogFilter, Error> {
    let Some(Filter { addresses, topics, .. }) = params.optional()? else { return Ok(LogFilter::default()) };
    let filter = LogFilter::new(addresses, topics);
    Limit { name: "terms", max: max_terms }.check(filter.size())?;
    Ok(filter)
}

/// Argument that the stream does not accept.
struct Nothing;

impl Param<'_> for Nothing {
    fn read(_: &RawValue) -> Result<Self, Invalid> {
        Err(Reason::NoOptions.into())
    }
}

//! Method table: one row for each method, defined in the file of its family.

use std::{collections::HashMap, sync::LazyLock};

use bytes::Bytes;
use foreseal_scheduler::Lane;

use crate::{
    Context, Error, Reply, block_parts, blocks, calls, chain, config, development, discover, fees, filters,
    finality, logs, params::Params, preconfirmation, proofs, raw, send_sync, simulate, state, storage_values,
    submit, subscriptions, traces, transaction_status, transactions, txpool,
};

#[cfg(test)]
mod wrong;
#[cfg(test)]
pub use wrong::wrong_values;

/// Cost class of a method, which decides the thread that runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// Takes less than about 50 us and runs on the receiving thread.
    Inline,
    /// Usually as short, but not for all parameters. [`Api::attempt`](crate::Api::attempt) tries it on the
    /// receiving thread within tight limits; a longer call runs in the worker pool.
    Short,
    /// May take longer and runs in the worker pool.
    Threaded,
    /// May wait for the process that this one follows, and runs on a dedicated thread.
    Apart,
}

/// Callers that may use a method. Only [`Api::begin`](crate::Api::begin) checks access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Everyone,
    /// Served by development nodes only.
    Development,
    /// Served on the admin listener only.
    Admin,
}

impl Access {
    /// Returns the name of the access level.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Everyone => "everyone",
            Self::Development => "development",
            Self::Admin => "admin",
        }
    }
}

/// Method that returns its result as JSON immediately.
pub type Answer = fn(&Context<'_>, &mut Params<'_>) -> Result<Vec<u8>, Error>;
/// Method that returns its result immediately as shared, cached JSON.
pub type Share = fn(&Context<'_>, &mut Params<'_>) -> Result<Bytes, Error>;
/// Method that may have to wait for its result.
pub type Begin = fn(&Context<'_>, &mut Params<'_>) -> Result<Reply, Error>;

/// Implementation of a method.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Run {
    Answer(Answer),
    Share(Share),
    Begin(Begin),
}

/// Lane of a method's calls that do not run on the receiving thread.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LaneChoice {
    Fixed(Lane),
    /// Selected by the parameters, a JSON array.
    ByParams(fn(&[u8]) -> Lane),
}

/// Row of the table.
#[derive(Debug)]
pub struct Method {
    pub name: &'static str,
    pub cost: Cost,
    pub access: Access,
    /// Arguments in order, required ones first.
    pub arguments: &'static [Argument],
    pub(crate) run: Run,
    pub(crate) lane: LaneChoice,
}

const READ: LaneChoice = LaneChoice::Fixed(Lane::Read);
const HEAVY: LaneChoice = LaneChoice::Fixed(Lane::Heavy);

impl Method {
    /// Returns the lane that a call with these parameters, a JSON array, runs in.
    pub fn lane(&self, params: &[u8]) -> Lane {
        match self.lane {
            LaneChoice::Fixed(lane) => lane,
            LaneChoice::ByParams(choose) => choose(params),
        }
    }

    /// Moves the method to the lane of short reads.
    pub(crate) const fn in_read_lane(self) -> Self {
        Self { lane: READ, ..self }
    }

    /// Moves the method to the lane of heavy work.
    pub(crate) const fn in_heavy_lane(self) -> Self {
        Self { lane: HEAVY, ..self }
    }

    /// Selects the method's lane by its parameters.
    pub(crate) const fn in_lane_by(self, choose: fn(&[u8]) -> Lane) -> Self {
        Self { lane: LaneChoice::ByParams(choose), ..self }
    }

    pub(crate) const fn inline(name: &'static str, arguments: &'static [Argument], run: Answer) -> Self {
        Self {
            name,
            cost: Cost::Inline,
            access: Access::Everyone,
            arguments,
            run: Run::Answer(run),
            lane: READ,
        }
    }

    pub(crate) const fn threaded(name: &'static str, arguments: &'static [Argument], run: Answer) -> Self {
        Self {
            name,
            cost: Cost::Threaded,
            access: Access::Everyone,
            arguments,
            run: Run::Answer(run),
            lane: HEAVY,
        }
    }

    pub(crate) const fn short(name: &'static str, arguments: &'static [Argument], run: Answer) -> Self {
        Self {
            name,
            cost: Cost::Short,
            access: Access::Everyone,
            arguments,
            run: Run::Answer(run),
            lane: READ,
        }
    }

    /// Creates a row like [`Self::short`], for shared results.
    pub(crate) const fn sharing(name: &'static str, arguments: &'static [Argument], run: Share) -> Self {
        Self {
            name,
            cost: Cost::Short,
            access: Access::Everyone,
            arguments,
            run: Run::Share(run),
            lane: READ,
        }
    }

    /// Returns the execution mode.
    ///
    /// `inline` runs on the receiving thread. `short` does so within tight limits, otherwise in the worker
    /// pool. `threaded` runs in the worker pool. `waiting` starts there and blocks no thread while it waits.
    pub const fn runs(&self) -> &'static str {
        match (self.cost, self.run) {
            (_, Run::Begin(_)) => "waiting",
            (Cost::Inline, _) => "inline",
            (Cost::Short, _) => "short",
            (Cost::Threaded | Cost::Apart, _) => "threaded",
        }
    }

    pub(crate) const fn apart(name: &'static str, arguments: &'static [Argument], run: Answer) -> Self {
        Self {
            name,
            cost: Cost::Apart,
            access: Access::Everyone,
            arguments,
            run: Run::Answer(run),
            lane: LaneChoice::Fixed(Lane::Remote),
        }
    }

    /// Restricts the access to the method.
    pub(crate) const fn only(self, access: Access) -> Self {
        Self { access, ..self }
    }

    /// Creates a row for a method that starts in the worker pool and blocks no thread while it waits.
    pub(crate) const fn waiting(name: &'static str, arguments: &'static [Argument], run: Begin) -> Self {
        Self {
            name,
            cost: Cost::Threaded,
            access: Access::Everyone,
            arguments,
            run: Run::Begin(run),
            lane: LaneChoice::Fixed(Lane::Submission),
        }
    }
}

/// Methods by family.
const FAMILIES: &[&[Method]] = &[
    block_parts::METHODS,
    blocks::METHODS,
    calls::METHODS,
    chain::METHODS,
    config::METHODS,
    development::FAMILIES[0],
    development::FAMILIES[1],
    development::FAMILIES[2],
    development::FAMILIES[3],
    development::FAMILIES[4],
    development::FAMILIES[5],
    development::FAMILIES[6],
    development::FAMILIES[7],
    discover::METHODS,
    fees::METHODS,
    filters::METHODS,
    finality::METHODS,
    logs::METHODS,
    preconfirmation::METHODS,
    proofs::METHODS,
    raw::METHODS,
    send_sync::METHODS,
    simulate::METHODS,
    state::METHODS,
    storage_values::METHODS,
    submit::METHODS,
    subscriptions::METHODS,
    transaction_status::METHODS,
    traces::METHODS,
    transactions::METHODS,
    txpool::METHODS,
];

static BY_NAME: LazyLock<HashMap<&'static str, &'static Method>> =
    LazyLock::new(|| methods().map(|method| (method.name, method)).collect());

/// Returns all methods.
pub fn methods() -> impl Iterator<Item = &'static Method> {
    FAMILIES.iter().copied().flatten()
}

/// Returns the method with this name.
pub fn method(name: &str) -> Option<&'static Method> {
    BY_NAME.get(name).copied()
}

/// Kind of an argument, which determines its valid and invalid values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Address,
    /// Whole number in any notation, at most 256 bits.
    Amount,
    /// Block tag, hash or EIP-1898 object.
    Block,
    /// Block fields that a request overrides.
    BlockOverrides,
    Boolean,
    /// Call object.
    Call,
    /// Position of the last step that a feed reader has received.
    Cursor,
    /// Bytes of any length.
    Data,
    Filter,
    /// Safe and finalized block.
    Finality,
    /// 32 bytes.
    Hash,
    /// Time: an integer or a quantity. Every value is accepted.
    Milliseconds,
    /// Filter with a cursor and a limit.
    LogQuery,
    /// Timestamp, or an object with a timestamp and a number of blocks.
    Mine,
    /// Whole number in any notation, at most 64 bits.
    Number,
    /// Any string.
    Password,
    /// Choices of a driver for a block.
    PayloadAttributes,
    Percentiles,
    /// At most 64 bits.
    Quantity,
    /// Signed transactions.
    RawTransactions,
    /// Pairs of a signed transaction and the index of its block.
    ReorgPairs,
    /// Storage position.
    Slot,
    /// Storage positions of several accounts by address.
    StorageRequests,
    /// List of storage positions.
    Slots,
    /// Blocks to simulate.
    Simulation,
    /// Accounts that a request overrides.
    StateOverrides,
    /// Name of a subscription.
    Subscription,
    /// Option of a subscription: a filter, a boolean that selects full transactions, or a cursor.
    SubscriptionOptions,
    /// Trace configuration of a call.
    TraceCallConfig,
    /// Trace configuration.
    TraceConfig,
    /// Typed structured data (EIP-712), or its JSON as a string.
    TypedData,
}

impl Kind {
    /// Returns a description of the valid values.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Address => "20 bytes as 0x hex",
            Self::Amount => "a whole number up to 256 bits: JSON integer, decimal or 0x text",
            Self::Block => {
                "a tag, a number, a hash, an object of EIP-1898, or blockNumber and flashblockIndex of a step"
            }
            Self::BlockOverrides => "fields of the block that the call runs in",
            Self::Boolean => "true or false",
            Self::Call => "a call object",
            Self::Cursor => "block, index and hash of the last step that a reader has",
            Self::Data => "bytes as 0x hex",
            Self::Filter => "addresses, topics and a range of blocks, or a block's hash",
            Self::Finality => "safe, finalized or both: each the number or hash of a sealed block",
            Self::Hash => "32 bytes as 0x hex",
            Self::LogQuery => "a filter, a cursor and a limit",
            Self::Milliseconds => "a time in ms: JSON integer or quantity",
            Self::Mine => "a timestamp, or an object with timestamp and blocks",
            Self::Number => "a whole number up to 64 bits: JSON integer, decimal or 0x text",
            Self::Password => "any text",
            Self::PayloadAttributes => {
                "timestamp, prevRandao, suggestedFeeRecipient and the rest of a payload"
            }
            Self::RawTransactions => "signed transactions as 0x hex",
            Self::Percentiles => "up to 100 numbers from 0 to 100 in rising order",
            Self::Quantity => "a whole number up to 64 bits as shortest 0x hex",
            Self::ReorgPairs => "pairs of a signed transaction and the place of its block",
            Self::Simulation => "blocks of calls to simulate (eth_simulateV1)",
            Self::Slot => "a storage position: quantity or 32 bytes",
            Self::Slots => "a list of storage positions",
            Self::StateOverrides => "accounts with balance, nonce, code or storage to set",
            Self::StorageRequests => "lists of storage positions by address",
            Self::Subscription => "the name of a stream",
            Self::SubscriptionOptions => "what the stream takes: a filter, a boolean or a cursor",
            Self::TraceCallConfig => "as TraceConfig, with overrides of state and block",
            Self::TraceConfig => "the tracer, its options and a timeout",
            Self::TypedData => "typed data of EIP-712, or its JSON as text",
        }
    }
}

/// Positional parameter of a method.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    pub name: &'static str,
    pub kind: Kind,
    pub required: bool,
    /// Description of the default value; empty if there is none.
    pub left_out: &'static str,
}

impl Argument {
    /// Creates a required argument.
    pub const fn required(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, required: true, left_out: "" }
    }

    /// Creates an optional block argument; the default is `latest`.
    pub const fn block(name: &'static str) -> Self {
        Self::optional(name, Kind::Block).or("latest")
    }

    /// Creates an optional argument, which may be absent or `null`.
    pub const fn optional(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, required: false, left_out: "" }
    }

    /// Describes the default value.
    #[must_use]
    pub const fn or(self, left_out: &'static str) -> Self {
        Self { left_out, ..self }
    }
}

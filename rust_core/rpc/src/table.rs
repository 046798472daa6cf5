//! The method table: one row a method, its rows kept in the file of its family.

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

/// Whether a method may run on the thread that received the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// Takes under about 50 us: runs in place.
    Inline,
    /// Nearly always as short, but not for all parameters: [`Api::attempt`](crate::Api::attempt) tries it in place, under
    /// tight limits. What is longer belongs on another thread.
    Short,
    /// May take longer: belongs on another thread.
    Threaded,
    /// May wait for the process that this one follows: belongs on a thread that is for nothing else.
    Apart,
}

/// Whom a method is for. Who may call is decided in one place, [`Api::begin`](crate::Api::begin).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Everyone,
    /// Served by development nodes alone.
    Development,
    /// Served on the admin listener alone.
    Admin,
}

impl Access {
    /// In one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Everyone => "everyone",
            Self::Development => "development",
            Self::Admin => "admin",
        }
    }
}

/// A method that answers at once. The answer is JSON.
pub type Answer = fn(&Context<'_>, &mut Params<'_>) -> Result<Vec<u8>, Error>;
/// A method that answers at once with JSON that is kept for others as well.
pub type Share = fn(&Context<'_>, &mut Params<'_>) -> Result<Bytes, Error>;
/// A method whose answer may have to be waited for.
pub type Begin = fn(&Context<'_>, &mut Params<'_>) -> Result<Reply, Error>;

/// What a method does with its parameters.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Run {
    Answer(Answer),
    Share(Share),
    Begin(Begin),
}

/// The lane that calls of a method run in, where they do not run in place.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LaneChoice {
    Fixed(Lane),
    /// Decided by the parameters, a JSON array.
    ByParams(fn(&[u8]) -> Lane),
}

/// A row of the table.
#[derive(Debug)]
pub struct Method {
    pub name: &'static str,
    pub cost: Cost,
    pub access: Access,
    /// In the order given; required ones first.
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

    /// The same method, in the lane of short reads.
    pub(crate) const fn in_read_lane(self) -> Self {
        Self { lane: READ, ..self }
    }

    /// The same method, in the lane of heavy work.
    pub(crate) const fn in_heavy_lane(self) -> Self {
        Self { lane: HEAVY, ..self }
    }

    /// The same method, in the lane that its parameters decide.
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

    /// As [`Self::short`].
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

    /// Where it runs, in one word: in place, in place if that is short, on a core thread, or there until it has to wait,
    /// which holds up no thread.
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

    /// The same method, not for everyone.
    pub(crate) const fn only(self, access: Access) -> Self {
        Self { access, ..self }
    }

    /// Begins on another thread and blocks none while it waits.
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

/// All methods by family.
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

/// All methods.
pub fn methods() -> impl Iterator<Item = &'static Method> {
    FAMILIES.iter().copied().flatten()
}

/// The method with this name.
pub fn method(name: &str) -> Option<&'static Method> {
    BY_NAME.get(name).copied()
}

/// What an argument takes; names the ways in which it can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Address,
    /// A whole number in any notation, at most 256 bits.
    Amount,
    /// A block tag, hash or EIP-1898 object.
    Block,
    /// Fields of the block that a request sets.
    BlockOverrides,
    Boolean,
    /// A call object.
    Call,
    /// Place of the last step that a reader of the feed has.
    Cursor,
    /// Bytes of any length.
    Data,
    Filter,
    /// The safe and the finalized block.
    Finality,
    /// 32 bytes.
    Hash,
    /// A time: an integer or a quantity. No value of it is wrong.
    Milliseconds,
    /// A filter with a cursor and a limit.
    LogQuery,
    /// A timestamp, or an object with it and a number of blocks.
    Mine,
    /// A whole number in any notation, at most 64 bits.
    Number,
    /// Any text.
    Password,
    Percentiles,
    /// At most 64 bits.
    Quantity,
    /// Pairs of a signed transaction and the place of its block.
    ReorgPairs,
    /// A storage position.
    Slot,
    /// Storage positions of several accounts by address.
    StorageRequests,
    /// A list of storage positions.
    Slots,
    /// Blocks to simulate.
    Simulation,
    /// Accounts that a request sets.
    StateOverrides,
    /// What a subscription is called.
    Subscription,
    /// What a subscription takes beside its name: a filter, whether whole transactions are wanted, or a cursor.
    SubscriptionOptions,
    /// What to trace of a call, how and where.
    TraceCallConfig,
    /// What to trace and how.
    TraceConfig,
    /// Typed structured data (EIP-712), or its JSON as text.
    TypedData,
}

impl Kind {
    /// What it takes, for people.
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

/// A positional parameter of a method.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    pub name: &'static str,
    pub kind: Kind,
    pub required: bool,
    /// What it is when it is left out, for people; nothing in particular where this is empty.
    pub left_out: &'static str,
}

impl Argument {
    /// An argument that must be given.
    pub const fn required(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, required: true, left_out: "" }
    }

    /// An argument that may be left out or `null`.
    pub const fn optional(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, required: false, left_out: "" }
    }

    /// Says what the argument is when it is left out.
    #[must_use]
    pub const fn or(self, left_out: &'static str) -> Self {
        Self { left_out, ..self }
    }
}

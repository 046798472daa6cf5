//! Arguments of the methods and their kinds.

#[cfg(test)]
pub mod invalid_values;

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
    /// Options of a reset.
    Reset,
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
    /// All kinds.
    pub const ALL: &[Self] = &[
        Self::Address,
        Self::Amount,
        Self::Block,
        Self::BlockOverrides,
        Self::Boolean,
        Self::Call,
        Self::Cursor,
        Self::Data,
        Self::Filter,
        Self::Finality,
        Self::Hash,
        Self::Milliseconds,
        Self::LogQuery,
        Self::Password,
        Self::PayloadAttributes,
        Self::Percentiles,
        Self::Quantity,
        Self::Simulation,
        Self::Mine,
        Self::Number,
        Self::RawTransactions,
        Self::ReorgPairs,
        Self::Reset,
        Self::Slot,
        Self::Slots,
        Self::StorageRequests,
        Self::StateOverrides,
        Self::Subscription,
        Self::SubscriptionOptions,
        Self::TraceCallConfig,
        Self::TraceConfig,
        Self::TypedData,
    ];

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
            Self::Cursor => "block, index and hash of the last step received",
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
            Self::Percentiles => "up to 100 numbers from 0 to 100 in rising order",
            Self::Quantity => "a whole number up to 64 bits as shortest 0x hex",
            Self::RawTransactions => "signed transactions as 0x hex",
            Self::ReorgPairs => "pairs of a signed transaction and the index of its block",
            Self::Reset => "an object without forking",
            Self::Simulation => "blocks of calls to simulate (eth_simulateV1)",
            Self::Slot => "a storage position: quantity or 32 bytes",
            Self::Slots => "a list of storage positions",
            Self::StateOverrides => "accounts with balance, nonce, code or storage to set",
            Self::StorageRequests => "lists of storage positions by address",
            Self::Subscription => "name of a stream",
            Self::SubscriptionOptions => "options of the stream: a filter, a boolean or a cursor",
            Self::TraceCallConfig => "a TraceConfig, with overrides of state and block",
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

//! Invalid values: the reason, and the argument and field that it belongs to.

use std::fmt;

use serde_json::value::RawValue;

/// Reason for which a value is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    #[error("expected a string")]
    NotString,
    #[error("expected true or false")]
    NotBoolean,
    #[error("expected an object")]
    NotObject,
    #[error("expected an array")]
    NotArray,
    #[error("expected a number")]
    NotNumber,
    #[error("expected a whole number that is not negative")]
    NotCount,
    #[error("expected a duration such as 5s or 300ms")]
    NotDuration,
    #[error("unknown tracer {name}")]
    UnknownTracer { name: String },
    #[error("JavaScript tracers are not supported")]
    JavaScript,
    #[error("expected a whole number, such as 5, \"5\" or \"0x5\"")]
    NotWhole,
    #[error("expected a signed transaction and the index of its block")]
    NotPair,
    #[error("expected typed data: types, primaryType, domain and message (EIP-712)")]
    NotTypedData,
    #[error("unknown type {name}")]
    UnknownSolidityType { name: String },
    #[error("is not of type {name}")]
    NotOfType { name: String },
    #[error("is nested deeper than {max} levels")]
    TooDeep { max: usize },
    #[error("requires safe, finalized or both")]
    NamesNoFinality,
    #[error("hex string without 0x prefix")]
    NoPrefix,
    #[error("hex number has no digits")]
    NoDigits,
    #[error("hex string has a character that is not a hex digit")]
    NotHex,
    #[error("hex data has an odd number of digits")]
    OddLength,
    #[error("hex number has leading zeros")]
    LeadingZeros,
    #[error("hex number is larger than {bits} bits")]
    TooLarge { bits: usize },
    #[error("expected {want} bytes, got {got}")]
    Length { want: usize, got: usize },
    #[error("unknown block tag")]
    UnknownTag,
    #[error("expected a string or an object")]
    NotBlock,
    #[error("too many entries, at most {max}")]
    TooMany { max: usize },
    #[error("cannot be given together with {other}")]
    Conflict { other: &'static str },
    #[error("requires {other}")]
    Alone { other: &'static str },
    #[error("requires blockHash or blockNumber")]
    NamesNoBlock,
    #[error("is not supported: the chain begins with its own genesis")]
    NoForks,
    #[error("duplicate field or invalid JSON")]
    Malformed,
    #[error("differs from {other}")]
    Differs { other: &'static str },
    #[error("is empty")]
    Empty,
    #[error("occurs twice")]
    Twice,
    #[error("unknown member")]
    UnknownMember,
    #[error("is only supported by eth_simulateV1")]
    WholeBlock,
    #[error("is missing")]
    Missing,
    #[error("must have at least one slot")]
    NoSlots,
    #[error("expected ascending percentiles from 0 to 100")]
    Percentiles,
    #[error("transaction type is not supported")]
    UnknownType,
    #[error("contradicts {other}")]
    WrongType { other: &'static str },
    #[error("is not a cursor of this method")]
    NotCursor,
    #[error("is the cursor of another filter")]
    OtherFilter,
    #[error("unknown subscription {name}")]
    UnknownSubscription { name: String },
    #[error("is not accepted by this subscription")]
    NoOptions,
    #[error("is not the chain's, which is {want:#x}")]
    ChainId { want: u64 },
}

/// Maximum number of characters of a caller-chosen name that an error repeats. Fits a hash, the longest
/// expected name.
const NAME_SHOWN: usize = 66;

/// Returns the start of a name for an error message.
pub fn shown(name: &str) -> String {
    name.chars().take(NAME_SHOWN).collect()
}

/// Invalid value: its path inside the argument, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// Path such as `.topics[1]`; empty for the argument itself.
    pub(super) path: String,
    pub(super) reason: Reason,
}

impl Invalid {
    /// Prefixes the path with `field`, which may be a name that the caller chose.
    #[must_use]
    pub fn in_field(self, field: &str) -> Self {
        Self { path: format!(".{}{}", shown(field), self.path), reason: self.reason }
    }

    /// Prefixes the path with `index` of an array.
    #[must_use]
    pub fn at(self, index: usize) -> Self {
        Self { path: format!("[{index}]{}", self.path), reason: self.reason }
    }
}

impl From<Reason> for Invalid {
    fn from(reason: Reason) -> Self {
        Self { path: String::new(), reason }
    }
}

/// Error for invalid parameters (-32602).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParamsError {
    NotArray,
    Missing { index: usize, name: &'static str },
    Invalid { index: usize, name: &'static str, invalid: Invalid },
    TooMany { index: usize, method: &'static str, max: usize },
}

impl ParamsError {
    /// Returns `true` if the parameters are not a valid JSON array, or an object in them has a name twice.
    pub(crate) fn is_malformed(&self) -> bool {
        match self {
            Self::NotArray => true,
            Self::Invalid { invalid, .. } => invalid.reason == Reason::Malformed,
            Self::Missing { .. } | Self::TooMany { .. } => false,
        }
    }
}

impl fmt::Display for ParamsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotArray => f.write_str("params must be an array"),
            Self::Missing { index, name } => write!(f, "missing argument {index} ({name})"),
            Self::Invalid { index, name, invalid } => {
                write!(f, "invalid argument {index} ({name}{}): {}", invalid.path, invalid.reason)
            }
            Self::TooMany { index, method, max } => {
                write!(f, "invalid argument {index}: {method} takes at most {max}")
            }
        }
    }
}

/// Type that can be parsed from a parameter.
pub trait Param<'a>: Sized {
    /// Parses the value. `raw` is never `null`.
    fn read(raw: &'a RawValue) -> Result<Self, Invalid>;
}

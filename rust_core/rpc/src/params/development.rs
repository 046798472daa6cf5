//! Parameters of the development methods. Like anvil, they accept more number formats than the execution API.

use alloy_primitives::{B256, Bytes, U256};
use foreseal_chain::BlockId;
use serde_json::value::RawValue;

use super::{
    invalid::{Invalid, Param, Reason},
    options::Options,
    value::list,
};

/// Whole number of at most 256 bits: a JSON integer, or a string of decimal or `0x` digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Amount(pub U256);

/// Like [`Amount`], with at most 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number(pub u64);

impl Param<'_> for Amount {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        let json = raw.get();
        let text = json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(json);
        let (digits, radix) = match text.strip_prefix("0x") {
            Some(digits) if json.starts_with('"') => (digits, 16),
            _ => (text, 10),
        };
        let known = |digit: u8| if radix == 16 { digit.is_ascii_hexdigit() } else { digit.is_ascii_digit() };
        if digits.is_empty() || !digits.bytes().all(known) {
            return Err(Reason::NotWhole.into());
        }
        let value = U256::from_str_radix(digits, radix).map_err(|_| Reason::TooLarge { bits: 256 })?;
        Ok(Self(value))
    }
}

impl Param<'_> for Number {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        let Amount(value) = Amount::read(raw)?;
        Ok(Self(u64::try_from(value).map_err(|_| Reason::TooLarge { bits: 64 })?))
    }
}

/// Parameter of `evm_mine`: a timestamp, or an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MineOptions {
    /// Timestamp of the first block, in Unix seconds.
    pub timestamp: Option<u64>,
    pub blocks: Option<u64>,
}

impl Param<'_> for MineOptions {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        if !raw.get().starts_with('{') {
            let Number(timestamp) = Number::read(raw)?;
            return Ok(Self { timestamp: Some(timestamp), blocks: None });
        }
        let options = Options::read(raw, &["timestamp", "blocks"])?;
        let number = |name| options.get(name).map(|value| value.map(|Number(number)| number));
        Ok(Self { timestamp: number("timestamp")?, blocks: number("blocks")? })
    }
}

/// Parameter of a reset: an object without `forking`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResetOptions;

impl Param<'_> for ResetOptions {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        let options = Options::read(raw, &["forking"])?;
        if options.raw("forking").is_some() {
            Err(Invalid::from(Reason::NoForks).in_field("forking"))
        } else {
            Ok(Self)
        }
    }
}

/// Signed transactions, each with the index of its block among the replacement blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReorgPairs(pub Vec<(Bytes, u64)>);

struct Pair(Bytes, u64);

impl Param<'_> for Pair {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        let items = list(raw)?;
        let [transaction, block] = items.as_slice() else { return Err(Reason::NotPair.into()) };
        let transaction = Bytes::read(transaction).map_err(|invalid| invalid.at(0))?;
        let Number(block) = Number::read(block).map_err(|invalid| invalid.at(1))?;
        Ok(Self(transaction, block))
    }
}

impl Param<'_> for ReorgPairs {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        let pairs: Vec<Pair> = Param::read(raw)?;
        Ok(Self(pairs.into_iter().map(|Pair(transaction, block)| (transaction, block)).collect()))
    }
}

/// Safe and finalized block, by number or hash; at least one is present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finality {
    pub safe: Option<BlockId>,
    pub finalized: Option<BlockId>,
}

struct Sealed(BlockId);

impl Param<'_> for Sealed {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        // A quoted hash has 68 characters; a number never does.
        if raw.get().len() == 68 {
            let hash: B256 = Param::read(raw)?;
            return Ok(Self(BlockId::Hash { hash, require_canonical: true }));
        }
        Ok(Self(BlockId::Number(Param::read(raw)?)))
    }
}

impl Param<'_> for Finality {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        let options = Options::read(raw, &["safe", "finalized"])?;
        let sealed = |name| options.get(name).map(|value| value.map(|Sealed(id)| id));
        let (safe, finalized) = (sealed("safe")?, sealed("finalized")?);
        if safe.is_none() && finalized.is_none() {
            return Err(Reason::NamesNoFinality.into());
        }
        Ok(Self { safe, finalized })
    }
}

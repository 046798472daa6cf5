//! Filter object of `eth_getLogs`.

use alloy_primitives::{Address, B256, Bytes};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    invalid::{Invalid, Param, Reason},
    options::Options,
    value::{field, list, object, text},
};
use crate::params::hex;

/// Maximum number of addresses, and of topics at one position.
const MAX_ALTERNATIVES: usize = 1000;
/// Maximum number of topics of a log.
const MAX_TOPICS: usize = 4;

/// Block number, or one of the five block names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum Tag {
    Number(u64),
    Latest,
    Pending,
    Safe,
    Finalized,
    Earliest,
}

impl Tag {
    /// Parses a tag. A string that is not a name and does not start with a digit is an unknown tag.
    pub fn from_text(text: &str) -> Result<Self, Reason> {
        Ok(match text {
            "latest" => Self::Latest,
            "pending" => Self::Pending,
            "safe" => Self::Safe,
            "finalized" => Self::Finalized,
            "earliest" => Self::Earliest,
            _ if text.starts_with(|c: char| c.is_ascii_digit()) => {
                Self::Number(hex::quantity(text, 64)?.saturating_to())
            }
            _ => return Err(Reason::UnknownTag),
        })
    }
}

impl Param<'_> for Tag {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        Ok(Self::from_text(&text(raw)?)?)
    }
}

/// Blocks that a filter covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum BlockSelection {
    Hash(B256),
    Range { from: Tag, to: Tag },
}

/// Filter of `eth_getLogs`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Filter {
    pub blocks: BlockSelection,
    /// Matches any of these addresses; empty matches every address.
    pub addresses: Vec<Address>,
    /// Matches, by position, any of these topics; empty matches every topic. A log with fewer topics than
    /// positions never matches.
    pub topics: Vec<Vec<B256>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct FilterFields<'a> {
    from_block: Option<&'a RawValue>,
    to_block: Option<&'a RawValue>,
    block_hash: Option<&'a RawValue>,
    address: Option<&'a RawValue>,
    topics: Option<&'a RawValue>,
}

impl Param<'_> for Filter {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        let fields: FilterFields<'_> = object(raw)?;
        let blocks = match field(fields.block_hash, "blockHash")? {
            Some(hash) => BlockSelection::Hash(hash),
            None => range(field(fields.from_block, "fromBlock")?, field(fields.to_block, "toBlock")?),
        };
        let addresses = field(fields.address, "address")?.map(|OneOrMany(addresses)| addresses);
        let topics = fields.topics.map(|raw| topics(raw).map_err(|e| e.in_field("topics"))).transpose()?;
        Ok(Self { blocks, addresses: addresses.unwrap_or_default(), topics: topics.unwrap_or_default() })
    }
}

/// Parameter of `foreseal_getLogs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogQuery {
    pub filter: Filter,
    /// Cursor from the previous page.
    pub cursor: Option<Bytes>,
    /// Maximum number of logs in the page.
    pub limit: Option<u64>,
}

impl Param<'_> for LogQuery {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        let options = Options::read(raw, &["filter", "cursor", "limit"])?;
        Ok(Self {
            filter: options.needed("filter")?,
            cursor: options.get("cursor")?,
            limit: options.get("limit")?,
        })
    }
}

/// Returns the range with its defaults: `latest`, except that `pending` alone means the pending block only.
fn range(from: Option<Tag>, to: Option<Tag>) -> BlockSelection {
    let last = if from == Some(Tag::Pending) { Tag::Pending } else { Tag::Latest };
    BlockSelection::Range { from: from.unwrap_or(Tag::Latest), to: to.unwrap_or(last) }
}

fn topics(raw: &RawValue) -> Result<Vec<Vec<B256>>, Invalid> {
    let positions = list(raw)?;
    if positions.len() > MAX_TOPICS {
        return Err(Reason::TooMany { max: MAX_TOPICS }.into());
    }
    let read = |(index, raw): (usize, &RawValue)| match raw.get() {
        "null" => Ok(Vec::new()),
        _ => topic_alternatives(raw).map_err(|e| e.at(index)),
    };
    positions.into_iter().enumerate().map(read).collect()
}

/// Parses one topic or a list of alternatives. As in geth, `null` in the list matches any topic.
fn topic_alternatives(raw: &RawValue) -> Result<Vec<B256>, Invalid> {
    if raw.get().starts_with('[') && list(raw)?.iter().any(|item| item.get() == "null") {
        return Ok(Vec::new());
    }
    OneOrMany::read(raw).map(|OneOrMany(alternatives)| alternatives)
}

/// Single value or list of values.
struct OneOrMany<T>(Vec<T>);

impl<'a, T: Param<'a>> Param<'a> for OneOrMany<T> {
    fn read(raw: &'a RawValue) -> Result<Self, Invalid> {
        if !raw.get().starts_with('[') {
            return Ok(Self(vec![T::read(raw)?]));
        }
        let values: Vec<T> = Vec::read(raw)?;
        if values.len() > MAX_ALTERNATIVES {
            return Err(Reason::TooMany { max: MAX_ALTERNATIVES }.into());
        }
        Ok(Self(values))
    }
}

//! Block parameters: a number, a tag, a hash, or an EIP-1898 object.

use alloy_primitives::B256;
use foreseal_chain::BlockId;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    filter::Tag,
    invalid::{Invalid, Param, Reason},
    value::{field, object, text},
};
use crate::params::hex;

/// Length of `0x` and 32 bytes in hex.
const HASH_LENGTH: usize = 66;

impl From<Tag> for BlockId {
    fn from(tag: Tag) -> Self {
        match tag {
            Tag::Number(number) => Self::Number(number),
            Tag::Latest => Self::Latest,
            Tag::Pending => Self::Pending,
            Tag::Safe => Self::Safe,
            Tag::Finalized => Self::Finalized,
            Tag::Earliest => Self::Earliest,
        }
    }
}

impl Param<'_> for BlockId {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        match raw.get().as_bytes().first() {
            Some(b'{') => read_object(raw),
            Some(b'"') => {
                let text = text(raw)?;
                if text.len() == HASH_LENGTH && text.starts_with("0x") {
                    return Ok(Self::Hash { hash: hex::fixed(&text)?, require_canonical: false });
                }
                Ok(Tag::from_text(&text)?.into())
            }
            _ => Err(Reason::NotBlock.into()),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct BlockIdFields<'a> {
    block_hash: Option<&'a RawValue>,
    block_number: Option<&'a RawValue>,
    require_canonical: Option<&'a RawValue>,
    flashblock_index: Option<&'a RawValue>,
}

fn read_object(raw: &RawValue) -> Result<BlockId, Invalid> {
    let fields: BlockIdFields<'_> = object(raw)?;
    let hash: Option<B256> = field(fields.block_hash, "blockHash")?;
    let number: Option<Tag> = field(fields.block_number, "blockNumber")?;
    let require_canonical: Option<bool> = field(fields.require_canonical, "requireCanonical")?;
    let index: Option<u64> = field(fields.flashblock_index, "flashblockIndex")?;
    let wrong = |reason: Reason, name| Err(Invalid::from(reason).in_field(name));
    match (hash, number, index) {
        (Some(_), Some(_), _) => wrong(Reason::Conflict { other: "blockHash" }, "blockNumber"),
        (Some(_), None, Some(_)) => wrong(Reason::Conflict { other: "blockHash" }, "flashblockIndex"),
        (Some(hash), None, None) => {
            Ok(BlockId::Hash { hash, require_canonical: require_canonical.unwrap_or(false) })
        }
        _ if require_canonical.is_some() => wrong(Reason::Alone { other: "blockHash" }, "requireCanonical"),
        (None, Some(Tag::Number(number)), Some(index)) => Ok(BlockId::Step { number, index }),
        (None, Some(tag), None) => Ok(tag.into()),
        (None, _, Some(_)) => wrong(Reason::Alone { other: "a blockNumber in hex" }, "flashblockIndex"),
        (None, None, None) => Err(Reason::NamesNoBlock.into()),
    }
}

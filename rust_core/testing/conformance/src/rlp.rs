//! RLPTests: strict encoding and decoding of nested byte strings.

use std::collections::BTreeMap;

use alloy_primitives::{U256, hex};
use alloy_rlp::{BufMut, Encodable, Header};
use serde::Deserialize;
use serde_json::Value;

use crate::{Case, case::same, source::VectorFile};

/// Maximum nesting depth that is decoded.
const MAX_DEPTH: usize = 1_024;

#[derive(Deserialize)]
struct Test {
    #[serde(rename = "in")]
    input: Value,
    out: String,
}

/// Any RLP value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    String(Vec<u8>),
    List(Vec<Item>),
}

impl Encodable for Item {
    fn encode(&self, out: &mut dyn BufMut) {
        match self {
            Self::String(bytes) => bytes.as_slice().encode(out),
            Self::List(items) => alloy_rlp::encode_list::<Item, Item>(items, out),
        }
    }

    fn length(&self) -> usize {
        match self {
            Self::String(bytes) => bytes.as_slice().length(),
            Self::List(items) => alloy_rlp::list_length::<Item, Item>(items),
        }
    }
}

impl Item {
    /// Decodes one value that fills `bytes`. Only the shortest encoding of each length is accepted.
    pub fn decode(bytes: &[u8]) -> alloy_rlp::Result<Self> {
        let mut rest = bytes;
        let item = Self::next(&mut rest, 0)?;
        if rest.is_empty() { Ok(item) } else { Err(alloy_rlp::Error::UnexpectedLength) }
    }

    fn next(rest: &mut &[u8], depth: usize) -> alloy_rlp::Result<Self> {
        if depth > MAX_DEPTH {
            return Err(alloy_rlp::Error::Custom("nested too deep"));
        }
        let header = Header::decode(rest)?;
        let (mut payload, after) =
            rest.split_at_checked(header.payload_length).ok_or(alloy_rlp::Error::InputTooShort)?;
        *rest = after;
        if !header.list {
            return Ok(Self::String(payload.to_vec()));
        }
        let mut items = Vec::new();
        while !payload.is_empty() {
            items.push(Self::next(&mut payload, depth + 1)?);
        }
        Ok(Self::List(items))
    }

    /// Converts a value from its JSON form in the vectors: text, a number, a decimal number after `#`, or a
    /// list.
    fn read(value: &Value) -> Result<Self, String> {
        let number = |number: U256| Self::String(number.to_be_bytes_trimmed_vec());
        match value {
            Value::String(text) => match text.strip_prefix('#') {
                // Numbers of 256 bits and more.
                Some(decimal) => decimal_bytes(decimal).map(Self::String),
                None => Ok(Self::String(text.as_bytes().to_vec())),
            },
            Value::Number(small) => {
                small.as_u64().map(|small| number(U256::from(small))).ok_or(format!("{small} is negative"))
            }
            Value::Array(items) => items.iter().map(Self::read).collect::<Result<_, _>>().map(Self::List),
            other => Err(format!("{other} is no RLP value")),
        }
    }
}

/// Returns the big-endian bytes of a decimal number of any size.
fn decimal_bytes(decimal: &str) -> Result<Vec<u8>, String> {
    // Least significant first.
    let mut bytes: Vec<u8> = Vec::new();
    for digit in decimal.chars() {
        let mut carry = digit.to_digit(10).ok_or(format!("{decimal} is no number"))?;
        for byte in &mut bytes {
            carry += u32::from(*byte) * 10;
            *byte = (carry & 0xff) as u8;
            carry >>= 8;
        }
        if carry > 0 {
            bytes.push(u8::try_from(carry).map_err(|error| error.to_string())?);
        }
    }
    bytes.reverse();
    Ok(bytes)
}

pub fn run(file: &VectorFile) -> Result<Vec<Case>, serde_json::Error> {
    let tests: BTreeMap<String, Test> = serde_json::from_slice(&file.bytes)?;
    Ok(tests.iter().map(|(name, test)| Case::new(&file.name, name).outcome(judge(test))).collect())
}

fn judge(test: &Test) -> Result<(), String> {
    let bytes = hex::decode(&test.out).map_err(|error| error.to_string())?;
    let decoded = Item::decode(&bytes);
    match (&test.input, decoded) {
        (Value::String(verdict), Err(_)) if verdict == "INVALID" => Ok(()),
        (Value::String(verdict), Ok(item)) if verdict == "INVALID" => Err(format!("decoded to {item:?}")),
        (_, Err(error)) => Err(format!("did not decode: {error}")),
        (input, Ok(item)) => {
            if input.as_str() != Some("VALID") {
                let expected = Item::read(input)?;
                same("encoding", &hex::encode(&bytes), &hex::encode(alloy_rlp::encode(&expected)))?;
                same("decoded", &format!("{expected:?}"), &format!("{item:?}"))?;
            }
            same("encoded again", &hex::encode(&bytes), &hex::encode(alloy_rlp::encode(&item)))
        }
    }
}

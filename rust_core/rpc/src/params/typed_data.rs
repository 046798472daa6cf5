//! Typed structured data (EIP-712) and its signing hash.
//!
//! Encoding follows the message, not its types: types may refer to each other so that expanding them takes
//! exponential space, or to themselves.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use alloy_primitives::{B256, U256, keccak256};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    invalid::{Invalid, Param, Reason, shown},
    value::{entries, list, text},
};
use crate::params::hex;

/// Signing hash of typed data: keccak-256 of 0x19, 0x01, the domain separator and the hash of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypedData(pub B256);

/// Maximum nesting depth of a message.
const MAX_DEPTH: usize = 64;
/// Name of the domain type.
const DOMAIN: &str = "EIP712Domain";
/// Fields that a domain may have, in the order of the specification.
const DOMAIN_FIELDS: [(&str, &str); 5] = [
    ("name", "string"),
    ("version", "string"),
    ("chainId", "uint256"),
    ("verifyingContract", "address"),
    ("salt", "bytes32"),
];

#[derive(Deserialize)]
struct TypedDataFields<'a> {
    types: BTreeMap<String, Vec<TypedMember>>,
    #[serde(rename = "primaryType")]
    primary_type: String,
    #[serde(borrow)]
    domain: &'a RawValue,
    #[serde(borrow)]
    message: &'a RawValue,
}

/// Field of a struct type.
#[derive(Deserialize)]
struct TypedMember {
    name: String,
    #[serde(rename = "type")]
    kind: String,
}

impl Param<'_> for TypedData {
    /// Parses an object, or a string that contains its JSON, which some clients send.
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        let unquoted;
        let json = if raw.get().starts_with('"') {
            unquoted = text(raw)?;
            unquoted.trim()
        } else {
            raw.get()
        };
        if !json.starts_with('{') {
            return Err(Reason::NotObject.into());
        }
        let fields: TypedDataFields<'_> = serde_json::from_str(json).map_err(|_| Reason::NotTypedData)?;
        signing_hash(fields).map(Self)
    }
}

fn signing_hash(fields: TypedDataFields<'_>) -> Result<B256, Invalid> {
    let TypedDataFields { mut types, primary_type, domain, message } = fields;
    if !types.contains_key(DOMAIN) {
        let given = fields_of(domain).map_err(|invalid| invalid.in_field("domain"))?;
        let has = |name: &str| given.contains_key(name);
        let members = DOMAIN_FIELDS.iter().filter(|(name, _)| has(name));
        let member = |(name, kind): &(&str, &str)| TypedMember { name: (*name).into(), kind: (*kind).into() };
        types.insert(DOMAIN.to_owned(), members.map(member).collect());
    }
    let encoder = Encoder { types: &types, hashes: RefCell::default() };
    let separator = encoder.hash_struct(DOMAIN, domain, 0).map_err(|invalid| invalid.in_field("domain"))?;
    let mut signed = vec![0x19, 0x01];
    signed.extend_from_slice(separator.as_slice());
    // Signing the domain alone is allowed, as in wallets.
    if primary_type != DOMAIN {
        let hash =
            encoder.hash_struct(&primary_type, message, 0).map_err(|invalid| invalid.in_field("message"))?;
        signed.extend_from_slice(hash.as_slice());
    }
    Ok(keccak256(signed))
}

struct Encoder<'a> {
    types: &'a BTreeMap<String, Vec<TypedMember>>,
    /// Cache of type hashes.
    hashes: RefCell<BTreeMap<String, B256>>,
}

impl Encoder<'_> {
    /// Computes `hashStruct` of the specification.
    fn hash_struct(&self, name: &str, raw: &RawValue, depth: usize) -> Result<B256, Invalid> {
        if depth > MAX_DEPTH {
            return Err(Reason::TooDeep { max: MAX_DEPTH }.into());
        }
        let members = self.types.get(name).ok_or_else(|| unknown(name))?;
        let values = fields_of(raw)?;
        let mut encoded = self.type_hash(name)?.to_vec();
        for TypedMember { name, kind } in members {
            let value = values.get(name).copied();
            let word = self.encode(kind, value, depth).map_err(|invalid| invalid.in_field(name))?;
            encoded.extend_from_slice(word.as_slice());
        }
        Ok(keccak256(encoded))
    }

    /// Encodes a value as a word of its struct. An absent struct is a zero word, which terminates recursive
    /// types.
    fn encode(&self, kind: &str, value: Option<&RawValue>, depth: usize) -> Result<B256, Invalid> {
        let value = value.filter(|value| value.get() != "null");
        if let Some((element, length)) = array_of(kind) {
            let items = list(value.ok_or(Reason::Missing)?)?;
            if depth >= MAX_DEPTH {
                return Err(Reason::TooDeep { max: MAX_DEPTH }.into());
            }
            if !length.is_empty() && length.parse() != Ok(items.len()) {
                return Err(not_of(kind));
            }
            let mut encoded = Vec::with_capacity(32 * items.len());
            for (index, item) in items.into_iter().enumerate() {
                let word =
                    self.encode(element, Some(item), depth + 1).map_err(|invalid| invalid.at(index))?;
                encoded.extend_from_slice(word.as_slice());
            }
            return Ok(keccak256(encoded));
        }
        if self.types.contains_key(kind) {
            return value.map_or(Ok(B256::ZERO), |value| self.hash_struct(kind, value, depth + 1));
        }
        atomic(kind, value.ok_or(Reason::Missing)?)
    }

    /// Returns keccak-256 of `encodeType`: the struct, then all types that it refers to, sorted by name.
    fn type_hash(&self, name: &str) -> Result<B256, Invalid> {
        if let Some(hash) = self.hashes.borrow().get(name) {
            return Ok(*hash);
        }
        let mut referenced = BTreeSet::from([name]);
        let mut left = vec![name];
        while let Some(next) = left.pop() {
            for member in self.types.get(next).ok_or_else(|| unknown(next))? {
                let stem = member.kind.split('[').next().unwrap_or_default();
                if self.types.contains_key(stem) && referenced.insert(stem) {
                    left.push(stem);
                }
            }
        }
        referenced.remove(name);
        let mut text = String::new();
        for next in std::iter::once(name).chain(referenced) {
            let members = self.types.get(next).map(Vec::as_slice).unwrap_or_default();
            let members = members.iter().map(|member| format!("{} {}", member.kind, member.name));
            text.extend([next, "(", &members.collect::<Vec<_>>().join(","), ")"]);
        }
        let hash = keccak256(text);
        self.hashes.borrow_mut().insert(name.to_owned(), hash);
        Ok(hash)
    }
}

/// Returns the element type and the length (empty for any) of an array type.
fn array_of(kind: &str) -> Option<(&str, &str)> {
    kind.strip_suffix(']')?.rsplit_once('[')
}

/// Encodes a value whose type is neither an array nor a struct.
fn atomic(kind: &str, value: &RawValue) -> Result<B256, Invalid> {
    match kind {
        "bool" => Ok(B256::with_last_byte(u8::from(bool::read(value)?))),
        "address" => Ok(B256::left_padding_from(&hex::fixed::<20>(&text(value)?)?.0)),
        "string" => Ok(keccak256(text(value)?.as_bytes())),
        "bytes" => Ok(keccak256(hex::data(&text(value)?)?)),
        _ => {
            if let Some(length) = number_after(kind, "bytes", 32) {
                let data = hex::data(&text(value)?)?;
                if data.len() != length {
                    return Err(Reason::Length { want: length, got: data.len() }.into());
                }
                return Ok(B256::right_padding_from(&data));
            }
            let unsigned = kind.strip_prefix('u');
            let bits = number_after(unsigned.unwrap_or(kind), "int", 256).filter(|bits| bits % 8 == 0);
            integer(kind, bits.ok_or_else(|| unknown(kind))?, unsigned.is_none(), value)
        }
    }
}

/// Returns the number at the end of a type such as `bytes32`, at least 1; `int` alone means 256 bits.
fn number_after(kind: &str, stem: &str, max: usize) -> Option<usize> {
    let digits = kind.strip_prefix(stem)?;
    if digits.is_empty() && stem == "int" {
        return Some(max);
    }
    let canonical = !digits.starts_with('0') && digits.bytes().all(|digit| digit.is_ascii_digit());
    digits.parse().ok().filter(|number| canonical && (1..=max).contains(number))
}

/// Parses a JSON integer, or a string of decimal or `0x` digits. Negative values are in two's complement.
fn integer(kind: &str, bits: usize, signed: bool, value: &RawValue) -> Result<B256, Invalid> {
    let json = value.get();
    let unquoted;
    let number = if json.starts_with('"') {
        unquoted = text(value)?;
        &*unquoted
    } else {
        json
    };
    let (negative, magnitude) = number.strip_prefix('-').map_or((false, number), |rest| (true, rest));
    let (digits, radix) = magnitude.strip_prefix("0x").map_or((magnitude, 10), |digits| (digits, 16));
    let wrong = || not_of(kind);
    if digits.is_empty() || !digits.bytes().all(|digit| char::from(digit).is_digit(radix)) {
        return Err(wrong());
    }
    let magnitude = U256::from_str_radix(digits, radix.into()).map_err(|_| wrong())?;
    let half = U256::ONE << (bits - 1);
    let fits = match (signed, negative) {
        (false, false) => magnitude.bit_len() <= bits,
        (false, true) => magnitude.is_zero(),
        (true, false) => magnitude < half,
        (true, true) => magnitude <= half,
    };
    if !fits {
        return Err(wrong());
    }
    Ok(if negative { magnitude.wrapping_neg() } else { magnitude }.into())
}

/// Returns the fields of an object by name.
fn fields_of(raw: &RawValue) -> Result<BTreeMap<String, &RawValue>, Invalid> {
    Ok(entries(raw, |name| Ok(name.to_owned()), Ok)?.into_iter().collect())
}

fn unknown(name: &str) -> Invalid {
    Reason::UnknownSolidityType { name: shown(name) }.into()
}

fn not_of(kind: &str) -> Invalid {
    Reason::NotOfType { name: shown(kind) }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<B256, String> {
        let raw = RawValue::from_string(json.to_owned()).unwrap();
        TypedData::read(&raw)
            .map(|TypedData(hash)| hash)
            .map_err(|invalid| format!("{}: {}", invalid.path, invalid.reason))
    }

    fn data(members: &str, message: &str) -> String {
        format!(r#"{{"types":{{"T":[{members}]}},"primaryType":"T","domain":{{}},"message":{message}}}"#)
    }

    fn one(kind: &str, value: &str) -> Result<B256, String> {
        read(&data(&format!(r#"{{"name":"a","type":"{kind}"}}"#), &format!(r#"{{"a":{value}}}"#)))
    }

    /// Example of the specification, with its hash.
    const MAIL: &str = r#"{
        "types": {
            "EIP712Domain": [
                {"name": "name", "type": "string"}, {"name": "version", "type": "string"},
                {"name": "chainId", "type": "uint256"}, {"name": "verifyingContract", "type": "address"}
            ],
            "Person": [{"name": "name", "type": "string"}, {"name": "wallet", "type": "address"}],
            "Mail": [
                {"name": "from", "type": "Person"}, {"name": "to", "type": "Person"},
                {"name": "contents", "type": "string"}
            ]
        },
        "primaryType": "Mail",
        "domain": {
            "name": "Ether Mail", "version": "1", "chainId": 1,
            "verifyingContract": "0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC"
        },
        "message": {
            "from": {"name": "Cow", "wallet": "0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826"},
            "to": {"name": "Bob", "wallet": "0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB"},
            "contents": "Hello, Bob!"
        }
    }"#;

    #[test]
    fn the_eip_712_example_has_its_specified_hash() {
        let hash = "0xbe609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2".parse().unwrap();
        assert_eq!(read(MAIL), Ok(hash));
        assert_eq!(read(&serde_json::to_string(MAIL).unwrap()), Ok(hash), "as text");
        let (before, rest) = MAIL.split_once("\"EIP712Domain\"").unwrap();
        let (_, after) = rest.split_once("],").unwrap();
        assert_eq!(read(&format!("{before}{after}")), Ok(hash), "the type of the domain is known");
    }

    #[test]
    fn integers_are_numbers_or_text_and_must_fit() {
        for (kind, same) in [
            ("uint8", ["255", "\"255\"", "\"0xff\"", "\"0x0ff\""]),
            ("int8", ["-128", "\"-128\"", "\"-0x80\"", "\"-0x080\""]),
            (
                "uint256",
                [
                    "100000000000000000000000",
                    "\"100000000000000000000000\"",
                    "\"0x152d02c7e14af6800000\"",
                    "\"0x0152d02c7e14af6800000\"",
                ],
            ),
        ] {
            let hash = one(kind, same[0]).unwrap();
            assert!(same.iter().all(|value| one(kind, value) == Ok(hash)), "{kind}");
        }
        for (kind, value) in [
            ("uint8", "256"),
            ("uint8", "-1"),
            ("int8", "128"),
            ("int8", "-129"),
            ("uint8", "1.0"),
            ("uint8", "1e1"),
            ("uint8", "\"\""),
            ("uint8", "\"-\""),
            ("uint8", "true"),
            ("uint8", "\"0x\""),
            ("uint8", "\"+1\""),
        ] {
            assert_eq!(one(kind, value), Err(format!(".message.a: is not of type {kind}")), "{value}");
        }
        assert_eq!(one("uint8", "-0"), one("uint8", "0"));
        for kind in [
            "uint7",
            "uint264",
            "uint08",
            "int0",
            "bytes33",
            "bytes0",
            "bytes01",
            "Thing",
            "",
            "uint 8",
            "fixed128x18",
        ] {
            assert_eq!(one(kind, "1"), Err(format!(".message.a: unknown type {kind}")));
        }
    }

    #[test]
    fn fixed_arrays_and_bytes_require_their_length() {
        assert!(one("uint8[2][]", "[[1,2],[3,4]]").is_ok());
        assert_eq!(one("uint8[2][]", "[[1,2],[3]]"), Err(".message.a[1]: is not of type uint8[2]".into()));
        assert_eq!(one("uint8[]", "{}"), Err(".message.a: expected an array".into()));
        assert_eq!(one("bytes4", "\"0x0102\""), Err(".message.a: expected 4 bytes, got 2".into()));
        assert_eq!(one("uint8", "null"), Err(".message.a: is missing".into()));
        assert_eq!(one("uint8[]", "null"), Err(".message.a: is missing".into()));
    }

    #[test]
    fn recursive_types_terminate_and_deep_nesting_is_rejected() {
        let members = r#"{"name":"next","type":"T"},{"name":"all","type":"T[]"}"#;
        let nested = |depth: usize| {
            let open = "{\"all\":[],\"next\":".repeat(depth);
            data(members, &format!("{open}null{}", "}".repeat(depth)))
        };
        assert!(read(&nested(60)).is_ok());
        assert!(read(&nested(100_000)).unwrap_err().ends_with("nested deeper than 64 levels"));
        let arrays = |depth: usize| {
            one(
                &format!("uint8{}", "[]".repeat(depth)),
                &format!("{}{}", "[".repeat(depth), "]".repeat(depth)),
            )
        };
        assert!(arrays(60).is_ok());
        assert!(arrays(100_000).unwrap_err().ends_with("nested deeper than 64 levels"));
    }

    #[test]
    fn types_that_double_at_every_step_cost_nothing() {
        let types: Vec<String> = (0..100)
            .map(|n| {
                format!(r#""T{n}":[{{"name":"a","type":"T{m}"}},{{"name":"b","type":"T{m}"}}]"#, m = n + 1)
            })
            .collect();
        let json = format!(
            r#"{{"types":{{{},"T100":[]}},"primaryType":"T0","domain":{{}},"message":{{}}}}"#,
            types.join(",")
        );
        assert!(read(&json).is_ok());
    }
}

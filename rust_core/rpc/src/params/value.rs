//! Basic values: strings, booleans, quantities, bytes, lists and object fields.

use std::{borrow::Cow, collections::BTreeSet};

use alloy_primitives::{Address, B256, Bytes, U256};
use serde_json::value::RawValue;

use super::invalid::{Invalid, Param, Reason};
use crate::params::hex;

/// Returns the content of a JSON string, borrowed unless it has escapes.
pub fn text(raw: &RawValue) -> Result<Cow<'_, str>, Invalid> {
    let json = raw.get();
    let inner = json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).ok_or(Reason::NotString)?;
    if inner.contains('\\') {
        let owned: String = serde_json::from_str(json).map_err(|_| Reason::Malformed)?;
        return Ok(Cow::Owned(owned));
    }
    Ok(Cow::Borrowed(inner))
}

/// Returns the elements of a JSON array.
pub fn list(raw: &RawValue) -> Result<Vec<&RawValue>, Invalid> {
    if !raw.get().starts_with('[') {
        return Err(Reason::NotArray.into());
    }
    Ok(serde_json::from_str(raw.get()).map_err(|_| Reason::Malformed)?)
}

/// Parses each element of a JSON array as `T`.
impl<'a, T: Param<'a>> Param<'a> for Vec<T> {
    fn read(raw: &'a RawValue) -> Result<Self, Invalid> {
        let read = |(index, item)| T::read(item).map_err(|e| e.at(index));
        list(raw)?.into_iter().enumerate().map(read).collect()
    }
}

/// Parses a JSON object into a struct of raw values. Unknown fields are ignored.
pub fn object<'a, T: serde::Deserialize<'a>>(raw: &'a RawValue) -> Result<T, Invalid> {
    if !raw.get().starts_with('{') {
        return Err(Reason::NotObject.into());
    }
    Ok(serde_json::from_str(raw.get()).map_err(|_| Reason::Malformed)?)
}

/// Parses a JSON object whose names are data, in the given order.
///
/// # Errors
///
/// Returns an error for a duplicate key, even if it is spelled differently.
pub fn entries<'a, K: Clone + Ord, V>(
    raw: &'a RawValue,
    key: impl Fn(&str) -> Result<K, Reason>,
    value: impl Fn(&'a RawValue) -> Result<V, Invalid>,
) -> Result<Vec<(K, V)>, Invalid> {
    let Entries(entries) = object(raw)?;
    let mut seen = BTreeSet::new();
    let read = |(name, raw): (Cow<'_, str>, &'a RawValue)| {
        let key = key(&name).map_err(|reason| Invalid::from(reason).in_field(&name))?;
        if !seen.insert(key.clone()) {
            return Err(Invalid::from(Reason::Twice).in_field(&name));
        }
        Ok((key, value(raw).map_err(|invalid| invalid.in_field(&name))?))
    };
    entries.into_iter().map(read).collect()
}

struct Entries<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> serde::Deserialize<'de> for Entries<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some((Name(name), value)) = map.next_entry()? {
                    entries.push((name, value));
                }
                Ok(entries)
            }
        }

        deserializer.deserialize_map(Visitor).map(Self)
    }
}

/// Name in an object, borrowed unless it has escapes.
#[derive(serde::Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// Parses a field of an object; `None` if it is absent or `null`.
pub fn field<'a, T: Param<'a>>(raw: Option<&'a RawValue>, name: &str) -> Result<Option<T>, Invalid> {
    raw.map(|raw| T::read(raw).map_err(|e| e.in_field(name))).transpose()
}

/// Parses a required field of an object.
pub fn needed<'a, T: Param<'a>>(raw: Option<&'a RawValue>, name: &str) -> Result<T, Invalid> {
    field(raw, name)?.ok_or_else(|| Invalid::from(Reason::Missing).in_field(name))
}

impl Param<'_> for bool {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        match raw.get() {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(Reason::NotBoolean.into()),
        }
    }
}

impl Param<'_> for u64 {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        Ok(hex::quantity(&text(raw)?, 64)?.saturating_to())
    }
}

impl Param<'_> for u128 {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        Ok(hex::quantity(&text(raw)?, 128)?.saturating_to())
    }
}

impl Param<'_> for U256 {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        Ok(hex::quantity(&text(raw)?, 256)?)
    }
}

impl Param<'_> for Address {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        Ok(Self(hex::fixed(&text(raw)?)?))
    }
}

impl Param<'_> for B256 {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        Ok(hex::fixed(&text(raw)?)?)
    }
}

impl Param<'_> for Bytes {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        Ok(hex::data(&text(raw)?)?)
    }
}

/// Storage slot, or a number of a signature: a quantity, or 32 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StorageWord(pub U256);

impl StorageWord {
    /// Parses either format.
    pub fn from_text(text: &str) -> Result<Self, Reason> {
        if text.len() == 66 {
            return Ok(Self(hex::fixed::<32>(text)?.into()));
        }
        Ok(Self(hex::quantity(text, 256)?))
    }
}

impl Param<'_> for StorageWord {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        Ok(Self::from_text(&text(raw)?)?)
    }
}

/// Password, which is ignored: keys of development nodes are not locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Password;

impl Param<'_> for Password {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        text(raw).map(|_| Self)
    }
}

/// Percentiles of `eth_feeHistory`: ascending, from 0 to 100.
#[derive(Clone, Debug, PartialEq)]
pub struct Percentiles(pub Vec<f64>);

/// Maximum number of percentiles in one request.
const MAX_PERCENTILES: usize = 100;

impl Param<'_> for Percentiles {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        let items = list(raw)?;
        if items.len() > MAX_PERCENTILES {
            return Err(Reason::TooMany { max: MAX_PERCENTILES }.into());
        }
        let mut values: Vec<f64> = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            let value: f64 =
                serde_json::from_str(item.get()).map_err(|_| Invalid::from(Reason::NotNumber).at(index))?;
            let least = values.last().copied().unwrap_or(0.0);
            if !(least..=100.0).contains(&value) {
                return Err(Invalid::from(Reason::Percentiles).at(index));
            }
            values.push(value);
        }
        Ok(Self(values))
    }
}

/// Time in milliseconds, as a JSON integer or a hex quantity. Any other value counts as absent (EIP-7966).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Milliseconds(pub Option<u64>);

impl Param<'_> for Milliseconds {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        let number = raw.get().parse().ok();
        Ok(Self(number.or_else(|| u64::read(raw).ok()).filter(|time| *time > 0)))
    }
}

//! Storage keys, alone and by account.

use alloy_primitives::{Address, U256};
use serde_json::value::RawValue;

use super::{
    invalid::{Invalid, Param, Reason},
    value::{entries, text},
};
use crate::params::hex;

/// Hex digits of a 32-byte word.
const WORD_DIGITS: usize = 64;

/// Storage slot in the format of methods with many slots: any hex of at most 32 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StorageKey {
    pub slot: U256,
    /// `true` if the key was written with 32 bytes.
    pub whole: bool,
}

impl Param<'_> for StorageKey {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        let text = text(raw)?;
        let digits = text.strip_prefix("0x").ok_or(Reason::NoPrefix)?;
        let significant = digits.trim_start_matches('0');
        let shortest = match (digits.is_empty(), significant.is_empty()) {
            (true, _) => return Err(Reason::NoDigits.into()),
            (_, true) => "0",
            _ => significant,
        };
        if digits.len() > WORD_DIGITS {
            return Err(Reason::TooLarge { bits: 256 }.into());
        }
        Ok(Self { slot: hex::quantity(&format!("0x{shortest}"), 256)?, whole: digits.len() == WORD_DIGITS })
    }
}

/// Slots of several accounts in the given order; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorageRequests(pub Vec<(Address, Vec<StorageKey>)>);

impl Param<'_> for StorageRequests {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        let address = |text: &str| Ok(Address(hex::fixed(text)?));
        let requests: Vec<(Address, Vec<StorageKey>)> = entries(raw, address, Vec::read)?;
        if requests.iter().all(|(_, keys)| keys.is_empty()) {
            return Err(Reason::NoSlots.into());
        }
        Ok(Self(requests))
    }
}

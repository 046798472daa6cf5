//! State and block overrides.

use std::collections::BTreeMap;

use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::{Address, B256, U256};
use foreseal_evm::{AccountOverride, BlockOverrides, StateOverrides, StorageOverride};
use serde_json::value::RawValue;

use super::{
    invalid::{Invalid, Param, Reason},
    options::Options,
    value::{StorageWord, entries},
};
use crate::params::hex;

impl<'a> Param<'a> for StateOverrides {
    fn read(raw: &'a RawValue) -> Result<Self, Invalid> {
        let address = |text: &str| Ok(Address(hex::fixed(text)?));
        Ok(Self(entries(raw, address, AccountOverride::read)?.into_iter().collect()))
    }
}

const ACCOUNT: [&str; 6] = ["balance", "nonce", "code", "state", "stateDiff", "movePrecompileToAddress"];

impl Param<'_> for AccountOverride {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        let options = Options::read(raw, &ACCOUNT)?;
        let (state, diff): (Option<Slots>, Option<Slots>) =
            (options.get("state")?, options.get("stateDiff")?);
        let storage = match (state, diff) {
            (Some(_), Some(_)) => {
                return Err(Invalid::from(Reason::Conflict { other: "state" }).in_field("stateDiff"));
            }
            (Some(Slots(slots)), None) => Some(StorageOverride::Full(slots)),
            (None, diff) => diff.map(|Slots(slots)| StorageOverride::Slots(slots)),
        };
        Ok(Self {
            balance: options.get("balance")?,
            nonce: options.get("nonce")?,
            code: options.get("code")?,
            storage,
            move_precompile_to: options.get("movePrecompileToAddress")?,
        })
    }
}

/// Storage values by slot; both are 32 bytes or quantities.
struct Slots(BTreeMap<U256, U256>);

impl<'a> Param<'a> for Slots {
    fn read(raw: &'a RawValue) -> Result<Self, Invalid> {
        let value = |raw: &'a RawValue| StorageWord::read(raw).map(|StorageWord(value)| value);
        let slots = entries(raw, |text| Ok(StorageWord::from_text(text)?.0), value)?;
        Ok(Self(slots.into_iter().collect()))
    }
}

const BLOCK: [&str; 10] = [
    "number",
    "difficulty",
    "time",
    "gasLimit",
    "feeRecipient",
    "prevRandao",
    "baseFeePerGas",
    "blobBaseFee",
    "beaconRoot",
    "withdrawals",
];

impl Param<'_> for BlockOverrides {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        let options = Options::read(raw, &BLOCK)?;
        let prev_randao: Option<StorageWord> = options.get("prevRandao")?;
        let withdrawals: Option<Vec<WithdrawalObject>> = options.get("withdrawals")?;
        Ok(Self {
            number: options.get("number")?,
            difficulty: options.get("difficulty")?,
            time: options.get("time")?,
            gas_limit: options.get("gasLimit")?,
            fee_recipient: options.get("feeRecipient")?,
            prev_randao: prev_randao.map(|StorageWord(value)| B256::from(value)),
            base_fee: options.get("baseFeePerGas")?,
            blob_base_fee: options.get("blobBaseFee")?,
            beacon_root: options.get("beaconRoot")?,
            withdrawals: withdrawals.map(|list| list.into_iter().map(|WithdrawalObject(one)| one).collect()),
        })
    }
}

/// Block overrides of a method that executes one request. Fields that apply to whole blocks are rejected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallBlock(pub BlockOverrides);

impl Param<'_> for CallBlock {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        let overrides = BlockOverrides::read(raw)?;
        let whole = [
            ("beaconRoot", overrides.beacon_root.is_some()),
            ("withdrawals", overrides.withdrawals.is_some()),
        ];
        match whole.into_iter().find(|(_, given)| *given) {
            Some((name, _)) => Err(Invalid::from(Reason::WholeBlock).in_field(name)),
            None => Ok(Self(overrides)),
        }
    }
}

pub(super) struct WithdrawalObject(pub(super) Withdrawal);

impl Param<'_> for WithdrawalObject {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        let options = Options::read(raw, &["index", "validatorIndex", "address", "amount"])?;
        Ok(Self(Withdrawal {
            index: options.needed("index")?,
            validator_index: options.needed("validatorIndex")?,
            address: options.needed("address")?,
            amount: options.needed("amount")?,
        }))
    }
}

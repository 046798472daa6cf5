//! State and block overrides.

use std::collections::BTreeMap;

use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::{Address, B256, U256};
use foreseal_evm::{AccountOverride, BlockOverrides, StateOverrides, StorageOverride};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    Invalid, Param, Reason, StorageWord, hex,
    value::{entries, field, needed, object},
};

impl<'a> Param<'a> for StateOverrides {
    fn read(raw: &'a RawValue) -> Result<Self, Invalid> {
        let address = |text: &str| Ok(Address(hex::fixed(text)?));
        Ok(Self(entries(raw, address, AccountOverride::read)?.into_iter().collect()))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct AccountFields<'a> {
    balance: Option<&'a RawValue>,
    nonce: Option<&'a RawValue>,
    code: Option<&'a RawValue>,
    state: Option<&'a RawValue>,
    state_diff: Option<&'a RawValue>,
    move_precompile_to_address: Option<&'a RawValue>,
}

impl Param<'_> for AccountOverride {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        let fields: AccountFields<'_> = object(raw)?;
        let state: Option<Slots> = field(fields.state, "state")?;
        let diff: Option<Slots> = field(fields.state_diff, "stateDiff")?;
        let storage = match (state, diff) {
            (Some(_), Some(_)) => {
                return Err(Invalid::from(Reason::Conflict { other: "state" }).in_field("stateDiff"));
            }
            (Some(Slots(slots)), None) => Some(StorageOverride::Full(slots)),
            (None, diff) => diff.map(|Slots(slots)| StorageOverride::Slots(slots)),
        };
        Ok(Self {
            balance: field(fields.balance, "balance")?,
            nonce: field(fields.nonce, "nonce")?,
            code: field(fields.code, "code")?,
            storage,
            move_precompile_to: field(fields.move_precompile_to_address, "movePrecompileToAddress")?,
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

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct BlockFields<'a> {
    number: Option<&'a RawValue>,
    difficulty: Option<&'a RawValue>,
    time: Option<&'a RawValue>,
    gas_limit: Option<&'a RawValue>,
    fee_recipient: Option<&'a RawValue>,
    prev_randao: Option<&'a RawValue>,
    base_fee_per_gas: Option<&'a RawValue>,
    blob_base_fee: Option<&'a RawValue>,
    beacon_root: Option<&'a RawValue>,
    withdrawals: Option<&'a RawValue>,
}

impl Param<'_> for BlockOverrides {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        let fields: BlockFields<'_> = object(raw)?;
        let prev_randao: Option<StorageWord> = field(fields.prev_randao, "prevRandao")?;
        let withdrawals: Option<Vec<WithdrawalObject>> = field(fields.withdrawals, "withdrawals")?;
        Ok(Self {
            number: field(fields.number, "number")?,
            difficulty: field(fields.difficulty, "difficulty")?,
            time: field(fields.time, "time")?,
            gas_limit: field(fields.gas_limit, "gasLimit")?,
            fee_recipient: field(fields.fee_recipient, "feeRecipient")?,
            prev_randao: prev_randao.map(|StorageWord(value)| B256::from(value)),
            base_fee: field(fields.base_fee_per_gas, "baseFeePerGas")?,
            blob_base_fee: field(fields.blob_base_fee, "blobBaseFee")?,
            beacon_root: field(fields.beacon_root, "beaconRoot")?,
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

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct WithdrawalFields<'a> {
    index: Option<&'a RawValue>,
    validator_index: Option<&'a RawValue>,
    address: Option<&'a RawValue>,
    amount: Option<&'a RawValue>,
}

pub(super) struct WithdrawalObject(pub(super) Withdrawal);

impl Param<'_> for WithdrawalObject {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        let fields: WithdrawalFields<'_> = object(raw)?;
        Ok(Self(Withdrawal {
            index: needed(fields.index, "index")?,
            validator_index: needed(fields.validator_index, "validatorIndex")?,
            address: needed(fields.address, "address")?,
            amount: needed(fields.amount, "amount")?,
        }))
    }
}

//! Attributes of a payload (execution API, `PayloadAttributesV3`).

use alloy_eips::eip4895::Withdrawal;
use alloy_primitives::{Address, B256};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    invalid::{Invalid, Param},
    overrides::WithdrawalObject,
    value::{field, needed, object},
};

/// A driver's choices for a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PayloadAttributes {
    /// Unix time in seconds.
    pub timestamp: u64,
    pub prev_randao: B256,
    pub suggested_fee_recipient: Address,
    pub withdrawals: Vec<Withdrawal>,
    /// Zero if it is absent.
    pub parent_beacon_block_root: B256,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct PayloadFields<'a> {
    timestamp: Option<&'a RawValue>,
    prev_randao: Option<&'a RawValue>,
    suggested_fee_recipient: Option<&'a RawValue>,
    withdrawals: Option<&'a RawValue>,
    parent_beacon_block_root: Option<&'a RawValue>,
}

impl Param<'_> for PayloadAttributes {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        let fields: PayloadFields<'_> = object(raw)?;
        let withdrawals: Option<Vec<WithdrawalObject>> = field(fields.withdrawals, "withdrawals")?;
        Ok(Self {
            timestamp: needed(fields.timestamp, "timestamp")?,
            prev_randao: needed(fields.prev_randao, "prevRandao")?,
            suggested_fee_recipient: needed(fields.suggested_fee_recipient, "suggestedFeeRecipient")?,
            withdrawals: withdrawals
                .unwrap_or_default()
                .into_iter()
                .map(|WithdrawalObject(withdrawal)| withdrawal)
                .collect(),
            parent_beacon_block_root: field(fields.parent_beacon_block_root, "parentBeaconBlockRoot")?
                .unwrap_or_default(),
        })
    }
}

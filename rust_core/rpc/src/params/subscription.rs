//! Subscription names, and the cursor of a feed reader.

use foreseal_chain::StepCursor;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    Invalid, Param, Reason,
    invalid::shown,
    value::{needed, object, text},
};

/// Subscription names of `eth_subscribe`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubscriptionName {
    NewHeads,
    Logs,
    NewPendingTransactions,
    Syncing,
    PendingLogs,
    NewFlashblockTransactions,
    NewFlashblocks,
    Feed,
}

impl Param<'_> for SubscriptionName {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        let name = text(raw)?;
        Ok(match &*name {
            "newHeads" => Self::NewHeads,
            "logs" => Self::Logs,
            "newPendingTransactions" => Self::NewPendingTransactions,
            "syncing" => Self::Syncing,
            "pendingLogs" => Self::PendingLogs,
            "newFlashblockTransactions" => Self::NewFlashblockTransactions,
            "newFlashblocks" => Self::NewFlashblocks,
            "foreseal_feed" => Self::Feed,
            _ => return Err(Reason::UnknownSubscription { name: shown(&name) }.into()),
        })
    }
}

/// Position of the last step that a feed reader has received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor(pub StepCursor);

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct SubscriptionFields<'a> {
    block: Option<&'a RawValue>,
    index: Option<&'a RawValue>,
    hash: Option<&'a RawValue>,
}

impl Param<'_> for Cursor {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        let SubscriptionFields { block, index, hash } = object(raw)?;
        Ok(Self(StepCursor {
            number: needed(block, "block")?,
            index: needed(index, "index")?,
            hash: needed(hash, "hash")?,
        }))
    }
}

//! Subscription names, and the cursor of a feed reader.

use foreseal_chain::StepCursor;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    invalid::{Invalid, Param, Reason, shown},
    value::{field, needed, object, text},
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

/// Position of a feed reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor {
    /// Last step that the reader has received, or receives in parts.
    pub step: StepCursor,
    /// Position inside the step; `None` if the reader has received all of it.
    pub part: Option<CursorPart>,
}

/// Position of a reader inside a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CursorPart {
    pub index: u64,
    pub transaction: u64,
    pub log: u64,
    /// `true` if the step is being received as removed.
    pub removed: bool,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct SubscriptionFields<'a> {
    block: Option<&'a RawValue>,
    index: Option<&'a RawValue>,
    hash: Option<&'a RawValue>,
    part: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct PartFields<'a> {
    index: Option<&'a RawValue>,
    transaction: Option<&'a RawValue>,
    log: Option<&'a RawValue>,
    removed: Option<&'a RawValue>,
}

impl Param<'_> for Cursor {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        let SubscriptionFields { block, index, hash, part } = object(raw)?;
        let step = StepCursor {
            number: needed(block, "block")?,
            index: needed(index, "index")?,
            hash: needed(hash, "hash")?,
        };
        Ok(Self { step, part: field(part, "part")? })
    }
}

impl Param<'_> for CursorPart {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        let PartFields { index, transaction, log, removed } = object(raw)?;
        Ok(Self {
            index: needed(index, "index")?,
            transaction: needed(transaction, "transaction")?,
            log: needed(log, "log")?,
            removed: needed(removed, "removed")?,
        })
    }
}

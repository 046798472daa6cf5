//! `engine_forkchoiceUpdated`: the head, and a request to build on it.

use alloy_primitives::{B64, B256};
use foreseal_node::{ForkChoice, HeadChoice};
use foreseal_primitives::SpecId;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    attributes::{BuildAttributes, BuildContext},
    engine::{Arguments, Engine, non_zero},
    errors::EngineError,
};

/// `ForkchoiceStateV1`.
#[derive(Clone, Copy, Debug, Deserialize)]
struct ForkChoiceState {
    #[serde(rename = "headBlockHash")]
    head: B256,
    #[serde(rename = "safeBlockHash")]
    safe: B256,
    #[serde(rename = "finalizedBlockHash")]
    finalized: B256,
}

impl Engine {
    /// Chooses the head. If the driver sent attributes, opens a block on it.
    pub(crate) fn update_fork_choice(
        &self,
        version: u8,
        params: Arguments<'_>,
    ) -> Result<Value, EngineError> {
        let state: ForkChoiceState = params.required(0, "forkchoiceState")?;
        let attributes: Option<BuildAttributes> = params.optional(1, "payloadAttributes")?;
        if let Some(attributes) = &attributes {
            self.check_attributes(version, attributes)?;
        }
        let head = state.head;
        if head.is_zero() {
            return Ok(outcome("INVALID", None, None));
        }
        let choice = ForkChoice { head, safe: non_zero(state.safe), finalized: non_zero(state.finalized) };
        match self.node.drive(|payloads| payloads.choose_head(&choice))? {
            HeadChoice::Unknown => return Ok(outcome("SYNCING", None, None)),
            HeadChoice::Invalid { latest_valid } => return Ok(outcome("INVALID", Some(latest_valid), None)),
            // No payload may be built on an ancestor of the newest block (Engine API, forkchoiceUpdated, 2).
            HeadChoice::Ancestor => return Ok(outcome("VALID", Some(head), None)),
            HeadChoice::Chosen => {}
        }
        let Some(attributes) = attributes else { return Ok(outcome("VALID", Some(head), None)) };
        let id = self.begin(head, attributes)?;
        Ok(outcome("VALID", Some(head), Some(id)))
    }

    /// Opens a block on `head`, which is the newest sealed block.
    fn begin(&self, head: B256, attributes: BuildAttributes) -> Result<B64, EngineError> {
        let view =
            self.node.view().ok_or_else(|| EngineError::Unavailable("the node is starting".to_owned()))?;
        let latest = view.latest();
        if latest.block.hash != head {
            return Err(EngineError::Unavailable("another call has chosen another head".to_owned()));
        }
        let production = &self.node.settings().production;
        let context = BuildContext {
            spec: self.spec(),
            parent: head,
            parent_timestamp: latest.block.header.timestamp,
            gas_limit: production.gas_limit.unwrap_or(latest.block.header.gas_limit),
            extra_data: &production.extra_data,
        };
        let request = attributes.into_request(&context)?;
        self.node.drive(|payloads| payloads.begin_payload(&request))?;
        Ok(request.id)
    }

    /// Checks that attributes have the fields of the method's version, and that it is that of their fork.
    fn check_attributes(&self, version: u8, attributes: &BuildAttributes) -> Result<(), EngineError> {
        let wrong = |reason: &str| Err(EngineError::Attributes(reason.to_owned()));
        if version >= 3 {
            if attributes.withdrawals.is_none() {
                return wrong("withdrawals is missing");
            }
            if attributes.parent_beacon_block_root.is_none() {
                return wrong("parentBeaconBlockRoot is missing");
            }
        } else if attributes.parent_beacon_block_root.is_some() {
            return wrong("parentBeaconBlockRoot is allowed from engine_forkchoiceUpdatedV3 on");
        }
        let fork = attributes.fork(self.spec());
        let wanted = match fork {
            fork if fork.is_enabled_in(SpecId::CANCUN) => 3,
            fork if fork.is_enabled_in(SpecId::SHANGHAI) => 2,
            _ => 1,
        };
        if version < wanted || (version == 3 && wanted < 3) {
            let reason = format!("blocks of this time need engine_forkchoiceUpdatedV{wanted}");
            return Err(EngineError::UnsupportedFork(reason));
        }
        Ok(())
    }
}

fn outcome(status: &str, latest_valid: Option<B256>, id: Option<B64>) -> Value {
    json!({
        "payloadStatus": { "status": status, "latestValidHash": latest_valid, "validationError": null },
        "payloadId": id,
    })
}

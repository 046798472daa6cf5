//! `engine_newPayload` and `engine_getPayload`.

use alloy_primitives::{B64, B256, Bytes};
use foreseal_node::BlockVerdict;
use foreseal_primitives::SpecId;
use serde_json::{Value, json};

use crate::{
    engine::{Arguments, Engine},
    errors::EngineError,
    payload::{ExecutionPayload, PayloadSidecar},
};

/// Returns the version of `engine_newPayload` for a block of this fork.
fn new_payload_version(fork: SpecId) -> u8 {
    match fork {
        fork if fork.is_enabled_in(SpecId::PRAGUE) => 4,
        fork if fork.is_enabled_in(SpecId::CANCUN) => 3,
        fork if fork.is_enabled_in(SpecId::SHANGHAI) => 2,
        _ => 1,
    }
}

/// Returns the version of `engine_getPayload` for a block of this fork.
fn get_payload_version(fork: SpecId) -> u8 {
    if fork.is_enabled_in(SpecId::OSAKA) { 5 } else { new_payload_version(fork) }
}

impl Engine {
    /// Executes the block of a payload without adding it to the chain, unless it is known.
    pub(crate) fn new_payload(&self, version: u8, params: Arguments<'_>) -> Result<Value, EngineError> {
        let payload: ExecutionPayload = params.required(0, "executionPayload")?;
        let sidecar = PayloadSidecar {
            versioned_hashes: if version >= 3 {
                params.required(1, "expectedBlobVersionedHashes")?
            } else {
                Vec::new()
            },
            parent_beacon_block_root: if version >= 3 {
                Some(params.required(2, "parentBeaconBlockRoot")?)
            } else {
                None
            },
            requests: if version >= 4 { params.required(3, "executionRequests")? } else { Vec::new() },
        };
        check_fields(version, &payload)?;
        let wanted = new_payload_version(payload.fork(self.spec()));
        if version < wanted || (version >= 3 && version != wanted) {
            let reason = format!("blocks of this time need engine_newPayloadV{wanted}");
            return Err(EngineError::UnsupportedFork(reason));
        }
        let block = match payload.into_block(self.spec(), &sidecar) {
            Ok(block) => block,
            Err(reason) => return Ok(status("INVALID", None, Some(&reason))),
        };
        let hash = block.header.hash_slow();
        let number = block.header.number;
        Ok(match self.node.drive(|payloads| payloads.add_block(block))? {
            BlockVerdict::Valid => status("VALID", Some(hash), None),
            BlockVerdict::Invalid { latest_valid, reason } => {
                tracing::warn!(number, %hash, reason, "the driver sent an invalid block");
                status("INVALID", Some(latest_valid), Some(&reason))
            }
            BlockVerdict::UnknownParent => status("SYNCING", None, None),
        })
    }

    /// Ends a payload and returns its block.
    pub(crate) fn get_payload(&self, version: u8, params: Arguments<'_>) -> Result<Value, EngineError> {
        let id: B64 = params.required(0, "payloadId")?;
        let fork = self.node.drive(|payloads| payloads.payload_fork(id))?;
        let wanted = get_payload_version(fork.ok_or(EngineError::UnknownPayload)?);
        if version < wanted || (version >= 3 && version != wanted) {
            let reason = format!("this payload needs engine_getPayloadV{wanted}");
            return Err(EngineError::UnsupportedFork(reason));
        }
        let built = self.node.drive(|payloads| payloads.finish_payload(id))?;
        let built = built.ok_or(EngineError::UnknownPayload)?;
        let is_optimism = self.spec().optimism().is_some();
        let payload = ExecutionPayload::of_block(&built.block, is_optimism);
        if version == 1 {
            return Ok(json!(payload));
        }
        let mut answer = json!({ "executionPayload": payload, "blockValue": built.block.priority_fees() });
        if version >= 3 {
            answer["blobsBundle"] = json!({ "commitments": [], "proofs": [], "blobs": [] });
            answer["shouldOverrideBuilder"] = json!(false);
        }
        if version >= 4 {
            // Requests of one type without data are not listed (EIP-7685).
            let listed: Vec<&Bytes> = built.requests.iter().filter(|request| request.len() > 1).collect();
            answer["executionRequests"] = json!(listed);
        }
        if is_optimism {
            answer["parentBeaconBlockRoot"] = json!(built.block.header.parent_beacon_block_root);
        }
        Ok(answer)
    }
}

/// Checks that a payload has the fields of the method's version.
fn check_fields(version: u8, payload: &ExecutionPayload) -> Result<(), EngineError> {
    let wanted = |name: &str, has: bool, needed: bool| match (has, needed) {
        (false, true) => Err(EngineError::InvalidParams(format!("executionPayload.{name} is missing"))),
        (true, false) => Err(EngineError::InvalidParams(format!(
            "engine_newPayloadV{version} has no executionPayload.{name}"
        ))),
        _ => Ok(()),
    };
    if version != 2 {
        wanted("withdrawals", payload.withdrawals.is_some(), version >= 3)?;
    }
    wanted("blobGasUsed", payload.blob_gas_used.is_some(), version >= 3)?;
    wanted("excessBlobGas", payload.excess_blob_gas.is_some(), version >= 3)
}

fn status(status: &str, latest_valid: Option<B256>, error: Option<&str>) -> Value {
    json!({ "status": status, "latestValidHash": latest_valid, "validationError": error })
}

//! Payload of `eth_simulateV1`.

use foreseal_evm::{BlockOverrides, BlockRequest, SimulatedCall, StateOverrides};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    CallObject, Invalid, Param, Reason,
    value::{field, needed, object},
};

/// Blocks to simulate, and options.
#[derive(Clone, Debug, Default)]
pub struct Simulation {
    pub blocks: Vec<BlockRequest>,
    pub trace_transfers: bool,
    pub validation: bool,
    pub full_transactions: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct SimulationFields<'a> {
    block_state_calls: Option<&'a RawValue>,
    trace_transfers: Option<&'a RawValue>,
    validation: Option<&'a RawValue>,
    return_full_transactions: Option<&'a RawValue>,
}

impl Param<'_> for Simulation {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        let fields: SimulationFields<'_> = object(raw)?;
        let blocks: Vec<BlockObject> = needed(fields.block_state_calls, "blockStateCalls")?;
        if blocks.is_empty() {
            return Err(Invalid::from(Reason::Empty).in_field("blockStateCalls"));
        }
        Ok(Self {
            blocks: blocks.into_iter().map(|BlockObject(block)| block).collect(),
            trace_transfers: field(fields.trace_transfers, "traceTransfers")?.unwrap_or(false),
            validation: field(fields.validation, "validation")?.unwrap_or(false),
            full_transactions: field(fields.return_full_transactions, "returnFullTransactions")?
                .unwrap_or(false),
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct SimulatedBlockFields<'a> {
    block_overrides: Option<&'a RawValue>,
    state_overrides: Option<&'a RawValue>,
    calls: Option<&'a RawValue>,
}

struct BlockObject(BlockRequest);

impl Param<'_> for BlockObject {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        let fields: SimulatedBlockFields<'_> = object(raw)?;
        let block: Option<BlockOverrides> = field(fields.block_overrides, "blockOverrides")?;
        let state: Option<StateOverrides> = field(fields.state_overrides, "stateOverrides")?;
        let calls: Option<Vec<CallObject>> = field(fields.calls, "calls")?;
        let call = |call: CallObject| SimulatedCall { nonce: call.nonce, request: call.into() };
        Ok(Self(BlockRequest {
            block: block.unwrap_or_default(),
            state: state.unwrap_or_default(),
            calls: calls.unwrap_or_default().into_iter().map(call).collect(),
        }))
    }
}

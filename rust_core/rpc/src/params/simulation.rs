//! Payload of `eth_simulateV1`.

use foreseal_evm::{BlockOverrides, BlockRequest, SimulatedCall, StateOverrides};
use serde_json::value::RawValue;

use super::{
    call_object::CallObject,
    invalid::{Invalid, Param, Reason},
    options::Options,
};

/// Blocks to simulate, and options.
#[derive(Clone, Debug, Default)]
pub struct Simulation {
    pub blocks: Vec<BlockRequest>,
    pub trace_transfers: bool,
    pub validation: bool,
    pub full_transactions: bool,
}

const SIMULATION: [&str; 4] = ["blockStateCalls", "traceTransfers", "validation", "returnFullTransactions"];

impl Param<'_> for Simulation {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        let options = Options::read(raw, &SIMULATION)?;
        let blocks: Vec<BlockObject> = options.needed("blockStateCalls")?;
        if blocks.is_empty() {
            return Err(Invalid::from(Reason::Empty).in_field("blockStateCalls"));
        }
        Ok(Self {
            blocks: blocks.into_iter().map(|BlockObject(block)| block).collect(),
            trace_transfers: options.flag("traceTransfers")?,
            validation: options.flag("validation")?,
            full_transactions: options.flag("returnFullTransactions")?,
        })
    }
}

struct BlockObject(BlockRequest);

impl Param<'_> for BlockObject {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        let options = Options::read(raw, &["blockOverrides", "stateOverrides", "calls"])?;
        let block: Option<BlockOverrides> = options.get("blockOverrides")?;
        let state: Option<StateOverrides> = options.get("stateOverrides")?;
        let calls: Option<Vec<CallObject>> = options.get("calls")?;
        let call = |call: CallObject| SimulatedCall { nonce: call.nonce, request: call.into() };
        Ok(Self(BlockRequest {
            block: block.unwrap_or_default(),
            state: state.unwrap_or_default(),
            calls: calls.unwrap_or_default().into_iter().map(call).collect(),
        }))
    }
}

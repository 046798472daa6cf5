//! Numbers and times of simulated blocks.

use alloy_consensus::Header;

use super::{error::SimulateError, request::BlockRequest};

/// Seconds between blocks without an explicit time, as on the main network and in geth.
const BLOCK_TIME: u64 = 12;

/// A block with resolved number and time.
pub struct NumberedRequest {
    pub number: u64,
    /// Unix seconds.
    pub timestamp: u64,
    pub request: BlockRequest,
}

/// Resolves the numbers and times of the blocks and fills gaps with empty blocks.
pub fn number_requests(
    base: &Header,
    blocks: Vec<BlockRequest>,
    max: u64,
) -> Result<Vec<NumberedRequest>, SimulateError> {
    let mut numbered = Vec::with_capacity(blocks.len());
    let (mut number, mut timestamp) = (base.number, base.timestamp);
    for request in blocks {
        let next = request.block.number.unwrap_or(number.saturating_add(1));
        if next <= number {
            return Err(SimulateError::Number { number: next, previous: number });
        }
        if next - base.number > max {
            return Err(SimulateError::TooManyBlocks { max });
        }
        for number in number + 1..next {
            timestamp = timestamp.saturating_add(BLOCK_TIME);
            numbered.push(NumberedRequest { number, timestamp, request: BlockRequest::default() });
        }
        let time = request.block.time.unwrap_or(timestamp.saturating_add(BLOCK_TIME));
        if time <= timestamp {
            return Err(SimulateError::Time { time, previous: timestamp });
        }
        (number, timestamp) = (next, time);
        numbered.push(NumberedRequest { number, timestamp, request });
    }
    Ok(numbered)
}

//! Numbers and times of simulated blocks.

use alloy_consensus::Header;

use super::{BlockRequest, SimulateError};
use crate::BlockOverrides;

/// Seconds between blocks that name no time, as on the main network and in geth.
const BLOCK_TIME: u64 = 12;

/// The blocks with number and time set, gaps filled with empty blocks.
pub fn ordered(
    base: &Header,
    blocks: Vec<BlockRequest>,
    max: u64,
) -> Result<Vec<BlockRequest>, SimulateError> {
    let mut ordered = Vec::with_capacity(blocks.len());
    let (mut number, mut time) = (base.number, base.timestamp);
    for mut request in blocks {
        let next = request.block.number.unwrap_or(number.saturating_add(1));
        if next <= number {
            return Err(SimulateError::Number { number: next, previous: number });
        }
        if next - base.number > max {
            return Err(SimulateError::TooManyBlocks { max });
        }
        for number in number + 1..next {
            time = time.saturating_add(BLOCK_TIME);
            let block =
                BlockOverrides { number: Some(number), time: Some(time), ..BlockOverrides::default() };
            ordered.push(BlockRequest { block, ..BlockRequest::default() });
        }
        let at = request.block.time.unwrap_or(time.saturating_add(BLOCK_TIME));
        if at <= time {
            return Err(SimulateError::Time { time: at, previous: time });
        }
        (number, time) = (next, at);
        request.block.number = Some(number);
        request.block.time = Some(time);
        ordered.push(request);
    }
    Ok(ordered)
}

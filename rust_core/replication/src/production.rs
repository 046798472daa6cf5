//! Settings of block production.

use std::time::Duration;

use alloy_primitives::{Address, B256, Bytes};
use foreseal_builder::NextBlockAttributes;
use foreseal_chain::Chain;
use serde::{Deserialize, Serialize};

/// Maximum length of a header's extra data, in bytes.
const MAX_EXTRA_DATA: usize = 32;
/// Minimum time between steps.
const MIN_STEP: Duration = Duration::from_millis(10);

/// Settings for block production.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Production {
    /// Seconds between blocks, at least 1.
    pub block_time: u64,
    /// Time between steps: 10 ms or more, at most the block time.
    pub step: Duration,
    /// Fee recipient.
    pub beneficiary: Address,
    /// Gas limit to move towards; `None` keeps that of the genesis.
    pub gas_limit: Option<u64>,
    /// Extra data of the header, at most 32 bytes.
    pub extra_data: Bytes,
}

impl Default for Production {
    fn default() -> Self {
        Self {
            block_time: 2,
            step: Duration::from_millis(200),
            beneficiary: Address::ZERO,
            gas_limit: None,
            extra_data: Bytes::from_static(b"foreseal"),
        }
    }
}

/// Rejected setting of block production.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidProduction {
    #[error("block time must be a whole number of seconds, at least 1s")]
    BlockTime,
    #[error("step must be at least 10ms and at most the block time of {block_time}s")]
    Step { block_time: u64 },
    #[error("extra data must have at most 32 bytes, got {0}")]
    ExtraData(usize),
}

impl Production {
    /// Returns the opening of a placeholder for the block after the newest sealed block of `chain`, for a
    /// node that is building none.
    pub fn idle_opening(&self, chain: &Chain) -> NextBlockAttributes {
        let latest = &chain.latest().block.header;
        let is_optimism = chain.spec().optimism().is_some();
        let gas_limit = self.gas_limit.filter(|_| !is_optimism).unwrap_or(latest.gas_limit);
        // On an OP chain it names the parameters of the base fee.
        let extra_data = if is_optimism { &latest.extra_data } else { &self.extra_data }.clone();
        NextBlockAttributes {
            merged: chain.merged(),
            timestamp: latest.timestamp.saturating_add(self.block_time),
            mix_hash: B256::ZERO,
            beneficiary: self.beneficiary,
            gas_limit,
            extra_data,
            exact_gas_limit: None,
            base_fee: None,
            parent_beacon_block_root: B256::ZERO,
            withdrawals: Vec::new(),
            transactions: Vec::new(),
        }
    }

    /// Checks the settings against each other.
    ///
    /// # Errors
    /// Returns the first setting that is out of range.
    pub fn check(&self) -> Result<(), InvalidProduction> {
        if self.block_time == 0 {
            return Err(InvalidProduction::BlockTime);
        }
        if self.step < MIN_STEP || self.step > Duration::from_secs(self.block_time) {
            return Err(InvalidProduction::Step { block_time: self.block_time });
        }
        if self.extra_data.len() > MAX_EXTRA_DATA {
            return Err(InvalidProduction::ExtraData(self.extra_data.len()));
        }
        Ok(())
    }
}

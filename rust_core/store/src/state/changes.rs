//! Which values a block wrote: what an unwind removes.

use alloy_primitives::{Address, B256, U256};
use alloy_rlp::{RlpDecodable, RlpEncodable};

use crate::{StoreError, key, snapshot::Snapshot};

/// The keys that a block wrote in the tables of the state.
#[derive(Clone, Debug, Default, PartialEq, Eq, RlpEncodable, RlpDecodable)]
pub(crate) struct StateKeys {
    pub accounts: Vec<AccountKeys>,
    /// Codes that were not stored before.
    pub codes: Vec<B256>,
    /// CRC-32C of the values of the accounts, each with those of its slots behind it. No root says what old values were.
    pub checksum: u32,
}

/// The keys that a block wrote of one account.
#[derive(Clone, Debug, PartialEq, Eq, RlpEncodable, RlpDecodable)]
pub(crate) struct AccountKeys {
    pub address: Address,
    /// The incarnation that the slots belong to.
    pub incarnation: u32,
    /// Whether it began with this block.
    pub renewed: bool,
    pub slots: Vec<U256>,
}

impl Snapshot<'_> {
    /// The keys that a block wrote.
    pub fn state_keys(&self, number: u64) -> Result<StateKeys, StoreError> {
        let table = &self.tables.state_changes;
        let bytes = self.pieces(table, number)?;
        if bytes.is_empty() {
            return Ok(StateKeys::default());
        }
        let damaged = |_| table.damaged(&key::number(number), "the list of changes does not decode");
        alloy_rlp::decode_exact(bytes).map_err(damaged)
    }
}

//! Lists of the values that each block wrote, which an unwind removes.

use alloy_primitives::{Address, B256, U256};
use alloy_rlp::{RlpDecodable, RlpEncodable};

use crate::{error::StoreError, key, read_transaction::ReadTransaction};

/// The keys that a block wrote in the state tables.
#[derive(Clone, Debug, Default, PartialEq, Eq, RlpEncodable, RlpDecodable)]
pub(crate) struct StateKeys {
    pub accounts: Vec<AccountKeys>,
    /// Codes that were not stored before.
    pub codes: Vec<B256>,
    /// CRC-32C of the account values, each followed by the values of its
    /// slots. No state root covers previous values.
    pub checksum: u32,
}

/// The keys that a block wrote for one account.
#[derive(Clone, Debug, PartialEq, Eq, RlpEncodable, RlpDecodable)]
pub(crate) struct AccountKeys {
    pub address: Address,
    /// The incarnation to which the slots belong.
    pub incarnation: u32,
    /// `true` if the incarnation began with this block.
    pub renewed: bool,
    pub slots: Vec<U256>,
}

impl ReadTransaction<'_> {
    /// Returns the keys that a block wrote.
    pub fn state_keys(&self, number: u64) -> Result<StateKeys, StoreError> {
        let table = &self.tables.state_changes;
        let bytes = self.chunks(table, number)?;
        if bytes.is_empty() {
            return Ok(StateKeys::default());
        }
        let damaged = |_| table.damaged(&key::number(number), "the list of changes does not decode");
        alloy_rlp::decode_exact(bytes).map_err(damaged)
    }
}

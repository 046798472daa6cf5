//! Uncles and withdrawals, which few blocks have.

use alloy_consensus::Header;
use alloy_eips::eip4895::Withdrawals;
use alloy_rlp::{RlpDecodable, RlpEncodable};
use foreseal_primitives::Block;

use crate::{error::StoreError, key, read_transaction::ReadTransaction};

#[derive(RlpEncodable)]
struct BodyOut<'a> {
    uncles: &'a Vec<Header>,
    withdrawals: &'a Withdrawals,
}

#[derive(Default, RlpDecodable)]
struct Body {
    uncles: Vec<Header>,
    withdrawals: Withdrawals,
}

/// Encodes the body. Returns `None` if there is nothing to store; the header shows
/// whether withdrawals are absent or empty.
pub(super) fn encode(block: &Block) -> Option<Vec<u8>> {
    let none = Withdrawals::default();
    let withdrawals = block.withdrawals.as_ref().unwrap_or(&none);
    if block.uncles.is_empty() && withdrawals.is_empty() {
        return None;
    }
    Some(alloy_rlp::encode(BodyOut { uncles: &block.uncles, withdrawals }))
}

impl ReadTransaction<'_> {
    /// Returns the uncles and the withdrawals of a block.
    pub fn body(&self, header: &Header) -> Result<(Vec<Header>, Option<Withdrawals>), StoreError> {
        let (table, key) = (&self.tables.bodies, key::number(header.number));
        let body = match table.get(self.txn, &key)? {
            None => Body::default(),
            Some(bytes) => {
                alloy_rlp::decode_exact(bytes).map_err(|_| table.damaged(&key, "the body does not decode"))?
            }
        };
        Ok((body.uncles, header.withdrawals_root.map(|_| body.withdrawals)))
    }
}

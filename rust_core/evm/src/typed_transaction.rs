//! Conversion of a request to a typed transaction.

use alloy_consensus::{TxEip1559, TxEip2930, TxEip4844, TxEip7702, TxLegacy, TxType};
use alloy_primitives::{Address, TxKind};
use foreseal_primitives::Unsigned;

use crate::call::CallRequest;

/// Error: a transaction of this type cannot create a contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a transaction of type 3 or 4 cannot create a contract")]
pub struct NoRecipient;

impl CallRequest {
    /// Builds the transaction of type `kind` with this chain id, nonce and gas limit.
    ///
    /// Without EIP-1559 fees, `gas_price` is both fee and tip. Fees that the request omits are zero; fields that
    /// the type does not have are dropped.
    ///
    /// # Errors
    /// [`NoRecipient`] for types 3 and 4 without a recipient.
    pub fn unsigned(
        &self,
        kind: TxType,
        chain_id: u64,
        nonce: u64,
        gas_limit: u64,
    ) -> Result<Unsigned, NoRecipient> {
        let (value, input) = (self.value, self.input.clone());
        let access_list = self.access_list.clone();
        let gas_price = self.gas_price.unwrap_or(0);
        let max_fee_per_gas = self.max_fee_per_gas.unwrap_or(gas_price);
        let max_priority_fee_per_gas = self.max_priority_fee_per_gas.unwrap_or(gas_price);
        let to = self.to.map_or(TxKind::Create, TxKind::Call);
        Ok(match kind {
            TxType::Legacy => {
                let chain_id = Some(chain_id);
                TxLegacy { chain_id, nonce, gas_price, gas_limit, to, value, input }.into()
            }
            TxType::Eip2930 => {
                TxEip2930 { chain_id, nonce, gas_price, gas_limit, to, value, access_list, input }.into()
            }
            TxType::Eip1559 => TxEip1559 {
                chain_id,
                nonce,
                gas_limit,
                max_fee_per_gas,
                max_priority_fee_per_gas,
                to,
                value,
                access_list,
                input,
            }
            .into(),
            TxType::Eip4844 => TxEip4844 {
                chain_id,
                nonce,
                gas_limit,
                max_fee_per_gas,
                max_priority_fee_per_gas,
                to: self.recipient()?,
                value,
                access_list,
                blob_versioned_hashes: self.blob_hashes.clone(),
                max_fee_per_blob_gas: self.max_fee_per_blob_gas.unwrap_or(0),
                input,
            }
            .into(),
            TxType::Eip7702 => TxEip7702 {
                chain_id,
                nonce,
                gas_limit,
                max_fee_per_gas,
                max_priority_fee_per_gas,
                to: self.recipient()?,
                value,
                access_list,
                authorization_list: self.authorizations.clone(),
                input,
            }
            .into(),
        })
    }

    fn recipient(&self) -> Result<Address, NoRecipient> {
        self.to.ok_or(NoRecipient)
    }
}

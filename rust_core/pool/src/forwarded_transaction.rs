//! Encoding of a submission that another process decoded and checked, and that this process admits.

use std::sync::Arc;

use alloy_primitives::{Address, Bytes};
use foreseal_primitives::Transaction;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use crate::{origin::Origin, submission::decode_form, transaction::CheckedTransaction};

#[derive(Deserialize, Serialize)]
struct ForwardedTransaction {
    sender: Address,
    /// Recovered signers of the authorizations (EIP-7702).
    authorities: Vec<Option<Address>>,
    /// EIP-2718 bytes of the pooled form.
    encoded: Bytes,
}

impl Serialize for CheckedTransaction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let authorities = self.transaction().authorities().to_vec();
        ForwardedTransaction { sender: self.sender(), authorities, encoded: self.encoded() }
            .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for CheckedTransaction {
    /// Trusts the encoded sender and authorities, and does not repeat the checks of the other process.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ForwardedTransaction { sender, authorities, encoded } =
            ForwardedTransaction::deserialize(deserializer)?;
        let (envelope, sidecar) = decode_form(&encoded, Origin::Submitted)
            .map_err(|_| D::Error::custom("a forwarded transaction does not decode"))?;
        let transaction = Transaction::with_authorities(envelope, sender, authorities);
        let transaction =
            transaction.ok_or_else(|| D::Error::custom("a forwarded transaction misses authorities"))?;
        Ok(Self::new(Arc::new(transaction), sidecar, encoded.len()))
    }
}

//! Encoding of a submission that another process decoded and checked, and that this process admits.

use std::sync::Arc;

use alloy_primitives::{Address, Bytes};
use foreseal_primitives::Transaction;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use crate::{CheckedTransaction, origin::Origin, submission::decode_form};

#[derive(Deserialize, Serialize)]
struct ForwardedTransaction {
    sender: Address,
    /// EIP-2718 bytes of the pooled form.
    encoded: Bytes,
}

impl Serialize for CheckedTransaction {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        ForwardedTransaction { sender: self.sender(), encoded: self.encoded() }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for CheckedTransaction {
    /// Trusts the encoded sender, and does not repeat the checks of the other process.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ForwardedTransaction { sender, encoded } = ForwardedTransaction::deserialize(deserializer)?;
        let (envelope, sidecar) = decode_form(&encoded, Origin::Submitted)
            .map_err(|_| D::Error::custom("a forwarded transaction does not decode"))?;
        Ok(Self::new(Arc::new(Transaction::new(envelope, sender)), sidecar, encoded.len()))
    }
}

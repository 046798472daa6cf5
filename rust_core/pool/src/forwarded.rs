//! A submission as bytes: another process decoded and checked it, this one admits it.

use std::sync::Arc;

use alloy_primitives::{Address, Bytes};
use alloy_rlp::{Error, Result};
use foreseal_types::Transaction;

use crate::{
    Submission,
    admission::Origin,
    submission::decode_form,
    wire::{Wire, wire_struct},
};

struct Forwarded {
    sender: Address,
    /// EIP-2718, the pooled form.
    encoded: Bytes,
}

wire_struct!(Forwarded { sender, encoded });

impl Submission {
    /// Appends the bytes that [`Self::decode`] reads.
    pub fn encode(&self, out: &mut Vec<u8>) {
        Forwarded { sender: self.sender(), encoded: self.encoded() }.put(out);
    }

    /// Reads what [`Self::encode`] wrote. The sender is believed, not recovered, and nothing is checked again that was checked
    /// there.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let Forwarded { sender, encoded } = Forwarded::take_all(bytes)?;
        let (envelope, sidecar) = decode_form(&encoded, Origin::Submitted)
            .map_err(|_| Error::Custom("a forwarded transaction does not decode"))?;
        Ok(Self::new(Arc::new(Transaction::new(envelope, sender)), sidecar, encoded.len()))
    }
}

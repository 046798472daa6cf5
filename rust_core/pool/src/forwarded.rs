//! Encoding of a submission that another process decoded and checked, and that this process admits.

use std::sync::Arc;

use alloy_primitives::{Address, Bytes};
use alloy_rlp::{Error, Result};
use foreseal_primitives::Transaction;

use crate::{
    Submission,
    origin::Origin,
    submission::decode_form,
    wire::{Wire, wire_struct},
};

struct Forwarded {
    sender: Address,
    /// EIP-2718 bytes of the pooled form.
    encoded: Bytes,
}

wire_struct!(Forwarded { sender, encoded });

impl Submission {
    /// Appends the encoding that [`Self::decode`] reads.
    pub fn encode(&self, out: &mut Vec<u8>) {
        Forwarded { sender: self.sender(), encoded: self.encoded() }.put(out);
    }

    /// Decodes the output of [`Self::encode`].
    ///
    /// The encoded sender is trusted, not recovered. The checks of the other process are not repeated.
    ///
    /// # Errors
    ///
    /// Returns an error if `bytes` are malformed.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let Forwarded { sender, encoded } = Forwarded::take_all(bytes)?;
        let (envelope, sidecar) = decode_form(&encoded, Origin::Submitted)
            .map_err(|_| Error::Custom("a forwarded transaction does not decode"))?;
        Ok(Self::new(Arc::new(Transaction::new(envelope, sender)), sidecar, encoded.len()))
    }
}

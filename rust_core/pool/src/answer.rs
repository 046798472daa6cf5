//! Encoding of the pool's responses to submissions, for the process that the client is connected to.

use crate::{
    Added, Admission, DropReason, Dropped, PoolError, Status, Waiting,
    wire::{Wire, wire_enum, wire_struct},
};

impl Admission {
    /// Appends the encoding that [`Self::decode`] reads.
    pub fn encode(&self, out: &mut Vec<u8>) {
        self.put(out);
    }

    /// Decodes the output of [`Self::encode`].
    ///
    /// # Errors
    ///
    /// Returns an error if `bytes` are malformed.
    pub fn decode(bytes: &[u8]) -> alloy_rlp::Result<Self> {
        Self::take_all(bytes)
    }
}

impl PoolError {
    /// Appends the encoding that [`Self::decode`] reads.
    pub fn encode(&self, out: &mut Vec<u8>) {
        self.put(out);
    }

    /// Decodes the output of [`Self::encode`] into the same error, with the same message and numbers.
    ///
    /// # Errors
    ///
    /// Returns an error if `bytes` are malformed.
    pub fn decode(bytes: &[u8]) -> alloy_rlp::Result<Self> {
        Self::take_all(bytes)
    }
}

wire_enum!(Admission {
    0 => Added(added),
    1 => WouldWait(waiting),
});

wire_struct!(Added { hash, runnable, replaced, evicted });

wire_struct!(Dropped { hash, reason });

wire_enum!(Status {
    0 => Pooled,
    1 => Queued(waiting),
    2 => Dropped(reason),
    3 => Replaced { by },
    4 => Unknown,
});

wire_enum!(Waiting {
    0 => NonceGap { expected },
    1 => Funds { balance, cost },
    2 => BaseFee { max_fee, base_fee },
    3 => BlobBaseFee { max_fee, blob_base_fee },
    4 => Predecessor { nonce },
});

wire_enum!(DropReason {
    0 => NonceTooLow,
    1 => Evicted,
    2 => SenderFull,
    3 => Refused(reason),
    4 => Requested,
    5 => Rejected(reason),
});

wire_enum!(PoolError {
    0 => AlreadyKnown,
    1 => NonceTooLow { nonce, account_nonce, next_nonce },
    2 => InsufficientFunds { balance, cost },
    3 => ReplacementUnderpriced { offered, pooled },
    4 => TooLarge { size, limit },
    5 => Decode(reason),
    6 => ChainId { have, want },
    7 => Signature,
    8 => TypeNotActive { kind },
    9 => NonceMax,
    10 => TipAboveMaxFee { tip, max_fee },
    11 => InitCodeTooLarge { size, limit },
    12 => IntrinsicGas { have, want },
    13 => FloorGas { have, want },
    14 => GasCap { have, cap },
    15 => BlockGasLimit { have, limit },
    16 => EmptyAuthorizationList,
    17 => NoBlobs,
    18 => TooManyBlobs { have, limit },
    19 => MissingSidecar,
    20 => SidecarVersion { want },
    21 => Sidecar(reason),
    22 => SenderHasCode,
    23 => SenderFull { limit },
    24 => PoolFull { limit },
    25 => State(error),
});

//! The EIP-712 message that the sequencer signs for a step.

use std::sync::LazyLock;

use alloy_consensus::crypto::secp256k1::recover_signer;
use alloy_primitives::{Address, B256, Signature, U256};

use crate::flashblock::{Flashblock, StepSignature};
use foreseal_keccak::keccak;

const DOMAIN_TYPE: &[u8] = b"EIP712Domain(string name,string version,uint256 chainId)";
const NAME: &[u8] = b"Foreseal";
const VERSION: &[u8] = b"1";
const FLASHBLOCK_TYPE: &[u8] =
    b"Flashblock(uint64 number,uint64 index,bytes32 hash,bytes32 previous,uint64 time)";

static FLASHBLOCK_TYPE_HASH: LazyLock<B256> = LazyLock::new(|| keccak(FLASHBLOCK_TYPE));

/// A step without its content, to which the hash commits. Its signature is a pre-confirmation: the block with
/// this number will contain, in this order, the transactions of this step and of the steps before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlashblockCommitment {
    pub number: u64,
    pub index: u64,
    /// Hash of the step's header.
    pub hash: B256,
    /// Hash of the previous step; the parent block's hash at index 0.
    pub previous: B256,
    /// See [`Flashblock::time`].
    pub time: u64,
}

/// The EIP-712 domain separator of a chain: name `Foreseal`, version `1`, the chain id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitmentDomain(B256);

impl CommitmentDomain {
    /// Returns the domain separator of the chain with this id.
    pub fn new(chain_id: u64) -> Self {
        Self(keccak(&[keccak(DOMAIN_TYPE), keccak(NAME), keccak(VERSION), encode_word(chain_id)].concat()))
    }
}

impl From<&Flashblock> for FlashblockCommitment {
    fn from(step: &Flashblock) -> Self {
        let Flashblock { number, index, hash, previous, time, .. } = *step;
        Self { number, index, hash, previous, time }
    }
}

impl FlashblockCommitment {
    /// Returns the hash that is signed: keccak-256 of 0x19, 0x01, the domain separator and the struct hash.
    pub fn digest(&self, domain: CommitmentDomain) -> B256 {
        let Self { number, index, hash, previous, time } = *self;
        let fields = [
            *FLASHBLOCK_TYPE_HASH,
            encode_word(number),
            encode_word(index),
            hash,
            previous,
            encode_word(time),
        ];
        let message = keccak(&fields.concat());
        keccak(&[&[0x19, 0x01], domain.0.as_slice(), message.as_slice()].concat())
    }

    /// Recovers the signer. Returns `None` for an invalid signature and for the unused forms (high s, or v
    /// other than 27 and 28). Every other wrong signature recovers some other address.
    pub fn signer(&self, domain: CommitmentDomain, signature: &StepSignature) -> Option<Address> {
        let odd = match signature[64] {
            27 => false,
            28 => true,
            _ => return None,
        };
        let (r, s) = (U256::from_be_slice(&signature[..32]), U256::from_be_slice(&signature[32..64]));
        recover_signer(&Signature::new(r, s, odd), self.digest(domain)).ok()
    }
}

fn encode_word(value: u64) -> B256 {
    B256::from(U256::from(value))
}

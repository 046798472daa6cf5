//! The fees of an OP chain besides gas: for data on L1 and for the operator (OP specification, Fjord, Isthmus and
//! Jovian).

use alloy_primitives::{Address, U256, address};
use serde::{Deserialize, Serialize};

use crate::{diff::StateDiff, optimism::OptimismFork, transaction::Transaction};

/// The L1Block contract, in whose storage the first deposit of a block writes the attributes of L1.
pub const L1_ATTRIBUTES_CONTRACT: Address = address!("4200000000000000000000000000000000000015");

/// Storage slots of [`L1_ATTRIBUTES_CONTRACT`] that hold fees.
const BASE_FEE_SLOT: u64 = 1;
const SCALARS_SLOT: u64 = 3;
const BLOB_BASE_FEE_SLOT: u64 = 7;
const OPERATOR_SLOT: u64 = 8;

/// Gas of a byte of calldata on L1 that is not zero.
const BYTE_GAS: u64 = 16;
/// Scale of a [data size](Transaction::data_size) times a [data price](L1Fees::data_price).
pub const DATA_FEE_SCALE: u64 = 1_000_000_000_000;
/// Scale of the operator fee before Jovian.
const OPERATOR_SCALE: u64 = 1_000_000;
/// Factor of the operator fee from Jovian on.
const OPERATOR_FACTOR: u64 = 100;

/// The fee parameters of L1 in one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct L1Fees {
    /// Base fee of L1 in wei per gas.
    pub base_fee: U256,
    /// Blob base fee of L1 in wei per blob gas.
    pub blob_base_fee: U256,
    /// Factor of `base_fee`, in millionths.
    pub base_fee_scalar: u32,
    /// Factor of `blob_base_fee`, in millionths.
    pub blob_base_fee_scalar: u32,
    pub operator: OperatorFee,
    /// Gas per byte of data (Jovian); zero before.
    pub footprint_scalar: Option<u16>,
}

/// The fee of the operator for the gas of a transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct OperatorFee {
    /// Factor of the gas, with the scale of `fork`.
    pub scalar: u32,
    /// Wei per transaction.
    pub constant: u64,
    is_jovian: bool,
}

impl OperatorFee {
    /// No fee.
    pub const ZERO: Self = Self { scalar: 0, constant: 0, is_jovian: false };

    /// Returns the fee in wei for an amount of gas.
    pub fn of_gas(self, gas: u64) -> U256 {
        let product = U256::from(gas) * U256::from(self.scalar);
        let variable = if self.is_jovian {
            product * U256::from(OPERATOR_FACTOR)
        } else {
            product / U256::from(OPERATOR_SCALE)
        };
        variable + U256::from(self.constant)
    }
}

impl L1Fees {
    /// Reads the parameters from the storage of [`L1_ATTRIBUTES_CONTRACT`] with `slot`.
    ///
    /// # Errors
    /// Returns the errors of `slot`.
    pub fn read<E>(fork: OptimismFork, mut slot: impl FnMut(U256) -> Result<U256, E>) -> Result<Self, E> {
        let is_jovian = fork >= OptimismFork::Jovian;
        let mut fees = Self {
            base_fee: U256::ZERO,
            blob_base_fee: U256::ZERO,
            base_fee_scalar: 0,
            blob_base_fee_scalar: 0,
            operator: OperatorFee { is_jovian, ..OperatorFee::default() },
            footprint_scalar: is_jovian.then_some(0),
        };
        for index in [BASE_FEE_SLOT, SCALARS_SLOT, BLOB_BASE_FEE_SLOT, OPERATOR_SLOT] {
            let index = U256::from(index);
            fees.set_slot(index, slot(index)?);
        }
        Ok(fees)
    }

    /// Returns the parameters after the changes of a step.
    #[must_use]
    pub fn after(mut self, diff: &StateDiff) -> Self {
        let index = diff.accounts.binary_search_by_key(&L1_ATTRIBUTES_CONTRACT, |changed| changed.address);
        if let Ok(at) = index {
            for (slot, word) in &diff.accounts[at].diff.storage {
                self.set_slot(*slot, *word);
            }
        }
        self
    }

    /// Sets the parameters that a storage slot of [`L1_ATTRIBUTES_CONTRACT`] holds, if it holds any.
    fn set_slot(&mut self, slot: U256, word: U256) {
        let bytes = word.to_be_bytes::<32>();
        match u64::try_from(slot) {
            Ok(BASE_FEE_SLOT) => self.base_fee = word,
            Ok(BLOB_BASE_FEE_SLOT) => self.blob_base_fee = word,
            Ok(SCALARS_SLOT) => {
                self.base_fee_scalar = number(&bytes[16..20]);
                self.blob_base_fee_scalar = number(&bytes[20..24]);
            }
            Ok(OPERATOR_SLOT) => {
                self.operator.scalar = number(&bytes[20..24]);
                self.operator.constant = u64::from_be_bytes(std::array::from_fn(|index| bytes[24 + index]));
                let footprint = u16::from_be_bytes([bytes[18], bytes[19]]);
                self.footprint_scalar = self.operator.is_jovian.then_some(footprint);
            }
            _ => {}
        }
    }

    /// Reads the parameters from the input of the first deposit of a block, which has them in packed form since
    /// Ecotone. Returns `None` for another input.
    pub fn from_attributes(fork: OptimismFork, input: &[u8]) -> Option<Self> {
        let is_jovian = fork >= OptimismFork::Jovian;
        let bytes = |at: usize, length: usize| input.get(at..at + length);
        let constant = bytes(168, 8)?.try_into().ok()?;
        let footprint =
            if is_jovian { Some(u16::from_be_bytes(bytes(176, 2)?.try_into().ok()?)) } else { None };
        Some(Self {
            base_fee: U256::from_be_slice(bytes(36, 32)?),
            blob_base_fee: U256::from_be_slice(bytes(68, 32)?),
            base_fee_scalar: number(bytes(4, 4)?),
            blob_base_fee_scalar: number(bytes(8, 4)?),
            operator: OperatorFee {
                scalar: number(bytes(164, 4)?),
                constant: u64::from_be_bytes(constant),
                is_jovian,
            },
            footprint_scalar: footprint,
        })
    }

    /// Returns the price of data on L1, in wei per byte, scaled by 10^6.
    pub fn data_price(&self) -> U256 {
        let calldata = self
            .base_fee
            .saturating_mul(U256::from(BYTE_GAS))
            .saturating_mul(U256::from(self.base_fee_scalar));
        calldata.saturating_add(self.blob_base_fee.saturating_mul(U256::from(self.blob_base_fee_scalar)))
    }

    /// Returns the fee in wei for the data of a transaction.
    pub fn data_fee(&self, transaction: &Transaction) -> U256 {
        U256::from(transaction.data_size()).saturating_mul(self.data_price()) / U256::from(DATA_FEE_SCALE)
    }

    /// Returns the gas of L1 that the data of a transaction takes, as receipts report it.
    pub fn data_gas(&self, transaction: &Transaction) -> u64 {
        transaction.data_size() * BYTE_GAS / 1_000_000
    }

    /// Returns the part of the block's gas limit that the data of a transaction takes (Jovian); zero before.
    pub fn footprint(&self, transaction: &Transaction) -> u64 {
        transaction.data_size() / 1_000_000 * u64::from(self.footprint_scalar.unwrap_or(0))
    }
}

fn number(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |value, byte| value << 8 | u32::from(*byte))
}

//! The precompiled contracts of OP chains: one more, and limits of their inputs (OP specification, Fjord, Granite,
//! Isthmus, Jovian and Karst).

use std::sync::LazyLock;

use alloy_primitives::Address;
use foreseal_primitives::OptimismFork;
use revm::precompile::{
    Precompiles,
    bls12_381_const::{G1_MSM_ADDRESS, G2_MSM_ADDRESS, PAIRING_ADDRESS},
    bn254,
    secp256r1::P256VERIFY,
};

/// The longest input, in bytes, of a precompiled contract. With a longer one the call fails and takes its gas.
pub(crate) type InputLimit = (Address, usize);

static ISTHMUS: [InputLimit; 4] = [
    (bn254::pair::ADDRESS, 112_687),
    (G1_MSM_ADDRESS, 513_760),
    (G2_MSM_ADDRESS, 488_448),
    (PAIRING_ADDRESS, 235_008),
];
static JOVIAN: [InputLimit; 4] = [
    (bn254::pair::ADDRESS, 81_984),
    (G1_MSM_ADDRESS, 288_960),
    (G2_MSM_ADDRESS, 278_784),
    (PAIRING_ADDRESS, 156_672),
];
static KARST: [InputLimit; 4] = [
    (bn254::pair::ADDRESS, 57_600),
    (G1_MSM_ADDRESS, 288_960),
    (G2_MSM_ADDRESS, 278_784),
    (PAIRING_ADDRESS, 156_672),
];

/// The contracts of Prague and P256VERIFY at the price of Fjord.
static BEFORE_KARST: LazyLock<Precompiles> = LazyLock::new(|| {
    let mut precompiles = Precompiles::prague().clone();
    precompiles.extend([P256VERIFY]);
    precompiles
});

/// Returns the precompiled contracts under the rules of `fork`.
pub(crate) fn optimism_precompiles(fork: OptimismFork) -> &'static Precompiles {
    match fork {
        OptimismFork::Isthmus | OptimismFork::Jovian => &BEFORE_KARST,
        OptimismFork::Karst => Precompiles::osaka(),
    }
}

/// Returns the limits of inputs under the rules of `fork`.
pub(crate) fn input_limits(fork: OptimismFork) -> &'static [InputLimit] {
    match fork {
        OptimismFork::Isthmus => &ISTHMUS,
        OptimismFork::Jovian => &JOVIAN,
        OptimismFork::Karst => &KARST,
    }
}

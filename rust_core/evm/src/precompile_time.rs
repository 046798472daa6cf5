//! Estimated times of calls of precompiled contracts.
//!
//! The rates are about twice the times that calls of revm's contracts took on one core of a shared x86-64 server with
//! AVX2 (November 2026, revm 43.0.3, the shortest of nine rounds): 12 ns per gas for ECRECOVER, 9 for ECMUL, 14 for
//! ECPAIRING, 10 for a round of BLAKE2F, 16 to 20 for multi-scalar multiplications, 1.2 ms for a point evaluation,
//! 65 us for P256VERIFY. So an estimate holds on a slower machine and next to other load. The inputs are valid ones:
//! an invalid input ends sooner.

use std::time::Duration;

use alloy_primitives::{Address, U256};
use revm::precompile::{
    bls12_381_const::{
        DISCOUNT_TABLE_G1_MSM, DISCOUNT_TABLE_G2_MSM, G1_MSM_BASE_GAS_FEE, G1_MSM_INPUT_LENGTH,
        G2_MSM_BASE_GAS_FEE, G2_MSM_INPUT_LENGTH, PAIRING_INPUT_LENGTH, PAIRING_MULTIPLIER_BASE,
    },
    bls12_381_utils::msm_required_gas,
    bn254::PAIR_ELEMENT_LEN,
};

/// Time of any call, for its input and output.
const CALL: u64 = 500;
/// Nanoseconds per gas of a multi-scalar multiplication on BLS12-381.
const MSM_RATE: u64 = 40;
/// Length of the three lengths that begin an input of MODEXP.
const MODEXP_HEADER: usize = 96;

/// Work of a call.
struct Work {
    nanoseconds: u64,
    /// Gas that a call with this input needs at least, under the rules of any fork; without it nothing is computed.
    least_gas: u64,
}

/// Returns the time that a call of the precompiled contract at this address may take; zero if `gas` does not pay for
/// it, or if no precompiled contract has this address.
pub(crate) fn precompile_time(original_address: &Address, input: &[u8], gas: u64) -> Duration {
    let Some(number) = contract_number(original_address) else { return Duration::ZERO };
    let Some(Work { nanoseconds, least_gas }) = work(number, input) else { return Duration::ZERO };
    if gas < least_gas { Duration::ZERO } else { Duration::from_nanos(nanoseconds.saturating_add(CALL)) }
}

/// Returns the number that is the address of a precompiled contract.
fn contract_number(address: &Address) -> Option<u64> {
    let (zeros, number) = address.as_slice().split_last_chunk::<8>()?;
    zeros.iter().all(|byte| *byte == 0).then(|| u64::from_be_bytes(*number))
}

fn work(number: u64, input: &[u8]) -> Option<Work> {
    let length = input.len() as u64;
    let (nanoseconds, least_gas) = match number {
        // ECRECOVER
        0x01 => (80_000, 3_000),
        // SHA256, without instructions of the processor for it
        0x02 => (length.saturating_mul(4), length.div_ceil(32).saturating_mul(12)),
        // RIPEMD160
        0x03 => (length.saturating_mul(8), length.div_ceil(32).saturating_mul(120)),
        // IDENTITY
        0x04 => (length.div_ceil(4), length.div_ceil(32).saturating_mul(3)),
        0x05 => return Some(modexp(input)),
        // ECADD
        0x06 => (5_000, 150),
        // ECMUL
        0x07 => (120_000, 6_000),
        0x08 => {
            let pairs = length / PAIR_ELEMENT_LEN as u64;
            (pairs.saturating_mul(1_000_000).saturating_add(1_200_000), pairs.saturating_mul(34_000))
        }
        0x09 => {
            let rounds = input.first_chunk().map_or(0, |rounds| u64::from(u32::from_be_bytes(*rounds)));
            (rounds.saturating_mul(20), rounds)
        }
        // KZG_POINT_EVALUATION
        0x0a => (2_500_000, 50_000),
        // BLS12_G1ADD
        0x0b => (10_000, 375),
        0x0c => {
            let points = input.len() / G1_MSM_INPUT_LENGTH;
            let gas = msm_required_gas(points, &DISCOUNT_TABLE_G1_MSM, G1_MSM_BASE_GAS_FEE);
            (gas.saturating_mul(MSM_RATE), gas)
        }
        // BLS12_G2ADD
        0x0d => (20_000, 600),
        0x0e => {
            let points = input.len() / G2_MSM_INPUT_LENGTH;
            let gas = msm_required_gas(points, &DISCOUNT_TABLE_G2_MSM, G2_MSM_BASE_GAS_FEE);
            (gas.saturating_mul(MSM_RATE), gas)
        }
        0x0f => {
            let pairs = length / PAIRING_INPUT_LENGTH as u64;
            let gas = pairs.saturating_mul(PAIRING_MULTIPLIER_BASE);
            (pairs.saturating_mul(700_000).saturating_add(1_000_000), gas)
        }
        // BLS12_MAP_FP_TO_G1 and BLS12_MAP_FP2_TO_G2
        0x10 => (110_000, 5_500),
        0x11 => (400_000, 23_800),
        // P256VERIFY
        0x0100 => (150_000, 3_450),
        _ => return None,
    };
    Some(Work { nanoseconds, least_gas })
}

/// MODEXP: a square, and at most one multiplication, for each bit of the exponent.
fn modexp(input: &[u8]) -> Work {
    let length = |index: usize| {
        let mut bytes = [0; 32];
        let given = input.get(index * 32..).unwrap_or_default();
        let given = &given[..given.len().min(32)];
        bytes[..given.len()].copy_from_slice(given);
        U256::from_be_bytes(bytes).saturating_to::<u64>()
    };
    let (base, exponent, modulus) = (length(0), length(1), length(2));
    let bits = exponent_bits(input.get(MODEXP_HEADER..).unwrap_or_default(), base, exponent);
    let words = modulus.div_ceil(8).max(1);
    let square = words.saturating_mul(words);
    let bit = square.saturating_mul(16).saturating_add(words.saturating_mul(25)).saturating_add(100);
    // The base is reduced once.
    let reduction = base.div_ceil(8).saturating_mul(words).saturating_mul(16);
    let nanoseconds = bits.saturating_mul(bit).saturating_add(reduction).saturating_add(8_000);
    // EIP-2565 is the cheapest price, except of one and two bytes: there EIP-198 is.
    let divisor = if base.max(modulus) <= 2 { 20 } else { 3 };
    let widest = base.div_ceil(8).max(words);
    let least_gas = bits.saturating_sub(1).saturating_mul(widest.saturating_mul(widest)) / divisor;
    Work { nanoseconds, least_gas }
}

/// Returns the position of the highest bit of the exponent that may be set. Reads its first 32 bytes only.
fn exponent_bits(operands: &[u8], base: u64, exponent: u64) -> u64 {
    let start = usize::try_from(base).unwrap_or(usize::MAX);
    let head = usize::try_from(exponent.min(32)).unwrap_or(32);
    // Absent bytes are zeros.
    let given = operands.get(start..).unwrap_or_default();
    let given = &given[..given.len().min(head)];
    let zeros = given.iter().take_while(|byte| **byte == 0).count();
    match given.get(zeros) {
        Some(first) => (exponent - zeros as u64).saturating_mul(8) - u64::from(first.leading_zeros()),
        None => exponent.saturating_sub(32).saturating_mul(8),
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::address;
    use revm::precompile::{PrecompileSpecId, Precompiles, u64_to_address};

    use super::*;
    use crate::precompiles::install_arithmetic;

    fn modexp_input(lengths: [u64; 3], exponent: &[u8]) -> Vec<u8> {
        let header = lengths.map(|length| U256::from(length).to_be_bytes::<32>());
        let base = vec![0xff; usize::try_from(lengths[0]).unwrap_or(0)];
        [header.as_flattened(), &base, exponent].concat()
    }

    #[test]
    fn every_contract_of_the_newest_fork_has_a_time() {
        let contracts = Precompiles::new(PrecompileSpecId::NEXT);
        for address in contracts.addresses() {
            assert!(precompile_time(address, &[0xff; 384], u64::MAX) > Duration::ZERO, "{address}");
        }
    }

    #[test]
    fn other_addresses_take_no_time() {
        let other = address!("0100000000000000000000000000000000000001");
        assert_eq!(precompile_time(&other, &[], u64::MAX), Duration::ZERO);
        assert_eq!(precompile_time(&u64_to_address(0x12), &[], u64::MAX), Duration::ZERO);
    }

    #[test]
    fn a_call_that_cannot_pay_takes_no_time() {
        let rounds = 16_000_000_u32.to_be_bytes();
        assert_eq!(precompile_time(&u64_to_address(9), &rounds, 15_999_999), Duration::ZERO);
        assert!(precompile_time(&u64_to_address(9), &rounds, 16_000_000) > Duration::from_millis(100));
        assert_eq!(precompile_time(&u64_to_address(9), &[], 0), Duration::from_nanos(CALL));
    }

    #[test]
    fn times_grow_with_the_number_of_points() {
        for (number, size) in [(8_u64, 192), (0x0c, 160), (0x0e, 288), (0x0f, 384)] {
            let time =
                |points: usize| precompile_time(&u64_to_address(number), &vec![0; size * points], u64::MAX);
            assert!(time(200) > 10 * time(4), "{number}");
        }
    }

    #[test]
    fn modexp_counts_the_bits_of_the_exponent() {
        assert_eq!(exponent_bits(&[], 0, 0), 0);
        assert_eq!(exponent_bits(&[0xaa, 0, 1], 1, 2), 1);
        assert_eq!(exponent_bits(&[0xaa, 0x80, 1], 1, 2), 16);
        // Absent bytes are zeros on the right.
        assert_eq!(exponent_bits(&[0x01], 0, 4), 25);
        assert_eq!(exponent_bits(&[0; 40], 0, 40), 64);
        assert_eq!(exponent_bits(&[], u64::MAX, u64::MAX), (u64::MAX - 32).saturating_mul(8));
    }

    #[test]
    fn modexp_time_follows_the_sizes() {
        let time = |input: &[u8], gas| precompile_time(&u64_to_address(5), input, gas);
        let small = time(&modexp_input([32, 32, 32], &[0xff; 32]), u64::MAX);
        let large = time(&modexp_input([1024, 32, 1024], &[0xff; 32]), u64::MAX);
        assert!(large > 100 * small);
        let huge = modexp_input([0, u64::MAX, u64::MAX], &[0xff; 32]);
        assert!(time(&huge, u64::MAX) > Duration::from_secs(1_000_000));
        assert_eq!(time(&huge, 400_000_000), Duration::ZERO);
    }

    /// No fork sells a call for less gas than the estimate assumes: a call with time zero is never computed.
    #[test]
    fn modexp_never_costs_less_than_assumed() {
        install_arithmetic();
        let specs = [PrecompileSpecId::BYZANTIUM, PrecompileSpecId::BERLIN, PrecompileSpecId::OSAKA];
        for length in [1_u64, 2, 3, 7, 8, 9, 33, 64, 65, 300, 1024] {
            for exponent in [1_usize, 4, 31, 32, 33, 80] {
                for first in [0, 1, 0xff] {
                    let input = modexp_input([length, exponent as u64, length], &vec![first; exponent]);
                    let Work { least_gas, .. } = modexp(&input);
                    for spec in specs {
                        let contract = Precompiles::new(spec).get(&u64_to_address(5)).expect("a contract");
                        let output = contract.execute(&input, u64::MAX, 0).expect("no fatal error");
                        assert!(output.gas_used >= least_gas, "{length} {exponent} {first} {spec:?}");
                    }
                }
            }
        }
    }
}

//! Arithmetic of the precompiled contracts where it differs from revm's default.
//!
//! P256VERIFY uses aws-lc by a feature of revm, which needs nothing but a C compiler to build.

use alloy_primitives::U256;
use ark_bn254::{Fq, Fr, G1Affine, g1::Config};
use ark_ec::{AffineRepr, scalar_mul::glv::GLVConfig};
use ark_ff::{AdditiveGroup, BigInt, Field, PrimeField, Zero};
use revm::precompile::{Crypto, PrecompileHalt, kzg_point_evaluation::blst::verify_kzg_proof};

/// Length of a coordinate or scalar in bytes.
const COORDINATE_SIZE: usize = 32;

/// revm's arithmetic, except for the point evaluation of EIP-4844 and two contracts of BN254.
///
/// * At the first point evaluation, revm would load the trusted setup with tables that only speed up the making of
///   proofs. That takes seconds. Verification needs only one point of the setup.
/// * ECADD adds affine points: their only inversion is Lehmer's, which takes half the time of the binary one.
/// * ECMUL splits the scalar by the endomorphism of the curve (GLV).
#[derive(Debug)]
pub(crate) struct Arithmetic;

impl Crypto for Arithmetic {
    fn verify_kzg_proof(
        &self,
        z: &[u8; 32],
        y: &[u8; 32],
        commitment: &[u8; 48],
        proof: &[u8; 48],
    ) -> Result<(), PrecompileHalt> {
        if verify_kzg_proof(commitment, z, y, proof) {
            Ok(())
        } else {
            Err(PrecompileHalt::BlobVerifyKzgProofFailed)
        }
    }

    fn bn254_g1_add(&self, p1: &[u8], p2: &[u8]) -> Result<[u8; 64], PrecompileHalt> {
        Ok(encode(sum(decode(p1)?, decode(p2)?)))
    }

    fn bn254_g1_mul(&self, point: &[u8], scalar: &[u8]) -> Result<[u8; 64], PrecompileHalt> {
        let point = decode(point)?;
        Ok(encode(<Config as GLVConfig>::glv_mul_affine(point, Fr::from_be_bytes_mod_order(scalar))))
    }
}

/// Decodes a point of BN254 and checks that it is on the curve. Two zeros are the point at infinity.
fn decode(bytes: &[u8]) -> Result<G1Affine, PrecompileHalt> {
    let coordinate = |bytes: Option<&[u8; COORDINATE_SIZE]>| {
        let limbs = U256::from_be_bytes(bytes.copied().unwrap_or_default()).into_limbs();
        Fq::from_bigint(BigInt(limbs)).ok_or(PrecompileHalt::Bn254FieldPointNotAMember)
    };
    let (x, rest) = bytes.split_first_chunk().unzip();
    let (x, y) = (coordinate(x)?, coordinate(rest.and_then(<[u8]>::first_chunk))?);
    if x.is_zero() && y.is_zero() {
        return Ok(G1Affine::zero());
    }
    let point = G1Affine::new_unchecked(x, y);
    // The cofactor is one: every point of the curve is in the group.
    if point.is_on_curve() { Ok(point) } else { Err(PrecompileHalt::Bn254AffineGFailedToCreate) }
}

fn encode(point: G1Affine) -> [u8; 2 * COORDINATE_SIZE] {
    let mut output = [0; 2 * COORDINATE_SIZE];
    if let Some((x, y)) = point.xy() {
        let (first, second) = output.split_at_mut(COORDINATE_SIZE);
        first.copy_from_slice(&U256::from_limbs(x.into_bigint().0).to_be_bytes::<COORDINATE_SIZE>());
        second.copy_from_slice(&U256::from_limbs(y.into_bigint().0).to_be_bytes::<COORDINATE_SIZE>());
    }
    output
}

/// Returns the sum of two points of the curve.
fn sum(first: G1Affine, second: G1Affine) -> G1Affine {
    let (Some((x1, y1)), Some((x2, y2))) = (first.xy(), second.xy()) else {
        return if first.is_zero() { second } else { first };
    };
    let (rise, run) = if x1 != x2 {
        (y2 - y1, x2 - x1)
    } else if y1 == y2 {
        let square = x1.square();
        (square.double() + square, y1.double())
    } else {
        return G1Affine::zero();
    };
    // No point of this curve has an ordinate of zero, so the run has an inverse.
    let Some(inverse) = inverse(run) else { return G1Affine::zero() };
    let slope = rise * inverse;
    let x = slope.square() - x1 - x2;
    G1Affine::new_unchecked(x, slope * (x1 - x) - y1)
}

/// Returns the inverse of a field element; `None` for zero.
fn inverse(element: Fq) -> Option<Fq> {
    let value = U256::from_limbs(element.into_bigint().0);
    let inverse = value.inv_mod(U256::from_limbs(Fq::MODULUS.0))?;
    Fq::from_bigint(BigInt(inverse.into_limbs()))
}

#[cfg(test)]
mod tests;

//! Compares the arithmetic with the libraries that it replaces, on random and extreme inputs.
//!
//! `make arithmetic` runs a million cases of each.

use ark_bn254::G1Projective;
use ark_ec::{CurveGroup, PrimeGroup};
use p256::{
    EncodedPoint,
    ecdsa::{
        Signature, SigningKey, VerifyingKey,
        signature::hazmat::{PrehashSigner, PrehashVerifier},
    },
};
use proptest::prelude::*;
use revm::precompile::DefaultCrypto;

use super::*;

type Bytes32 = [u8; COORDINATE_SIZE];

/// Order of the group of P-256.
const P256_ORDER: U256 = U256::from_limbs([
    0xf3b9_cac2_fc63_2551,
    0xbce6_faad_a717_9e84,
    0xffff_ffff_ffff_ffff,
    0xffff_ffff_0000_0000,
]);
/// Characteristic of the field of P-256.
const P256_FIELD: U256 =
    U256::from_limbs([0xffff_ffff_ffff_ffff, 0x0000_0000_ffff_ffff, 0, 0xffff_ffff_0000_0001]);

fn be_bytes(value: U256) -> Bytes32 {
    value.to_be_bytes()
}

/// A scalar around the limits of a group, or a random one.
fn scalar(order: U256) -> impl Strategy<Value = U256> {
    let extremes = vec![
        U256::ZERO,
        U256::ONE,
        U256::from(2),
        order - U256::ONE,
        order,
        order + U256::ONE,
        order >> 1,
        (order >> 1) + U256::ONE,
        U256::MAX,
        U256::ONE << 255,
        U256::MAX >> 128,
    ];
    prop_oneof![
        4 => any::<Bytes32>().prop_map(U256::from_be_bytes),
        1 => prop::sample::select(extremes),
        1 => any::<u64>().prop_map(U256::from),
    ]
}

fn bn254_order() -> U256 {
    U256::from_limbs(Fr::MODULUS.0)
}

/// An encoding of a point of BN254: mostly one of the curve, also infinity, non-canonical ones and others.
fn point() -> impl Strategy<Value = [u8; 64]> {
    (scalar(bn254_order()), any::<[u8; 64]>(), 0..16_u8).prop_map(|(scalar, random, kind)| {
        let scalar = Fr::from_be_bytes_mod_order(&be_bytes(scalar));
        let mut bytes = encode((G1Projective::generator() * scalar).into_affine());
        let field = U256::from_limbs(Fq::MODULUS.0);
        let (x, y) = bytes.split_at_mut(COORDINATE_SIZE);
        let add_field = |bytes: &mut [u8]| {
            let value = U256::from_be_slice(bytes).wrapping_add(field);
            bytes.copy_from_slice(&be_bytes(value));
        };
        match kind {
            0 => return random,
            1 => add_field(x),
            2 => add_field(y),
            3 => x.copy_from_slice(&be_bytes(field)),
            4 => y.copy_from_slice(&[0; COORDINATE_SIZE]),
            5 => bytes[usize::from(random[0] % 64)] ^= 1 << (random[1] % 8),
            _ => {}
        }
        bytes
    })
}

/// Returns the encoding with the negated ordinate, unless it is not canonical.
fn negated(mut bytes: [u8; 64]) -> [u8; 64] {
    let field = U256::from_limbs(Fq::MODULUS.0);
    let y = U256::from_be_slice(&bytes[COORDINATE_SIZE..]);
    if y < field && !y.is_zero() {
        bytes[COORDINATE_SIZE..].copy_from_slice(&be_bytes(field - y));
    }
    bytes
}

/// Result of the pure Rust implementation that aws-lc replaces.
fn is_valid_p256(hash: &Bytes32, signature: &[u8; 64], key: &[u8; 64]) -> bool {
    let Ok(signature) = Signature::from_slice(signature) else { return false };
    let point = EncodedPoint::from_untagged_bytes(&(*key).into());
    let Ok(key) = VerifyingKey::from_encoded_point(&point) else { return false };
    key.verify_prehash(hash, &signature).is_ok()
}

/// A valid signature of `hash` and its key; `None` if the secret is out of range.
fn signed(secret: U256, hash: &Bytes32) -> Option<([u8; 64], [u8; 64])> {
    let key = SigningKey::from_slice(&be_bytes(secret)).ok()?;
    let signature: Signature = key.sign_prehash(hash).ok()?;
    let point = key.verifying_key().to_encoded_point(false);
    Some((signature.to_bytes().into(), point.as_bytes()[1..].try_into().ok()?))
}

proptest! {
    #[test]
    fn bn254_addition_agrees(first in point(), other in point(), relation in 0..4_u8) {
        let second = match relation {
            0 => first,
            1 => negated(first),
            _ => other,
        };
        prop_assert_eq!(
            Arithmetic.bn254_g1_add(&first, &second),
            DefaultCrypto.bn254_g1_add(&first, &second)
        );
    }

    #[test]
    fn bn254_multiplication_agrees(point in point(), scalar in scalar(bn254_order())) {
        let scalar = be_bytes(scalar);
        prop_assert_eq!(
            Arithmetic.bn254_g1_mul(&point, &scalar),
            DefaultCrypto.bn254_g1_mul(&point, &scalar)
        );
    }

    #[test]
    fn p256_verification_agrees(
        secret in scalar(P256_ORDER),
        hash in scalar(P256_ORDER),
        extreme in scalar(P256_ORDER),
        random in any::<[u8; 64]>(),
        kind in 0..16_u8,
    ) {
        let hash = be_bytes(hash);
        let (mut signature, mut key) = signed(secret, &hash).unwrap_or((random, random));
        match kind {
            0 => signature[..COORDINATE_SIZE].copy_from_slice(&be_bytes(extreme)),
            1 => signature[COORDINATE_SIZE..].copy_from_slice(&be_bytes(extreme)),
            2 => signature = random,
            3 => key = random,
            4 => key = [0; 64],
            5 => key[..COORDINATE_SIZE].copy_from_slice(&be_bytes(P256_FIELD)),
            6 => {
                let x = U256::from_be_slice(&key[..COORDINATE_SIZE]).wrapping_add(P256_FIELD);
                key[..COORDINATE_SIZE].copy_from_slice(&be_bytes(x));
            }
            7 => signature[usize::from(random[0] % 64)] ^= 1 << (random[1] % 8),
            8 => key[usize::from(random[0] % 64)] ^= 1 << (random[1] % 8),
            // The other signature of the pair, with a high or low `s`.
            9..12 => {
                let s = P256_ORDER.wrapping_sub(U256::from_be_slice(&signature[COORDINATE_SIZE..]));
                signature[COORDINATE_SIZE..].copy_from_slice(&be_bytes(s));
            }
            _ => {}
        }
        let expected = is_valid_p256(&hash, &signature, &key);
        prop_assert_eq!(Arithmetic.secp256r1_verify_signature(&hash, &signature, &key), expected);
    }
}

#[test]
fn a_valid_p256_signature_is_accepted() {
    let hash = [9; COORDINATE_SIZE];
    let (signature, key) = signed(U256::from(7), &hash).unwrap();
    assert!(Arithmetic.secp256r1_verify_signature(&hash, &signature, &key));
    assert!(!Arithmetic.secp256r1_verify_signature(&[8; COORDINATE_SIZE], &signature, &key));
}

#[test]
fn an_inverse_times_its_element_is_one() {
    for element in [Fq::ONE, -Fq::ONE, Fq::from(2_u64), Fq::from(u64::MAX)] {
        assert_eq!(inverse(element).map(|inverse| inverse * element), Some(Fq::ONE));
    }
    assert_eq!(inverse(Fq::ZERO), None);
}

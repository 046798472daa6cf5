//! Keccak-f[1600] (FIPS 202, section 3.3), written once for the vector operations of every instruction set.

/// Round constants of the iota step.
pub(super) const ROUND_CONSTANTS: [i64; 24] = [
    0x0000_0000_0000_0001,
    0x0000_0000_0000_8082,
    0x8000_0000_0000_808a_u64.cast_signed(),
    0x8000_0000_8000_8000_u64.cast_signed(),
    0x0000_0000_0000_808b,
    0x0000_0000_8000_0001,
    0x8000_0000_8000_8081_u64.cast_signed(),
    0x8000_0000_0000_8009_u64.cast_signed(),
    0x0000_0000_0000_008a,
    0x0000_0000_0000_0088,
    0x0000_0000_8000_8009,
    0x0000_0000_8000_000a,
    0x0000_0000_8000_808b,
    0x8000_0000_0000_008b_u64.cast_signed(),
    0x8000_0000_0000_8089_u64.cast_signed(),
    0x8000_0000_0000_8003_u64.cast_signed(),
    0x8000_0000_0000_8002_u64.cast_signed(),
    0x8000_0000_0000_0080_u64.cast_signed(),
    0x0000_0000_0000_800a,
    0x8000_0000_8000_000a_u64.cast_signed(),
    0x8000_0000_8000_8081_u64.cast_signed(),
    0x8000_0000_0000_8080_u64.cast_signed(),
    0x0000_0000_8000_0001,
    0x8000_0000_8000_8008_u64.cast_signed(),
];

/// Runs all rounds over `$a`, an array of 25 vectors. The calling module provides the functions `xor`,
/// `xor5`, `chi_row` and `splat` and the macro `rotate`.
macro_rules! permute {
    ($a:ident) => {
        for constant in ROUND_CONSTANTS {
            let c0 = xor5(&[$a[0], $a[5], $a[10], $a[15], $a[20]]);
            let c1 = xor5(&[$a[1], $a[6], $a[11], $a[16], $a[21]]);
            let c2 = xor5(&[$a[2], $a[7], $a[12], $a[17], $a[22]]);
            let c3 = xor5(&[$a[3], $a[8], $a[13], $a[18], $a[23]]);
            let c4 = xor5(&[$a[4], $a[9], $a[14], $a[19], $a[24]]);
            let d0 = xor(c4, rotate!(c1, 1));
            let d1 = xor(c0, rotate!(c2, 1));
            let d2 = xor(c1, rotate!(c3, 1));
            let d3 = xor(c2, rotate!(c4, 1));
            let d4 = xor(c3, rotate!(c0, 1));
            let row0 = chi_row(&[
                xor($a[0], d0),
                rotate!(xor($a[6], d1), 44),
                rotate!(xor($a[12], d2), 43),
                rotate!(xor($a[18], d3), 21),
                rotate!(xor($a[24], d4), 14),
            ]);
            let row1 = chi_row(&[
                rotate!(xor($a[3], d3), 28),
                rotate!(xor($a[9], d4), 20),
                rotate!(xor($a[10], d0), 3),
                rotate!(xor($a[16], d1), 45),
                rotate!(xor($a[22], d2), 61),
            ]);
            let row2 = chi_row(&[
                rotate!(xor($a[1], d1), 1),
                rotate!(xor($a[7], d2), 6),
                rotate!(xor($a[13], d3), 25),
                rotate!(xor($a[19], d4), 8),
                rotate!(xor($a[20], d0), 18),
            ]);
            let row3 = chi_row(&[
                rotate!(xor($a[4], d4), 27),
                rotate!(xor($a[5], d0), 36),
                rotate!(xor($a[11], d1), 10),
                rotate!(xor($a[17], d2), 15),
                rotate!(xor($a[23], d3), 56),
            ]);
            let row4 = chi_row(&[
                rotate!(xor($a[2], d2), 62),
                rotate!(xor($a[8], d3), 55),
                rotate!(xor($a[14], d4), 39),
                rotate!(xor($a[15], d0), 41),
                rotate!(xor($a[21], d1), 2),
            ]);
            $a[..5].copy_from_slice(&row0);
            $a[5..10].copy_from_slice(&row1);
            $a[10..15].copy_from_slice(&row2);
            $a[15..20].copy_from_slice(&row3);
            $a[20..].copy_from_slice(&row4);
            $a[0] = xor($a[0], splat(constant));
        }
    };
}

pub(super) use permute;

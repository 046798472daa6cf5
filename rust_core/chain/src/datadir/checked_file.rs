//! Small files with a checksum. Damage is reported with file and, for a single bit, its offset; damaged
//! content is not used.
//!
//! The content is followed by one line: `# foreseal blake3 <64 hex digits> crc32c <8 hex digits>`. In a JSON
//! object it is the last member: `"checksum": "<64 hex digits> <8 hex digits>"`, over all bytes before it.
//! BLAKE3 detects damage; CRC-32C locates a single changed bit.

use std::{
    fmt,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use alloy_primitives::{B256, hex};
use serde::{Deserialize, Serialize};

/// Layout of a trailer: fixed text with checksums at fixed offsets. `.` stands for a digit.
#[derive(Clone, Copy)]
struct Trailer {
    line: &'static str,
    /// Offset of the BLAKE3 hash, 64 digits.
    blake3: usize,
    /// Offset of the CRC-32C, 8 digits.
    crc: usize,
}

/// Trailer on a line of its own.
const LINE: Trailer = Trailer {
    line: concat!(
        "\n# foreseal blake3 ",
        "................................................................",
        " crc32c ........\n"
    ),
    blake3: 19,
    crc: 91,
};
/// Trailer as the last member of a JSON object.
const MEMBER: Trailer = Trailer {
    line: concat!(
        ",\n  \"checksum\": \"",
        "................................................................",
        " ........\"\n}\n"
    ),
    blake3: 17,
    crc: 82,
};
/// End of a JSON object that is written over several lines.
const CLOSING: &[u8] = b"\n}";

/// Maximum length of content in which a changed bit is located, in bytes.
const LOCATED: usize = 64 << 20;

/// Checksums of a byte string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checksum {
    pub blake3: B256,
    pub crc32c: u32,
}

/// Mismatch between bytes and their checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Offset of the byte with the changed bit, if a single changed bit explains the mismatch.
    pub offset: Option<u64>,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.offset {
            Some(offset) => write!(f, "one bit is flipped at offset {offset}"),
            None => f.write_str("the checksum does not match"),
        }
    }
}

impl Checksum {
    pub fn new(bytes: &[u8]) -> Self {
        Self { blake3: B256::from(*blake3::hash(bytes).as_bytes()), crc32c: crc32c::crc32c(bytes) }
    }

    /// Verifies `bytes` against the checksum.
    ///
    /// # Errors
    /// Returns [`Mismatch`] if the checksum was computed from other bytes.
    pub fn verify(&self, bytes: &[u8]) -> Result<(), Mismatch> {
        let actual = Self::new(bytes);
        if actual == *self {
            return Ok(());
        }
        let bit = (bytes.len() <= LOCATED)
            .then(|| changed_bit(actual.crc32c ^ self.crc32c, bytes.len()))
            .flatten()
            .filter(|&(at, bit)| {
                let mut hasher = blake3::Hasher::new();
                hasher.update(&bytes[..at]).update(&[bytes[at] ^ (1 << bit)]).update(&bytes[at + 1..]);
                hasher.finalize().as_bytes() == self.blake3.as_slice()
            });
        Err(Mismatch { offset: bit.map(|(at, _)| at as u64) })
    }
}

/// Returns the byte and bit whose change explains this difference of two checksums over `length` bytes.
fn changed_bit(difference: u32, length: usize) -> Option<(usize, u8)> {
    if difference == 0 {
        return None;
    }
    let zeros = |byte: u8| crc32c::crc32c(&[byte]) ^ crc32c::crc32c(&[0]);
    // Effect of each bit of the last byte on the checksum; every further byte behind it transforms the
    // effect.
    let mut effect: [u32; 8] = std::array::from_fn(|bit| zeros(1 << bit));
    let table: Vec<u32> = (0..=u8::MAX).map(zeros).collect();
    for at in (0..length).rev() {
        if let Some(bit) = effect.iter().position(|effect| *effect == difference) {
            return Some((at, u8::try_from(bit).ok()?));
        }
        for effect in &mut effect {
            *effect = (*effect >> 8) ^ table[(*effect & 0xff) as usize];
        }
    }
    None
}

/// Error for a file whose content is not what was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} is damaged: {mismatch}: restore the file from a copy", path.display())]
pub struct DamagedFile {
    pub path: PathBuf,
    pub mismatch: Mismatch,
}

/// Appends the checksum to a content.
pub fn seal(content: &[u8]) -> Vec<u8> {
    LINE.seal(content)
}

/// Adds the checksum to a JSON object that is written over several lines.
pub fn seal_json(text: &[u8]) -> Vec<u8> {
    MEMBER.seal(text.strip_suffix(CLOSING).unwrap_or(text))
}

/// Verifies the bytes of a file and removes the checksum.
///
/// # Errors
/// Returns [`Mismatch`] if the content or the checksum was changed, or if the checksum is missing.
pub fn unseal(bytes: Vec<u8>) -> Result<Vec<u8>, Mismatch> {
    LINE.unseal(bytes)
}

/// Verifies a JSON object like [`unseal`] does.
pub fn unseal_json(bytes: Vec<u8>) -> Result<Vec<u8>, Mismatch> {
    let mut text = MEMBER.unseal(bytes)?;
    text.extend_from_slice(CLOSING);
    Ok(text)
}

impl Trailer {
    fn seal(self, content: &[u8]) -> Vec<u8> {
        let line = self.line.as_bytes();
        let (blake3, crc) = digits(&Checksum::new(content));
        let mut bytes = content.to_vec();
        bytes.extend_from_slice(&line[..self.blake3]);
        bytes.extend_from_slice(blake3.as_bytes());
        bytes.extend_from_slice(&line[self.blake3 + blake3.len()..self.crc]);
        bytes.extend_from_slice(crc.as_bytes());
        bytes.extend_from_slice(&line[self.crc + crc.len()..]);
        bytes
    }

    fn unseal(self, mut bytes: Vec<u8>) -> Result<Vec<u8>, Mismatch> {
        let length = bytes.len().checked_sub(self.line.len()).ok_or(Mismatch { offset: None })?;
        let (content, line) = bytes.split_at(length);
        let fixed = self.line.bytes().zip(line).enumerate().filter(|(_, (expected, _))| *expected != b'.');
        let wrong: Vec<_> =
            fixed.filter(|(_, (expected, actual))| expected != *actual).map(|(at, _)| at).collect();
        let offset = |at: usize| Some((length + at) as u64);
        if let [at, ..] = wrong[..] {
            return Err(Mismatch { offset: offset(at).filter(|_| wrong.len() == 1) });
        }
        let (blake3, crc) = (&line[self.blake3..self.blake3 + 64], &line[self.crc..self.crc + 8]);
        let expected = digits(&Checksum::new(content));
        let (as_blake3, as_crc) = (blake3 == expected.0.as_bytes(), crc == expected.1.as_bytes());
        if as_blake3 && as_crc {
            bytes.truncate(length);
            return Ok(bytes);
        }
        // If only one of content, BLAKE3 and CRC-32C was changed, the other two agree.
        let digit = |from: usize, actual: &[u8], expected: &str| {
            actual
                .iter()
                .zip(expected.bytes())
                .position(|(actual, expected)| *actual != expected)
                .and_then(|at| offset(from + at))
        };
        if as_blake3 {
            return Err(Mismatch { offset: digit(self.crc, crc, &expected.1) });
        }
        if as_crc {
            return Err(Mismatch { offset: digit(self.blake3, blake3, &expected.0) });
        }
        let verified = read_digits(blake3, crc).map_or(Ok(()), |sum| sum.verify(content));
        verified.and(Err(Mismatch { offset: None }))
    }
}

/// Returns BLAKE3 and CRC-32C as hex digits.
fn digits(sum: &Checksum) -> (String, String) {
    (hex::encode(sum.blake3), format!("{:08x}", sum.crc32c))
}

fn read_digits(blake3: &[u8], crc: &[u8]) -> Option<Checksum> {
    let blake3 = std::str::from_utf8(blake3).ok()?.parse().ok()?;
    let crc32c = u32::from_str_radix(std::str::from_utf8(crc).ok()?, 16).ok()?;
    Some(Checksum { blake3, crc32c })
}

/// Reads a file and verifies it; `Ok(None)` if it does not exist.
pub fn read(
    path: &Path,
    unseal: fn(Vec<u8>) -> Result<Vec<u8>, Mismatch>,
) -> io::Result<Option<Result<Vec<u8>, DamagedFile>>> {
    match fs::read(path) {
        Ok(bytes) => {
            let content = unseal(bytes);
            Ok(Some(content.map_err(|mismatch| DamagedFile { path: path.to_owned(), mismatch })))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Replaces a file atomically: after a crash, either the old or the new content is there.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = path.with_extension("new");
    let mut file = File::create(&draft)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sealed_content_round_trips() {
        for content in [&b""[..], b"{}", &[0xff; 3_000]] {
            assert_eq!(unseal(seal(content)), Ok(content.to_vec()));
        }
    }

    #[test]
    fn content_without_a_checksum_is_rejected() {
        for content in [b"{}".to_vec(), vec![b'x'; 4_000]] {
            assert_eq!(unseal(content.clone()), Err(Mismatch { offset: None }));
            assert_eq!(unseal_json(content), Err(Mismatch { offset: None }));
        }
    }

    #[test]
    fn every_changed_bit_is_found_with_its_offset() {
        let sealed = seal(b"the content of a file, some hundred bytes of it or less");
        for bit in 0..sealed.len() * 8 {
            let mut changed = sealed.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let offset = (bit / 8) as u64;
            assert_eq!(unseal(changed), Err(Mismatch { offset: Some(offset) }), "bit {bit}");
        }
    }

    #[test]
    fn a_sealed_json_object_is_valid_json() {
        let text = b"{\n  \"a\": 1\n}".to_vec();
        let sealed = seal_json(&text);
        let value: serde_json::Value = serde_json::from_slice(&sealed).unwrap();
        assert_eq!((value["a"].as_u64(), value["checksum"].as_str().map(str::len)), (Some(1), Some(73)));
        assert_eq!(unseal_json(sealed.clone()), Ok(text));
        for bit in 0..sealed.len() * 8 {
            let mut changed = sealed.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(unseal_json(changed), Err(Mismatch { offset: Some((bit / 8) as u64) }), "bit {bit}");
        }
    }

    #[test]
    fn more_than_one_changed_bit_is_found() {
        let mut sealed = seal(b"the content");
        sealed[3] ^= 1;
        sealed[5] ^= 1;
        assert_eq!(unseal(sealed.clone()), Err(Mismatch { offset: None }));
        sealed.truncate(sealed.len() - 1);
        assert!(unseal(sealed).is_err());
    }

    #[test]
    fn a_flipped_bit_in_long_content_is_located() {
        let content: Vec<u8> = (0..1_000_000_u32).map(|at| at.to_le_bytes()[1]).collect();
        let sum = Checksum::new(&content);
        for at in [0, 1, 31, 4_096, 777_777, 999_999] {
            let mut changed = content.clone();
            changed[at] ^= 0x20;
            assert_eq!(sum.verify(&changed), Err(Mismatch { offset: Some(at as u64) }));
        }
    }
}

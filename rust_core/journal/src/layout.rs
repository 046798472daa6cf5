//! Byte layout of segment headers and append headers; the crate's README has the tables.

use std::{fmt, path::PathBuf};

use alloy_primitives::B256;
use serde::{Deserialize, Serialize};

/// Alignment of everything on disk: a device writes a sector whole or not at all.
pub(crate) const SECTOR: u64 = SECTOR_BYTES as u64;
/// The format that this program reads and writes.
pub(crate) const FORMAT: u32 = 1;
/// Size of an append's header, before its records.
pub(crate) const APPEND_HEADER: usize = 96;
/// Number of the segment that begins with append 0.
pub(crate) const FIRST_SEGMENT: u64 = 1;
/// Limit of sequence numbers and segment numbers, so that the next one always exists.
pub(crate) const MAX_SEGMENT_NUMBER: u64 = u64::MAX >> 1;
/// Maximum bytes of records in an append: lengths on disk have four bytes, and replay holds one append in
/// memory.
pub(crate) const MAX_APPEND_SIZE: usize = 1 << 30;

const SEGMENT_MAGIC: &[u8; 8] = b"FSEGMENT";
/// First bytes of the segments of unreleased programs, which had format numbers of their own.
const UNRELEASED_MAGIC: &[u8; 8] = b"FSEALSEG";
const APPEND_MAGIC: &[u8; 8] = b"FSEALAPP";
const SECTOR_BYTES: usize = 512;
const SEGMENT_CHECK: usize = SECTOR_BYTES - 4;
const APPEND_HASH: usize = 56;
const APPEND_CHECK: usize = 88;

/// The chain that a journal belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub chain_id: u64,
    /// Hash of the genesis block.
    pub genesis: B256,
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "chain {} with genesis {}", self.chain_id, self.genesis)
    }
}

/// Returns the file name of a segment.
pub(crate) fn segment_name(number: u64) -> String {
    format!("{number:010}.segment")
}

/// Returns the number in a segment's file name; `None` for other files.
pub(crate) fn segment_number(name: &std::path::Path) -> Option<u64> {
    let number = name.to_str()?.strip_suffix(".segment")?.parse().ok()?;
    (number < MAX_SEGMENT_NUMBER && PathBuf::from(segment_name(number)) == name).then_some(number)
}

/// Returns the size on disk of an append with `records` bytes of records: a whole number of sectors.
pub(crate) fn padded(records: usize) -> u64 {
    (APPEND_HEADER as u64 + records as u64).next_multiple_of(SECTOR)
}

/// Position in the hash chain of appends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChainLink {
    /// Sequence number of the next append.
    pub sequence: u64,
    /// Hash of the append before it; of the genesis block if none exists.
    pub previous: B256,
}

/// The first sector of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    pub number: u64,
    /// Size of the file, in bytes.
    pub size: u64,
    pub identity: Identity,
    /// Position in the hash chain when the segment was created.
    pub chain: ChainLink,
    /// Key of every hash in this segment.
    ///
    /// A sender of transactions cannot know the salt, so no transaction can hold bytes that pass for an
    /// append. The same holds for the old content of a reused disk block.
    pub salt: [u8; 32],
}

/// Result of decoding the first sector of a segment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SegmentSector {
    Valid(SegmentHeader),
    /// An intact header in a format that this program cannot read.
    Newer(u32),
    /// An intact header of an unreleased program.
    Unreleased,
    Bad,
}

impl SegmentHeader {
    pub(crate) fn encode(&self) -> [u8; SECTOR_BYTES] {
        let mut sector = [0; SECTOR_BYTES];
        let mut out = Fields(&mut sector, 0);
        out.put(SEGMENT_MAGIC);
        out.put(&FORMAT.to_le_bytes());
        out.put(&[0; 4]);
        out.put(&self.number.to_le_bytes());
        out.put(&self.size.to_le_bytes());
        out.put(&self.identity.chain_id.to_le_bytes());
        out.put(self.identity.genesis.as_slice());
        out.put(&self.chain.sequence.to_le_bytes());
        out.put(self.chain.previous.as_slice());
        out.put(&self.salt);
        let check = crc32c::crc32c(&sector[..SEGMENT_CHECK]);
        sector[SEGMENT_CHECK..].copy_from_slice(&check.to_le_bytes());
        sector
    }

    pub(crate) fn decode(sector: &[u8; SECTOR_BYTES]) -> SegmentSector {
        let mut input = FieldReader(sector, 0);
        let magic = input.field::<8>();
        let check = u32::from_le_bytes(FieldReader(sector, SEGMENT_CHECK).field());
        if check != crc32c::crc32c(&sector[..SEGMENT_CHECK]) {
            return SegmentSector::Bad;
        }
        // Magic, version and checksum have the same offsets in every format.
        match (&magic, u32::from_le_bytes(input.field())) {
            (SEGMENT_MAGIC, FORMAT) => {}
            (SEGMENT_MAGIC, format) if format > FORMAT => return SegmentSector::Newer(format),
            (UNRELEASED_MAGIC, _) => return SegmentSector::Unreleased,
            _ => return SegmentSector::Bad,
        }
        input.field::<4>();
        let header = Self {
            number: u64::from_le_bytes(input.field()),
            size: u64::from_le_bytes(input.field()),
            identity: Identity {
                chain_id: u64::from_le_bytes(input.field()),
                genesis: B256::from(input.field()),
            },
            chain: ChainLink {
                sequence: u64::from_le_bytes(input.field()),
                previous: B256::from(input.field()),
            },
            salt: input.field(),
        };
        if header.chain.sequence < MAX_SEGMENT_NUMBER {
            SegmentSector::Valid(header)
        } else {
            SegmentSector::Bad
        }
    }
}

/// The header of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AppendHeader {
    pub chain: ChainLink,
    /// Length of the records in bytes.
    pub length: u32,
    /// Number of records.
    pub records: u32,
    /// Hash of the rest of this header and the records, keyed with the segment's salt.
    pub hash: B256,
}

impl AppendHeader {
    /// Returns the size of the append on disk, in bytes.
    pub(crate) fn padded(&self) -> u64 {
        padded(self.length as usize)
    }

    /// Returns the position in the hash chain after this append.
    pub(crate) fn next(&self) -> ChainLink {
        ChainLink { sequence: self.chain.sequence + 1, previous: self.hash }
    }

    /// Writes the header of `append`, whose records already follow it, and returns the hash.
    pub(crate) fn seal(
        append: &mut [u8],
        chain: ChainLink,
        length: u32,
        records: u32,
        salt: &[u8; 32],
    ) -> B256 {
        let end = APPEND_HEADER + length as usize;
        let mut out = Fields(append, 0);
        out.put(APPEND_MAGIC);
        out.put(&chain.sequence.to_le_bytes());
        out.put(&length.to_le_bytes());
        out.put(&records.to_le_bytes());
        out.put(chain.previous.as_slice());
        let hash = append_hash(&append[..end], salt);
        append[APPEND_HASH..APPEND_CHECK].copy_from_slice(hash.as_slice());
        let check = header_check(append, salt);
        append[APPEND_CHECK..APPEND_CHECK + 4].copy_from_slice(&check.to_le_bytes());
        append[APPEND_CHECK + 4..APPEND_HEADER].fill(0);
        hash
    }

    /// Decodes a header. Returns `None` unless magic and checksum are right: only then is the length trusted.
    pub(crate) fn decode(bytes: &[u8], salt: &[u8; 32]) -> Option<Self> {
        if bytes.len() < APPEND_HEADER || !bytes.starts_with(APPEND_MAGIC) {
            return None;
        }
        let check = u32::from_le_bytes(FieldReader(bytes, APPEND_CHECK).field());
        if check != header_check(bytes, salt) {
            return None;
        }
        let mut input = FieldReader(bytes, APPEND_MAGIC.len());
        let sequence = u64::from_le_bytes(input.field());
        let length = u32::from_le_bytes(input.field());
        let records = u32::from_le_bytes(input.field());
        let previous = B256::from(input.field());
        let hash = B256::from(input.field());
        (sequence < MAX_SEGMENT_NUMBER).then_some(Self {
            chain: ChainLink { sequence, previous },
            length,
            records,
            hash,
        })
    }

    /// Returns `true` if `append`, header and records, matches the recorded hash.
    pub(crate) fn is_whole(&self, append: &[u8], salt: &[u8; 32]) -> bool {
        append_hash(append, salt) == self.hash
    }
}

fn append_hash(append: &[u8], salt: &[u8; 32]) -> B256 {
    let mut hasher = blake3::Hasher::new_keyed(salt);
    hasher.update(&append[..APPEND_HASH]).update(&append[APPEND_HEADER..]);
    B256::from(*hasher.finalize().as_bytes())
}

fn header_check(append: &[u8], salt: &[u8; 32]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(salt), &append[..APPEND_CHECK])
}

/// Writer of consecutive fields.
struct Fields<'a>(&'a mut [u8], usize);

impl Fields<'_> {
    fn put(&mut self, bytes: &[u8]) {
        self.0[self.1..self.1 + bytes.len()].copy_from_slice(bytes);
        self.1 += bytes.len();
    }
}

/// Reader of consecutive fields; the caller has checked that the input is long enough.
struct FieldReader<'a>(&'a [u8], usize);

impl FieldReader<'_> {
    fn field<const N: usize>(&mut self) -> [u8; N] {
        let mut field = [0; N];
        field.copy_from_slice(&self.0[self.1..self.1 + N]);
        self.1 += N;
        field
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SALT: [u8; 32] = [3; 32];

    fn append(records: &[u8]) -> (Vec<u8>, ChainLink) {
        let chain = ChainLink { sequence: 5, previous: B256::repeat_byte(1) };
        let mut bytes = [&[0; APPEND_HEADER], records].concat();
        AppendHeader::seal(&mut bytes, chain, u32::try_from(records.len()).unwrap(), 2, &SALT);
        (bytes, chain)
    }

    #[test]
    fn headers_round_trip() {
        let (bytes, chain) = append(b"records");
        let header = AppendHeader::decode(&bytes, &SALT).unwrap();
        assert_eq!((header.chain, header.length, header.records), (chain, 7, 2));
        assert!(header.is_whole(&bytes, &SALT));
        assert_eq!(header.next(), ChainLink { sequence: 6, previous: header.hash });

        let identity = Identity { chain_id: 7, genesis: B256::repeat_byte(2) };
        let header = SegmentHeader { number: 9, size: 4096, identity, chain, salt: SALT };
        assert_eq!(SegmentHeader::decode(&header.encode()), SegmentSector::Valid(header));
    }

    #[test]
    fn an_append_under_another_salt_is_not_decoded() {
        let (bytes, _) = append(b"records");
        assert_eq!(AppendHeader::decode(&bytes, &[4; 32]), None);
        let header = AppendHeader::decode(&bytes, &SALT).unwrap();
        assert!(!header.is_whole(&bytes, &[4; 32]));
    }

    #[test]
    fn a_flipped_bit_of_header_or_records_is_detected() {
        let (bytes, _) = append(b"some records");
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let is_complete =
                AppendHeader::decode(&flipped, &SALT).is_some_and(|h| h.is_whole(&flipped, &SALT));
            // Four bytes of the header are unused.
            assert_eq!(is_complete, (92..96).contains(&(bit / 8)), "{bit}");
        }
    }

    #[test]
    fn segment_names_map_to_numbers_and_back() {
        assert_eq!(segment_name(17), "0000000017.segment");
        let number = |name: &str| segment_number(std::path::Path::new(name));
        assert_eq!(number("0000000017.segment"), Some(17));
        assert_eq!(number("12345678901.segment"), Some(12_345_678_901));
        for other in
            ["17.segment", "00000000017.segment", "0000000017.segmen", "18446744073709551615.segment"]
        {
            assert_eq!(number(other), None, "{other}");
        }
    }
}

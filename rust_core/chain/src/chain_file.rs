//! Chain files: RLP-encoded blocks, concatenated, in the format of geth and hive.

use std::io::{self, BufReader, Read, Seek};

/// Maximum size of a block, in bytes: far above any real one, so that a wrong file is rejected early.
const MAX_BLOCK_BYTES: usize = 64 << 20;

/// Progress of an import or export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Number of the block just processed.
    pub block: u64,
    /// Number of blocks processed by this call.
    pub done: u64,
    /// Bytes of the file read or written so far.
    pub bytes: u64,
}

/// Callback after each block; returning `false` stops cleanly after that block.
pub type Report<'a> = &'a mut dyn FnMut(Progress) -> bool;

/// Result of an import or export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Number of blocks executed or written.
    pub blocks: u64,
    /// Number of blocks in the file that the chain already had.
    pub known: u64,
    /// Number of the newest sealed block; `hash` is its hash.
    pub head: u64,
    pub hash: alloy_primitives::B256,
}

/// Reader of consecutive RLP lists.
pub struct BlockReader<R> {
    reader: R,
    /// Number of bytes returned so far.
    read: u64,
    /// Block that is returned next, before anything is read.
    unread: Option<Vec<u8>>,
}

impl<R: Read> BlockReader<R> {
    /// Creates a reader that starts at the beginning of a file.
    pub fn new(reader: R) -> Self {
        Self { reader, read: 0, unread: None }
    }

    /// Returns the number of bytes returned so far.
    pub fn bytes_read(&self) -> u64 {
        self.read
    }

    /// Returns the next block's bytes; `None` at the end of the file.
    pub fn next_block(&mut self) -> io::Result<Option<Vec<u8>>> {
        let bytes = if let Some(bytes) = self.unread.take() {
            bytes
        } else {
            let Some((mut bytes, length)) = self.next_head()? else { return Ok(None) };
            self.extend(&mut bytes, length)?;
            bytes
        };
        self.read += bytes.len() as u64;
        Ok(Some(bytes))
    }

    /// Makes `bytes`, the block that was returned last, the next one again.
    pub fn put_back(&mut self, bytes: Vec<u8>) {
        self.read -= bytes.len() as u64;
        self.unread = Some(bytes);
    }

    /// Reads the head of the next list. Returns it with the length of the payload; `None` at the end of the file.
    fn next_head(&mut self) -> io::Result<Option<(Vec<u8>, usize)>> {
        let mut bytes = vec![0; 1];
        if self.reader.read(&mut bytes)? == 0 {
            return Ok(None);
        }
        let length_bytes = match bytes[0] {
            0xc0..=0xf7 => 0,
            first @ 0xf8.. => usize::from(first - 0xf7),
            _ => return Err(invalid("it does not begin with an RLP list")),
        };
        self.extend(&mut bytes, length_bytes)?;
        let length = payload_length(&bytes).ok_or_else(|| invalid("a block's RLP length is invalid"))?;
        if length > MAX_BLOCK_BYTES {
            return Err(invalid("a block is longer than 64 MiB"));
        }
        Ok(Some((bytes, length)))
    }

    fn extend(&mut self, bytes: &mut Vec<u8>, more: usize) -> io::Result<()> {
        // Memory grows with the bytes that arrive, not with the announced length.
        let read = self.reader.by_ref().take(more as u64).read_to_end(bytes)?;
        if read < more { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }
}

/// Counts the blocks of a file by their lengths, up to the end or to the first invalid length.
pub fn count_blocks(file: impl Read + Seek) -> u64 {
    let (mut blocks, mut count) = (BlockReader::new(BufReader::new(file)), 0);
    while let Ok(Some((_, length))) = blocks.next_head() {
        let skipped = i64::try_from(length).map(|length| blocks.reader.seek_relative(length));
        if !matches!(skipped, Ok(Ok(()))) {
            break;
        }
        count += 1;
    }
    count
}

/// Returns the payload length that the first bytes of a list announce; `None` if it is invalid.
fn payload_length(head: &[u8]) -> Option<usize> {
    if let [short @ 0xc0..=0xf7] = head {
        return Some(usize::from(short - 0xc0));
    }
    let digits = &head[1..];
    if digits.len() > 8 || digits.first() == Some(&0) {
        return None;
    }
    let length = digits.iter().fold(0_u64, |sum, digit| sum << 8 | u64::from(*digit));
    usize::try_from(length).ok().filter(|length| *length > 55)
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(bytes: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        let mut blocks = BlockReader::new(bytes);
        std::iter::from_fn(|| blocks.next_block().transpose()).collect()
    }

    #[test]
    fn concatenated_lists_are_read_in_order() {
        let mut long = vec![0xf8, 60];
        long.extend([0x01; 60]);
        let file = [vec![0xc0], long.clone(), vec![0xc2, 1, 2]].concat();
        assert_eq!(read_all(&file).unwrap(), [vec![0xc0], long, vec![0xc2, 1, 2]]);
        assert!(read_all(&[]).unwrap().is_empty());
    }

    #[test]
    fn a_block_that_is_put_back_is_returned_again() {
        let mut blocks = BlockReader::new(&[0xc1, 1, 0xc0][..]);
        let first = blocks.next_block().unwrap().unwrap();
        blocks.put_back(first.clone());
        assert_eq!((blocks.bytes_read(), blocks.next_block().unwrap()), (0, Some(first)));
        assert_eq!((blocks.next_block().unwrap(), blocks.bytes_read()), (Some(vec![0xc0]), 3));
        assert_eq!(blocks.next_block().unwrap(), None);
    }

    #[test]
    fn blocks_are_counted_up_to_the_first_invalid_length() {
        let mut file = vec![0xc0, 0xf8, 60];
        file.extend([0x01; 60]);
        file.extend([0xc2, 1, 2]);
        assert_eq!(count_blocks(io::Cursor::new(&file)), 3);
        file.extend([0x80, 0xc0]);
        assert_eq!(count_blocks(io::Cursor::new(&file)), 3);
        assert_eq!(count_blocks(io::Cursor::new(&[])), 0);
    }

    /// Regression found by a fuzzer: a few bytes caused an allocation of 64 MiB.
    #[test]
    fn a_length_beyond_the_file_allocates_no_memory() {
        let mut bytes = vec![0xfb, 0x03, 0xff, 0xff, 0xff];
        bytes.extend([0x01; 100]);
        let mut blocks = BlockReader::new(&bytes[..]);
        let mut block = vec![0; 1];
        assert_eq!(blocks.next_block().unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        blocks = BlockReader::new(&bytes[..]);
        assert!(blocks.extend(&mut block, 1 << 26).is_err());
        assert!(block.capacity() < 1 << 12, "{}", block.capacity());
    }

    #[test]
    fn a_cut_or_wrong_file_is_an_error() {
        for bad in [&[0xc2, 1][..], &[0x80], &[0xf8], &[0xf8, 1, 0], &[0xff; 9], &[0xf9, 0, 60]] {
            assert!(read_all(bad).is_err(), "{bad:?}");
        }
    }
}

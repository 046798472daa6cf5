//! File with the newest appends of a journal.

use std::{
    fs::{self, File},
    io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use alloy_primitives::B256;
use foreseal_journal::Identity;
use serde::{Deserialize, Serialize};

use crate::{
    journal_tail::{AppendSource, AppendSourceError, SourceAppend, SourceAppends},
    quorum_entry::QuorumEntry,
    quorum_keys::MAX_RECORD_SIZE,
    quorum_record::{QuorumRecord, RecordLink},
    record_hash::chain_hash,
};

/// First bytes of the file.
const MAGIC: &[u8; 25] = b"foreseal journal export 1";
/// Maximum size of the header in bytes.
const MAX_HEADER_SIZE: u32 = 4096;
/// Size of the checksum at the end.
const CHECKSUM_SIZE: u64 = 32;

/// Header of the file, as JSON after the magic bytes and its length in four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ExportHeader {
    chain_id: u64,
    genesis: B256,
    first: u64,
    next: u64,
}

/// File with the newest appends of a journal, verified when it was opened.
///
/// After the header, each append has the hash of its content (32 bytes), the length of its record (4 bytes) and the
/// record as the quorum store stores it. The file ends with the BLAKE3 hash of everything before.
#[derive(Debug)]
pub struct JournalExport {
    path: PathBuf,
    header: ExportHeader,
    /// Position of the first append.
    start: u64,
}

/// Writes the appends of a source to a new file. Returns their number. The file appears once it is complete and
/// durable; until then it has the extension `partial` in addition.
///
/// # Errors
/// Returns [`AppendSourceError`] if the source cannot be read, or the file exists or cannot be written.
pub fn write_export(source: &dyn AppendSource, path: &Path) -> Result<u64, AppendSourceError> {
    if fs::symlink_metadata(path).is_ok() {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, "the file exists").into());
    }
    let mut name = path.as_os_str().to_owned();
    name.push(".partial");
    let draft = PathBuf::from(name);
    let written = write_draft(source, &draft).and_then(|count| {
        fs::rename(&draft, path)?;
        // The rename is durable with its folder.
        let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
        Ok(count)
    });
    if written.is_err() {
        // An export without its end is of no use; the next call overwrites what cannot be removed.
        let _ = fs::remove_file(&draft);
    }
    written
}

fn write_draft(source: &dyn AppendSource, path: &Path) -> Result<u64, AppendSourceError> {
    let file = File::create(path)?;
    let Identity { chain_id, genesis } = source.identity();
    let header = ExportHeader { chain_id, genesis, first: source.first(), next: source.next() };
    let header = serde_json::to_vec(&header).expect("the header has only string keys");
    let mut out = HashedWriter { out: BufWriter::new(file), hasher: blake3::Hasher::new() };
    out.write(MAGIC)?;
    out.write(&u32::try_from(header.len()).unwrap_or(u32::MAX).to_be_bytes())?;
    out.write(&header)?;
    let (mut count, mut previous) = (0, B256::ZERO);
    for append in source.appends(source.first())? {
        let SourceAppend { sequence, content, records } = append?;
        let link = RecordLink { sequence, previous, hash: chain_hash(previous, content) };
        let record = QuorumRecord::encode(&link, &records);
        out.write(content.as_slice())?;
        out.write(&u32::try_from(record.len()).unwrap_or(u32::MAX).to_be_bytes())?;
        out.write(&record)?;
        (count, previous) = (count + 1, link.hash);
    }
    let HashedWriter { mut out, hasher } = out;
    out.write_all(hasher.finalize().as_bytes())?;
    let file = out.into_inner().map_err(std::io::IntoInnerError::into_error)?;
    file.sync_all()?;
    Ok(count)
}

struct HashedWriter {
    out: BufWriter<File>,
    hasher: blake3::Hasher,
}

impl HashedWriter {
    fn write(&mut self, bytes: &[u8]) -> Result<(), AppendSourceError> {
        self.hasher.update(bytes);
        Ok(self.out.write_all(bytes)?)
    }
}

impl JournalExport {
    /// Opens a file and verifies its checksum and its chain of appends.
    ///
    /// # Errors
    /// Returns [`AppendSourceError::Export`] for the first fault of the file.
    pub fn open(path: &Path) -> Result<Self, AppendSourceError> {
        verify_checksum(path)?;
        let mut input = BufReader::new(File::open(path)?);
        let mut magic = [0; MAGIC.len()];
        read(&mut input, &mut magic)?;
        if magic != *MAGIC {
            return Err(fault("was not made by `foreseal journal export`"));
        }
        let length = read_length(&mut input)?;
        if length > MAX_HEADER_SIZE {
            return Err(fault("has an invalid header"));
        }
        let mut header = vec![0; length as usize];
        read(&mut input, &mut header)?;
        let header: ExportHeader =
            serde_json::from_slice(&header).map_err(|_| fault("has an invalid header"))?;
        let start = (MAGIC.len() + 4) as u64 + u64::from(length);
        let export = Self { path: path.to_owned(), header, start };
        let mut next = header.first;
        for append in export.appends(header.first)? {
            append?;
            next = next.saturating_add(1);
        }
        if next == header.first || next != header.next {
            return Err(fault("does not have the appends that its header states"));
        }
        Ok(export)
    }
}

impl AppendSource for JournalExport {
    fn identity(&self) -> Identity {
        Identity { chain_id: self.header.chain_id, genesis: self.header.genesis }
    }

    fn first(&self) -> u64 {
        self.header.first
    }

    fn next(&self) -> u64 {
        self.header.next
    }

    fn appends(&self, from: u64) -> Result<SourceAppends<'_>, AppendSourceError> {
        let mut file = File::open(&self.path)?;
        let end = file.metadata()?.len().saturating_sub(CHECKSUM_SIZE);
        file.seek(SeekFrom::Start(self.start))?;
        let reader = ExportReader {
            input: BufReader::new(file),
            rest: end.saturating_sub(self.start),
            next: self.header.first,
            previous: B256::ZERO,
            ended: false,
        };
        let is_wanted = move |append: &Result<SourceAppend, AppendSourceError>| {
            append.as_ref().map_or(true, |append| append.sequence >= from)
        };
        Ok(Box::new(reader.filter(is_wanted)))
    }
}

/// Reader of the appends of a file.
struct ExportReader {
    input: BufReader<File>,
    /// Bytes before the checksum that were not read.
    rest: u64,
    next: u64,
    previous: B256,
    ended: bool,
}

impl ExportReader {
    fn read_append(&mut self) -> Result<SourceAppend, AppendSourceError> {
        let mut content = [0; 32];
        read(&mut self.input, &mut content)?;
        let content = B256::from(content);
        let length = read_length(&mut self.input)? as usize;
        if length > MAX_RECORD_SIZE {
            return Err(fault(format!(
                "has a record of {length} bytes, more than the maximum of {MAX_RECORD_SIZE}"
            )));
        }
        let mut bytes = vec![0; length];
        read(&mut self.input, &mut bytes)?;
        self.rest = self.rest.saturating_sub(36 + length as u64);
        let record = QuorumRecord::decode(&bytes).map_err(|error| fault(format!("is damaged: {error}")))?;
        let hash = chain_hash(self.previous, content);
        let expected = RecordLink { sequence: self.next, previous: self.previous, hash };
        if record.link != expected {
            return Err(fault(format!("is damaged: append {} does not follow the one before it", self.next)));
        }
        (self.next, self.previous) = (self.next.saturating_add(1), hash);
        let records = record.entries.into_iter().map(QuorumEntry::into_inputs).collect();
        Ok(SourceAppend { sequence: expected.sequence, content, records })
    }
}

impl Iterator for ExportReader {
    type Item = Result<SourceAppend, AppendSourceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended || self.rest == 0 {
            return None;
        }
        let append = self.read_append();
        self.ended = append.is_err();
        Some(append)
    }
}

fn verify_checksum(path: &Path) -> Result<(), AppendSourceError> {
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    let Some(content) = size.checked_sub(CHECKSUM_SIZE) else { return Err(fault("is incomplete")) };
    let (mut input, mut hasher) = (BufReader::new(file), blake3::Hasher::new());
    std::io::copy(&mut (&mut input).take(content), &mut hasher)?;
    let mut checksum = [0; 32];
    read(&mut input, &mut checksum)?;
    if hasher.finalize() == checksum {
        Ok(())
    } else {
        Err(fault("is incomplete or damaged: its checksum is wrong"))
    }
}

fn read(input: &mut impl Read, bytes: &mut [u8]) -> Result<(), AppendSourceError> {
    input.read_exact(bytes).map_err(|error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => fault("is incomplete"),
        _ => AppendSourceError::Io(error),
    })
}

fn read_length(input: &mut impl Read) -> Result<u32, AppendSourceError> {
    let mut length = [0; 4];
    read(input, &mut length)?;
    Ok(u32::from_be_bytes(length))
}

fn fault(reason: impl Into<String>) -> AppendSourceError {
    AppendSourceError::Export(reason.into())
}

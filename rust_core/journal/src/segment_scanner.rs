//! Scan of all segments in order, which decides what is complete, torn or corrupt.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    disk::Disk,
    error::{JournalError, JournalPosition},
    layout::{
        APPEND_HEADER, AppendHeader, ChainLink, FORMAT, Identity, SECTOR, SegmentHeader, SegmentSector,
        segment_name, segment_number,
    },
    record::{Malformed, Record, decode_records},
    segment::SegmentFile,
};

/// Returns the numbers of the segments in `dir`, ascending.
pub(crate) fn segment_numbers(disk: &dyn Disk, dir: &Path) -> Result<Vec<u64>, JournalError> {
    let names = disk.list(dir).map_err(JournalError::io("list", dir))?;
    let mut numbers: Vec<_> = names.iter().filter_map(|name| segment_number(name)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// State of the bytes after the last complete append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TailState {
    /// Zeros to the end of the segment.
    Clean,
    /// Part of one append that was being written: this many bytes.
    Torn { bytes: u64 },
    /// An unfinished last file, after the segment that holds the end.
    UnfinishedSegment { segment: u64 },
}

/// The end of the journal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JournalEnd {
    /// Header of the segment that holds the end; `None` when no complete segment exists.
    pub segment: Option<SegmentHeader>,
    /// Offset of the next append in that segment.
    pub offset: u64,
    /// Offset of the last append, if that segment holds one.
    pub last_append: Option<u64>,
    pub tail: TailState,
}

/// A complete append that continues the one before.
pub(crate) struct ScannedAppend<'a> {
    pub position: JournalPosition,
    pub header: AppendHeader,
    pub records: &'a [u8],
}

impl ScannedAppend<'_> {
    /// Decodes the records.
    pub(crate) fn decode(&self) -> Result<Vec<Record>, JournalError> {
        self.read(decode_records)
    }

    /// Applies `read` to the encoded records and their number.
    pub(crate) fn read<T>(
        &self,
        read: impl FnOnce(&[u8], u32) -> Result<T, Malformed>,
    ) -> Result<T, JournalError> {
        let (position, sequence) = (self.position, self.header.chain.sequence);
        let named = |(index, reason): Malformed| JournalError::Record { position, sequence, index, reason };
        read(self.records, self.header.records).map_err(named)
    }
}

/// Reads appends in order and verifies each; holds one window of one segment in memory.
pub(crate) struct SegmentScanner {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    /// Numbers of the segments, ascending.
    numbers: Vec<u64>,
    /// Number of segments that were opened.
    opened: usize,
    /// The opened segments with a valid header, each with the sequence number of its first append.
    visited_segments: Vec<(u64, u64)>,
    current: Option<Current>,
    identity: Option<Identity>,
    /// Position in the hash chain that the next append must have; `None` before the first segment.
    chain: Option<ChainLink>,
    end: Option<JournalEnd>,
}

struct Current {
    file: SegmentFile,
    header: SegmentHeader,
    offset: u64,
    last_append: Option<u64>,
    /// Bytes from the last append to the last byte that is not zero; set at the end of an older segment.
    rest: u64,
}

impl Current {
    fn end(&self) -> JournalPosition {
        JournalPosition { segment: self.header.number, offset: self.offset }
    }

    /// Returns `true` if the file is shorter than at its creation.
    fn is_cut(&self) -> bool {
        self.file.size < self.header.size
    }
}

const DAMAGED: &str = "the append is damaged, but later appends exist";

impl SegmentScanner {
    /// Starts at the oldest segment. With an identity, a journal of another chain is an error. Without one,
    /// the first segment's identity applies.
    pub(crate) fn new(
        disk: Arc<dyn Disk>,
        dir: &Path,
        identity: Option<Identity>,
    ) -> Result<Self, JournalError> {
        let numbers = segment_numbers(&*disk, dir)?;
        Ok(Self {
            disk,
            dir: dir.to_owned(),
            numbers,
            opened: 0,
            visited_segments: Vec::new(),
            current: None,
            identity,
            chain: None,
            end: None,
        })
    }

    /// Returns the same scan, started at segment `number` instead of the oldest.
    pub(crate) fn starting_at(mut self, number: u64) -> Self {
        self.numbers.retain(|segment| *segment >= number);
        self
    }

    /// Returns the segments read so far, each with the sequence number of its first append.
    pub(crate) fn visited_segments(&self) -> &[(u64, u64)] {
        &self.visited_segments
    }

    /// Returns the position in the hash chain that the next append must have; `None` while no segment header
    /// was read.
    pub(crate) fn chain(&self) -> Option<ChainLink> {
        self.chain
    }

    /// Returns the chain that the journal belongs to, if it was given or read from a segment.
    pub(crate) fn identity(&self) -> Option<Identity> {
        self.identity
    }

    /// Returns the end of the journal; set once [`Self::next`] has returned `None`.
    pub(crate) fn end(&self) -> Option<JournalEnd> {
        self.end
    }

    /// Returns the next append, or `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<ScannedAppend<'_>>, JournalError> {
        let header = loop {
            if let Some(header) = self.advance()? {
                break header;
            }
            if self.end.is_none() {
                self.open_next()?;
            }
            if self.end.is_some() {
                return Ok(None);
            }
        };
        let current = self.current.as_mut().expect("an append was found in it");
        let offset = current.last_append.expect("an append was found");
        let position = JournalPosition { segment: current.header.number, offset };
        let records = current.file.read(offset + APPEND_HEADER as u64, u64::from(header.length))?;
        Ok(records.map(|records| ScannedAppend { position, header, records }))
    }

    /// Moves over the next append of the current segment. Returns `None` at the segment's end, and at a torn
    /// end of the journal.
    fn advance(&mut self) -> Result<Option<AppendHeader>, JournalError> {
        let Some(current) = &mut self.current else { return Ok(None) };
        let offset = current.offset;
        let position = JournalPosition { segment: current.header.number, offset };
        if let Some((header, _)) = current.file.append_at(offset, &current.header.salt)? {
            if self.chain != Some(header.chain) {
                return Err(corrupt(position, "the append does not continue the one before"));
            }
            self.chain = Some(header.next());
            current.last_append = Some(offset);
            current.offset += header.padded();
            return Ok(Some(header));
        }
        self.classify_tail()?;
        Ok(None)
    }

    /// Determines what follows the last append of the current segment: nothing, meaningless bytes, a torn
    /// append, or damage.
    ///
    /// # Errors
    /// [`JournalError::Corrupt`] if a valid append follows, or if the file is shorter than its header states.
    fn classify_tail(&mut self) -> Result<(), JournalError> {
        let Some(current) = &mut self.current else { return Ok(()) };
        let offset = current.offset;
        let position = JournalPosition { segment: current.header.number, offset };
        let newest = self.opened == self.numbers.len();
        let bytes = current.file.content_end(offset)? - offset;
        if bytes > 0 {
            let later = current.file.find_append(offset + SECTOR, &current.header.salt)?;
            if later.is_some() {
                return Err(corrupt(position, DAMAGED));
            }
        }
        if !newest {
            // The next segment shows if an append is missing here or if these bytes are meaningless.
            current.rest = bytes;
        } else if current.is_cut() {
            let (size, full) = (current.file.size, current.header.size);
            return Err(corrupt(position, &format!("the file has been cut from {full} to {size} bytes")));
        } else if bytes > 0 {
            self.finish(TailState::Torn { bytes });
        }
        Ok(())
    }

    /// Opens the next segment, or finishes the scan if none exists.
    fn open_next(&mut self) -> Result<(), JournalError> {
        let Some(&number) = self.numbers.get(self.opened) else {
            self.finish(TailState::Clean);
            return Ok(());
        };
        if self.opened > 0 && number != self.numbers[self.opened - 1] + 1 {
            let missing = self.numbers[self.opened - 1] + 1;
            return Err(corrupt(JournalPosition { segment: missing, offset: 0 }, "the segment is missing"));
        }
        self.opened += 1;
        let mut file = SegmentFile::open(&*self.disk, &self.dir, number)?;
        match file.header()? {
            SegmentSector::Valid(header) => self.begin_segment(number, file, header),
            SegmentSector::Newer(version) => Err(JournalError::NewerFormat { version, supported: FORMAT }),
            SegmentSector::Unreleased => {
                Err(JournalError::Unreleased { path: self.dir.join(segment_name(number)) })
            }
            // Appends are written only after the header was synced: without any, the file was being created.
            SegmentSector::Bad
                if self.opened == self.numbers.len()
                    && file.content_end(SECTOR)? == SECTOR
                    // The header is written only after the size was synced: a partial header in a shorter
                    // file is the result of a truncation.
                    && (file.size >= SECTOR || file.content_end(0)? == 0) =>
            {
                // A segment is created only after the last append of the previous one was synced.
                if let Some(current) = self.current.as_ref().filter(|c| c.rest > 0 || c.is_cut()) {
                    return Err(corrupt(current.end(), DAMAGED));
                }
                self.finish(TailState::UnfinishedSegment { segment: number });
                Ok(())
            }
            SegmentSector::Bad => Err(corrupt(
                JournalPosition { segment: number, offset: 0 },
                "the segment's header is damaged",
            )),
        }
    }

    fn begin_segment(
        &mut self,
        number: u64,
        mut file: SegmentFile,
        header: SegmentHeader,
    ) -> Result<(), JournalError> {
        let start = JournalPosition { segment: number, offset: 0 };
        let expected = *self.identity.get_or_insert(header.identity);
        if header.identity != expected {
            return Err(match self.current {
                None => JournalError::WrongChain { identity: header.identity, expected },
                Some(_) => corrupt(start, &format!("the segment belongs to {}", header.identity)),
            });
        }
        if header.number != number {
            return Err(corrupt(start, &format!("the file holds segment {}", header.number)));
        }
        // Bytes that were added to the file were never part of the journal.
        file.size = file.size.min(header.size);
        let chain = *self.chain.get_or_insert(header.chain);
        if header.chain != chain {
            let missing = header.chain.sequence > chain.sequence;
            return Err(match &self.current {
                Some(current) if current.rest > 0 => corrupt(current.end(), DAMAGED),
                Some(current) if missing => corrupt(current.end(), "appends are missing"),
                _ => corrupt(start, "the segment does not continue the one before"),
            });
        }
        self.visited_segments.push((number, chain.sequence));
        self.current = Some(Current { file, header, offset: SECTOR, last_append: None, rest: 0 });
        Ok(())
    }

    fn finish(&mut self, tail: TailState) {
        self.end = Some(match &self.current {
            Some(c) => {
                JournalEnd { segment: Some(c.header), offset: c.offset, last_append: c.last_append, tail }
            }
            None => JournalEnd { segment: None, offset: SECTOR, last_append: None, tail },
        });
    }
}

fn corrupt(position: JournalPosition, reason: &str) -> JournalError {
    JournalError::Corrupt { position, reason: reason.to_owned() }
}

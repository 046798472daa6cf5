//! The journal on this machine, as its only writer uses it.

use std::{ops::Range, path::PathBuf, sync::Arc};

use alloy_primitives::B256;

use crate::{
    disk::{Disk, DiskFile},
    end_file::{EndFileWriter, check_location},
    error::{JournalError, JournalPosition},
    journal_reader::JournalReader,
    layout::{
        APPEND_HEADER, AppendHeader, ChainLink, MAX_APPEND_SIZE, SECTOR, SegmentHeader, padded, segment_name,
    },
    options::JournalOptions,
    raw_append::RawAppend,
    record::{Record, encode_records},
    recorded_end::EndState,
    replay::AppendReplay,
    segment_scanner::SegmentScanner,
    segment_sizes::SegmentSizes,
    segment_writer::{create_segment, sync, write_all},
};

/// Capacity of the append buffer, in bytes, that is retained between appends. A step is smaller; an import
/// may be larger.
const BUFFER: usize = 8 << 20;

/// An append that is encoded but not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreparedAppend {
    /// Sequence number of the append.
    pub sequence: u64,
    /// Number of records.
    pub count: u32,
    /// Length of the encoded records in bytes.
    length: u32,
    /// Hash of its content: see [`RawAppend::content_hash`].
    pub hash: B256,
}

/// An open journal: the only writer of its directory. The caller holds the [`DirLock`](crate::DirLock).
pub struct LocalJournal {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) dir: PathBuf,
    pub(crate) options: JournalOptions,
    /// The segments, oldest first, with the sequence number of their first append. The last one is being
    /// written.
    pub(crate) segments: Vec<(u64, u64)>,
    pub(crate) sizes: SegmentSizes,
    pub(crate) file: Box<dyn DiskFile>,
    /// Path of that file.
    pub(crate) path: PathBuf,
    /// The recorded end, and the identity of the writer.
    pub(crate) end_file: EndFileWriter,
    pub(crate) header: SegmentHeader,
    /// Offset of the next append in the open segment.
    pub(crate) offset: u64,
    /// Bytes of the appends since opening.
    pub(crate) written: u64,
    pub(crate) chain: ChainLink,
    /// Sequence number after the last append that existed at opening: replay ends before it.
    pub(crate) opened_at: u64,
    /// The first failure; no append is written after it.
    pub(crate) failure: Option<String>,
    pub(crate) buffer: Vec<u8>,
    /// The newest append and the number of its bytes in the buffer; `None` unless the buffer holds it.
    pub(crate) newest: Option<(PreparedAppend, usize)>,
}

impl LocalJournal {
    /// Makes `records` durable as one unit and returns the append's sequence number.
    ///
    /// On `Ok` the records survive any failure of the process or the machine.
    ///
    /// # Errors
    /// After any error except [`JournalError::TooLarge`] the journal is poisoned: none of these records
    /// counts, and every later append is rejected with the first cause.
    pub fn append(&mut self, records: &[Record]) -> Result<u64, JournalError> {
        let prepared = self.prepare(records)?;
        self.write(prepared, records)
    }

    /// Encodes `records` as the next append. Nothing is written: [`Self::write`] does that.
    ///
    /// # Errors
    /// Returns [`JournalError::Poisoned`] or [`JournalError::TooLarge`].
    pub fn prepare(&mut self, records: &[Record]) -> Result<PreparedAppend, JournalError> {
        if let Some(cause) = &self.failure {
            return Err(JournalError::Poisoned { cause: cause.clone() });
        }
        self.newest = None;
        self.buffer.clear();
        self.buffer.resize(APPEND_HEADER, 0);
        encode_records(records, &mut self.buffer);
        let bytes = self.buffer.len() - APPEND_HEADER;
        let too_large = || JournalError::TooLarge { bytes, limit: MAX_APPEND_SIZE };
        if bytes > MAX_APPEND_SIZE {
            return Err(too_large());
        }
        let length = u32::try_from(bytes).map_err(|_| too_large())?;
        let count = u32::try_from(records.len()).map_err(|_| too_large())?;
        let (sequence, records) = (self.chain.sequence, &self.buffer[APPEND_HEADER..]);
        Ok(PreparedAppend {
            sequence,
            count,
            length,
            hash: RawAppend::content_hash(sequence, count, records),
        })
    }

    /// Makes the append durable that [`Self::prepare`] encoded last from the same records, and returns its
    /// sequence number.
    ///
    /// # Errors
    /// After any error the journal is poisoned.
    pub fn write(&mut self, prepared: PreparedAppend, records: &[Record]) -> Result<u64, JournalError> {
        let PreparedAppend { count, length, .. } = prepared;
        let written = self.write_and_mark_end(length, count, records);
        self.buffer.shrink_to(BUFFER);
        match written {
            Ok(sequence) => {
                self.newest = Some((prepared, length as usize));
                Ok(sequence)
            }
            Err(e) => {
                self.failure = Some(e.to_string());
                Err(e)
            }
        }
    }

    /// Records durably that the writer stops cleanly. A later append revokes the record before it is written.
    ///
    /// # Errors
    /// After any error the journal is poisoned.
    pub fn close(&mut self) -> Result<(), JournalError> {
        if let Some(cause) = &self.failure {
            return Err(JournalError::Poisoned { cause: cause.clone() });
        }
        let checked = self.check_writer().and_then(|()| self.check_locations());
        let closed = checked.and_then(|()| self.end_file.set_state(EndState::Closed));
        if let Err(error) = &closed {
            self.failure = Some(error.to_string());
        }
        closed
    }

    /// Returns the number of this opening among all openings for writing.
    pub fn epoch(&self) -> u64 {
        self.end_file.mark.epoch
    }

    /// Returns the sequence numbers of the appends that the newest repair discarded.
    pub fn discarded(&self) -> Range<u64> {
        self.end_file.mark.discarded_before()
    }

    /// Checks that no other process has opened the journal since.
    fn check_writer(&self) -> Result<(), JournalError> {
        self.end_file.check_writer()
    }

    /// Checks that the open files are still at their paths.
    fn check_locations(&self) -> Result<(), JournalError> {
        self.end_file.check_location()?;
        check_location(&*self.file, &self.path)
    }

    /// Checks that the file still contains the bytes that were written to it.
    fn check_length(&self) -> Result<(), JournalError> {
        let length = self.file.size().map_err(JournalError::io("read the length of", &self.path))?;
        if length < self.offset {
            return Err(JournalError::Shortened { path: self.path.clone(), length, expected: self.offset });
        }
        Ok(())
    }

    /// Writes and syncs the append whose records are in the buffer, and records the new end. Fails if another
    /// process writes too.
    fn write_and_mark_end(
        &mut self,
        length: u32,
        count: u32,
        records: &[Record],
    ) -> Result<u64, JournalError> {
        self.check_writer()?;
        self.check_length()?;
        self.end_file.set_state(EndState::Open)?;
        let sequence = self.write_and_sync(length, count)?;
        // Checked again: an acknowledged append becomes visible to readers.
        self.check_writer()?;
        self.check_locations()?;
        self.end_file.record_append(self.chain, records)?;
        Ok(sequence)
    }

    /// Returns the first failure, if the journal has stopped.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Returns the newest append, if it was made since the opening.
    pub fn newest(&self) -> Option<RawAppend> {
        let (PreparedAppend { sequence, count, hash, .. }, bytes) = self.newest?;
        let records = self.buffer.get(APPEND_HEADER..APPEND_HEADER + bytes)?.to_vec();
        Some(RawAppend { sequence, hash, count, records })
    }

    /// Returns the content hash of the newest append, if it was made since the opening.
    pub fn newest_hash(&self) -> Option<B256> {
        self.newest.map(|(prepared, _)| prepared.hash)
    }

    /// Returns the bytes of the appends since opening.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Returns the number of segment files.
    pub fn segments(&self) -> usize {
        self.segments.len()
    }

    /// Returns the position of the next append.
    pub fn end(&self) -> JournalPosition {
        JournalPosition { segment: self.header.number, offset: self.offset }
    }

    /// Returns the sequence number of the next append.
    pub fn next_sequence(&self) -> u64 {
        self.chain.sequence
    }

    /// Returns the sequence number of the oldest retained append; 0 unless segments were removed.
    pub fn first_sequence(&self) -> u64 {
        self.segments.first().map_or(self.chain.sequence, |&(_, first)| first)
    }

    /// Returns the appends that existed at opening, in order. The iterator is independent of the journal:
    /// appends may continue.
    pub fn replay(&self) -> Result<AppendReplay, JournalError> {
        self.replay_from(0)
    }

    /// Like [`Self::replay`], but starts at the append with this sequence number, or at the oldest retained
    /// append. Older segments are not read.
    pub fn replay_from(&self, sequence: u64) -> Result<AppendReplay, JournalError> {
        let segment = self.segments.iter().rev().find(|(_, first)| *first <= sequence);
        let segment = segment.map_or(0, |(number, _)| *number);
        let walk = SegmentScanner::new(self.disk.clone(), &self.dir, Some(self.options.identity))?;
        Ok(AppendReplay::new(walk.starting_at(segment), sequence..self.opened_at))
    }

    /// Returns a reader of the appends that existed at opening.
    pub fn reader(&self) -> JournalReader {
        JournalReader {
            disk: self.disk.clone(),
            dir: self.dir.clone(),
            identity: self.options.identity,
            end: self.opened_at,
        }
    }

    /// Removes the segments whose appends all come before `sequence`, oldest first, and returns their number.
    ///
    /// The segment being written is always retained. Only remove appends that a synced store has applied.
    pub fn remove_segments_before(&mut self, sequence: u64) -> Result<usize, JournalError> {
        let mut removed = 0;
        while self.segments.len() > 1 && self.segments[1].1 <= sequence {
            self.check_writer()?;
            self.check_locations()?;
            let path = self.dir.join(segment_name(self.segments[0].0));
            self.disk.remove(&path).map_err(JournalError::io("remove", path))?;
            let (number, _) = self.segments.remove(0);
            self.sizes.remove(number);
            removed += 1;
            // One segment at a time, so that a crash cannot leave a gap.
            self.disk.sync_dir(&self.dir).map_err(JournalError::io("sync", &self.dir))?;
        }
        Ok(removed)
    }

    /// Returns the sequence number of the first append of the newest segments whose files have at most `max_bytes`
    /// together. The segment being written always counts as one of them.
    pub fn first_within(&mut self, max_bytes: u64) -> Result<u64, JournalError> {
        let (mut total, mut first) = (self.header.size, self.chain.sequence);
        for (at, &(number, sequence)) in self.segments.iter().enumerate().rev() {
            if at + 1 < self.segments.len() {
                total = total.saturating_add(self.sizes.read(number, &*self.disk, &self.dir)?);
                if total > max_bytes {
                    break;
                }
            }
            first = sequence;
        }
        Ok(first)
    }

    /// Writes and syncs the append whose records are in the buffer.
    pub(crate) fn write_and_sync(&mut self, length: u32, records: u32) -> Result<u64, JournalError> {
        let bytes = padded(length as usize);
        if bytes > self.header.size.saturating_sub(self.offset) {
            self.begin_segment(bytes)?;
        }
        let on_disk = usize::try_from(bytes).expect("at most the greatest append");
        self.buffer.resize(on_disk, 0);
        let hash = AppendHeader::seal(&mut self.buffer, self.chain, length, records, &self.header.salt);
        let position = JournalPosition { segment: self.header.number, offset: self.offset };
        write_all(&*self.file, &self.buffer, position, &self.dir)?;
        sync(&*self.file, position, &self.dir)?;
        let sequence = self.chain.sequence;
        self.chain = ChainLink { sequence: sequence + 1, previous: hash };
        self.offset += bytes;
        self.written += bytes;
        Ok(sequence)
    }

    /// Creates the next segment, large enough for an append of `bytes`.
    fn begin_segment(&mut self, bytes: u64) -> Result<(), JournalError> {
        let number = self.header.number + 1;
        let (file, header) =
            create_segment(&*self.disk, &self.dir, &self.options, (number, self.chain, bytes))?;
        self.segments.push((number, self.chain.sequence));
        (self.file, self.header, self.offset) = (file, header, SECTOR);
        self.path = self.dir.join(segment_name(number));
        Ok(())
    }
}

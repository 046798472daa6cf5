//! Opening of a journal: verifies all appends, cuts a torn tail, and makes the remaining data durable.

use std::{path::Path, sync::Arc};

use alloy_primitives::B256;
use serde::Serialize;

use crate::{
    disk::{Disk, DiskFile, read_up_to},
    end_file::{EndFileContent, EndFileWriter, end_path, read_end},
    error::{JournalError, JournalPosition},
    layout::{ChainLink, FIRST_SEGMENT, SegmentHeader, segment_name},
    local_journal::LocalJournal,
    options::JournalOptions,
    recorded_end::{ChainTip, EndState, RecordedEnd},
    segment_scanner::{JournalEnd, ScannedAppend, SegmentScanner, TailState},
    segment_sizes::SegmentSizes,
    segment_writer::{create_segment, sync, write_all},
};

/// Part of an append that was being written when the machine stopped. It was never acknowledged as durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TornTail {
    pub position: JournalPosition,
    /// Number of bytes from there to the last byte that is not zero.
    pub bytes: u64,
}

/// Findings and actions of opening a journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Number of segments that hold the journal.
    pub segments: u64,
    /// Number of complete appends. `records` counts the records in them.
    pub appends: u64,
    pub records: u64,
    /// The tail that was cut.
    pub torn_tail: Option<TornTail>,
    /// The segment whose creation did not finish; it was removed.
    pub unfinished_segment: Option<u64>,
    /// `true` if a repair accepted the loss of everything after the newest append.
    pub loss_accepted: bool,
    /// Offset in `journal.end` of a damaged copy of the recorded end; it was rewritten.
    pub damaged_end: Option<u64>,
}

impl Recovery {
    /// Records the remains of a crash after the newest append. Removes a segment whose creation did not
    /// finish.
    fn report_tail(&mut self, disk: &dyn Disk, dir: &Path, end: &JournalEnd) -> Result<(), JournalError> {
        match end.tail {
            TailState::Clean => {}
            TailState::Torn { bytes } => {
                let segment = end.segment.expect("a torn tail has its segment").number;
                let torn = TornTail { position: JournalPosition { segment, offset: end.offset }, bytes };
                tracing::warn!(position = %torn.position, bytes, "journal: truncated an incomplete append");
                self.torn_tail = Some(torn);
            }
            TailState::UnfinishedSegment { segment } => {
                tracing::warn!(segment, "journal: removed a segment that was being created");
                remove_unfinished_segment(disk, dir, segment)?;
                self.unfinished_segment = Some(segment);
            }
        }
        Ok(())
    }
}

/// Number of zero bytes written at a time over a torn tail.
const ZEROS: usize = 1 << 20;

impl LocalJournal {
    /// Opens the journal in `dir`, or creates it.
    ///
    /// Verifies every append and cuts a torn tail. On return, everything that [`Self::replay`] yields is on
    /// stable storage.
    ///
    /// # Errors
    /// [`JournalError::Corrupt`] when data that was once synced is damaged, [`JournalError::WrongChain`],
    /// [`JournalError::NewerFormat`], [`JournalError::Unreleased`], and [`JournalError::Io`].
    pub fn open(
        dir: &Path,
        disk: Arc<dyn Disk>,
        options: JournalOptions,
    ) -> Result<(Self, Recovery), JournalError> {
        recover(dir, disk, options)
    }
}

fn recover(
    dir: &Path,
    disk: Arc<dyn Disk>,
    options: JournalOptions,
) -> Result<(LocalJournal, Recovery), JournalError> {
    disk.create_dir(dir).map_err(JournalError::io("create", dir))?;
    let recorded = read_end(&*disk, dir)?;
    let mut scanner = SegmentScanner::new(disk.clone(), dir, Some(options.identity))?;
    let mut recovery = Recovery::default();
    let mut end_check = RecordedEndCheck::new(recorded.map(|content| content.mark));
    while let Some(append) = scanner.next()? {
        recovery.appends += 1;
        recovery.records += u64::from(append.header.records);
        end_check.observe(&append);
    }
    let end = scanner.end().expect("the walk has ended");
    let chain = scanner.chain().unwrap_or(ChainLink { sequence: 0, previous: options.identity.genesis });
    end_check.check(chain, end_position(&end), dir)?;
    if let Some(EndFileContent { mark, damaged }) = recorded {
        recovery.loss_accepted = mark.is_accepted_loss(chain.sequence);
        recovery.damaged_end = damaged;
    }
    if let Some(offset) = recovery.damaged_end {
        let path = end_path(dir);
        tracing::warn!(path = %path.display(), offset, "a copy of the journal's recorded end is damaged");
    }
    recovery.report_tail(&*disk, dir, &end)?;
    let (file, header) = match end.segment {
        Some(header) => (reopen_last_segment(&*disk, dir, &header, &end)?, header),
        None => create_segment(&*disk, dir, &options, (FIRST_SEGMENT, chain, 0))?,
    };
    let mut segments = scanner.visited_segments().to_vec();
    if segments.is_empty() {
        segments.push((header.number, chain.sequence));
    }
    recovery.segments = segments.len() as u64;
    let writer_id = writer_id(&options, recorded.map(|content| content.mark));
    let state = (EndState::Open, chain, end_check.tip);
    let end_file =
        EndFileWriter::take_over(&*disk, dir, recorded.map(|content| content.mark), state, writer_id, 0)?;
    let journal = LocalJournal {
        end_file,
        path: dir.join(segment_name(header.number)),
        disk,
        dir: dir.to_owned(),
        options,
        sizes: SegmentSizes::default(),
        segments,
        file,
        header,
        offset: end.offset,
        written: 0,
        chain,
        opened_at: chain.sequence,
        failure: None,
        buffer: Vec::new(),
        newest: None,
    };
    Ok((journal, recovery))
}

/// Returns the position of the next append.
pub(crate) fn end_position(end: &JournalEnd) -> JournalPosition {
    let segment = end.segment.map_or(FIRST_SEGMENT, |header| header.number);
    JournalPosition { segment, offset: end.offset }
}

/// Returns a random number for a writer, different for each opening.
pub(crate) fn writer_id(options: &JournalOptions, before: Option<RecordedEnd>) -> [u8; 16] {
    let mut hasher = blake3::Hasher::new_keyed(&options.entropy);
    hasher.update(b"writer").update(&before.map_or(0, |mark| mark.epoch).to_le_bytes());
    let mut id = [0; 16];
    hasher.finalize_xof().fill(&mut id);
    id
}

/// Comparison of the journal with its recorded end, while the journal is read.
pub(crate) struct RecordedEndCheck {
    mark: Option<RecordedEnd>,
    /// Hash in the journal of the append that the mark names.
    hash_at_mark: Option<B256>,
    /// The newest block and step.
    pub tip: ChainTip,
}

impl RecordedEndCheck {
    pub(crate) fn new(mark: Option<RecordedEnd>) -> Self {
        Self { mark, hash_at_mark: None, tip: mark.map_or_else(ChainTip::default, |mark| mark.tip) }
    }

    pub(crate) fn observe(&mut self, append: &ScannedAppend<'_>) {
        let next = append.header.next();
        let Some(mark) = &self.mark else {
            // The first opening by a program that records the end.
            self.apply(append);
            return;
        };
        if next.sequence == mark.next {
            self.hash_at_mark = Some(next.previous);
        }
        if next.sequence > mark.next {
            self.apply(append);
        }
    }

    fn apply(&mut self, append: &ScannedAppend<'_>) {
        // Records that cannot be decoded are an error of the replay.
        for record in &append.decode().unwrap_or_default() {
            self.tip.apply(record);
        }
    }

    /// Compares the end of the journal with the recorded end.
    ///
    /// # Errors
    /// [`JournalError::Missing`] and [`JournalError::OtherHistory`].
    pub(crate) fn check(
        &self,
        chain: ChainLink,
        position: JournalPosition,
        dir: &Path,
    ) -> Result<(), JournalError> {
        let Some(mark) = self.mark else { return Ok(()) };
        if mark.next > chain.sequence {
            return Err(JournalError::Missing {
                path: end_path(dir),
                position,
                next: chain.sequence,
                mark: Box::new(mark),
            });
        }
        let hash = if mark.next == chain.sequence { Some(chain.previous) } else { self.hash_at_mark };
        match hash {
            Some(hash) if hash != mark.hash => {
                Err(JournalError::OtherHistory { path: end_path(dir), mark: Box::new(mark) })
            }
            _ => Ok(()),
        }
    }
}

fn remove_unfinished_segment(disk: &dyn Disk, dir: &Path, segment: u64) -> Result<(), JournalError> {
    let path = dir.join(segment_name(segment));
    disk.remove(&path).map_err(JournalError::io("remove", path))?;
    disk.sync_dir(dir).map_err(JournalError::io("sync", dir))
}

/// Opens the last segment for writing, with zeros after its last append and everything durable.
///
/// The previous process may have been killed between write and sync, or its sync may have failed. Then the
/// bytes just read may exist in memory only, marked as written. So the header and the last append are
/// rewritten with the same bytes; older appends were synced before those were written.
fn reopen_last_segment(
    disk: &dyn Disk,
    dir: &Path,
    header: &SegmentHeader,
    end: &JournalEnd,
) -> Result<Box<dyn DiskFile>, JournalError> {
    let path = dir.join(segment_name(header.number));
    let file = disk.open(&path, true).map_err(JournalError::io("open", &path))?;
    let position = |offset| JournalPosition { segment: header.number, offset };
    zero_torn_tail(&*file, position(end.offset), end.tail, dir)?;
    write_all(&*file, &header.encode(), position(0), dir)?;
    if let Some(last) = end.last_append {
        let length = usize::try_from(end.offset - last).expect("an append fits in memory");
        let mut append = vec![0; length];
        // If the file ends inside the padding, zeros are right.
        read_up_to(&*file, &mut append, last).map_err(JournalError::io("read", &path))?;
        write_all(&*file, &append, position(last), dir)?;
    }
    sync(&*file, position(0), dir)?;
    disk.sync_dir(dir).map_err(JournalError::io("sync", dir))?;
    Ok(file)
}

/// Overwrites a torn tail, which begins at `start`, with zeros.
fn zero_torn_tail(
    file: &dyn DiskFile,
    start: JournalPosition,
    tail: TailState,
    dir: &Path,
) -> Result<(), JournalError> {
    match tail {
        TailState::Torn { bytes } => write_zeros(file, start, bytes, dir),
        _ => Ok(()),
    }
}

pub(crate) fn write_zeros(
    file: &dyn DiskFile,
    start: JournalPosition,
    bytes: u64,
    dir: &Path,
) -> Result<(), JournalError> {
    let zeros = vec![0; ZEROS];
    let mut written = 0;
    while written < bytes {
        let length = usize::try_from(bytes - written).unwrap_or(ZEROS).min(ZEROS);
        write_all(file, &zeros[..length], JournalPosition { offset: start.offset + written, ..start }, dir)?;
        written += length as u64;
    }
    Ok(())
}

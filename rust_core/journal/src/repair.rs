//! Cuts a corrupt journal at the first damage. This loses acknowledged appends, so it runs only on explicit
//! request.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::Serialize;

use crate::{
    check::{JournalExamination, JournalReport, SegmentFault, block_number, examine},
    disk::Disk,
    end_file::{EndFileWriter, read_end, remove_end},
    error::{JournalError, JournalPosition},
    layout::{APPEND_HEADER, FIRST_SEGMENT, SECTOR, SegmentSector, segment_name},
    record::decode_records,
    recorded_end::{ChainTip, EndState},
    recovery::write_zeros,
    segment::SegmentFile,
    segment_scanner::{SegmentScanner, segment_numbers},
    segment_writer::{sync, write_all},
};

/// Data that a repair discards. Damaged appends count; those behind a damaged header may not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LostRecords {
    /// Start of the discarded data.
    pub position: JournalPosition,
    /// Minimum number of discarded appends, derived from sequence numbers.
    pub appends: u64,
    /// Number of discarded appends that can still be read. `records` counts the records in them.
    pub readable: u64,
    pub records: u64,
    /// First and last number of the blocks in those records.
    pub blocks: Option<(u64, u64)>,
    /// Number of discarded bytes: in each segment, up to the last byte that is not zero.
    pub bytes: u64,
    /// Segments that are removed completely.
    pub segments: Vec<u64>,
    /// `true` if the segments are the oldest ones and the store contains all their content: no visible data
    /// is lost.
    pub in_store: bool,
    /// Sequence number after the newest append that `journal.end` records; `None` if it records none.
    pub recorded: Option<u64>,
    /// The newest block and step that it records.
    pub tip: Option<ChainTip>,
}

/// A repair that is planned but not applied.
pub struct JournalRepairPlan {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    loss: LostRecords,
    /// `true` if the repair cuts data.
    cut: bool,
    /// Sequence number after the newest discarded append.
    until: u64,
}

/// Reports the content of the journal in `dir` and plans a repair if one is needed. Changes nothing.
///
/// A repair is needed if the journal is corrupt or ends before its recorded end. It cuts the journal there
/// and records that the loss is accepted. The caller holds the [`DirLock`](crate::DirLock) until the repair
/// is done.
///
/// # Errors
/// Errors of the file system.
pub fn plan_repair(
    dir: &Path,
    disk: Arc<dyn Disk>,
) -> Result<(JournalReport, Option<JournalRepairPlan>), JournalError> {
    let JournalExamination { report, chain, end, compared } = examine(dir, disk.clone())?;
    let (recorded, end_damaged) = match read_end(&*disk, dir) {
        Ok(content) => (content.map(|content| content.mark), false),
        Err(JournalError::EndDamaged { .. }) => (None, true),
        Err(other) => return Err(other),
    };
    let next = chain.map_or(report.first_sequence, |chain| chain.sequence);
    let (mut loss, cut) = match &report.fault {
        Some(fault) => {
            // The very first segment begins with append 0, whether its header is readable or not.
            let first = (fault.position.segment == FIRST_SEGMENT).then_some(0);
            let expected = chain.map(|chain| chain.sequence).or(first);
            (measure_loss(&*disk, dir, fault.position, expected)?, true)
        }
        None if end_damaged || compared.is_err() => (LostRecords::none(end), false),
        None => return Ok((report, None)),
    };
    if let Some(mark) = recorded {
        loss.recorded = Some(mark.next);
        loss.tip = Some(mark.tip).filter(|_| mark.next > next);
        loss.appends = loss.appends.max(mark.next.saturating_sub(next));
    }
    let until = next.saturating_add(loss.appends);
    Ok((report, Some(JournalRepairPlan { disk, dir: dir.to_owned(), loss, cut, until })))
}

/// Plans to record that everything after the end of a sound journal is lost. Use it when a record other than
/// the journal's own proves that the journal once held more.
pub fn plan_acceptance(dir: &Path, disk: Arc<dyn Disk>) -> Result<JournalRepairPlan, JournalError> {
    let JournalExamination { end, .. } = examine(dir, disk.clone())?;
    Ok(JournalRepairPlan { disk, dir: dir.to_owned(), loss: LostRecords::none(end), cut: false, until: 0 })
}

/// Plans to remove the leading segments up to the last damaged one, if the store has applied them.
///
/// `applied` is the append with which the store continues. Returns `None` if the damage is elsewhere, or if
/// the journal is not damaged.
///
/// # Errors
/// Errors of the file system.
pub fn plan_leading_cut(
    dir: &Path,
    disk: Arc<dyn Disk>,
    applied: u64,
) -> Result<Option<JournalRepairPlan>, JournalError> {
    let JournalExamination { report, .. } = examine(dir, disk.clone())?;
    let Some(fault) = &report.fault else { return Ok(None) };
    let numbers = segment_numbers(&*disk, dir)?;
    for &number in numbers.iter().filter(|&&number| number > fault.position.segment) {
        let Some(first) = first_sound_sequence(&disk, dir, number)? else { continue };
        if first > applied {
            break;
        }
        let segments = numbers.iter().copied().filter(|before| *before < number).collect();
        let appends = first.saturating_sub(report.first_sequence);
        let loss = LostRecords { appends, segments, in_store: true, ..LostRecords::none(fault.position) };
        return Ok(Some(JournalRepairPlan { disk, dir: dir.to_owned(), loss, cut: false, until: 0 }));
    }
    Ok(None)
}

/// Returns the first sequence number of segment `number`, if it and all later segments are sound.
fn first_sound_sequence(disk: &Arc<dyn Disk>, dir: &Path, number: u64) -> Result<Option<u64>, JournalError> {
    let mut walk = SegmentScanner::new(disk.clone(), dir, None)?.starting_at(number);
    loop {
        match walk.next() {
            Ok(Some(append)) if append.decode().is_ok() => {}
            Ok(None) => return Ok(walk.visited_segments().first().map(|&(_, first)| first)),
            Ok(Some(_)) | Err(JournalError::Corrupt { .. }) => return Ok(None),
            Err(other) => return Err(other),
        }
    }
}

impl JournalRepairPlan {
    /// Returns the data that [`Self::apply`] discards.
    pub fn loss(&self) -> &LostRecords {
        &self.loss
    }

    /// Discards every append before number `next`, because a record other than the journal's own proves that
    /// they existed.
    pub fn discard_until(&mut self, next: u64) {
        self.until = self.until.max(next);
    }

    /// Applies the repair.
    ///
    /// After a crash in the middle, either the journal is still corrupt or the remaining damage is a torn
    /// tail. Another repair or the next opening cuts the rest.
    pub fn apply(self) -> Result<(), JournalError> {
        if self.loss.in_store {
            return self.remove(self.loss.segments.iter());
        }
        if self.cut {
            self.cut()?;
        }
        self.record_accepted_loss()
    }

    /// Records for the next writer that the journal ends here.
    fn record_accepted_loss(&self) -> Result<(), JournalError> {
        let Self { disk, dir, .. } = self;
        let JournalExamination { report, chain, .. } = examine(dir, disk.clone())?;
        if let Some(SegmentFault { position, reason }) = report.fault {
            return Err(JournalError::Corrupt { position, reason });
        }
        // Without a segment the next opening starts again from the genesis block, whose hash is not available
        // here.
        let Some(chain) = chain else { return remove_end(&**disk, dir) };
        let before = match read_end(&**disk, dir) {
            Ok(content) => content.map(|content| content.mark),
            Err(JournalError::EndDamaged { .. }) => None,
            Err(other) => return Err(other),
        };
        let tip = ChainTip {
            block: report.head.map(|head| (head.number, head.hash)),
            step: report.step.map(|step| (step.number, step.index, step.hash)),
            transactions: 0,
        };
        // No process writes with this number.
        let writer_id = [0; 16];
        EndFileWriter::take_over(
            &**disk,
            dir,
            before,
            (EndState::Repaired, chain, tip),
            writer_id,
            self.until,
        )
        .map(drop)
    }

    /// Removes segments, each durably before the next, so that no gap appears.
    fn remove<'n>(&self, segments: impl Iterator<Item = &'n u64>) -> Result<(), JournalError> {
        let Self { disk, dir, .. } = self;
        for &number in segments {
            let path = dir.join(segment_name(number));
            disk.remove(&path).map_err(JournalError::io("remove", path))?;
            disk.sync_dir(dir).map_err(JournalError::io("sync", dir))?;
        }
        Ok(())
    }

    fn cut(&self) -> Result<(), JournalError> {
        let Self { disk, dir, loss, .. } = self;
        self.remove(loss.segments.iter().rev())?;
        if loss.position.offset == 0 {
            return Ok(());
        }
        let mut reader = SegmentFile::open(&**disk, dir, loss.position.segment)?;
        let SegmentSector::Valid(mut header) = reader.header()? else {
            let reason = "the segment's header changed during the repair".to_owned();
            return Err(JournalError::Corrupt { position: loss.position, reason });
        };
        let bytes = reader.content_end(loss.position.offset)? - loss.position.offset;
        let path = dir.join(segment_name(header.number));
        let file = disk.open(&path, true).map_err(JournalError::io("open", path))?;
        write_zeros(&*file, loss.position, bytes, dir)?;
        // A truncated file keeps its current size from now on.
        header.size = header.size.min(reader.size);
        write_all(&*file, &header.encode(), JournalPosition { offset: 0, ..loss.position }, dir)?;
        sync(&*file, loss.position, dir)
    }
}

impl LostRecords {
    fn none(position: JournalPosition) -> Self {
        let segments = Vec::new();
        let (blocks, recorded, tip) = (None, None, None);
        Self {
            position,
            appends: 0,
            readable: 0,
            records: 0,
            blocks,
            bytes: 0,
            segments,
            in_store: false,
            recorded,
            tip,
        }
    }
}

/// Scans everything from `position` on and counts the loss.
fn measure_loss(
    disk: &dyn Disk,
    dir: &Path,
    position: JournalPosition,
    expected: Option<u64>,
) -> Result<LostRecords, JournalError> {
    let mut loss = LostRecords::none(position);
    // The lowest sequence number that was found, and the one after the highest.
    let mut sequences: Option<(u64, u64)> = None;
    let mut extend_range = |first: u64, next: u64| {
        let (low, high) = sequences.unwrap_or((first, next));
        sequences = Some((low.min(first), high.max(next)));
    };
    for number in segment_numbers(disk, dir)?.into_iter().filter(|&n| n >= position.segment) {
        let cut = number == position.segment && position.offset > 0;
        if !cut {
            loss.segments.push(number);
        }
        let mut file = SegmentFile::open(disk, dir, number)?;
        let start = if cut { position.offset } else { SECTOR };
        loss.bytes += file.content_end(start)? - start;
        let SegmentSector::Valid(header) = file.header()? else { continue };
        if !cut {
            extend_range(header.chain.sequence, header.chain.sequence);
        }
        let mut offset = start;
        while let Some((at, append)) = file.find_append(offset, &header.salt)? {
            extend_range(append.chain.sequence, append.chain.sequence + 1);
            loss.readable += 1;
            loss.records += u64::from(append.records);
            let records = file.read(at + APPEND_HEADER as u64, u64::from(append.length))?;
            loss.blocks = extend_block_range(loss.blocks, records.unwrap_or_default(), append.records);
            offset = at + append.padded();
        }
    }
    let (low, high) = sequences.unwrap_or_default();
    let by_number = high.saturating_sub(expected.unwrap_or(low));
    loss.appends = by_number.max(loss.readable).max(u64::from(loss.bytes > 0));
    Ok(loss)
}

/// Widens `blocks` by the block numbers in an append.
fn extend_block_range(blocks: Option<(u64, u64)>, records: &[u8], count: u32) -> Option<(u64, u64)> {
    let records = decode_records(records, count).unwrap_or_default();
    records.iter().filter_map(block_number).fold(blocks, |blocks, number| {
        let (first, last) = blocks.unwrap_or((number, number));
        Some((first.min(number), last.max(number)))
    })
}

impl fmt::Display for LostRecords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { position, appends, readable, records, blocks, bytes, segments, in_store, recorded, tip } =
            self;
        if let (true, Some(first), Some(last)) = (in_store, segments.first(), segments.last()) {
            return write!(
                f,
                "segments {first} to {last} are removed, with {appends} appends: the store has all of them"
            );
        }
        write!(f, "everything from {position} on: at least {appends} appends, {bytes} bytes")?;
        write!(f, "\n{readable} of them can be read, with {records} records")?;
        if let Some((first, last)) = blocks {
            write!(f, " of blocks {first} to {last}")?;
        }
        if let (Some(first), Some(last)) = (segments.first(), segments.last()) {
            write!(f, "\nsegments {first} to {last} are removed")?;
        }
        if let Some(recorded) = recorded {
            let tip = tip.unwrap_or_default();
            write!(f, "\nthe recorded end is before append {recorded}{tip}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::B256;

    use super::*;
    use crate::{
        layout::Identity, local_journal::LocalJournal, options::JournalOptions, real_disk::RealDisk,
        record::Record,
    };

    #[test]
    fn records_of_a_later_version_are_skipped_only_by_repair() {
        let folder = tempfile::tempdir().unwrap();
        let (disk, dir) = (Arc::new(RealDisk), &folder.path().join("journal"));
        let identity = Identity { chain_id: 1, genesis: B256::ZERO };
        let open =
            || LocalJournal::open(dir, disk.clone(), JournalOptions::new(identity, [0; 32])).unwrap().0;
        let mut journal = open();
        let seal = Record::Seal { number: 1, hash: B256::ZERO };
        journal.append(std::slice::from_ref(&seal)).unwrap();
        journal.buffer = [&[0; APPEND_HEADER][..], &[99, 0xc0]].concat();
        journal.write_and_sync(2, 1).unwrap();
        journal.append(std::slice::from_ref(&seal)).unwrap();

        let error = open().replay().unwrap().find_map(Result::err).unwrap();
        let unknown = "record 0 of append 1 at 0000000001.segment, offset 1024 cannot be read: its kind, 99, is unknown";
        assert!(error.to_string().contains(unknown), "{error}");
        let (report, repair) = plan_repair(dir, disk.clone()).unwrap();
        let position = JournalPosition { segment: 1, offset: 1024 };
        assert_eq!((report.appends, report.fault.map(|fault| fault.position)), (1, Some(position)));
        let repair = repair.unwrap();
        assert_eq!((repair.loss().appends, repair.loss().readable), (2, 2));
        repair.apply().unwrap();
        assert_eq!(open().replay().unwrap().map(|append| append.unwrap().sequence).collect::<Vec<_>>(), [0]);
    }
}

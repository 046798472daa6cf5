//! The file `journal.end`: the end of the journal as its writer last recorded it, and the identity of that
//! writer.
//!
//! The file is next to the journal's directory, not in it. So a directory that was replaced by an older copy
//! is detected.

use std::path::{Path, PathBuf};

use alloy_primitives::B256;

use crate::{
    disk::{Disk, DiskFile, read_up_to},
    error::JournalError,
    layout::{ChainLink, SECTOR},
    record::Record,
    recorded_end::{ChainTip, EndState, RecordedEnd},
};

/// The format that this program reads and writes.
const FORMAT: u32 = 1;
const MAGIC: &[u8; 8] = b"FSEALEND";
const SLOT: usize = 512;
const CHECK: usize = SLOT - 4;
/// Offset of the writer's random number in a slot.
const WRITER: usize = 32;
/// Encoding of an absent number.
const NONE: u64 = u64::MAX;

/// Returns the path of the file for the journal in `dir`.
pub(crate) fn end_path(dir: &Path) -> PathBuf {
    dir.with_extension("end")
}

impl RecordedEnd {
    fn encode(&self) -> [u8; SLOT] {
        let mut slot = [0; SLOT];
        let state: u32 = match self.state {
            EndState::Open => 0,
            EndState::Closed => 1,
            EndState::Repaired => 2,
        };
        let (block, block_hash) = self.tip.block.unwrap_or((NONE, B256::ZERO));
        let (of, index, step_hash) = self.tip.step.unwrap_or((NONE, 0, B256::ZERO));
        let mut at = 0;
        let mut put = |bytes: &[u8]| {
            slot[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        put(MAGIC);
        put(&FORMAT.to_le_bytes());
        put(&state.to_le_bytes());
        put(&self.count.to_le_bytes());
        put(&self.epoch.to_le_bytes());
        put(&self.writer_id);
        put(&self.next.to_le_bytes());
        put(self.hash.as_slice());
        put(&self.repaired_at.unwrap_or(NONE).to_le_bytes());
        put(&block.to_le_bytes());
        put(block_hash.as_slice());
        put(&of.to_le_bytes());
        put(&index.to_le_bytes());
        put(step_hash.as_slice());
        put(&self.tip.transactions.to_le_bytes());
        put(&self.repaired_end.to_le_bytes());
        put(&[self.resumed.into()]);
        let check = crc32c::crc32c(&slot[..CHECK]);
        slot[CHECK..].copy_from_slice(&check.to_le_bytes());
        slot
    }

    /// Decodes a slot; returns `Ok(None)` if it is damaged.
    fn decode(slot: &[u8]) -> Result<Option<Self>, JournalError> {
        let mut input = Input(slot);
        let magic = input.bytes::<8>();
        let check = u32::from_le_bytes(Input(slot.get(CHECK..).unwrap_or_default()).bytes());
        if slot.len() < SLOT || magic != *MAGIC || check != crc32c::crc32c(&slot[..CHECK]) {
            return Ok(None);
        }
        let version = u32::from_le_bytes(input.bytes());
        if version > FORMAT {
            return Err(JournalError::NewerFormat { version, supported: FORMAT });
        }
        let state = match u32::from_le_bytes(input.bytes()) {
            0 => EndState::Open,
            1 => EndState::Closed,
            2 => EndState::Repaired,
            _ => return Ok(None),
        };
        let count = input.number();
        let epoch = input.number();
        let writer_id = input.bytes();
        let next = input.number();
        let hash = B256::from(input.bytes());
        let repaired_at = Some(input.number()).filter(|number| *number != NONE);
        let block = (input.number(), B256::from(input.bytes()));
        let step = (input.number(), input.number(), B256::from(input.bytes()));
        let tip = ChainTip {
            block: Some(block).filter(|(number, _)| *number != NONE),
            step: Some(step).filter(|(number, ..)| *number != NONE),
            transactions: input.number(),
        };
        let repaired_end = input.number();
        let resumed = input.bytes() == [1];
        Ok(Some(Self { state, epoch, writer_id, next, hash, repaired_at, repaired_end, resumed, tip, count }))
    }
}

/// Reader of consecutive fields; it yields zeros after the end of the input.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let (field, rest) = self.0.split_at(self.0.len().min(N));
        self.0 = rest;
        let mut bytes = [0; N];
        bytes[..field.len()].copy_from_slice(field);
        bytes
    }

    fn number(&mut self) -> u64 {
        u64::from_le_bytes(self.bytes())
    }
}

/// Content of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EndFileContent {
    pub mark: RecordedEnd,
    /// Offset of the damaged slot, if one is damaged.
    pub damaged: Option<u64>,
}

/// Reads the mark of the journal in `dir`; returns `None` if the file does not exist.
///
/// # Errors
/// [`JournalError::EndDamaged`] when neither slot can be read.
pub(crate) fn read_end(disk: &dyn Disk, dir: &Path) -> Result<Option<EndFileContent>, JournalError> {
    let path = end_path(dir);
    let file = match disk.open(&path, false) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(JournalError::io("open", path)(error)),
    };
    let mut slots = [0; 2 * SLOT];
    read_up_to(&*file, &mut slots, 0).map_err(JournalError::io("read", &path))?;
    let (first, second) = (RecordedEnd::decode(&slots[..SLOT])?, RecordedEnd::decode(&slots[SLOT..])?);
    match (first, second) {
        (Some(first), Some(second)) => {
            let mark = if second.count > first.count { second } else { first };
            Ok(Some(EndFileContent { mark, damaged: None }))
        }
        (Some(mark), None) => Ok(Some(EndFileContent { mark, damaged: Some(SECTOR) })),
        (None, Some(mark)) => Ok(Some(EndFileContent { mark, damaged: Some(0) })),
        (None, None) => Err(JournalError::EndDamaged { path }),
    }
}

/// Returns the recorded end of the journal in `dir`; `None` if no end is recorded.
///
/// # Errors
/// [`JournalError::EndDamaged`] when neither copy can be read.
pub fn recorded_end(dir: &Path, disk: &dyn Disk) -> Result<Option<RecordedEnd>, JournalError> {
    Ok(read_end(disk, dir)?.map(|content| content.mark))
}

/// Removes the mark of the journal in `dir`, durably. Afterwards no end is recorded.
pub(crate) fn remove_end(disk: &dyn Disk, dir: &Path) -> Result<(), JournalError> {
    let path = end_path(dir);
    match disk.remove(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        other => other.map_err(JournalError::io("remove", &path))?,
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    disk.sync_dir(folder).map_err(JournalError::io("sync", folder))
}

/// The file, open for writing.
pub(crate) struct EndFileWriter {
    file: Box<dyn DiskFile>,
    path: PathBuf,
    pub mark: RecordedEnd,
}

impl EndFileWriter {
    /// Makes the caller the writer of the journal in `dir`, durably, with the next epoch.
    ///
    /// The mark records that the journal is in `state` and ends at `chain`. A repair discards the appends
    /// before number `discarded`.
    pub fn take_over(
        disk: &dyn Disk,
        dir: &Path,
        before: Option<RecordedEnd>,
        (state, chain, tip): (EndState, ChainLink, ChainTip),
        writer_id: [u8; 16],
        discarded: u64,
    ) -> Result<Self, JournalError> {
        let (repaired_at, repaired_end) = match (state, before) {
            (EndState::Repaired, before) => {
                // A repeated repair discards as many appends as before.
                let repeated = before.filter(|mark| mark.is_accepted_loss(chain.sequence));
                let recorded = before.map_or(0, |mark| mark.next);
                let end = repeated.map_or(0, |mark| mark.repaired_end).max(recorded).max(discarded);
                (Some(chain.sequence), end)
            }
            (_, Some(mark)) => (mark.repaired_at, mark.repaired_end),
            (_, None) => (None, 0),
        };
        let resumed = state != EndState::Repaired
            && before
                .is_some_and(|mark| mark.resumed || mark.repaired_at.is_some_and(|at| chain.sequence > at));
        let epoch = before.map_or(0, |mark| mark.epoch).saturating_add(1);
        let (next, hash) = (chain.sequence, chain.previous);
        let count = before.map_or(0, |mark| mark.count);
        let mark = RecordedEnd {
            state,
            epoch,
            writer_id,
            next,
            hash,
            repaired_at,
            repaired_end,
            resumed,
            tip,
            count,
        };
        let path = end_path(dir);
        let opened = match disk.open(&path, true) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(JournalError::io("open", path)(error)),
        };
        match opened {
            Some(file) => {
                let mut end = Self { file, path, mark };
                end.write_both()?;
                Ok(end)
            }
            None => Self::create(disk, path, mark),
        }
    }

    /// Creates the file under a temporary name first, so that a partial file never appears.
    fn create(disk: &dyn Disk, path: PathBuf, mark: RecordedEnd) -> Result<Self, JournalError> {
        let temporary = path.with_extension("end-new");
        match disk.remove(&temporary) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(JournalError::io("remove", temporary)(error));
            }
            _ => {}
        }
        let file = disk.create(&temporary, 2 * SECTOR).map_err(JournalError::io("create", &temporary))?;
        let mut end = Self { file, path: temporary.clone(), mark };
        end.write_both()?;
        disk.rename(&temporary, &path).map_err(JournalError::io("rename", temporary))?;
        let folder = path.parent().unwrap_or(Path::new("."));
        disk.sync_dir(folder).map_err(JournalError::io("sync", folder))?;
        end.path = path;
        Ok(end)
    }

    /// Writes the mark to both slots; each slot is durable before the next is written.
    fn write_both(&mut self) -> Result<(), JournalError> {
        for _ in 0..2 {
            self.write_slot()?;
            self.file.sync().map_err(JournalError::io("sync", &self.path))?;
        }
        Ok(())
    }

    fn write_slot(&mut self) -> Result<(), JournalError> {
        self.mark.count = self.mark.count.saturating_add(1);
        let slot = self.mark.encode();
        let written = self.file.write_at(&slot, self.mark.count % 2 * SECTOR);
        match written.map_err(JournalError::io("write", &self.path))? {
            SLOT => Ok(()),
            short => {
                let ended = std::io::Error::other(format!("{short} of {SLOT} bytes were written"));
                Err(JournalError::io("write", &self.path)(ended))
            }
        }
    }

    /// Records a durable append without a sync: a mark that is older than the journal proves less, never too
    /// much.
    ///
    /// The first mark after a repair is synced: from then on no loss is accepted.
    pub fn record_append(&mut self, chain: ChainLink, records: &[Record]) -> Result<(), JournalError> {
        for record in records {
            self.mark.tip.apply(record);
        }
        (self.mark.next, self.mark.hash) = (chain.sequence, chain.previous);
        if self.mark.repaired_at.is_some() && !self.mark.resumed {
            self.mark.resumed = true;
            return self.write_both();
        }
        self.write_slot()
    }

    /// Changes the state, durably.
    pub fn set_state(&mut self, state: EndState) -> Result<(), JournalError> {
        if self.mark.state == state {
            return Ok(());
        }
        self.mark.state = state;
        self.write_both()
    }

    /// Checks that no other writer has opened the journal since.
    pub fn check_writer(&self) -> Result<(), JournalError> {
        let mut slots = [0; 2 * SLOT];
        read_up_to(&*self.file, &mut slots, 0).map_err(JournalError::io("read", &self.path))?;
        for slot in slots.chunks(SLOT) {
            if slot[WRITER..WRITER + 16] == self.mark.writer_id {
                continue;
            }
            let other = RecordedEnd::decode(slot)?;
            let epoch = other.map(|mark| mark.epoch);
            return Err(JournalError::Fenced { ours: self.mark.epoch, epoch });
        }
        Ok(())
    }

    /// Checks that the file is still at its path.
    pub fn check_location(&self) -> Result<(), JournalError> {
        check_location(&*self.file, &self.path)
    }
}

/// Checks that `file` is the file at `path`.
pub(crate) fn check_location(file: &dyn DiskFile, path: &Path) -> Result<(), JournalError> {
    match file.is_at(path) {
        Ok(true) => Ok(()),
        Ok(false) => Err(JournalError::Moved { path: path.to_owned() }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Err(JournalError::Moved { path: path.to_owned() })
        }
        Err(error) => Err(JournalError::io("look up", path)(error)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::real_disk::RealDisk;

    fn mark() -> RecordedEnd {
        RecordedEnd {
            state: EndState::Closed,
            epoch: 3,
            writer_id: [7; 16],
            next: 12,
            hash: B256::repeat_byte(1),
            repaired_at: Some(4),
            repaired_end: 8,
            resumed: true,
            tip: ChainTip {
                block: Some((2, B256::repeat_byte(2))),
                step: Some((3, 1, B256::repeat_byte(3))),
                transactions: 9,
            },
            count: 5,
        }
    }

    #[test]
    fn a_flipped_bit_of_a_slot_is_detected() {
        let slot = mark().encode();
        assert_eq!(RecordedEnd::decode(&slot).unwrap(), Some(mark()));
        for bit in 0..SLOT * 8 {
            let mut flipped = slot;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(RecordedEnd::decode(&flipped).unwrap(), None, "{bit}");
        }
    }

    #[test]
    fn a_slot_of_a_newer_format_is_rejected() {
        let mut slot = mark().encode();
        slot[8] = 2;
        let check = crc32c::crc32c(&slot[..CHECK]);
        slot[CHECK..].copy_from_slice(&check.to_le_bytes());
        let error = RecordedEnd::decode(&slot).unwrap_err();
        assert!(matches!(error, JournalError::NewerFormat { version: 2, supported: 1 }), "{error}");
    }

    #[test]
    fn a_damaged_slot_is_named_and_the_other_slot_read() {
        let folder = tempfile::tempdir().unwrap();
        let dir = &folder.path().join("journal");
        let state = (EndState::Open, mark().chain(), ChainTip::default());
        let made = EndFileWriter::take_over(&RealDisk, dir, None, state, [1; 16], 0).unwrap().mark;
        assert_eq!((made.epoch, made.next), (1, 12));
        let path = end_path(dir);
        let intact = fs::read(&path).unwrap();
        for at in 0..2 * SLOT {
            let mut damaged = intact.clone();
            damaged[at] ^= 1;
            fs::write(&path, &damaged).unwrap();
            let content = read_end(&RealDisk, dir).unwrap().unwrap();
            assert_eq!(content.damaged, Some(if at < SLOT { 0 } else { SECTOR }));
            assert_eq!((content.mark.next, content.mark.hash), (12, B256::repeat_byte(1)));
        }
        fs::write(&path, [0; 2 * SLOT]).unwrap();
        assert!(matches!(read_end(&RealDisk, dir), Err(JournalError::EndDamaged { .. })));
    }
}

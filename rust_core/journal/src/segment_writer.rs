//! Writes to segments: their creation, writes without gaps, and syncs.

use std::path::Path;

use crate::{
    disk::{Disk, DiskFile},
    error::{JournalError, JournalPosition},
    layout::{ChainLink, SECTOR, SegmentHeader, segment_name},
    options::JournalOptions,
};

/// Creates segment `number`, durably: file, header and directory entry. It continues `chain` and has room for
/// an append of `bytes`.
pub(crate) fn create_segment(
    disk: &dyn Disk,
    dir: &Path,
    options: &JournalOptions,
    (number, chain, bytes): (u64, ChainLink, u64),
) -> Result<(Box<dyn DiskFile>, SegmentHeader), JournalError> {
    let size = options.segment_bytes.checked_next_multiple_of(SECTOR).unwrap_or(u64::MAX).max(SECTOR + bytes);
    let salt = blake3::Hasher::new_keyed(&options.entropy).update(&number.to_le_bytes()).finalize();
    let identity = options.identity;
    let header = SegmentHeader { number, size, identity, chain, salt: salt.into() };
    let position = JournalPosition { segment: number, offset: 0 };
    let path = dir.join(segment_name(number));
    let file = disk.create(&path, size).map_err(JournalError::io("create", path))?;
    // The size is synced first: a readable header then proves that the file once had the recorded size.
    sync(&*file, position, dir)?;
    write_all(&*file, &header.encode(), position, dir)?;
    sync(&*file, position, dir)?;
    disk.sync_dir(dir).map_err(JournalError::io("sync", dir))?;
    Ok((file, header))
}

/// Performs one write. A short write is a failure: the state of the disk is undefined after it.
pub(crate) fn write_all(
    file: &dyn DiskFile,
    bytes: &[u8],
    position: JournalPosition,
    dir: &Path,
) -> Result<(), JournalError> {
    let path = dir.join(segment_name(position.segment));
    let written = file.write_at(bytes, position.offset).map_err(JournalError::io("write", path))?;
    if written == bytes.len() {
        Ok(())
    } else {
        Err(JournalError::ShortWrite { position, written, wanted: bytes.len() })
    }
}

pub(crate) fn sync(file: &dyn DiskFile, position: JournalPosition, dir: &Path) -> Result<(), JournalError> {
    file.sync().map_err(JournalError::io("sync", dir.join(segment_name(position.segment))))
}

//! Copies of a journal that is being written.

use std::{
    collections::BTreeMap,
    fs::File,
    io,
    os::unix::fs::{FileExt, MetadataExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use crate::{
    disk::{Disk, DiskFile},
    error::JournalError,
    layout::{Identity, SECTOR, SegmentHeader, SegmentSector, segment_name, segment_number},
    segment::SegmentFile,
    segment_scanner::SegmentScanner,
};

/// Maximum number of read attempts: an append that is written during the read looks damaged.
const ATTEMPTS: u32 = 5;
/// Number of bytes passed to the sink at a time.
const CHUNK_SIZE: usize = 1 << 20;

/// The segments of a journal, held open so that they can be copied even after the writer removes them.
///
/// Takes no lock: a node may write to the journal meanwhile.
pub struct PinnedSegments {
    dir: PathBuf,
    files: Arc<Files>,
}

type Files = Mutex<BTreeMap<u64, Arc<File>>>;

/// The part of a segment that a copy contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinnedSegment {
    pub number: u64,
    /// Name of the segment's file.
    pub name: String,
    /// Number of bytes up to the end of the last complete append.
    pub bytes: u64,
}

/// The complete appends of the held segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PinnedAppends {
    /// The segments that hold the appends, oldest first.
    pub segments: Vec<PinnedSegment>,
    /// Sequence number of the first append. `next` is the number after the last one.
    pub first: u64,
    pub next: u64,
}

impl PinnedSegments {
    /// Opens every segment that `dir` contains now.
    pub fn open(dir: &Path) -> Result<Self, JournalError> {
        let pinned = Self { dir: dir.to_owned(), files: Arc::default() };
        pinned.refresh()?;
        Ok(pinned)
    }

    /// Opens the segments that were created since. Returns `true` if no segment is missing.
    ///
    /// A segment that was created and removed in between is missing. Then only the segments before the gap
    /// are held.
    pub fn refresh(&self) -> Result<bool, JournalError> {
        let names = std::fs::read_dir(&self.dir).map_err(JournalError::io("list", &self.dir))?;
        let mut numbers = Vec::new();
        for name in names {
            let name = name.map_err(JournalError::io("list", &self.dir))?.file_name();
            numbers.extend(segment_number(Path::new(&name)));
        }
        numbers.sort_unstable();
        let (mut files, mut is_complete) = (lock(&self.files), true);
        for number in numbers {
            if files.contains_key(&number) {
                continue;
            }
            if files.last_key_value().is_some_and(|(last, _)| number > last + 1) {
                is_complete = false;
                break;
            }
            let path = self.dir.join(segment_name(number));
            match File::open(&path) {
                Ok(file) => drop(files.insert(number, Arc::new(file))),
                // The writer may remove the oldest segment between the listing and this open.
                Err(error) if error.kind() == io::ErrorKind::NotFound && files.is_empty() => {}
                // It removed several: the rest has a gap, as if they had been gone before the listing.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    is_complete = false;
                    break;
                }
                Err(error) => return Err(JournalError::io("open", path)(error)),
            }
        }
        Ok(is_complete)
    }

    /// Verifies the appends of a chain and returns their extent.
    ///
    /// Starts at the segment that holds append `from`, or at the oldest held segment if none does.
    ///
    /// # Errors
    /// [`JournalError::Corrupt`] and [`JournalError::WrongChain`], as for opening the journal.
    pub fn verify_appends(&self, identity: Identity, from: u64) -> Result<PinnedAppends, JournalError> {
        let mut attempt = 1;
        loop {
            match self.scan_appends(identity, from) {
                Err(JournalError::Corrupt { .. }) if attempt < ATTEMPTS => attempt += 1,
                other => return other,
            }
        }
    }

    fn scan_appends(&self, identity: Identity, from: u64) -> Result<PinnedAppends, JournalError> {
        let disk: Arc<dyn Disk> = Arc::new(PinnedDisk(self.files.clone()));
        let numbers: Vec<u64> = lock(&self.files).keys().copied().collect();
        let mut start = 0;
        for number in numbers.into_iter().rev() {
            let header = SegmentFile::open(&*disk, &self.dir, number)?.header()?;
            if matches!(header, SegmentSector::Valid(header) if header.chain.sequence <= from) {
                start = number;
                break;
            }
        }
        let mut scanner = SegmentScanner::new(disk, &self.dir, Some(identity))?.starting_at(start);
        let (mut ends, mut next) = (BTreeMap::new(), None);
        while let Some(append) = scanner.next()? {
            ends.insert(append.position.segment, append.position.offset + append.header.padded());
            next = Some(append.header.next().sequence);
        }
        let segment = |&(number, _): &(u64, u64)| PinnedSegment {
            number,
            name: segment_name(number),
            bytes: ends.get(&number).copied().unwrap_or(SECTOR),
        };
        let first = scanner.visited_segments().first().map_or(0, |&(_, first)| first);
        Ok(PinnedAppends {
            segments: scanner.visited_segments().iter().map(segment).collect(),
            first,
            next: next.unwrap_or(first),
        })
    }

    /// Passes the bytes of a segment to `sink`, up to the end of its last complete append.
    ///
    /// # Errors
    /// Returns the errors of `sink` and errors of reading.
    pub fn copy(
        &self,
        segment: &PinnedSegment,
        sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), JournalError> {
        let failed = |error| JournalError::io("copy", self.dir.join(&segment.name))(error);
        let file = lock(&self.files).get(&segment.number).cloned();
        let file = file.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
        let (mut chunk, mut copied) = (vec![0; CHUNK_SIZE], 0);
        while copied < segment.bytes {
            let length = usize::try_from(segment.bytes - copied).unwrap_or(CHUNK_SIZE).min(CHUNK_SIZE);
            file.read_exact_at(&mut chunk[..length], copied)
                .and_then(|()| sink(&chunk[..length]))
                .map_err(failed)?;
            copied += length as u64;
        }
        Ok(())
    }
}

/// Returns the file size in bytes that a segment's first sector records; `None` if the sector is not a valid
/// header. A copy of the segment may be shorter.
pub fn segment_size(sector: &[u8; 512]) -> Option<u64> {
    match SegmentHeader::decode(sector) {
        SegmentSector::Valid(header) => Some(header.size),
        SegmentSector::Newer(_) | SegmentSector::Unreleased | SegmentSector::Bad => None,
    }
}

fn lock(files: &Files) -> std::sync::MutexGuard<'_, BTreeMap<u64, Arc<File>>> {
    files.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The held files as a read-only disk.
struct PinnedDisk(Arc<Files>);

impl Disk for PinnedDisk {
    fn create_dir(&self, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn list(&self, _: &Path) -> io::Result<Vec<PathBuf>> {
        Ok(lock(&self.0).keys().map(|number| segment_name(*number).into()).collect())
    }

    fn open(&self, path: &Path, write: bool) -> io::Result<Box<dyn DiskFile>> {
        if write {
            return Err(io::ErrorKind::ReadOnlyFilesystem.into());
        }
        let number = path.file_name().and_then(|name| segment_number(Path::new(name)));
        let file = number.and_then(|number| lock(&self.0).get(&number).cloned());
        file.map_or_else(
            || Err(io::ErrorKind::NotFound.into()),
            |file| Ok(Box::new(PinnedFile(file)) as Box<dyn DiskFile>),
        )
    }

    fn create(&self, _: &Path, _: u64) -> io::Result<Box<dyn DiskFile>> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn remove(&self, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn rename(&self, _: &Path, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn sync_dir(&self, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }
}

struct PinnedFile(Arc<File>);

impl DiskFile for PinnedFile {
    fn is_at(&self, path: &Path) -> io::Result<bool> {
        let (ours, theirs) = (self.0.metadata()?, std::fs::metadata(path)?);
        Ok((ours.dev(), ours.ino()) == (theirs.dev(), theirs.ino()))
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }

    fn write_at(&self, _: &[u8], _: u64) -> io::Result<usize> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }

    fn sync(&self) -> io::Result<()> {
        Err(io::ErrorKind::ReadOnlyFilesystem.into())
    }
}

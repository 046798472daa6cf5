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
    Identity, JournalError,
    disk::{Disk, DiskFile},
    layout::{SECTOR, SegmentHeader, SegmentSector, segment_name, segment_number},
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
pub struct Held {
    dir: PathBuf,
    files: Arc<Files>,
}

type Files = Mutex<BTreeMap<u64, Arc<File>>>;

/// The part of a segment that a copy contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldSegment {
    pub number: u64,
    /// Name of the segment's file.
    pub name: String,
    /// Number of bytes up to the end of the last complete append.
    pub bytes: u64,
}

/// The complete appends of the held segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The segments that hold the appends, oldest first.
    pub segments: Vec<HeldSegment>,
    /// Sequence number of the first append. `next` is the number after the last one.
    pub first: u64,
    pub next: u64,
}

impl Held {
    /// Opens every segment that `dir` contains now.
    pub fn open(dir: &Path) -> Result<Self, JournalError> {
        let held = Self { dir: dir.to_owned(), files: Arc::default() };
        held.renew()?;
        Ok(held)
    }

    /// Opens the segments that were created since. Returns `true` if no segment is missing.
    ///
    /// A segment that was created and removed in between is missing. Then only the segments before the gap
    /// are held.
    pub fn renew(&self) -> Result<bool, JournalError> {
        let names = std::fs::read_dir(&self.dir).map_err(JournalError::io("list", &self.dir))?;
        let mut numbers = Vec::new();
        for name in names {
            let name = name.map_err(JournalError::io("list", &self.dir))?.file_name();
            numbers.extend(segment_number(Path::new(&name)));
        }
        numbers.sort_unstable();
        let (mut files, mut all) = (lock(&self.files), true);
        for number in numbers {
            if files.contains_key(&number) {
                continue;
            }
            if files.last_key_value().is_some_and(|(last, _)| number > last + 1) {
                all = false;
                break;
            }
            let path = self.dir.join(segment_name(number));
            match File::open(&path) {
                Ok(file) => drop(files.insert(number, Arc::new(file))),
                // The writer may remove the oldest segment between the listing and this open.
                Err(error) if error.kind() == io::ErrorKind::NotFound && files.is_empty() => {}
                Err(error) => return Err(JournalError::io("open", path)(error)),
            }
        }
        Ok(all)
    }

    /// Verifies the appends of a chain and returns their extent.
    ///
    /// Starts at the segment that holds append `from`, or at the oldest held segment if none does.
    ///
    /// # Errors
    /// [`JournalError::Corrupt`] and [`JournalError::WrongChain`], as for opening the journal.
    pub fn extent(&self, identity: Identity, from: u64) -> Result<Extent, JournalError> {
        let mut attempt = 1;
        loop {
            match self.walk(identity, from) {
                Err(JournalError::Corrupt { .. }) if attempt < ATTEMPTS => attempt += 1,
                other => return other,
            }
        }
    }

    fn walk(&self, identity: Identity, from: u64) -> Result<Extent, JournalError> {
        let disk: Arc<dyn Disk> = Arc::new(HeldDisk(self.files.clone()));
        let numbers: Vec<u64> = lock(&self.files).keys().copied().collect();
        let mut start = 0;
        for number in numbers.into_iter().rev() {
            let header = SegmentFile::open(&*disk, &self.dir, number)?.header()?;
            if matches!(header, SegmentSector::Valid(header) if header.chain.sequence <= from) {
                start = number;
                break;
            }
        }
        let mut walk = SegmentScanner::new(disk, &self.dir, Some(identity))?.starting_at(start);
        let (mut ends, mut next) = (BTreeMap::new(), None);
        while let Some(found) = walk.next()? {
            ends.insert(found.place.segment, found.place.offset + found.header.padded());
            next = Some(found.header.next().sequence);
        }
        let segment = |&(number, _): &(u64, u64)| HeldSegment {
            number,
            name: segment_name(number),
            bytes: ends.get(&number).copied().unwrap_or(SECTOR),
        };
        let first = walk.entered().first().map_or(0, |&(_, first)| first);
        Ok(Extent {
            segments: walk.entered().iter().map(segment).collect(),
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
        segment: &HeldSegment,
        sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), JournalError> {
        let failed = |error| JournalError::io("copy", self.dir.join(&segment.name))(error);
        let file = lock(&self.files).get(&segment.number).cloned();
        let file = file.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
        let (mut piece, mut done) = (vec![0; CHUNK_SIZE], 0);
        while done < segment.bytes {
            let length = usize::try_from(segment.bytes - done).unwrap_or(CHUNK_SIZE).min(CHUNK_SIZE);
            file.read_exact_at(&mut piece[..length], done)
                .and_then(|()| sink(&piece[..length]))
                .map_err(failed)?;
            done += length as u64;
        }
        Ok(())
    }
}

/// Returns the file size in bytes that a segment's first sector records; `None` if the sector is not a valid
/// header. A copy of the segment may be shorter.
pub fn segment_size(sector: &[u8; 512]) -> Option<u64> {
    match SegmentHeader::decode(sector) {
        SegmentSector::Valid(header) => Some(header.size),
        SegmentSector::Newer(_) | SegmentSector::Bad => None,
    }
}

fn lock(files: &Files) -> std::sync::MutexGuard<'_, BTreeMap<u64, Arc<File>>> {
    files.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The held files as a read-only disk.
struct HeldDisk(Arc<Files>);

impl Disk for HeldDisk {
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
            |file| Ok(Box::new(HeldFile(file)) as Box<dyn DiskFile>),
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

struct HeldFile(Arc<File>);

impl DiskFile for HeldFile {
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

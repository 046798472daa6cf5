//! Copying a journal while it is written.

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
    walk::Walk,
};

/// Times that the reading begins anew: an append that is written while it is read looks damaged.
const ATTEMPTS: u32 = 5;
/// Bytes that are handed on at a time.
const PIECE: usize = 1 << 20;

/// The segments of a journal, held open, so that none is lost to whoever copies them when its writer removes it. Takes no lock: a
/// node may write meanwhile.
pub struct Held {
    dir: PathBuf,
    files: Arc<Files>,
}

type Files = Mutex<BTreeMap<u64, Arc<File>>>;

/// What a copy of a segment has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldSegment {
    pub number: u64,
    /// Its file's name.
    pub name: String,
    /// Bytes up to the end of its last whole append.
    pub bytes: u64,
}

/// The whole appends of held segments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The segments that hold them, oldest first.
    pub segments: Vec<HeldSegment>,
    /// Sequence number of the first one, and the one after the last.
    pub first: u64,
    pub next: u64,
}

impl Held {
    /// Opens every segment that there is in `dir` now.
    pub fn open(dir: &Path) -> Result<Self, JournalError> {
        let held = Self { dir: dir.to_owned(), files: Arc::default() };
        held.renew()?;
        Ok(held)
    }

    /// Opens the segments that were begun since, and says whether these are all: one that was begun and removed meanwhile is
    /// missing, and then what is before it is all that counts.
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
                // The oldest goes while this looks at it.
                Err(error) if error.kind() == io::ErrorKind::NotFound && files.is_empty() => {}
                Err(error) => return Err(JournalError::io("open", path)(error)),
            }
        }
        Ok(all)
    }

    /// Verifies the appends of a chain, from the segment that holds the one with number `from` on, or from the oldest held one if
    /// none does.
    ///
    /// # Errors
    /// [`JournalError::Corrupt`] and [`JournalError::WrongChain`], as opening the journal has them.
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
        let mut walk = Walk::new(disk, &self.dir, Some(identity))?.starting_at(start);
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

    /// Gives `sink` the bytes of a segment, up to the end of its last whole append.
    ///
    /// # Errors
    /// What `sink` answers, and what prevents reading.
    pub fn copy(
        &self,
        segment: &HeldSegment,
        sink: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), JournalError> {
        let failed = |error| JournalError::io("copy", self.dir.join(&segment.name))(error);
        let file = lock(&self.files).get(&segment.number).cloned();
        let file = file.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
        let (mut piece, mut done) = (vec![0; PIECE], 0);
        while done < segment.bytes {
            let length = usize::try_from(segment.bytes - done).unwrap_or(PIECE).min(PIECE);
            file.read_exact_at(&mut piece[..length], done)
                .and_then(|()| sink(&piece[..length]))
                .map_err(failed)?;
            done += length as u64;
        }
        Ok(())
    }
}

/// Size in bytes of the file of a segment that begins with this sector; `None` if none does. A copy of it may end earlier.
pub fn segment_size(sector: &[u8; 512]) -> Option<u64> {
    match SegmentHeader::decode(sector) {
        SegmentSector::Valid(header) => Some(header.size),
        SegmentSector::Newer(_) | SegmentSector::Bad => None,
    }
}

fn lock(files: &Files) -> std::sync::MutexGuard<'_, BTreeMap<u64, Arc<File>>> {
    files.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The held files as a disk, to be read.
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

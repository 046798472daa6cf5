//! A recording disk: LMDB's writes to one file, and its syncs.
//!
//! LMDB is linked into this program and calls the C library for every write. The functions below
//! replace those of the C library and forward each call. The recording therefore shows the
//! actual calls, independently of LMDB's manual.

use std::{
    ffi::{c_int, c_void},
    fs,
    os::unix::fs::MetadataExt,
    path::Path,
    slice,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Sector size in bytes: a disk writes a sector completely or not at all.
const SECTOR: usize = 512;

enum Event {
    Write {
        offset: usize,
        bytes: Vec<u8>,
        /// The data is durable when the call returns.
        synced: bool,
    },
    Sync,
    Mark,
}

/// All recorded operations on a file.
pub struct Recording {
    file: (u64, u64),
    before: Vec<u8>,
    events: Vec<Event>,
}

static RECORDING: Mutex<Option<Recording>> = Mutex::new(None);
/// Held by one test at a time, from `record` to `stop`.
static BUSY: Mutex<bool> = Mutex::new(false);
static FREE: std::sync::Condvar = std::sync::Condvar::new();

fn recording() -> MutexGuard<'static, Option<Recording>> {
    RECORDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records the operations on this file, as soon as no other recording is active.
pub fn record(file: &Path) {
    let busy = BUSY.lock().unwrap();
    *FREE.wait_while(busy, |active| *active).unwrap() = true;
    let (metadata, before) = (fs::metadata(file).unwrap(), fs::read(file).unwrap());
    let file = (metadata.dev(), metadata.ino());
    *recording() = Some(Recording { file, before, events: Vec::new() });
}

/// Records that an operation of the store has returned.
pub fn mark() {
    add(Event::Mark);
}

pub fn stop() -> Recording {
    let made = recording().take().unwrap();
    *BUSY.lock().unwrap() = false;
    FREE.notify_one();
    made
}

fn add(event: Event) {
    if let Some(recording) = recording().as_mut() {
        recording.events.push(event);
    }
}

impl Recording {
    pub fn len(&self) -> usize {
        self.events.len()
    }

    pub fn syncs(&self) -> usize {
        self.syncs_before(self.len())
    }

    pub fn syncs_before(&self, at: usize) -> usize {
        self.events[..at].iter().filter(|event| matches!(event, Event::Sync)).count()
    }

    /// Returns the number of marks before this event.
    pub fn marks(&self, at: usize) -> usize {
        self.events[..at].iter().filter(|event| matches!(event, Event::Mark)).count()
    }

    /// Returns the file as a disk may hold it after stopping in the middle of an event (or after the last
    /// one): all synced data, and of the rest the sectors that `is_retained` selects.
    pub fn crash(&self, at: usize, mut is_retained: impl FnMut(usize) -> bool) -> Vec<u8> {
        let mut image = self.before.clone();
        let last_sync = self.events[..at].iter().rposition(|event| matches!(event, Event::Sync));
        for (number, event) in self.events.iter().enumerate().take(at + 1) {
            let Event::Write { offset, bytes, synced } = event else { continue };
            let durable = last_sync.is_some_and(|sync| number < sync) || (*synced && number < at);
            let mut from = 0;
            while from < bytes.len() {
                let position = offset + from;
                let to = bytes.len().min(from + SECTOR - position % SECTOR);
                if durable || is_retained(position) {
                    let end = offset + to;
                    if image.len() < end {
                        image.resize(end, 0);
                    }
                    image[position..end].copy_from_slice(&bytes[from..to]);
                }
                from = to;
            }
        }
        image
    }
}

/// Returns `true` if a descriptor refers to the recorded file.
fn is_recorded(recording: Option<&Recording>, fd: c_int) -> bool {
    let Some(recording) = recording else { return false };
    // SAFETY: a struct of integers may be zero, and `fstat` fills it.
    let stat = unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        if libc::fstat(fd, &raw mut stat) != 0 {
            return false;
        }
        stat
    };
    recording.file == (stat.st_dev, stat.st_ino)
}

fn written(fd: c_int, offset: i64, bytes: Vec<u8>) {
    let mut recording = recording();
    if !is_recorded(recording.as_ref(), fd) {
        return;
    }
    // SAFETY: the call only reads the flags of a descriptor.
    let synced = unsafe { libc::fcntl(fd, libc::F_GETFL) } & libc::O_DSYNC != 0;
    let event = Event::Write { offset: usize::try_from(offset).unwrap(), bytes, synced };
    recording.as_mut().unwrap().events.push(event);
}

fn synced(fd: c_int) {
    let mut recording = recording();
    if is_recorded(recording.as_ref(), fd) {
        recording.as_mut().unwrap().events.push(Event::Sync);
    }
}

/// # Safety
/// The requirements of pwrite(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pwrite(fd: c_int, bytes: *const c_void, count: usize, offset: i64) -> isize {
    // SAFETY: guaranteed by the caller; `length` bytes of its buffer were written.
    unsafe {
        let done = libc::syscall(libc::SYS_pwrite64, fd, bytes, count, offset);
        if let Ok(length) = usize::try_from(done) {
            written(fd, offset, slice::from_raw_parts(bytes.cast(), length).to_vec());
        }
        isize::try_from(done).unwrap_or(-1)
    }
}

/// # Safety
/// The requirements of writev(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn writev(fd: c_int, buffers: *const libc::iovec, count: c_int) -> isize {
    // SAFETY: guaranteed by the caller; the parts are only read, and `length` of their bytes were written.
    unsafe {
        let offset = libc::syscall(libc::SYS_lseek, fd, 0, libc::SEEK_CUR);
        let done = libc::syscall(libc::SYS_writev, fd, buffers, count);
        if let (Ok(length), Ok(count_given)) = (usize::try_from(done), usize::try_from(count)) {
            let written_bytes = slice::from_raw_parts(buffers, count_given).iter();
            let written_bytes = written_bytes
                .flat_map(|buffer| slice::from_raw_parts(buffer.iov_base.cast(), buffer.iov_len));
            written(fd, offset, written_bytes.take(length).copied().collect());
        }
        isize::try_from(done).unwrap_or(-1)
    }
}

/// # Safety
/// The requirements of fdatasync(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdatasync(fd: c_int) -> c_int {
    sync_by(libc::SYS_fdatasync, fd)
}

/// # Safety
/// The requirements of fsync(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fsync(fd: c_int) -> c_int {
    sync_by(libc::SYS_fsync, fd)
}

fn sync_by(call: libc::c_long, fd: c_int) -> c_int {
    // SAFETY: the call has no pointer argument.
    let done = unsafe { libc::syscall(call, fd) };
    if done == 0 {
        synced(fd);
    }
    c_int::try_from(done).unwrap_or(-1)
}

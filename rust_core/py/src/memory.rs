//! The allocator: how much freed memory it retains, and when it returns the rest to the kernel.
//!
//! Large answers, notifications and steps are freed soon, caches and blocks stay for minutes. Both come from one heap, so what
//! stays ends up in the gaps of what was freed, and the heap grows although no more of it is in use. glibc returns only the
//! end of a heap by itself. A thread therefore returns the free pages between what stays as well.

use std::{
    fs, io,
    sync::{
        Once,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

/// Bytes of one allocation from which on it is mapped by itself, and given back when it is freed.
const MAPPED: libc::c_int = 8 << 20;
/// Bytes that are free at the end of a heap before it gives them back.
const KEPT: libc::c_int = 16 << 20;

/// Heaps of the allocator, whatever the number of threads: what one thread frees serves the others.
const HEAPS: libc::c_int = 2;

/// Time between two checks of the free memory.
const TRIM_INTERVAL: Duration = Duration::from_secs(10);

/// Free memory that is retained, where no setting gives it.
pub const DEFAULT_MAX_FREE: u64 = 16 << 20;

/// Lets the allocator keep what large answers leave behind for the next ones. By default it gives back what they free, and
/// every answer of a few hundred kilobytes pays for its pages again: more than what is in them. And bounds in how many places it
/// keeps it: transactions are made by core threads and freed by others.
pub fn keep() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the call takes numbers only. What it cannot set stays as it is.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT);
        libc::mallopt(libc::M_ARENA_MAX, HEAPS);
    }
}

/// Memory of the process at the last check.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemoryFigures {
    /// Bytes allocated.
    pub used: u64,
    /// Bytes free, but still of this process.
    pub free: u64,
    /// How often free memory was returned to the kernel.
    pub trims: u64,
}

static USED: AtomicU64 = AtomicU64::new(0);
static FREE: AtomicU64 = AtomicU64::new(0);
static TRIMS: AtomicU64 = AtomicU64::new(0);

/// Returns the figures of the last check; zeros before the first.
pub fn figures() -> MemoryFigures {
    let read = |figure: &AtomicU64| figure.load(Ordering::Relaxed);
    MemoryFigures { used: read(&USED), free: read(&FREE), trims: read(&TRIMS) }
}

/// Starts the thread that returns free memory beyond `max_free` bytes to the kernel, once in a process.
pub fn start_trimming(max_free: u64) -> io::Result<()> {
    static STARTED: Once = Once::new();
    let mut started = Ok(());
    STARTED.call_once(|| {
        let thread = thread::Builder::new().name("foreseal-memory".to_owned());
        started = thread.spawn(move || Trimmer { max_free, floor: 0 }.run()).map(drop);
    });
    started
}

struct Trimmer {
    max_free: u64,
    /// Free bytes that the last trim could not return: their pages hold something that stays.
    floor: u64,
}

impl Trimmer {
    fn run(mut self) {
        while let Some(free) = check() {
            self.floor = self.floor.min(free);
            if free > self.max_free && free > self.floor + self.max_free / 4 {
                trim();
                TRIMS.fetch_add(1, Ordering::Relaxed);
                self.floor = check().unwrap_or(free);
                tracing::debug!(free, left = self.floor, "free memory was returned to the kernel");
            }
            thread::sleep(TRIM_INTERVAL);
        }
    }
}

/// Reads the figures and returns the free bytes; `None` on a system that does not show them.
fn check() -> Option<u64> {
    let (used, free) = allocated()?;
    // What was returned to the kernel counts as free for the allocator still.
    let free = free.min(anonymous()?.saturating_sub(used));
    USED.store(used, Ordering::Relaxed);
    FREE.store(free, Ordering::Relaxed);
    Some(free)
}

/// Bytes in use and free of the allocator.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn allocated() -> Option<(u64, u64)> {
    // SAFETY: the call takes nothing and returns numbers.
    let info = unsafe { libc::mallinfo2() };
    let bytes = |count: usize| u64::try_from(count).ok();
    Some((bytes(info.uordblks.checked_add(info.hblkhd)?)?, bytes(info.fordblks)?))
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn allocated() -> Option<(u64, u64)> {
    None
}

/// Returns what is free to the kernel.
fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the call takes a number only, and only unmaps pages that hold nothing.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Bytes of anonymous memory that are resident.
fn anonymous() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024)
}

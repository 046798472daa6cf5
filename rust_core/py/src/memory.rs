//! Resident memory: how much freed memory and how many pages of the store's file the process retains, and when it
//! returns the rest to the kernel.
//!
//! Large answers, notifications and steps are freed soon; caches and blocks stay for minutes. Both come from
//! one heap, so long-lived allocations end up in the gaps of freed ones, and the heap grows although no more
//! of it is in use. glibc by itself returns only the end of a heap. A thread therefore also returns free
//! pages between allocations.
//!
//! The kernel unmaps pages of a file only if memory is short, so all pages of the store that were ever read would
//! remain resident. The same thread unmaps them; the page cache still has them.

use std::{
    fs, io,
    sync::{
        Once,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use foreseal_store::release_mapped_pages;

/// Size in bytes from which an allocation is mapped by itself, and unmapped when it is freed.
const MMAP_THRESHOLD: libc::c_int = 8 << 20;
/// Free bytes at the end of a heap above which the allocator returns them.
const TRIM_THRESHOLD: libc::c_int = 16 << 20;

/// Number of allocator heaps, for any number of threads: memory that one thread frees serves the others.
const MAX_HEAPS: libc::c_int = 2;

/// Bytes of files above which pages of the store are unmapped, in addition to those that remain mapped.
const MAX_MAPPED: u64 = 32 << 20;
/// Bytes that are unmapped in a second, on average. To unmap and to map again takes 0.12 ms for each MiB, so this is
/// less than 1 % of a core even if all pages are in use.
const RELEASE_RATE: u64 = 64 << 20;

/// Time between two checks of the memory.
const TRIM_INTERVAL: Duration = Duration::from_secs(10);

/// Free memory in bytes that is retained if the settings name no limit.
pub const DEFAULT_MAX_FREE: u64 = 16 << 20;

/// Lets the allocator retain the memory of large answers for the next ones, and limits the number of its
/// heaps.
///
/// By default it returns freed memory, and every answer of a few hundred kilobytes pays for its pages again,
/// which costs more than filling them. The limit matters because worker threads allocate transactions that
/// other threads free.
pub fn retain_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the call takes numbers only. A setting that fails keeps its old value.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, MMAP_THRESHOLD);
        libc::mallopt(libc::M_TRIM_THRESHOLD, TRIM_THRESHOLD);
        libc::mallopt(libc::M_ARENA_MAX, MAX_HEAPS);
    }
}

/// Memory of the process at the last check.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemoryMetrics {
    /// Bytes allocated.
    pub used: u64,
    /// Bytes free in the allocator that still belong to this process.
    pub free: u64,
    /// Bytes of files that are mapped and resident.
    pub mapped: u64,
    /// Number of times free memory was returned to the kernel.
    pub trims: u64,
}

static USED: AtomicU64 = AtomicU64::new(0);
static FREE: AtomicU64 = AtomicU64::new(0);
static MAPPED: AtomicU64 = AtomicU64::new(0);
static TRIMS: AtomicU64 = AtomicU64::new(0);

/// Returns the metrics of the last check; zeros before the first.
pub fn metrics() -> MemoryMetrics {
    let read = |figure: &AtomicU64| figure.load(Ordering::Relaxed);
    MemoryMetrics { used: read(&USED), free: read(&FREE), mapped: read(&MAPPED), trims: read(&TRIMS) }
}

/// Starts the thread that returns free memory beyond `max_free` bytes to the kernel and unmaps pages of the store,
/// once in a process.
pub fn start_trimming(max_free: u64) -> io::Result<()> {
    static STARTED: Once = Once::new();
    let mut started = Ok(());
    STARTED.call_once(|| {
        let thread = thread::Builder::new().name("foreseal-memory".to_owned());
        let (mut heap, mut pages) = (HeapTrimmer { max_free, floor: 0 }, PageReleaser::new());
        let run = move || {
            while let Some(resident) = ResidentMemory::read() {
                heap.check(resident.anonymous);
                pages.check(resident.file);
                thread::sleep(TRIM_INTERVAL);
            }
        };
        started = thread.spawn(run).map(drop);
    });
    started
}

/// Returns free memory of the allocator to the kernel.
struct HeapTrimmer {
    max_free: u64,
    /// Free bytes that the last trim could not return: their pages hold live allocations.
    floor: u64,
}

impl HeapTrimmer {
    fn check(&mut self, anonymous: u64) {
        let Some(free) = free_bytes(anonymous) else { return };
        self.floor = self.floor.min(free);
        if free > self.max_free && free > self.floor + self.max_free / 4 {
            trim();
            TRIMS.fetch_add(1, Ordering::Relaxed);
            let left = ResidentMemory::read().and_then(|resident| free_bytes(resident.anonymous));
            self.floor = left.unwrap_or(free);
            tracing::debug!(free, left = self.floor, "returned free memory to the kernel");
        }
    }
}

/// Updates the metrics and returns the free bytes; `None` with an allocator that does not report them.
fn free_bytes(anonymous: u64) -> Option<u64> {
    let (used, free) = allocated()?;
    // The allocator still counts memory that was returned to the kernel as free.
    let free = free.min(anonymous.saturating_sub(used));
    USED.store(used, Ordering::Relaxed);
    FREE.store(free, Ordering::Relaxed);
    Some(free)
}

/// Unmaps pages of the store.
struct PageReleaser {
    /// Bytes of files that remained mapped: code, and pages that were in use.
    floor: u64,
    /// Time of the next release.
    due: Instant,
}

impl PageReleaser {
    fn new() -> Self {
        Self { floor: 0, due: Instant::now() }
    }

    fn check(&mut self, mapped: u64) {
        MAPPED.store(mapped, Ordering::Relaxed);
        self.floor = self.floor.min(mapped);
        let now = Instant::now();
        if mapped <= self.floor + MAX_MAPPED || now < self.due {
            return;
        }
        if let Err(error) = release_mapped_pages() {
            tracing::debug!(%error, "cannot unmap pages of the store");
        }
        self.floor = ResidentMemory::read().map_or(mapped, |resident| resident.file);
        MAPPED.store(self.floor, Ordering::Relaxed);
        let released = mapped.saturating_sub(self.floor);
        self.due = now + Duration::from_secs(released / RELEASE_RATE);
        tracing::debug!(released, left = self.floor, "unmapped pages of the store");
    }
}

/// Returns the allocator's bytes in use and free.
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

/// Returns free pages to the kernel.
fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the call takes a number only, and only unmaps pages that hold nothing.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Resident memory of the process in bytes.
#[derive(Clone, Copy)]
struct ResidentMemory {
    anonymous: u64,
    file: u64,
}

impl ResidentMemory {
    /// Reads the memory; `None` on a system that does not report it.
    fn read() -> Option<Self> {
        let status = fs::read_to_string("/proc/self/status").ok()?;
        let bytes = |field| {
            let line = status.lines().find_map(|line| line.strip_prefix(field))?;
            let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
            Some(kilobytes * 1024)
        };
        Some(Self { anonymous: bytes("RssAnon:")?, file: bytes("RssFile:")? })
    }
}

//! Outcomes of calls that ran on core threads, on their way back to the event loop.
//!
//! ```text
//! core thread: push -> queue, eventfd (first of a burst only) -> event loop: drain -> Python objects
//! ```
//! Entries hold Rust values only, so that a core thread never needs the GIL.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use foreseal_rpc::RpcError;
use parking_lot::Mutex;

/// JSON bytes of a result, or the error in its place.
pub type Outcome = Result<Vec<u8>, RpcError>;

/// A queue whose first entry makes a descriptor readable.
pub struct Completions {
    queue: Mutex<Vec<(u64, Outcome)>>,
    event: OwnedFd,
}

impl Completions {
    /// Makes the descriptor.
    pub fn new() -> io::Result<Self> {
        // SAFETY: eventfd takes no pointers; its result is checked below.
        let fd = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call above succeeded, so `fd` is open and nobody else owns it.
        let event = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { queue: Mutex::default(), event })
    }

    /// Readable while there are entries. Valid as long as `self`.
    pub fn descriptor(&self) -> RawFd {
        self.event.as_raw_fd()
    }

    /// Adds the outcome of the call made under `ticket`.
    pub fn push(&self, ticket: u64, outcome: Outcome) {
        let mut queue = self.queue.lock();
        queue.push((ticket, outcome));
        if queue.len() == 1 {
            self.wake();
        }
    }

    /// Takes all entries, in the order in which they came.
    pub fn drain(&self) -> Vec<(u64, Outcome)> {
        let mut queue = self.queue.lock();
        self.rest();
        std::mem::take(&mut queue)
    }

    /// Makes the descriptor readable. It cannot fail: the counter is far from its greatest value.
    fn wake(&self) {
        let one = 1_u64;
        // SAFETY: the descriptor is open while `self` lives, and eight bytes are read from `one`.
        unsafe { libc::write(self.event.as_raw_fd(), (&raw const one).cast(), size_of::<u64>()) };
    }

    /// Makes the descriptor unreadable. Without a wake before it there is nothing to read, which is as well.
    fn rest(&self) {
        let mut count = 0_u64;
        // SAFETY: the descriptor is open while `self` lives, and eight bytes are written to `count`.
        unsafe { libc::read(self.event.as_raw_fd(), (&raw mut count).cast(), size_of::<u64>()) };
    }
}

//! Ends a process that does not stop in time, even while a blocked thread holds the GIL.
//!
//! ```text
//!   signal -> handler here -> eventfd -> thread: waits for the time limit, logs, exits
//!                  |
//!                  +-> handler that was installed before (the event loop's)
//! ```

use std::{
    fs::File,
    io::{self, Read as _},
    os::fd::{AsFd, AsRawFd},
    ptr,
    sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use libc::c_int;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

/// Upper bound of signal numbers, exclusive.
const SIGNALS: usize = 65;
/// Longest time that the last log line may take: standard error may be a pipe without a reader.
const LOG_TIME: Duration = Duration::from_millis(500);
const EXIT_CODE: c_int = 1;

/// Descriptor that the handler writes to; -1 before a watchdog is started.
static EVENT: AtomicI32 = AtomicI32::new(-1);
static STOPPING: AtomicBool = AtomicBool::new(false);
/// Previously installed handlers by signal; 0 for none.
static PREVIOUS: [AtomicUsize; SIGNALS] = [const { AtomicUsize::new(0) }; SIGNALS];

/// Exits with code 1 if this process has not ended `limit` seconds after the first of `signals`, or `hurried`
/// seconds after a further one. Handlers of these signals must already be installed and are still called. The
/// watchdog stays until the process ends.
///
/// Raises ValueError for a time or a signal that does not exist, OSError if a signal has no handler.
#[pyfunction]
pub fn start_stop_watchdog(signals: Vec<i32>, limit: f64, hurried: f64) -> PyResult<()> {
    let seconds = |time: f64| {
        Duration::try_from_secs_f64(time).map_err(|error| PyValueError::new_err(format!("seconds: {error}")))
    };
    let (limit, hurried) = (seconds(limit)?, seconds(hurried)?);
    if let Some(number) = signals.iter().find(|&&number| slot(number).is_none()) {
        return Err(PyValueError::new_err(format!("signals: {number} is not a signal")));
    }
    start(&signals, limit, hurried).map_err(|error| PyOSError::new_err(error.to_string()))
}

/// Returns `true` after the first signal of [`start_stop_watchdog`].
pub fn is_stopping() -> bool {
    STOPPING.load(Ordering::Acquire)
}

fn start(signals: &[c_int], limit: Duration, hurried: Duration) -> io::Result<()> {
    let mut events = File::from(eventfd(0, EventfdFlags::CLOEXEC)?);
    let descriptor = events.as_raw_fd();
    let waiting = events.try_clone()?;
    thread::Builder::new()
        .name("foreseal-stop".to_owned())
        .spawn(move || wait(&mut events, &waiting, limit, hurried))?;
    EVENT.store(descriptor, Ordering::Release);
    signals.iter().try_for_each(|&number| chain(number))
}

/// Waits for a signal, then until the time limit, and ends the process.
fn wait(events: &mut File, waiting: &File, limit: Duration, hurried: Duration) {
    let mut count = [0; 8];
    while let Err(error) = events.read_exact(&mut count) {
        if error.kind() != io::ErrorKind::Interrupted {
            return;
        }
    }
    if wait_readable(waiting, limit) {
        thread::sleep(hurried.min(limit));
    }
    let (done, logged) = mpsc::channel();
    // Logs on a separate thread: the process must end even if the line cannot be written.
    let line = thread::Builder::new().spawn(move || {
        tracing::error!(
            "the process did not stop in time: it exits now. Everything pre-confirmed is durable; transactions that \
             were only in the pool may be lost"
        );
        let _ = done.send(());
    });
    if line.is_ok() {
        let _ = logged.recv_timeout(LOG_TIME);
    }
    // SAFETY: the call ends the process without running any of its code.
    unsafe { libc::_exit(EXIT_CODE) }
}

/// Waits until `events` is readable; returns `false` after `time`.
fn wait_readable(events: &impl AsFd, time: Duration) -> bool {
    let end = Instant::now() + time;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).ok();
        match poll(&mut [PollFd::new(events, PollFlags::IN)], timeout.as_ref()) {
            Ok(0) => return false,
            Ok(_) => return true,
            // A signal interrupted the call: its event comes next.
            Err(_) => {}
        }
    }
}

/// Installs the handler, which calls the previous one.
fn chain(number: c_int) -> io::Result<()> {
    let Some(previous) = slot(number) else { return Err(io::ErrorKind::InvalidInput.into()) };
    // SAFETY: an all-zero sigaction is valid: no flags, an empty mask, the default action.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: `action` is written to; nothing is installed.
    if unsafe { libc::sigaction(number, ptr::null(), &raw mut action) } < 0 {
        return Err(io::Error::last_os_error());
    }
    let handler = action.sa_sigaction;
    let takes_one = action.sa_flags & libc::SA_SIGINFO == 0;
    if handler == libc::SIG_DFL || handler == libc::SIG_IGN || !takes_one {
        return Err(io::Error::other(format!("signal {number} has no handler to go on with")));
    }
    if handler == on_signal as *const () as usize {
        return Ok(());
    }
    previous.store(handler, Ordering::Release);
    action.sa_sigaction = on_signal as *const () as usize;
    // SAFETY: the handler is async-signal-safe and takes one argument, in accordance with the flags.
    if unsafe { libc::sigaction(number, &raw const action, ptr::null_mut()) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn slot(number: c_int) -> Option<&'static AtomicUsize> {
    PREVIOUS.get(usize::try_from(number).ok().filter(|&number| number > 0)?)
}

extern "C" fn on_signal(number: c_int) {
    STOPPING.store(true, Ordering::Release);
    // SAFETY: write is async-signal-safe, and errno is restored afterwards.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        let one = 1_u64;
        libc::write(EVENT.load(Ordering::Acquire), (&raw const one).cast(), size_of::<u64>());
        *errno = before;
    }
    let previous = slot(number).map_or(0, |slot| slot.load(Ordering::Acquire));
    if previous != 0 {
        // SAFETY: the handler was installed for this signal and takes one argument: `chain` accepts no other.
        let previous: extern "C" fn(c_int) = unsafe { std::mem::transmute(previous) };
        previous(number);
    }
}

//! The stream of a copy of the data directory to a receiver that must read fast enough.

use std::{
    io::{self, ErrorKind, Write},
    time::Duration,
};

use foreseal_chain::Clock;

use super::FrameLog;
use crate::wire::MAX_COPY_SILENCE;

/// Minimum rate in bytes per second at which a receiver reads on average.
const MIN_RATE: u64 = 64 << 10;
/// Maximum bytes of one write, so that a slow receiver is noticed between writes.
const MAX_WRITE_SIZE: usize = 64 << 10;
/// Maximum time that the stream blocks in one write, so that the end of the server is noticed.
pub(super) const WRITE_TIMEOUT: Duration = Duration::from_secs(1);

/// Writes to a stream that times out after [`WRITE_TIMEOUT`]. Fails once the server stops, and if the receiver is too
/// slow: while it receives, it occupies one of the few permits, and the store cannot reuse its free pages.
///
/// The receiver may pause for [`MAX_COPY_SILENCE`]. It regains that time by reading, at [`MIN_RATE`]. Time in
/// which nothing is sent does not count.
pub(super) struct DirectoryCopyWriter<'a, W> {
    stream: W,
    log: &'a FrameLog,
    clock: &'a dyn Clock,
    /// Time for which writes may still block.
    allowance: Duration,
}

impl<'a, W: Write> DirectoryCopyWriter<'a, W> {
    /// Returns a writer whose server stops when `log` is closed.
    pub fn new(stream: W, log: &'a FrameLog, clock: &'a dyn Clock) -> Self {
        Self { stream, log, clock, allowance: MAX_COPY_SILENCE }
    }
}

impl<W: Write> Write for DirectoryCopyWriter<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = &bytes[..bytes.len().min(MAX_WRITE_SIZE)];
        loop {
            if self.log.is_closed() {
                return Err(io::Error::new(ErrorKind::ConnectionAborted, "the sequencer is stopping"));
            }
            let began = self.clock.monotonic();
            let written = self.stream.write(bytes);
            let blocked = self.clock.monotonic().saturating_sub(began);
            self.allowance = self.allowance.saturating_sub(blocked);
            let count = match written {
                Ok(count) => count,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => 0,
                Err(error) => return Err(error),
            };
            if self.allowance.is_zero() {
                let reason = format!("the receiver reads less than {MIN_RATE} bytes per second");
                return Err(io::Error::new(ErrorKind::TimedOut, reason));
            }
            if count > 0 {
                let earned = Duration::from_nanos(count as u64 * 1_000_000_000 / MIN_RATE);
                self.allowance = (self.allowance + earned).min(MAX_COPY_SILENCE);
                return Ok(count);
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

#[cfg(test)]
mod tests {
    use foreseal_chain::SteppedClock;

    use super::*;
    use crate::server::RingLimits;

    /// A stream whose receiver reads this many bytes per second.
    struct SlowStream<'a> {
        clock: &'a SteppedClock,
        rate: usize,
    }

    impl Write for SlowStream<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.clock.advance(WRITE_TIMEOUT);
            if self.rate == 0 { Err(ErrorKind::WouldBlock.into()) } else { Ok(bytes.len().min(self.rate)) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn log() -> FrameLog {
        FrameLog::new(0, RingLimits::default())
    }

    #[test]
    fn receiver_at_the_minimum_rate_is_served() {
        let (clock, log) = (SteppedClock::default(), log());
        let rate = usize::try_from(MIN_RATE).unwrap();
        let mut writer = DirectoryCopyWriter::new(SlowStream { clock: &clock, rate }, &log, &clock);
        writer.write_all(&vec![0; 1000 * rate]).unwrap();
        assert_eq!(clock.elapsed(), Duration::from_secs(1000));
    }

    #[test]
    fn slow_receiver_is_disconnected() {
        let (clock, log) = (SteppedClock::default(), log());
        for (rate, expected) in [(0, 120), (1, 121), (32 << 10, 239)] {
            let begun = clock.elapsed();
            let mut writer = DirectoryCopyWriter::new(SlowStream { clock: &clock, rate }, &log, &clock);
            let error = writer.write_all(&vec![0; 100 << 20]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TimedOut);
            assert_eq!(clock.elapsed().saturating_sub(begun).as_secs(), expected, "{rate}");
        }
    }

    #[test]
    fn pauses_of_the_sender_do_not_count() {
        let (clock, log) = (SteppedClock::default(), log());
        let rate = usize::try_from(MIN_RATE).unwrap();
        let mut writer = DirectoryCopyWriter::new(SlowStream { clock: &clock, rate }, &log, &clock);
        for _ in 0..10 {
            clock.advance(MAX_COPY_SILENCE);
            writer.write_all(&[0; 100]).unwrap();
        }
    }

    #[test]
    fn stopping_server_ends_the_copy() {
        let (clock, log) = (SteppedClock::default(), log());
        let mut writer = DirectoryCopyWriter::new(SlowStream { clock: &clock, rate: 1 }, &log, &clock);
        writer.write_all(&[0]).unwrap();
        log.close();
        assert_eq!(writer.write_all(&[0]).unwrap_err().kind(), ErrorKind::ConnectionAborted);
    }
}

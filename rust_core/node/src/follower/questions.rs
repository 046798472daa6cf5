//! Questions to the sequencer, and who waits for their answers.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use alloy_primitives::Bytes;
use parking_lot::{Condvar, Mutex};

/// Questions that may be under way at once: as many threads wait.
const MOST: usize = 64;

/// The questions of a connection that are not answered.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    open: Mutex<Open>,
    told: Condvar,
}

#[derive(Debug, Default)]
struct Open {
    /// Number of the next question.
    next: u64,
    /// By number; with the answer, until who waits has taken it.
    answers: HashMap<u64, Option<Bytes>>,
}

impl Questions {
    /// Sends a question by `send`, which is given its number and says whether there is a connection, and waits for the answer.
    pub fn ask(&self, most: Duration, send: impl FnOnce(u64) -> bool) -> Option<Bytes> {
        let until = Instant::now() + most;
        let mut open = self.open.lock();
        if open.answers.len() >= MOST {
            return None;
        }
        let number = open.next;
        open.next += 1;
        if !send(number) {
            return None;
        }
        open.answers.insert(number, None);
        // Without an entry the connection broke.
        while let Some(None) = open.answers.get(&number) {
            if self.told.wait_until(&mut open, until).timed_out() {
                break;
            }
        }
        open.answers.remove(&number).flatten()
    }

    /// The sequencer answered the question with this number.
    pub fn told(&self, number: u64, told: Bytes) {
        if let Some(answer) = self.open.lock().answers.get_mut(&number) {
            *answer = Some(told);
        }
        self.told.notify_all();
    }

    /// The connection broke: nothing will come.
    pub fn close(&self) {
        self.open.lock().answers.clear();
        self.told.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const LONG: Duration = Duration::from_mins(1);

    #[test]
    fn a_question_is_answered_or_its_connection_breaks() {
        let questions = Questions::default();
        assert_eq!(questions.ask(LONG, |_| false), None, "there is no connection");
        assert_eq!(questions.ask(Duration::ZERO, |_| true), None, "nothing came in time");
        let (sent, numbers) = mpsc::channel();
        std::thread::scope(|scope| {
            let ask = || scope.spawn(|| questions.ask(LONG, |number| sent.send(number).is_ok()));
            let first = ask();
            questions.told(99, Bytes::new());
            let number = numbers.recv().unwrap();
            questions.told(number, Bytes::from_static(b"so"));
            assert_eq!(first.join().unwrap(), Some(Bytes::from_static(b"so")));
            questions.told(number, Bytes::from_static(b"late"));
            let second = ask();
            numbers.recv().unwrap();
            questions.close();
            assert_eq!(second.join().unwrap(), None);
        });
        assert!(questions.open.lock().answers.is_empty());
    }
}

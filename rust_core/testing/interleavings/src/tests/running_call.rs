use std::sync::Arc;

use loom::thread;

use crate::{
    running_call::RunningCall,
    sync::{AtomicUsize, Mutex, Ordering},
};

/// Calls of another job of the same caller, which must not be affected.
const OTHERS: usize = 5;

#[test]
fn a_call_leaves_the_count_once() {
    loom::model(|| {
        let counters = [(); 2].map(|()| Arc::new(AtomicUsize::new(OTHERS)));
        let [total, caller] = counters.clone();
        let running = Arc::new(RunningCall::begin(total, Some(caller), 3));
        let stopping = running.clone();
        let thread = thread::spawn(move || stopping.end());
        running.end();
        drop(running);
        thread.join().unwrap();
        assert_eq!(counters.map(|counter| counter.load(Ordering::Relaxed)), [OTHERS; 2]);
    });
}

#[test]
fn a_caller_with_the_outcome_may_make_the_next_call() {
    loom::model(|| {
        let total = Arc::new(AtomicUsize::new(OTHERS));
        let running = RunningCall::begin(total.clone(), None, 1);
        let outcome = Arc::new(Mutex::new(false));
        let delivered = outcome.clone();
        let worker = thread::spawn(move || {
            running.end();
            *delivered.lock() = true;
        });
        if *outcome.lock() {
            assert_eq!(total.load(Ordering::Relaxed), OTHERS);
        }
        worker.join().unwrap();
    });
}

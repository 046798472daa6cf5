//! Lanes, fairness, pauses and ends of jobs on real threads. No test sleeps: each waits for the expected
//! event.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    hint::spin_loop,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    time::{Duration, Instant},
};

use foreseal_scheduler::{
    Caller, CallerCpuBudget, Exhausted, Job, Lane, LaneConfig, Priority, Scheduler, Stopped, SubmitError,
    begin_operation, charge_ahead, checkpoint, record_late,
};

const LIMIT: Duration = Duration::from_mins(1);
const PATIENCE: Duration = Duration::from_secs(30);

fn scheduler(heavy: LaneConfig) -> Scheduler {
    let simple = LaneConfig::simple(1, 100);
    Scheduler::start([simple, simple, heavy, simple, simple]).unwrap()
}

fn preemptive() -> LaneConfig {
    LaneConfig { threads: 8, is_preemptive: true, nice: 1, ..LaneConfig::simple(1, 100) }
}

fn job(ticket: u64, caller: Caller, work: impl FnOnce(Result<(), Stopped>) + Send + 'static) -> Job {
    Job { ticket, caller, arrived: Instant::now(), limit: LIMIT, work: Box::new(work) }
}

/// A job that occupies its thread until the sender is dropped or sends.
fn blocker(ticket: u64, caller: Caller) -> (Job, Receiver<()>, Sender<()>) {
    let (started, has_started) = channel();
    let (release, released) = channel::<()>();
    let work = move |_| {
        started.send(()).unwrap();
        let _ = released.recv();
    };
    (job(ticket, caller, work), has_started, release)
}

/// Loops until the job is stopped.
fn loop_until_stopped() -> Stopped {
    loop {
        if let Err(stopped) = checkpoint() {
            return stopped;
        }
        spin_loop();
    }
}

#[test]
fn lanes_do_not_wait_for_each_other() {
    let scheduler = scheduler(LaneConfig::simple(1, 100));
    let (heavy, started, _release) = blocker(1, Caller::unlimited(1));
    scheduler.submit(Lane::Heavy, heavy).unwrap();
    started.recv_timeout(PATIENCE).unwrap();
    let (sender, receiver) = channel();
    let others = [(2, Lane::Submission), (3, Lane::Read), (4, Lane::Remote), (5, Lane::Verification)];
    for (ticket, lane) in others {
        let sender = sender.clone();
        scheduler
            .submit(lane, job(ticket, Caller::unlimited(1), move |_| sender.send(lane).unwrap()))
            .unwrap();
        assert_eq!(receiver.recv_timeout(PATIENCE), Ok(lane));
    }
}

#[test]
fn public_jobs_never_delay_dedicated_jobs() {
    let scheduler = scheduler(LaneConfig::simple(1, 100));
    let public = Caller { id: 1, priority: Priority::Public, budget: None };
    let (first, started, _release) = blocker(1, public);
    scheduler.submit(Lane::Heavy, first).unwrap();
    started.recv_timeout(PATIENCE).unwrap();
    let (sender, receiver) = channel();
    scheduler
        .submit(Lane::Heavy, job(2, Caller::unlimited(2), move |outcome| sender.send(outcome).unwrap()))
        .unwrap();
    assert_eq!(receiver.recv_timeout(PATIENCE), Ok(Ok(())));
}

#[test]
fn a_public_caller_never_displaces_a_dedicated_job() {
    let scheduler = scheduler(LaneConfig::simple(1, 4));
    let (first, started, _release) = blocker(0, Caller::unlimited(1));
    scheduler.submit(Lane::Heavy, first).unwrap();
    started.recv_timeout(PATIENCE).unwrap();
    for ticket in 1..=4 {
        scheduler.submit(Lane::Heavy, job(ticket, Caller::unlimited(1), |_| {})).unwrap();
    }
    let public = Caller { id: 2, priority: Priority::Public, budget: None };
    let rejected = scheduler.submit(Lane::Heavy, job(5, public, |_| {}));
    assert_eq!(rejected, Err(SubmitError::Full { capacity: 4 }));
    let dedicated = scheduler.submit(Lane::Heavy, job(6, Caller::unlimited(3), |_| {}));
    assert_eq!(dedicated, Ok(()));
}

#[test]
fn a_caller_with_one_job_never_waits_for_backlogs() {
    let scheduler = scheduler(LaneConfig::simple(1, 1000));
    let (first, started, release) = blocker(0, Caller::unlimited(1));
    scheduler.submit(Lane::Heavy, first).unwrap();
    started.recv_timeout(PATIENCE).unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    let (done, all_done) = channel::<()>();
    let record = |ticket, caller: u64| {
        let (order, done) = (order.clone(), done.clone());
        job(ticket, Caller::unlimited(caller), move |_| {
            order.lock().unwrap().push(caller);
            drop(done);
        })
    };
    for ticket in 1..=200 {
        scheduler.submit(Lane::Heavy, record(ticket, 1)).unwrap();
    }
    scheduler.submit(Lane::Heavy, record(201, 2)).unwrap();
    drop(done);
    drop(release);
    assert_eq!(all_done.recv_timeout(PATIENCE), Err(RecvTimeoutError::Disconnected));
    let position = order.lock().unwrap().iter().position(|caller| *caller == 2).unwrap();
    assert!(position <= 60, "it was number {position}");
}

#[test]
fn a_long_job_pauses_for_others() {
    let scheduler = scheduler(preemptive());
    let finished = Arc::new(AtomicBool::new(false));
    let (sender, receiver) = channel();
    let (flag, ended) = (finished.clone(), sender.clone());
    // With one job at a time, it ends only if the other one runs in between.
    let long = job(1, Caller::unlimited(1), move |_| {
        while !flag.load(SeqCst) {
            checkpoint().unwrap();
        }
        ended.send("long").unwrap();
    });
    scheduler.submit(Lane::Heavy, long).unwrap();
    let short = job(2, Caller::unlimited(2), move |_| {
        finished.store(true, SeqCst);
        sender.send("short").unwrap();
    });
    scheduler.submit(Lane::Heavy, short).unwrap();
    let mut order = [receiver.recv_timeout(PATIENCE).unwrap(), receiver.recv_timeout(PATIENCE).unwrap()];
    order.sort_unstable();
    assert_eq!(order, ["long", "short"]);
    assert!(scheduler.status()[2].paused > 0);
}

#[test]
fn many_long_jobs_share_one_thread_and_all_finish() {
    let scheduler = scheduler(preemptive());
    let left = Arc::new(AtomicUsize::new(20));
    let (sender, receiver) = channel::<()>();
    for ticket in 0..20 {
        let (left, sender) = (left.clone(), sender.clone());
        let work = move |_| {
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_millis(20) {
                checkpoint().unwrap();
            }
            left.fetch_sub(1, SeqCst);
            drop(sender);
        };
        scheduler.submit(Lane::Heavy, job(ticket, Caller::unlimited(ticket % 4), work)).unwrap();
    }
    drop(sender);
    assert_eq!(receiver.recv_timeout(PATIENCE), Err(RecvTimeoutError::Disconnected));
    assert_eq!(left.load(SeqCst), 0);
    let status = &scheduler.status()[2];
    assert_eq!(status.queue_time.counts.iter().sum::<u64>(), 20);
}

#[test]
fn a_job_pauses_for_a_caller_without_a_thread() {
    let scheduler = scheduler(LaneConfig { threads: 2, ..preemptive() });
    let (sender, receiver) = channel();
    for ticket in 1..=2 {
        let sender = sender.clone();
        let work = move |_| sender.send((ticket, loop_until_stopped())).unwrap();
        scheduler.submit(Lane::Heavy, job(ticket, Caller::unlimited(ticket), work)).unwrap();
    }
    // Both jobs have run and hold a thread.
    while scheduler.status()[2].paused < 4 {
        spin_loop();
    }
    let (short, short_ran) = channel();
    scheduler
        .submit(Lane::Heavy, job(3, Caller::unlimited(3), move |outcome| short.send(outcome).unwrap()))
        .unwrap();
    assert_eq!(short_ran.recv_timeout(PATIENCE), Ok(Ok(())));
    let (displaced, stopped) = receiver.recv_timeout(PATIENCE).unwrap();
    assert_eq!(stopped, Stopped::Displaced { threads: 2 });
    // The other job continues, and both threads serve again.
    let (blocking, started, release) = blocker(4, Caller::unlimited(4));
    scheduler.submit(Lane::Heavy, blocking).unwrap();
    started.recv_timeout(PATIENCE).unwrap();
    let left = 3 - displaced;
    scheduler.cancel(left);
    drop(release);
    assert_eq!(receiver.recv_timeout(PATIENCE), Ok((left, Stopped::Cancelled)));
    // A job is counted once its work has returned.
    while scheduler.status()[2].cancelled == 0 {
        spin_loop();
    }
    assert_eq!(scheduler.status()[2].overloaded, 1);
}

#[test]
fn a_cancelled_job_ends_at_its_next_checkpoint() {
    let scheduler = scheduler(preemptive());
    let (sender, receiver) = channel();
    let (started, has_started) = channel();
    let work = move |_| {
        started.send(()).unwrap();
        sender.send(loop_until_stopped()).unwrap();
    };
    scheduler.submit(Lane::Heavy, job(5, Caller::unlimited(1), work)).unwrap();
    has_started.recv_timeout(PATIENCE).unwrap();
    scheduler.cancel(5);
    scheduler.cancel(6);
    assert_eq!(receiver.recv_timeout(PATIENCE), Ok(Stopped::Cancelled));
}

#[test]
fn a_job_cancelled_while_waiting_does_not_run() {
    let scheduler = scheduler(LaneConfig::simple(1, 100));
    let (first, started, release) = blocker(1, Caller::unlimited(1));
    scheduler.submit(Lane::Heavy, first).unwrap();
    started.recv_timeout(PATIENCE).unwrap();
    let (sender, receiver) = channel();
    scheduler
        .submit(Lane::Heavy, job(2, Caller::unlimited(1), move |outcome| sender.send(outcome).unwrap()))
        .unwrap();
    scheduler.cancel(2);
    drop(release);
    assert_eq!(receiver.recv_timeout(PATIENCE), Ok(Err(Stopped::Cancelled)));
}

#[test]
fn the_time_limit_includes_waiting() {
    let scheduler = scheduler(LaneConfig::simple(1, 100));
    let limit = Duration::from_millis(5);
    let (sender, receiver) = channel();
    let late = Job {
        arrived: Instant::now().checked_sub(limit).unwrap(),
        limit,
        ..job(1, Caller::unlimited(1), move |outcome| sender.send(outcome).unwrap())
    };
    scheduler.submit(Lane::Heavy, late).unwrap();
    assert_eq!(receiver.recv_timeout(PATIENCE), Ok(Err(Stopped::TimeLimit(limit))));
    let (sender, receiver) = channel();
    let endless =
        Job { limit, ..job(2, Caller::unlimited(1), move |_| sender.send(loop_until_stopped()).unwrap()) };
    scheduler.submit(Lane::Heavy, endless).unwrap();
    assert_eq!(receiver.recv_timeout(PATIENCE), Ok(Stopped::TimeLimit(limit)));
}

#[test]
fn a_job_that_ends_at_its_own_time_limit_counts_as_late() {
    record_late(LIMIT);
    let scheduler = scheduler(LaneConfig::simple(1, 100));
    for ticket in 1..3 {
        scheduler.submit(Lane::Heavy, job(ticket, Caller::unlimited(1), |_| record_late(LIMIT))).unwrap();
    }
    let (sender, receiver) = channel();
    // The only thread has counted the jobs before it begins the next one.
    scheduler
        .submit(Lane::Heavy, job(3, Caller::unlimited(1), move |outcome| sender.send(outcome).unwrap()))
        .unwrap();
    assert_eq!(receiver.recv_timeout(PATIENCE), Ok(Ok(())));
    assert_eq!(scheduler.status()[2].late, 2);
}

/// Budget that is exhausted after this much processor time.
struct Fixed(Mutex<Duration>);

impl CallerCpuBudget for Fixed {
    fn charge(&self, used: Duration) -> Result<(), Exhausted> {
        let mut left = self.0.lock().unwrap();
        *left = left.saturating_sub(used);
        if left.is_zero() { Err(Exhausted { retry_after: Duration::from_secs(3) }) } else { Ok(()) }
    }
}

#[test]
fn a_waiting_job_ends_when_its_time_is_over() {
    let scheduler = scheduler(LaneConfig::simple(1, 100));
    let (first, started, _release) = blocker(0, Caller::unlimited(1));
    scheduler.submit(Lane::Heavy, first).unwrap();
    started.recv_timeout(PATIENCE).unwrap();
    let (sender, receiver) = channel();
    let mut late = job(1, Caller::unlimited(2), move |outcome| sender.send(outcome).unwrap());
    late.limit = Duration::ZERO;
    scheduler.submit(Lane::Heavy, late).unwrap();
    // The only thread stays busy.
    scheduler.submit(Lane::Heavy, job(2, Caller::unlimited(3), |_| {})).unwrap();
    assert_eq!(receiver.recv_timeout(PATIENCE), Ok(Err(Stopped::TimeLimit(Duration::ZERO))));
    assert_eq!((scheduler.status()[2].waiting, scheduler.status()[2].late), (1, 1));
}

#[test]
fn an_exhausted_budget_ends_the_job() {
    let scheduler = scheduler(preemptive());
    let budget: Arc<dyn CallerCpuBudget> = Arc::new(Fixed(Mutex::new(Duration::from_millis(10))));
    let caller = Caller { id: 1, priority: Priority::Public, budget: Some(budget) };
    let (sender, receiver) = channel();
    scheduler
        .submit(Lane::Heavy, job(1, caller, move |_| sender.send(loop_until_stopped()).unwrap()))
        .unwrap();
    let stopped = receiver.recv_timeout(PATIENCE);
    assert_eq!(stopped, Ok(Stopped::Budget { retry_after: Duration::from_secs(3) }));
}

#[test]
fn a_long_operation_is_charged_before_it_begins() {
    let scheduler = scheduler(preemptive());
    let budget: Arc<dyn CallerCpuBudget> = Arc::new(Fixed(Mutex::new(Duration::from_millis(200))));
    let caller = Caller { id: 1, priority: Priority::Public, budget: Some(budget) };
    let (sender, receiver) = channel();
    let begin = move |_| sender.send(begin_operation(Duration::from_millis(300)).err()).unwrap();
    scheduler.submit(Lane::Heavy, job(1, caller, begin)).unwrap();
    let stopped = Stopped::Budget { retry_after: Duration::from_secs(3) };
    assert_eq!(receiver.recv_timeout(PATIENCE), Ok(Some(stopped)));
}

#[test]
fn work_is_charged_before_it_begins() {
    let scheduler = scheduler(preemptive());
    let left = Duration::from_secs(100);
    let budget: Arc<dyn CallerCpuBudget> = Arc::new(Fixed(Mutex::new(left)));
    let caller = Caller { id: 1, priority: Priority::Public, budget: Some(budget) };
    for (ticket, estimate, is_charged) in [(1, left / 2, true), (2, left / 2, false)] {
        let (sender, receiver) = channel();
        let work = move |_| sender.send(charge_ahead(estimate)).unwrap();
        scheduler.submit(Lane::Verification, job(ticket, caller.clone(), work)).unwrap();
        assert_eq!(receiver.recv_timeout(PATIENCE).unwrap().is_ok(), is_charged, "job {ticket}");
    }
    assert_eq!(charge_ahead(left), Ok(()), "this thread runs no job");
}

#[test]
fn a_job_continues_in_another_lane() {
    let scheduler = scheduler(preemptive());
    let handle = scheduler.handle();
    let (sender, receiver) = channel();
    let second = handle.clone();
    let first = move |_| {
        let next = job(1, Caller::unlimited(1), move |outcome| sender.send(outcome).unwrap());
        second.submit(Lane::Verification, next).unwrap();
    };
    scheduler.submit(Lane::Submission, job(1, Caller::unlimited(1), first)).unwrap();
    assert_eq!(receiver.recv_timeout(PATIENCE), Ok(Ok(())));
    drop(scheduler);
    let late = handle.submit(Lane::Verification, job(2, Caller::unlimited(1), |_| {}));
    assert_eq!(late, Err(SubmitError::Stopping));
}

#[test]
fn only_a_dedicated_caller_may_begin_a_very_long_operation() {
    let scheduler = scheduler(preemptive());
    let public = Caller { id: 1, priority: Priority::Public, budget: None };
    for (ticket, caller, is_rejected) in [(1, public, true), (2, Caller::unlimited(2), false)] {
        let (sender, receiver) = channel();
        let begin = move |_| sender.send(begin_operation(Duration::from_secs(1)).err()).unwrap();
        scheduler.submit(Lane::Heavy, job(ticket, caller, begin)).unwrap();
        let stopped = receiver.recv_timeout(PATIENCE).unwrap();
        assert_eq!(matches!(stopped, Some(Stopped::LongOperation { .. })), is_rejected);
    }
}

#[test]
fn other_jobs_run_during_a_long_operation() {
    let scheduler = scheduler(preemptive());
    let (started, has_started) = channel();
    let (release, released) = channel::<()>();
    let begin = move |_| {
        let operation = begin_operation(Duration::from_millis(100)).unwrap();
        started.send(()).unwrap();
        let _ = released.recv();
        drop(operation);
    };
    scheduler.submit(Lane::Heavy, job(1, Caller::unlimited(1), begin)).unwrap();
    has_started.recv_timeout(PATIENCE).unwrap();
    let (sender, receiver) = channel();
    let second = sender.clone();
    let wait = move |_| {
        let operation = begin_operation(Duration::from_millis(100)).unwrap();
        second.send("long").unwrap();
        drop(operation);
    };
    scheduler.submit(Lane::Heavy, job(2, Caller::unlimited(1), wait)).unwrap();
    scheduler
        .submit(Lane::Heavy, job(3, Caller::unlimited(2), move |_| sender.send("short").unwrap()))
        .unwrap();
    assert_eq!(receiver.recv_timeout(PATIENCE), Ok("short"));
    drop(release);
    assert_eq!(receiver.recv_timeout(PATIENCE), Ok("long"));
}

#[test]
fn a_full_queue_rejects_the_caller_with_the_most_jobs() {
    let scheduler = scheduler(LaneConfig::simple(1, 4));
    let (first, started, release) = blocker(0, Caller::unlimited(1));
    scheduler.submit(Lane::Heavy, first).unwrap();
    started.recv_timeout(PATIENCE).unwrap();
    let (sender, receiver) = channel();
    let report = |ticket: u64, caller| {
        let sender = sender.clone();
        job(ticket, Caller::unlimited(caller), move |outcome| sender.send((ticket, outcome)).unwrap())
    };
    for ticket in 1..=4 {
        scheduler.submit(Lane::Heavy, report(ticket, 1)).unwrap();
    }
    assert_eq!(scheduler.submit(Lane::Heavy, report(5, 1)), Err(SubmitError::Full { capacity: 4 }));
    scheduler.submit(Lane::Heavy, report(6, 2)).unwrap();
    assert_eq!(receiver.recv_timeout(PATIENCE), Ok((4, Err(Stopped::Overloaded { capacity: 4 }))));
    drop(release);
    let mut ran: Vec<_> = (0..4).map(|_| receiver.recv_timeout(PATIENCE).unwrap()).collect();
    ran.sort_unstable_by_key(|(ticket, _)| *ticket);
    assert_eq!(ran, [(1, Ok(())), (2, Ok(())), (3, Ok(())), (6, Ok(()))]);
    assert_eq!(scheduler.status()[2].overloaded, 2);
}

#[test]
fn a_stop_rejects_what_waits_and_lets_paused_jobs_end() {
    let scheduler = scheduler(preemptive());
    let (sender, receiver) = channel();
    let may_end = Arc::new(AtomicBool::new(false));
    for ticket in 0..3 {
        let (sender, may_end) = (sender.clone(), may_end.clone());
        let work = move |outcome: Result<(), Stopped>| {
            while outcome.is_ok() && !may_end.load(SeqCst) {
                checkpoint().unwrap();
            }
            sender.send(outcome).unwrap();
        };
        scheduler.submit(Lane::Heavy, job(ticket, Caller::unlimited(ticket), work)).unwrap();
    }
    while scheduler.status()[2].paused < 4 {
        spin_loop();
    }
    may_end.store(true, SeqCst);
    scheduler.stop();
    let outcomes: Vec<_> = receiver.try_iter().collect();
    assert_eq!(outcomes.len(), 3);
    assert_eq!(
        scheduler.submit(Lane::Heavy, job(9, Caller::unlimited(1), |_| ())),
        Err(SubmitError::Stopping)
    );
}

#[test]
fn a_panic_ends_its_job_alone() {
    let scheduler = scheduler(LaneConfig::simple(1, 100));
    scheduler.submit(Lane::Read, job(1, Caller::unlimited(1), |_| panic!("on purpose"))).unwrap();
    let (sender, receiver) = channel();
    scheduler.submit(Lane::Read, job(2, Caller::unlimited(1), move |_| sender.send(()).unwrap())).unwrap();
    assert_eq!(receiver.recv_timeout(PATIENCE), Ok(()));
}

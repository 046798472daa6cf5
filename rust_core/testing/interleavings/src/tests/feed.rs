use std::{sync::Arc, time::Duration};

use loom::thread;

use crate::{
    queue::{Entry, EventKind, Feed},
    sync::Mutex,
    view::View,
};

const NO_LIMIT: Duration = Duration::from_secs(3600);

/// Returns the numbers of the views with those of their entries.
fn views(entries: &[Entry]) -> Vec<(u64, u64)> {
    let number = |entry: &Entry| match &entry.what {
        EventKind::View(view) => Some((entry.sequence, view.number)),
        EventKind::Tick | EventKind::Arrivals => None,
    };
    entries.iter().filter_map(number).collect()
}

#[test]
fn no_reader_goes_back_behind_a_drained_view() {
    loom::model(|| {
        let feed = Arc::new(Feed::default());
        feed.publish(Arc::new(View::new(1)));
        let publisher = feed.clone();
        let publishing = thread::spawn(move || publisher.publish(Arc::new(View::new(2))));
        let drained = views(&feed.drain(NO_LIMIT));
        let newest = feed.view().expect("a view was published");
        assert_eq!(newest.content(), newest.number);
        assert!(newest.number >= drained.last().expect("the first view was queued").1);
        publishing.join().unwrap();
    });
}

#[test]
fn newest_view_agrees_with_the_number_of_its_entry() {
    loom::model(|| {
        let feed = Arc::new(Feed::default());
        feed.publish(Arc::new(View::new(1)));
        let before = views(&feed.drain(NO_LIMIT));
        let publisher = feed.clone();
        let publishing = thread::spawn(move || {
            publisher.publish(Arc::new(View::new(2)));
            publisher.publish(Arc::new(View::new(3)));
        });
        let (sequence, newest) = feed.newest().expect("a view was published");
        publishing.join().unwrap();
        let entries = [before, views(&feed.drain(NO_LIMIT))].concat();
        assert_eq!(entries.len(), 3);
        for (entry, number) in entries {
            assert_eq!(entry <= sequence, number <= newest.number, "entry {entry}, view {number}");
        }
    });
}

#[test]
fn no_arrival_is_lost_after_arrivals_are_wanted() {
    loom::model(|| {
        let feed = Arc::new(Feed::default());
        feed.publish(Arc::new(View::new(1)));
        feed.drain(NO_LIMIT);
        let pool = Arc::new(Mutex::new(0));
        let (writer, pooled) = (feed.clone(), pool.clone());
        let writing = thread::spawn(move || {
            *pooled.lock() += 1;
            writer.arrived();
        });
        feed.want_arrivals(true);
        let is_seen = *pool.lock() == 1;
        writing.join().unwrap();
        feed.wake();
        let is_queued = feed.drain(NO_LIMIT).iter().any(|entry| matches!(entry.what, EventKind::Arrivals));
        assert!(is_seen || is_queued);
    });
}

#[test]
fn views_ticks_and_wake_ups_end_a_blocking_drain() {
    let events: [fn(&Feed); 3] = [Feed::wake, Feed::tick, |feed| feed.publish(Arc::new(View::new(2)))];
    for event in events {
        loom::model(move || {
            let feed = Arc::new(Feed::default());
            feed.publish(Arc::new(View::new(1)));
            feed.drain(NO_LIMIT);
            let sender = feed.clone();
            let sending = thread::spawn(move || event(&sender));
            feed.drain(NO_LIMIT);
            sending.join().unwrap();
        });
    }
}

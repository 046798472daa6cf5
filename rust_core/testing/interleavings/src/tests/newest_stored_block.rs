use std::sync::Arc;

use loom::thread;

use crate::{
    newest_stored_block::NewestStoredBlock,
    sync::{AtomicU64, Ordering},
};

#[test]
fn a_reader_of_the_number_sees_the_block() {
    loom::model(|| {
        let (newest, written) = (Arc::new(NewestStoredBlock::default()), Arc::new(AtomicU64::new(0)));
        let (publisher, block) = (newest.clone(), written.clone());
        let writing = thread::spawn(move || {
            for number in [6, 7] {
                block.store(number, Ordering::Relaxed);
                publisher.set(Some(number));
            }
        });
        if let Some(number) = newest.get() {
            assert!(written.load(Ordering::Relaxed) >= number);
        }
        writing.join().unwrap();
        assert_eq!(newest.get(), Some(7));
    });
}

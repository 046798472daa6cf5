//! Compares the logs found by the index with a scan of all receipts.

use std::{ops::ControlFlow, slice::from_ref};

use crate::support::{Made, Maker, Size, sealed};
use alloy_primitives::{Address, B256, Log};
use foreseal_primitives::{FoundLog, LogFilter, LogPosition, LogSink};
use foreseal_store::{Reader, Store, StoreError};
use rand::{Rng, SeedableRng, rngs::StdRng};
use tempfile::tempdir;

/// A log with all its reported fields.
#[derive(Debug, PartialEq)]
struct Told {
    at: LogPosition,
    block_hash: B256,
    timestamp: u64,
    transaction: (B256, u64),
    log: Log,
}

/// Sink that ends a search after a number of logs, or of pauses.
#[derive(Default)]
struct Taker {
    told: Vec<Told>,
    logs: usize,
    pauses: usize,
}

impl LogSink for Taker {
    fn log(&mut self, found: &FoundLog<'_>) -> ControlFlow<()> {
        if self.logs == 0 {
            return ControlFlow::Break(());
        }
        self.logs -= 1;
        self.told.push(Told {
            at: found.position(),
            block_hash: found.block_hash,
            timestamp: found.timestamp,
            transaction: (found.transaction_hash, found.transaction_index),
            log: found.log.clone(),
        });
        ControlFlow::Continue(())
    }

    fn pause(&mut self) -> ControlFlow<()> {
        if self.pauses == 0 {
            return ControlFlow::Break(());
        }
        self.pauses -= 1;
        ControlFlow::Continue(())
    }
}

fn scan(chain: &[Made], filter: &LogFilter, from: LogPosition, last: u64) -> Vec<Told> {
    let mut told = Vec::new();
    for made in chain {
        let (block, mut index) = (&made.sealed.block, 0);
        for (place, (transaction, receipt)) in (0..).zip(block.transactions.iter().zip(&block.receipts)) {
            for log in &receipt.logs {
                let at = LogPosition { block: made.number(), index };
                index += 1;
                if at >= from && at.block <= last && filter.matches(log) {
                    let (block_hash, timestamp) = (block.hash, block.header.timestamp);
                    let transaction = (transaction.hash(), place);
                    told.push(Told { at, block_hash, timestamp, transaction, log: log.clone() });
                }
            }
        }
    }
    told
}

/// Returns all results of a search that is interrupted repeatedly and continues where it ended.
fn search(
    reader: &Reader,
    filter: &LogFilter,
    from: LogPosition,
    last: u64,
    (logs, pauses): (usize, usize),
) -> Vec<Told> {
    let (mut told, mut at) = (Vec::new(), from);
    loop {
        let mut taker = Taker { logs, pauses, ..Taker::default() };
        let ended = reader.search_logs(filter, at, last, &mut taker).unwrap();
        let found = taker.told.len();
        told.append(&mut taker.told);
        if ended.block > last {
            return told;
        }
        assert!(ended > at || found > 0, "a search that goes on gets somewhere");
        at = ended;
    }
}

fn some_filter(random: &mut StdRng) -> LogFilter {
    let mut some = |most: u8| -> Vec<u8> {
        let count = random.random_range(0..3);
        (0..count).map(|_| random.random_range(0..most)).collect()
    };
    let addresses = some(6).into_iter().map(Address::with_last_byte).collect();
    let positions = some(5).len() * 2;
    let topics = (0..positions).map(|_| some(7).into_iter().map(B256::with_last_byte).collect()).collect();
    LogFilter::new(addresses, topics)
}

#[test]
fn searches_find_what_a_scan_finds_wherever_they_are_broken_off() {
    let mut maker = Maker::new(5, Size::SMALL);
    let genesis = maker.genesis();
    let chain = maker.chain(&genesis, 500);
    let folder = tempdir().unwrap();
    let store = Store::open(folder.path(), Maker::options(&genesis)).unwrap();
    store.write(from_ref(&genesis.sealed)).unwrap();
    for batch in chain.chunks(70) {
        store.write(&sealed(batch)).unwrap();
    }
    assert!(store.progress().unwrap().logs > 2048, "more than a portion or two");
    let reader = store.reader().unwrap();
    let all = scan(&chain, &LogFilter::default(), LogPosition::default(), 500);
    assert_eq!(search(&reader, &LogFilter::default(), LogPosition::default(), 500, (usize::MAX, 0)), all);

    let mut random = StdRng::seed_from_u64(6);
    let mut found = 0;
    for round in 0..300 {
        let filter = some_filter(&mut random);
        let block = random.random_range(0..=500);
        let last = random.random_range(block..=500);
        let from = LogPosition { block, index: random.random_range(0..4) };
        let broken = [(usize::MAX, usize::MAX), (3, usize::MAX), (usize::MAX, 0), (50, 1)][round % 4];
        let told = search(&reader, &filter, from, last, broken);
        assert_eq!(told, scan(&chain, &filter, from, last), "{filter:?} {from:?} {last}");
        found += told.len();
    }
    assert!(found > 1000, "{found}");
}

#[test]
fn a_search_beyond_the_stored_blocks_is_an_error_and_not_half_an_answer() {
    let mut maker = Maker::new(7, Size::SMALL);
    let genesis = maker.genesis();
    let chain = maker.chain(&genesis, 20);
    let folder = tempdir().unwrap();
    let store = Store::open(folder.path(), Maker::options(&genesis)).unwrap();
    store.write(from_ref(&genesis.sealed)).unwrap();
    store.write(&sealed(&chain)).unwrap();
    let reader = store.reader().unwrap();
    let mut taker = Taker { logs: usize::MAX, ..Taker::default() };
    let mut ended = |from, last| reader.search_logs(&LogFilter::default(), from, last, &mut taker);
    assert!(matches!(ended(LogPosition::default(), 21), Err(StoreError::Damaged { table: "headers", .. })));
    let behind_all = LogPosition { block: 20, index: 99 };
    assert_eq!(ended(behind_all, 20), Ok(LogPosition::block(21)));
    let beyond = LogPosition { block: 21, index: 2 };
    assert_eq!(ended(beyond, 20), Ok(beyond));
    assert!(taker.told.is_empty());
}

//! Compares the logs found by the index with a scan of all receipts.

use std::{ops::ControlFlow, slice::from_ref};

use crate::support::{Made, Maker, Size, sealed};
use alloy_primitives::{Address, B256, Log};
use foreseal_primitives::{FoundLog, LogFilter, LogPosition};
use foreseal_store::{Reader, Store, StoreError, StoredLogRange};
use rand::{Rng, SeedableRng, rngs::StdRng};
use tempfile::tempdir;

/// A log with all its reported fields.
#[derive(Debug, PartialEq)]
struct ReadLog {
    at: LogPosition,
    block_hash: B256,
    timestamp: u64,
    transaction: (B256, u64),
    log: Log,
}

/// Number of logs, and of portions, after which a search is interrupted.
#[derive(Clone, Copy)]
struct Interruption {
    logs: usize,
    portions: usize,
}

const UNINTERRUPTED: Interruption = Interruption { logs: usize::MAX, portions: usize::MAX };

fn scan(chain: &[Made], filter: &LogFilter, from: LogPosition, last: u64) -> Vec<ReadLog> {
    let mut logs = Vec::new();
    for made in chain {
        let (block, mut index) = (&made.sealed.block, 0);
        for (transaction_index, (transaction, receipt)) in
            (0..).zip(block.transactions.iter().zip(&block.receipts))
        {
            for log in &receipt.logs {
                let at = LogPosition { block: made.number(), index };
                index += 1;
                if at >= from && at.block <= last && filter.matches(log) {
                    let (block_hash, timestamp) = (block.hash, block.header.timestamp);
                    let transaction = (transaction.hash(), transaction_index);
                    logs.push(ReadLog { at, block_hash, timestamp, transaction, log: log.clone() });
                }
            }
        }
    }
    logs
}

/// Searches from a position until the end or an interruption. Returns where the search continues.
fn search_once(
    reader: &Reader,
    filter: &LogFilter,
    from: LogPosition,
    last: u64,
    interruption: Interruption,
    logs: &mut Vec<ReadLog>,
) -> Result<LogPosition, StoreError> {
    let (mut range, most) = (StoredLogRange::new(from, last), logs.len().saturating_add(interruption.logs));
    let mut portions = 0;
    while !range.is_finished() {
        if portions > interruption.portions {
            return range.ordinals.map_or(Ok(from), |ordinals| reader.log_position(ordinals.start));
        }
        portions += 1;
        let ordinals = reader.match_logs(filter, &mut range, interruption.logs)?;
        let mut interrupted = None;
        reader.read_logs(filter, &ordinals, &mut |_, entry: &FoundLog<'_>| {
            if logs.len() == most {
                interrupted = Some(entry.position());
                return ControlFlow::Break(());
            }
            logs.push(ReadLog {
                at: entry.position(),
                block_hash: entry.block_hash,
                timestamp: entry.timestamp,
                transaction: (entry.transaction_hash, entry.transaction_index),
                log: entry.log.clone(),
            });
            ControlFlow::Continue(())
        })?;
        if let Some(at) = interrupted {
            return Ok(at);
        }
    }
    Ok(if from.block > last { from } else { LogPosition::block(last + 1) })
}

/// Returns all results of a search that is interrupted repeatedly and continues where it ended.
fn search(
    reader: &Reader,
    filter: &LogFilter,
    from: LogPosition,
    last: u64,
    interruption: Interruption,
) -> Vec<ReadLog> {
    let (mut logs, mut at) = (Vec::new(), from);
    loop {
        let before = logs.len();
        let ended = search_once(reader, filter, at, last, interruption, &mut logs).unwrap();
        if ended.block > last {
            return logs;
        }
        assert!(ended > at || logs.len() > before, "a search that continues makes progress");
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
fn interrupted_searches_find_what_a_scan_finds() {
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
    assert_eq!(search(&reader, &LogFilter::default(), LogPosition::default(), 500, UNINTERRUPTED), all);

    let mut random = StdRng::seed_from_u64(6);
    let mut total = 0;
    for round in 0..300 {
        let filter = some_filter(&mut random);
        let block = random.random_range(0..=500);
        let last = random.random_range(block..=500);
        let from = LogPosition { block, index: random.random_range(0..4) };
        let interruption = [
            UNINTERRUPTED,
            Interruption { logs: 3, ..UNINTERRUPTED },
            Interruption { portions: 0, ..UNINTERRUPTED },
            Interruption { logs: 50, portions: 1 },
        ][round % 4];
        let logs = search(&reader, &filter, from, last, interruption);
        assert_eq!(logs, scan(&chain, &filter, from, last), "{filter:?} {from:?} {last}");
        total += logs.len();
    }
    assert!(total > 1000, "{total}");
}

#[test]
fn a_search_beyond_the_stored_blocks_is_an_error() {
    let mut maker = Maker::new(7, Size::SMALL);
    let genesis = maker.genesis();
    let chain = maker.chain(&genesis, 20);
    let folder = tempdir().unwrap();
    let store = Store::open(folder.path(), Maker::options(&genesis)).unwrap();
    store.write(from_ref(&genesis.sealed)).unwrap();
    store.write(&sealed(&chain)).unwrap();
    let reader = store.reader().unwrap();
    let mut logs = Vec::new();
    let mut ended =
        |from, last| search_once(&reader, &LogFilter::default(), from, last, UNINTERRUPTED, &mut logs);
    assert!(matches!(ended(LogPosition::default(), 21), Err(StoreError::Damaged { table: "headers", .. })));
    let behind_all = LogPosition { block: 20, index: 99 };
    assert_eq!(ended(behind_all, 20), Ok(LogPosition::block(21)));
    let beyond = LogPosition { block: 21, index: 2 };
    assert_eq!(ended(beyond, 20), Ok(beyond));
    assert!(logs.is_empty());
}

//! An index in a folder of its own, with the logs that it must contain.

use std::ops::Range;

use alloy_primitives::{Address, B256, Bytes, Log, LogData};
use foreseal_primitives::LogFilter;
use foreseal_store::{IndexAdditions, LogIndex, LogIndexError, Next};
use heed::{CommitOrAbort, Database, Env, EnvOpenOptions, types};

type Table = Database<'static, types::Bytes, types::Bytes>;

pub struct Bench {
    pub env: Env,
    pub table: Table,
    pub index: LogIndex,
    pub logs: Vec<Log>,
    _folder: tempfile::TempDir,
}

impl Bench {
    pub fn new(chunk_bits: u32) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut options = EnvOpenOptions::new();
        options.map_size(1 << 32).max_dbs(1);
        // SAFETY: the folder is new, and no other code opens it.
        let env = unsafe { options.open(folder.path()) }.unwrap();
        let txn = env.write_txn().unwrap();
        let table: Table = env
            .create_databases_and_commit(txn, |databases, txn| {
                databases.create_database(txn, Some("log index")).map(CommitOrAbort::<_, ()>::Commit)
            })
            .unwrap()
            .unwrap_commit();
        let index = LogIndex::new(table).with_chunk_bits(chunk_bits);
        Self { env, table, index, logs: Vec::new(), _folder: folder }
    }

    /// Adds the logs of several blocks in one transaction.
    pub fn append(&mut self, blocks: impl IntoIterator<Item = Vec<Log>>) {
        let mut additions = IndexAdditions::default();
        for log in blocks.into_iter().flatten() {
            additions.add(self.logs.len() as u64, &log);
            self.logs.push(log);
        }
        let mut txn = self.env.write_txn().unwrap();
        additions.write(&self.index, &mut txn).unwrap();
        txn.commit().unwrap();
    }

    pub fn unwind(&mut self, from: usize) {
        let mut txn = self.env.write_txn().unwrap();
        self.index.unwind(&mut txn, from as u64, &self.logs[from..]).unwrap();
        txn.commit().unwrap();
        self.logs.truncate(from);
    }

    /// Searches the index, and starts again at the reached position after each `portion` of work.
    pub fn search(&self, filter: &LogFilter, range: Range<u64>, portion: u64) -> Vec<u64> {
        let txn = self.env.read_txn().unwrap();
        let (mut ordinals, mut at, end) = (Vec::new(), range.start, range.end);
        loop {
            let mut work = 0;
            let mut matches = self.index.search(&txn, filter, at..end, &mut work).unwrap();
            // The cost of opening a search does not count.
            let limit = work + portion;
            loop {
                match matches.next_within(&mut work, limit).unwrap() {
                    Next::Found(ordinal) => ordinals.push(ordinal),
                    Next::Paused => break,
                    Next::End => return ordinals,
                }
            }
            assert!(matches.position() > at, "a portion of work gets somewhere");
            at = matches.position();
        }
    }

    /// Returns the ordinals of the matching logs, found by matching every log.
    pub fn scan(&self, filter: &LogFilter, range: Range<u64>) -> Vec<u64> {
        let matching = (0..).zip(&self.logs).filter(|(_, log)| filter.matches(log));
        matching.map(|(ordinal, _)| ordinal).filter(|ordinal| range.contains(ordinal)).collect()
    }

    pub fn check(&self) -> Result<(), LogIndexError> {
        let txn = self.env.read_txn().unwrap();
        let mut done = Vec::new();
        self.index.check(&txn, self.logs.iter().cloned().map(Ok::<_, LogIndexError>), &mut |logs| {
            done.push(logs);
        })?;
        assert!(done.is_sorted() && done.last().copied().unwrap_or(0) == self.logs.len() as u64);
        Ok(())
    }
}

pub fn address(number: u8) -> Address {
    Address::with_last_byte(number)
}

pub fn topic(number: u8) -> B256 {
    B256::with_last_byte(number)
}

pub fn log(of: u8, topics: &[u8]) -> Log {
    let topics = topics.iter().copied().map(topic).collect();
    Log { address: address(of), data: LogData::new_unchecked(topics, Bytes::new()) }
}

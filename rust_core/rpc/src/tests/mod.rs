//! Methods over a node with a clock that the test controls.

mod answer_sizes;
mod archive;
mod arguments;
mod automine;
mod block_calls;
mod blocks;
mod call_traces;
mod calls;
mod development;
mod discover;
mod entrance;
mod fees;
mod filters;
mod followed_filters;
mod followers;
mod freshness;
mod geth_traces;
mod log_pages;
mod logs;
mod optimism;
mod override_traces;
mod overrides;
mod pending;
mod preconfirmation;
mod processes;
mod proofs;
mod read_modes;
mod revert_reasons;
mod samples;
mod send_sync;
mod shared_filters;
mod signing;
mod state;
mod store_reads;
mod streams;
mod submissions;
mod submit;
mod tags;
mod traces;
mod txpool;

use std::{path::Path, sync::Arc, time::Duration};

use alloy_primitives::B256;
use foreseal_chain::{Clock, FinalityDepth, SteppedClock, View};
use foreseal_journal::{Disk, RealDisk};
use foreseal_node::{Development, Node, NodeEnvironment, Producer, Settings};
use foreseal_pool::PoolConfig;
use foreseal_testkit::{Wallet, counting, test_genesis};
use serde_json::Value;

use crate::{
    context::{keys::Key, limits::Limits},
    errors::rpc_error::RpcError,
    methods::method::ExecutionMode,
    request::{api::Api, attempt::InlineAttempt, table},
};

fn settings(datadir: &Path, wallets: &[Wallet]) -> Settings {
    Settings {
        genesis: Some(test_genesis(wallets)),
        finality: FinalityDepth { safe: 2, finalized: 4 },
        segment_bytes: 1 << 20,
        ..Settings::new(datadir.to_owned())
    }
}

/// Node that produces steps on demand, and the methods over it.
struct Bench {
    api: Api,
    clock: Arc<SteppedClock>,
    producer: Option<Producer>,
    wallets: Vec<Wallet>,
    _datadir: tempfile::TempDir,
}

impl Bench {
    fn new(wallets: u64) -> Self {
        Self::with_limits(wallets, Limits::default())
    }

    /// Creates a development node with the wallets' keys, called through the admin listener.
    fn developing(wallets: u64) -> Self {
        Self::with_development(wallets, Development { snapshots: 1_000, mined: 5, ..Development::default() })
    }

    /// Creates a development node like [`Self::developing`] with these settings.
    fn with_development(wallets: u64, development: Development) -> Self {
        let datadir = tempfile::tempdir().unwrap();
        let wallets = Wallet::some(wallets);
        let settings = Settings { development: Some(development), ..settings(datadir.path(), &wallets) };
        let bench = Self::open(datadir, settings, wallets, Limits::default());
        let key = |wallet: &Wallet| Key { address: wallet.address, secret: wallet.secret() };
        let keys = bench.wallets.iter().map(key).collect();
        Self { api: bench.api.with_keys(keys).for_admin(), ..bench }
    }

    fn with_limits(wallets: u64, limits: Limits) -> Self {
        let datadir = tempfile::tempdir().unwrap();
        let wallets = Wallet::some(wallets);
        let settings = settings(datadir.path(), &wallets);
        Self::open(datadir, settings, wallets, limits)
    }

    fn with_pool(wallets: u64, pool: PoolConfig) -> Self {
        let datadir = tempfile::tempdir().unwrap();
        let wallets = Wallet::some(wallets);
        let settings = Settings { pool, ..settings(datadir.path(), &wallets) };
        Self::open(datadir, settings, wallets, Limits::default())
    }

    fn open(datadir: tempfile::TempDir, settings: Settings, wallets: Vec<Wallet>, limits: Limits) -> Self {
        Self::open_on(Arc::new(RealDisk), datadir, settings, wallets, limits)
    }

    fn open_on(
        disk: Arc<dyn Disk>,
        datadir: tempfile::TempDir,
        settings: Settings,
        wallets: Vec<Wallet>,
        limits: Limits,
    ) -> Self {
        let mut bench = Self::unstarted(disk, datadir, settings, wallets, limits);
        bench.start();
        bench
    }

    /// Creates a node that has no view yet.
    fn unstarted(
        disk: Arc<dyn Disk>,
        datadir: tempfile::TempDir,
        settings: Settings,
        wallets: Vec<Wallet>,
        limits: Limits,
    ) -> Self {
        let clock = Arc::new(SteppedClock::default());
        let randomness = counting();
        let secret = Box::new(|| B256::repeat_byte(1));
        let environment = NodeEnvironment { clock: clock.clone(), randomness, secret, disk };
        let node = Node::open(settings, environment).unwrap();
        Self {
            api: Api::new(Arc::new(node), limits, B256::ZERO),
            clock,
            producer: None,
            wallets,
            _datadir: datadir,
        }
    }

    fn start(&mut self) {
        self.producer = self.api.node().start_stepped().unwrap();
    }

    fn view(&self) -> Arc<View> {
        self.api.node().view().unwrap()
    }

    /// Calls a method with the newest view. If an attempt answers as well, its result must be equal.
    fn try_call(&self, method: &str, params: &str) -> Result<Value, RpcError> {
        let view = self.view();
        let answer = self.api.call(Some(&view), method, params.as_bytes());
        if let Some(row) = table::method(method).filter(|row| row.mode == ExecutionMode::FastPath) {
            match self.api.attempt(Some(&view), row, params.as_bytes()) {
                InlineAttempt::Answered(tried) => assert_eq!(answer, Ok(tried), "{method} {params}"),
                InlineAttempt::Failed(error) => assert_eq!(answer, Err(error), "{method} {params}"),
                InlineAttempt::TooSlowInline | InlineAttempt::TooLargeInline | InlineAttempt::Malformed => {}
            }
        }
        let answer = answer?;
        Ok(serde_json::from_slice(&answer).expect("an answer is JSON"))
    }

    fn call(&self, method: &str, params: &str) -> Value {
        self.try_call(method, params).unwrap_or_else(|error| panic!("{method} {params}: {error:?}"))
    }

    fn error(&self, method: &str, params: &str) -> RpcError {
        self.try_call(method, params).expect_err(method)
    }

    fn submit(&self, raw: &[u8]) -> B256 {
        let answer = self.call("eth_sendRawTransaction", &raw_params(raw));
        answer.as_str().unwrap().parse().unwrap()
    }

    fn tick(&mut self) {
        self.clock.advance(Duration::from_millis(200));
        self.producer.as_mut().unwrap().tick(self.clock.now(), &mut || true).unwrap();
    }

    /// Ticks until the pending block is sealed.
    fn seal(&mut self) {
        let number = self.view().pending().number();
        while self.view().latest().number() < number {
            self.tick();
        }
    }
}

fn raw_params(raw: &[u8]) -> String {
    format!("[\"0x{}\"]", alloy_primitives::hex::encode(raw))
}

/// Returns the `data` of an error as JSON.
fn data(error: &RpcError) -> Value {
    serde_json::from_slice(error.data.as_deref().expect("the error has data")).unwrap()
}

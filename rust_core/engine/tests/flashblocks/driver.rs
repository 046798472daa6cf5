//! A node of an OP chain, driven through the Engine API, with the listener of flashblocks.

use std::{net::SocketAddr, path::Path, sync::Arc, time::Duration};

use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, B256, Bytes, TxKind, U256};
use foreseal_chain::{Clock, SteppedClock};
use foreseal_engine::{Engine, FlashblocksServer, RequestHandler};
use foreseal_journal::RealDisk;
use foreseal_node::{Node, NodeEnvironment, Producer, Settings};
use foreseal_primitives::OptimismFork;
use foreseal_testkit::{TransactionKinds, Wallet, Workload, optimism_genesis, test_genesis};
use op_alloy_consensus::TxDeposit;
use serde_json::{Value, json};

const GAS_LIMIT: u64 = 1_000_000_000;

/// Rejects the methods that are not those of the Engine API.
struct NoMethods;

impl RequestHandler for NoMethods {
    fn call(&self, method: &str, _: &[u8]) -> Result<bytes::Bytes, bytes::Bytes> {
        panic!("{method} is not used here")
    }
}

/// A driver with its node.
pub struct TestDriver {
    /// Dropped before the node.
    pub server: Option<FlashblocksServer>,
    pub node: Arc<Node>,
    engine: Engine,
    producer: Producer,
    clock: Arc<SteppedClock>,
    pub head: B256,
    timestamp: u64,
    deposits: u8,
    pub workload: Workload,
}

impl TestDriver {
    /// Starts a node in `datadir`, which may have run before.
    pub fn start(datadir: &Path) -> Self {
        let wallets = Wallet::some(3);
        let clock = Arc::new(SteppedClock::default());
        let environment = NodeEnvironment {
            clock: clock.clone(),
            randomness: Box::new(|| B256::ZERO),
            secret: Box::new(|| B256::repeat_byte(1)),
            disk: Arc::new(RealDisk),
        };
        let node = Arc::new(Node::open(settings(datadir, &wallets), environment).unwrap());
        let producer = node.start_stepped().unwrap().expect("a node with a driver produces");
        let latest = node.view().unwrap().latest().clone();
        Self {
            server: Some(FlashblocksServer::start(node.clone(), ([127, 0, 0, 1], 0).into()).unwrap()),
            engine: Engine::new(node.clone(), Arc::new(NoMethods)),
            node,
            producer,
            clock,
            head: latest.block.hash,
            timestamp: latest.block.header.timestamp,
            deposits: 0,
            workload: Workload::new(wallets, TransactionKinds::WithoutBlobs, 5),
        }
    }

    pub fn address(&self) -> SocketAddr {
        self.server.as_ref().expect("it runs").address()
    }

    fn call(&self, method: &str, params: &Value) -> Value {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let response = self.engine.respond(body.to_string().as_bytes()).expect("a request with an id");
        let response: Value = serde_json::from_slice(&response).unwrap();
        assert!(response.get("error").is_none(), "{response}");
        response["result"].clone()
    }

    /// Returns a deposit with `length` bytes of data.
    pub fn deposit(&mut self, length: usize) -> Bytes {
        self.deposits += 1;
        let deposit = TxDeposit {
            source_hash: B256::repeat_byte(self.deposits),
            from: Address::repeat_byte(0xde),
            to: TxKind::Call(Address::repeat_byte(0xad)),
            mint: 1_000,
            value: U256::from(7),
            gas_limit: 100_000 + 40 * length as u64,
            is_system_transaction: false,
            input: vec![1; length].into(),
        };
        deposit.encoded_2718().into()
    }

    /// Opens a block on the head with these deposits, one second after the last one. Returns the payload id.
    pub fn begin(&mut self, deposits: &[Bytes]) -> String {
        self.timestamp += 1;
        let attributes = json!({
            "timestamp": format!("{:#x}", self.timestamp),
            "prevRandao": B256::repeat_byte(3),
            "suggestedFeeRecipient": Address::repeat_byte(0x11),
            "withdrawals": [],
            "parentBeaconBlockRoot": B256::repeat_byte(4),
            "transactions": deposits,
            "noTxPool": false,
            "gasLimit": format!("{GAS_LIMIT:#x}"),
            "eip1559Params": "0x0000000000000000",
            "minBaseFee": 0,
        });
        let updated = self.update(self.head, &attributes);
        updated["payloadId"].as_str().expect("a payload is begun").to_owned()
    }

    fn update(&self, head: B256, attributes: &Value) -> Value {
        let state =
            json!({ "headBlockHash": head, "safeBlockHash": B256::ZERO, "finalizedBlockHash": B256::ZERO });
        let updated = self.call("engine_forkchoiceUpdatedV3", &json!([state, attributes]));
        assert_eq!(updated["payloadStatus"]["status"], "VALID");
        updated
    }

    /// Adds a step with `transactions` transactions of the pool.
    pub fn step(&mut self, transactions: usize) {
        for _ in 0..transactions {
            self.node.submit(&self.workload.next_transaction()).unwrap();
        }
        let before = self.node.view().unwrap().pending_index();
        self.clock.advance(Duration::from_millis(200));
        self.producer.tick(self.clock.now(), &mut || true).unwrap();
        assert_eq!(self.node.view().unwrap().pending_index(), before + 1);
    }

    /// Gets the payload and makes its block the head. Returns the block's hash.
    pub fn seal(&mut self, id: &str) -> B256 {
        let built = self.call("engine_getPayloadV4", &json!([id]));
        let payload = &built["executionPayload"];
        let root = &built["parentBeaconBlockRoot"];
        let verdict = self.call("engine_newPayloadV4", &json!([payload, [], root, []]));
        assert_eq!(verdict["status"], "VALID");
        self.head = serde_json::from_value(payload["blockHash"].clone()).unwrap();
        self.update(self.head, &Value::Null);
        assert_eq!(self.node.view().unwrap().latest().block.hash, self.head);
        self.head
    }

    /// Stops the node and starts it again. The driver has not opened a block yet.
    pub fn restart(self, datadir: &Path) -> Self {
        let Self { server, node, engine, producer, workload, .. } = self;
        drop(server);
        node.stop();
        drop((engine, producer, node));
        Self { workload, ..Self::start(datadir) }
    }
}

fn settings(datadir: &Path, wallets: &[Wallet]) -> Settings {
    let mut genesis = optimism_genesis(test_genesis(wallets), OptimismFork::Jovian);
    genesis.gas_limit = GAS_LIMIT;
    Settings {
        genesis: Some(genesis),
        driver: true,
        segment_bytes: 1 << 20,
        ..Settings::new(datadir.to_owned())
    }
}

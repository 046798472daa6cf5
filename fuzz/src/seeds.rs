//! Seed inputs of every target. Most are real encodings from a small chain.

use std::{
    collections::BTreeMap,
    fs,
    sync::{Arc, Mutex},
    time::Duration,
};

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_rlp::Encodable;
use foreseal_chain::FinalityDepth;
use foreseal_journal::{Identity, JournalOptions, LocalJournal, RawAppend, RealDisk, Record, encode_records};
use foreseal_pool::{
    Admission, Pool, PoolConfig, PoolError, PoolEvent, PoolEventSink, QueuedReason, Rules, decode_submission,
};
use foreseal_primitives::{
    Change, Flashblock, Override,
    wire::{encode, to_vec},
};
use foreseal_replication::{
    Phase, PoolStart, Production, ScrubStatus, StoreStatus,
    wire::{
        Cursor, Ending, FollowerRole, Heartbeat, Hello, Outcome, OwnerReport, Request, Response,
        SequencerReport, Welcome,
    },
};
use foreseal_rpc::{Kind, methods};
use foreseal_testkit::{Fees, Wallet, test_genesis};
use serde_json::json;

use crate::{TestChain, corpus};

type Inputs = BTreeMap<&'static str, Vec<(String, Vec<u8>)>>;

/// Writes the seed inputs of every target into its folder.
pub fn write() {
    let chain = TestChain::with_blocks();
    let mut inputs = Inputs::new();
    transactions(&chain, &mut inputs);
    journal(&chain, &mut inputs);
    blocks(&chain, &mut inputs);
    genesis(&mut inputs);
    questions(&chain, &mut inputs);
    let receipts = chain.receipts().into_iter().take(6).enumerate();
    inputs.entry("receipt").or_default().extend(receipts.map(|(n, json)| (format!("receipt-{n}"), json)));
    values(&chain, &mut inputs);
    proofs(&chain, &mut inputs);
    frames(&chain, &mut inputs);
    let damage: [&[u8]; 5] =
        [&[0, 2, 80, 7, 1], &[1, 0, 5, 7, 255], &[2, 8, 0, 0, 0], &[0, 0, 0, 3, 0], &[1, 4, 0, 4, 0]];
    let damage = damage.iter().enumerate().map(|(n, bytes)| (format!("damage-{n}"), bytes.to_vec()));
    inputs.entry("journal").or_default().extend(damage);
    for (target, files) in inputs {
        let folder = corpus::folder(target);
        fs::create_dir_all(&folder).expect("the folder is made");
        for (name, bytes) in files {
            fs::write(folder.join(name), bytes).expect("an input is written");
        }
    }
}

/// Adds transactions of each type and of several sizes, and saved pools that contain them.
fn transactions(chain: &TestChain, inputs: &mut Inputs) {
    let wallet = Wallet::numbered(0);
    let pre_eip155 = {
        use alloy_consensus::TxLegacy;
        wallet.sign(TxLegacy { gas_limit: 21_000, gas_price: 1, ..TxLegacy::default() })
    };
    let mut kinds: BTreeMap<(u8, usize), Bytes> = BTreeMap::new();
    for sent in &chain.sent {
        kinds.entry((sent[0], sent.len() / 64)).or_insert_with(|| sent.clone());
    }
    let all: Vec<Bytes> = kinds.into_values().chain([pre_eip155]).collect();
    for (n, raw) in all.iter().enumerate() {
        for target in ["transaction", "submission"] {
            inputs.entry(target).or_default().push((format!("transaction-{n}"), raw.to_vec()));
        }
    }
    let empty_pool = Pool::new(PoolConfig::default());
    let pools = inputs.entry("pool_file").or_default();
    pools.push(("empty".to_owned(), empty_pool.save()));
    let view = chain.view();
    let rules = Rules::new(&PoolConfig::default(), view.spec(), &view.pending().block.header);
    for (n, raw) in all.iter().enumerate() {
        let Ok(submission) = decode_submission(raw, &rules) else { continue };
        let _ = empty_pool.add(submission, || &*view);
        pools.push((format!("pool-{n}"), empty_pool.save()));
    }
    let later = wallet.transfer(900, Address::repeat_byte(1), 1, Fees::default());
    let submission = decode_submission(&later, &rules).expect("a transfer is decoded");
    empty_pool.add(submission, || &*view).expect("a later nonce waits");
    pools.push(("queued".to_owned(), empty_pool.save()));
}

/// Adds the records of the chain's journal, records of the other kinds, and steps.
fn journal(chain: &TestChain, inputs: &mut Inputs) {
    let spec = chain.api.node().spec();
    let genesis = chain.view().sealed(0).expect("genesis is read").expect("there is a genesis").block.hash;
    let copy = tempfile::tempdir().expect("there is room");
    let folder = chain.datadir().join("journal");
    for file in fs::read_dir(folder).expect("the chain has a journal").flatten() {
        fs::copy(file.path(), copy.path().join(file.file_name())).expect("a segment is copied");
    }
    let options = JournalOptions::new(Identity { chain_id: spec.chain_id(), genesis }, [0; 32]);
    let (journal, _) =
        LocalJournal::open(copy.path(), Arc::new(RealDisk), options).expect("the journal opens");
    let mut last = None;
    for append in journal.replay().expect("the journal is read") {
        let append = append.expect("the journal is whole");
        let sequence = append.sequence;
        if append
            .records
            .iter()
            .any(|record| matches!(record, Record::Step(step) if step.encode().len() < 1000))
        {
            last = append.records.iter().find_map(|record| match record {
                Record::Step(step) => Some(step.clone()),
                _ => None,
            });
        }
        add_records(inputs, &format!("append-{sequence}"), &append.records);
    }
    let step = last.expect("there is a small step");
    let change = |change| Override { address: Address::repeat_byte(5), change };
    let changes = [
        Change::Balance(U256::MAX),
        Change::Nonce(3),
        Change::Code(Bytes::from_static(b"\x60\x00")),
        Change::Slot { slot: U256::from(1), value: U256::from(2) },
    ];
    for (n, one) in changes.into_iter().enumerate() {
        add_records(
            inputs,
            &format!("override-{n}"),
            &[Record::Override { change: change(one), step: step.clone() }],
        );
    }
    let others = [
        Record::Clock { offset: -5 },
        Record::Unwind { number: 4, hash: B256::repeat_byte(4) },
        Record::Finality { safe: 2, finalized: 1, trails: true },
        Record::Import { block: Bytes::from_static(b"block") },
        Record::Seal { number: 9, hash: B256::repeat_byte(9) },
    ];
    add_records(inputs, "others", &others);
    let unsigned = Flashblock { signature: None, time: 0, ..(*step).clone() };
    inputs.entry("flashblock").or_default().push(("unsigned".to_owned(), unsigned.encode()));
}

fn add_records(inputs: &mut Inputs, name: &str, records: &[Record]) {
    let mut bytes = vec![u8::try_from(records.len()).expect("an append has few records")];
    encode_records(records, &mut bytes);
    if bytes.len() < 8_000 {
        inputs.entry("record").or_default().push((name.to_owned(), bytes));
    }
    for record in records {
        if let Record::Step(step) = record
            && step.encode().len() < 8_000
        {
            inputs.entry("flashblock").or_default().push((name.to_owned(), step.encode()));
        }
    }
}

fn blocks(chain: &TestChain, inputs: &mut Inputs) {
    let view = chain.view();
    let mut file = Vec::new();
    for number in 0..=view.latest().number() {
        let executed = view.sealed(number).expect("blocks are read").expect("the chain has it");
        let mut bytes = Vec::new();
        executed.block.encode(&mut bytes);
        if bytes.len() < 12_000 {
            inputs.entry("imports").or_default().push((format!("block-{number}"), bytes.clone()));
        }
        let mut early = executed.block.clone();
        (early.withdrawals, early.uncles) = (None, vec![early.header.clone()]);
        early.transactions = early.transactions.take(early.transactions.len().min(1));
        early.transactions_length =
            early.transactions.iter().map(|t| foreseal_primitives::length_in_block(t)).sum();
        early.encode(&mut file);
        inputs.entry("imports").or_default().push((format!("blocks-{number}"), file.clone()));
    }
}

fn genesis(inputs: &mut Inputs) {
    let whole = serde_json::to_value(test_genesis(&Wallet::some(1))).expect("a genesis is JSON");
    let mut short = whole.clone();
    let alloc = short["alloc"].as_object_mut().expect("there is an alloc");
    alloc.retain(|_, account| account["code"].is_null());
    let account = json!({"balance": "0x1", "nonce": "0x2", "code": "0x6000", "storage": {"0x01": "0x02"}});
    let early = json!({
        "config": {"chainId": 1, "homesteadBlock": 1, "londonBlock": 5, "minBaseFee": 7, "terminalTotalDifficulty": 10,
            "ethash": {}, "depositContractAddress": "0x00000000219ab540356cbb839cbe05303d7705fa"},
        "difficulty": "0x20000", "gasLimit": "5000", "nonce": "0x42", "timestamp": "0x0",
        "extraData": "0x00", "mixHash": B256::ZERO, "coinbase": Address::ZERO, "baseFeePerGas": "0x7",
        "alloc": {"00000000000000000000000000000000000000aa": account},
    });
    let schedule = json!({
        "config": {"chainId": 5, "londonBlock": 0, "terminalTotalDifficulty": 0, "shanghaiTime": 0, "cancunTime": 1, "bpo1Time": 9,
            "blobSchedule": {"cancun": {"target": 3, "max": 6, "baseFeeUpdateFraction": 3_338_477},
                "bpo1": {"target": 9, "max": 12, "baseFeeUpdateFraction": 5_007_716}}},
        "difficulty": "0x0", "gasLimit": "0x1c9c380", "alloc": {},
        "excessBlobGas": "0x0", "blobGasUsed": "0x0", "number": "0x0", "parentHash": B256::ZERO,
    });
    for (name, value) in [("short", short), ("early", early), ("schedule", schedule)] {
        inputs.entry("genesis").or_default().push((name.to_owned(), value.to_string().into_bytes()));
    }
    inputs.entry("genesis").or_default().push(("least".to_owned(), b"{\"config\":{},\"alloc\":{}}".to_vec()));
}

/// Adds a request with valid arguments for every method, and log filters.
fn questions(chain: &TestChain, inputs: &mut Inputs) {
    let view = chain.view();
    let block = &view.pending().block;
    let hash = block.transactions.get(0).map_or(B256::ZERO, |transaction| transaction.hash());
    for method in methods() {
        let values: Vec<String> =
            method.arguments.iter().map(|argument| right_value(argument.kind, hash)).collect();
        let question = format!("{}\n[{}]", method.name, values.join(",")).into_bytes();
        inputs.entry("params").or_default().push((method.name.to_owned(), question.clone()));
        if method.access == foreseal_rpc::Access::Everyone {
            inputs.entry("methods").or_default().push((method.name.to_owned(), question));
        }
    }
    let log = view
        .at(1)
        .ok()
        .flatten()
        .and_then(|block| block.block.receipts.iter().flat_map(|receipt| receipt.logs.clone()).next());
    let log = log.expect("the first block has a log");
    let (address, topic) = (log.address, log.topics().first().copied().unwrap_or_default());
    let filters = [
        json!({}),
        json!({"fromBlock": "0x0", "toBlock": "pending"}),
        json!({"fromBlock": "earliest", "toBlock": "latest", "address": address}),
        json!({"fromBlock": "0x1", "address": [address, Address::ZERO], "topics": [topic]}),
        json!({"fromBlock": "0x0", "toBlock": "0x2", "topics": [null, [topic, B256::ZERO]]}),
        json!({"fromBlock": "pending"}),
        json!({"blockHash": block.hash, "topics": [[topic]]}),
        json!({"fromBlock": "safe", "toBlock": "finalized"}),
    ];
    for (n, filter) in filters.iter().enumerate() {
        inputs.entry("filter").or_default().push((format!("filter-{n}"), filter.to_string().into_bytes()));
    }
}

fn right_value(kind: Kind, hash: B256) -> String {
    let contract = foreseal_testkit::Contract::Logger.address();
    match kind {
        Kind::Address => format!("\"{contract}\""),
        Kind::Amount => "\"5\"".to_owned(),
        Kind::Block => "\"pending\"".to_owned(),
        Kind::BlockOverrides => "{\"time\":\"0x7fffffff\",\"baseFeePerGas\":\"0x1\"}".to_owned(),
        Kind::Boolean => "true".to_owned(),
        Kind::Call => format!("{{\"to\":\"{contract}\",\"data\":\"0x01\",\"gas\":\"0x5208\"}}"),
        Kind::Cursor => format!("{{\"block\":\"0x1\",\"index\":\"0x0\",\"hash\":\"{hash}\"}}"),
        Kind::Data => "\"0x00\"".to_owned(),
        Kind::LogQuery => "{\"filter\":{\"fromBlock\":\"0x0\"},\"limit\":\"0x2\"}".to_owned(),
        Kind::Filter => "{\"fromBlock\":\"0x0\",\"topics\":[null,[]]}".to_owned(),
        Kind::Finality => "{\"safe\":\"0x1\",\"finalized\":\"0x0\"}".to_owned(),
        Kind::Hash => format!("\"{hash}\""),
        Kind::Milliseconds => "100".to_owned(),
        Kind::Mine => "{\"blocks\":1,\"timestamp\":5}".to_owned(),
        Kind::Number => "2".to_owned(),
        Kind::Password => "\"\"".to_owned(),
        Kind::PayloadAttributes => format!(
            "{{\"timestamp\":\"0x7fffffff\",\"prevRandao\":\"{hash}\",\"suggestedFeeRecipient\":\"{contract}\",\"withdrawals\":[]}}"
        ),
        Kind::Percentiles => "[10,50.5]".to_owned(),
        Kind::Quantity => "\"0x1\"".to_owned(),
        Kind::Simulation => format!("{{\"blockStateCalls\":[{{\"calls\":[{{\"to\":\"{contract}\"}}]}}],\"traceTransfers\":true}}"),
        Kind::RawTransactions => "[\"0x00\"]".to_owned(),
        Kind::ReorgPairs => "[[\"0x00\",0]]".to_owned(),
        Kind::Slot => "\"0x0\"".to_owned(),
        Kind::Reset => "{\"forking\":null}".to_owned(),
        Kind::Slots => "[\"0x0\",\"0x00\"]".to_owned(),
        Kind::StorageRequests => format!("{{\"{contract}\":[\"0x1\"]}}"),
        Kind::StateOverrides => format!("{{\"{contract}\":{{\"balance\":\"0x1\",\"stateDiff\":{{\"{hash}\":\"{hash}\"}}}}}}"),
        Kind::Subscription => "\"logs\"".to_owned(),
        Kind::SubscriptionOptions => "{}".to_owned(),
        Kind::TraceCallConfig => "{\"tracer\":\"callTracer\",\"txIndex\":\"0x0\"}".to_owned(),
        Kind::TraceConfig => "{\"tracer\":\"callTracer\",\"tracerConfig\":{\"withLog\":true}}".to_owned(),
        Kind::TypedData => "{\"types\":{\"T\":[{\"name\":\"a\",\"type\":\"uint8[2][]\"}]},\"primaryType\":\"T\",\"domain\":{\"chainId\":1},\
            \"message\":{\"a\":[[1,2]]}}"
            .to_owned(),
    }
}

/// Adds values of each table of the store. The first byte of an input is the index of the value's form.
fn values(chain: &TestChain, inputs: &mut Inputs) {
    let view = chain.view();
    let executed = view.sealed(1).expect("blocks are read").expect("the chain has it");
    let header = &executed.block.header;
    let mut account = Vec::new();
    7_u64.encode(&mut account);
    U256::MAX.encode(&mut account);
    account.extend(keccak256(b"code"));
    let slot = U256::from(77).to_be_bytes_trimmed_vec();
    let list = vec![0, 1, 0, 2, 0, 255, 0];
    let mut bitmap = vec![1, 0x3a, 0x30, 0, 0, 1, 0, 0, 0, 0, 0, 3, 0, 16, 0, 0, 0];
    bitmap.extend([1, 0, 2, 0, 3, 0, 9, 0]);
    let mut log = Vec::new();
    1_u64.encode(&mut log);
    2_u32.encode(&mut log);
    log.extend([5; 20]);
    log.push(2);
    log.extend([6; 64]);
    log.extend(b"data");
    let mut receipt = vec![2, 1, 1];
    receipt.extend([5; 20]);
    for number in [21_000_u64, 21_000, 1, 1] {
        number.encode(&mut receipt);
    }
    receipt.extend([3, 0, 5, 0, 9, 7, 255]);
    let mut root = vec![0, 2];
    root.extend([9; 32]);
    root.extend([0, 1, 1, 0x80, 0x80, 255]);
    root.extend([0xaa; 256]);
    let list_of = |parts: &[&dyn Encodable]| {
        let mut payload = Vec::new();
        for part in parts {
            part.encode(&mut payload);
        }
        let mut out = Vec::new();
        alloy_rlp::Header { list: true, payload_length: payload.len() }.encode(&mut out);
        out.extend(payload);
        out
    };
    let record = list_of(&[header, &1_u32, &2_u64, &3_u32, &4_u64, &5_u64, &U256::from(6)]);
    let none: Vec<u64> = Vec::new();
    let step = list_of(&[header, &1_u32, &2_u64, &3_u64, &Bytes::from(vec![7; 65]), &none]);
    let keys = list_of(&[&Bytes::from_static(&[0, 2, 1, 2, 1, 1, 5, 0x81, 0x81, 3]), &Bytes::new()]);
    let forms = [
        (0, account),
        (1, slot),
        (2, list),
        (2, bitmap),
        (3, log),
        (4, receipt),
        (4, root),
        (5, record),
        (6, step),
        (7, keys),
    ];
    for (n, (form, bytes)) in forms.into_iter().enumerate() {
        inputs.entry("values").or_default().push((format!("value-{n}"), [vec![form], bytes].concat()));
    }
}

/// Adds inclusion proofs of transactions, and inclusion and exclusion proofs of words.
fn proofs(chain: &TestChain, inputs: &mut Inputs) {
    let mut add = |name: &str, key: &[u8], nodes: &[Bytes]| {
        let mut bytes = Vec::new();
        for part in std::iter::once(key).chain(nodes.iter().map(|node| &node[..])) {
            bytes.extend(u16::try_from(part.len()).expect("a node is short").to_be_bytes());
            bytes.extend(part);
        }
        inputs.entry("proof").or_default().push((name.to_owned(), bytes));
    };
    let mut list = foreseal_trie::ListTrie::default();
    list.extend(chain.sent.iter().cloned());
    for position in [0, 1, 4] {
        add(&format!("list-{position}"), &alloy_rlp::encode(position), &list.prove(position));
    }
    let mut trie = foreseal_trie::ByteTrie::default();
    for (key, value) in
        [("do", "verb"), ("dog", "puppy"), ("doge", "coin"), ("horse", "stallion"), ("house", "home")]
    {
        trie.set(key.as_bytes(), Bytes::from(value)).expect("the keys are short");
    }
    for key in ["do", "dog", "dot", "horse", "hors", "x", ""] {
        add(&format!("words-{key}"), key.as_bytes(), &trie.prove(key.as_bytes()));
    }
}

/// Sink that stores the encoded events of a pool.
#[derive(Default)]
struct Heard(Mutex<Vec<Vec<u8>>>);

impl PoolEventSink for Heard {
    fn event(&self, event: &PoolEvent) {
        self.0.lock().expect("nobody failed").push(to_vec(event));
    }
}

/// Returns messages of a follower.
fn requests(chain: &TestChain) -> Vec<Request> {
    let identity = Identity { chain_id: 7, genesis: B256::repeat_byte(7) };
    let hello = |cursor| {
        Request::Hello(Hello {
            identity,
            name: "worker 1".to_owned(),
            role: FollowerRole::Replica,
            run_id: [6; 16],
            version: "0.1.0".to_owned(),
            rpc: "http://127.0.0.1:8545".to_owned(),
            cursor,
        })
    };
    vec![
        hello(Cursor::From { sequence: 5 }),
        hello(Cursor::After { sequence: 5, hash: B256::repeat_byte(5) }),
        Request::Alive { next: 9 },
        Request::Report(Bytes::from_static(b"foreseal_x 1\n")),
        Request::Submit { number: 1, runnable: true, submission: chain.sent[0].clone() },
        Request::Query { number: 2, query: Bytes::from_static(&[0xc1, 0x80]) },
        Request::DirectoryCopy { identity: Some(identity) },
    ]
}

/// Adds events of a pool, and frames of every kind between the sequencer and its followers.
fn frames(chain: &TestChain, inputs: &mut Inputs) {
    let view = chain.view();
    let rules = Rules::new(&PoolConfig::default(), view.spec(), &view.pending().block.header);
    let (pool, said) = (Pool::new(PoolConfig::default()), Arc::new(Heard::default()));
    pool.set_sink(Some(said.clone()));
    let wallet = Wallet::numbered(0);
    for (nonce, value) in [(900, 1), (901, 2), (900, 3)] {
        let max_fee = 10_000_000_000 * u128::from(value);
        let raw = wallet.transfer(nonce, Address::repeat_byte(1), value, Fees { max_fee, tip: max_fee / 2 });
        let submission = decode_submission(&raw, &rules).expect("a transfer is decoded");
        let _ = pool.add(submission, || &*view);
    }
    pool.on_fees(77, 5);
    let mut events = said.0.lock().expect("nobody failed").clone();
    let mut whole = Vec::new();
    pool.whole_pool_event(|event| encode(&event, &mut whole));
    events.push(whole);
    let admission = to_vec(&Admission::WouldQueue(QueuedReason::NonceGap { expected: 7 }));
    let refusal = to_vec(&PoolError::TooLarge { size: 9, limit: 5 });
    let kinds = events.iter().map(|event| (2_u8, event)).chain([(0, &admission), (1, &refusal)]);
    let pool_events =
        kinds.enumerate().map(|(n, (kind, bytes))| (format!("event-{n}"), [&[kind], &bytes[..]].concat()));
    inputs.entry("pool_event").or_default().extend(pool_events);
    let ups = requests(chain);
    let mut records = Vec::new();
    Record::Seal { number: 9, hash: B256::repeat_byte(9) }.encode(&mut records);
    let store = StoreStatus {
        head: Some(5),
        backlog: 1,
        share: 7,
        bytes: 9,
        failure: Some("full".to_owned()),
        scrub: ScrubStatus::default(),
    };
    let downs = [
        Response::Welcome(Welcome {
            produces: true,
            production: Production::default(),
            depth: FinalityDepth { safe: 1, finalized: 2 },
        }),
        Response::Append(RawAppend::new(3, 1, records)),
        Response::Pool(events[0].clone().into()),
        Response::Heartbeat(Heartbeat { ticked: true, age: Duration::from_millis(5), next: 6, latest: 4 }),
        Response::SequencerReport(SequencerReport {
            phase: Phase::Producing,
            pool_start: PoolStart::Restored(3),
            signer: Some(Address::repeat_byte(3)),
            store: Some(store),
            owner: Some(OwnerReport { epoch: 3, name: "m1".to_owned() }),
        }),
        Response::Reply { number: 2, answer: Bytes::from_static(&[0xc0]) },
        Response::Answer { number: 1, outcome: Outcome::Refused(PoolError::AlreadyKnown) },
        Response::Answer { number: 3, outcome: Outcome::Stopped("full".to_owned()) },
        Response::DirectoryCopy(Identity { chain_id: 7, genesis: B256::repeat_byte(7) }),
        Response::End(Ending::Refused("another chain".to_owned())),
        Response::End(Ending::Busy { limit: 2 }),
    ];
    let written =
        ups.iter().map(Request::encode).chain(downs.iter().map(Response::encode)).collect::<Vec<_>>();
    let all = written.iter().filter(|frame| frame.len() < 60).flatten().copied().collect();
    let frames = written.into_iter().chain([all]).enumerate().map(|(n, bytes)| (format!("frame-{n}"), bytes));
    inputs.entry("wire").or_default().extend(frames);
}

//! Proofs, storage values of several accounts, and the chain's configuration.

use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256, hex, keccak256};
use alloy_rlp::Encodable;
use alloy_trie::{EMPTY_ROOT_HASH, Nibbles, proof::verify_proof};
use foreseal_testkit::{Contract, Fees, erc20_balance_slot};
use serde_json::{Value, json};

use super::{Bench, data};

fn bytes(value: &Value) -> Bytes {
    hex::decode(value.as_str().unwrap()).unwrap().into()
}

fn uint256(value: &Value) -> U256 {
    U256::from_str_radix(value.as_str().unwrap().trim_start_matches("0x"), 16).unwrap()
}

fn hash(value: &Value) -> B256 {
    value.as_str().unwrap().parse().unwrap()
}

fn nodes(value: &Value) -> Vec<Bytes> {
    value.as_array().unwrap().iter().map(bytes).collect()
}

/// Returns the value of an existing account in the state trie.
fn leaf(proof: &Value) -> Vec<u8> {
    let fields: [&dyn Encodable; 4] = [
        &uint256(&proof["nonce"]),
        &uint256(&proof["balance"]),
        &hash(&proof["storageHash"]),
        &hash(&proof["codeHash"]),
    ];
    let payload_length = fields.iter().map(|field| Encodable::length(*field)).sum();
    let mut out = Vec::new();
    alloy_rlp::Header { list: true, payload_length }.encode(&mut out);
    for field in fields {
        field.encode(&mut out);
    }
    out
}

/// Verifies account and slots against the block's state root.
fn verify(bench: &Bench, proof: &Value, block: &str, exists: bool) {
    let root = hash(&bench.call("eth_getBlockByNumber", &format!("[{block},false]"))["stateRoot"]);
    let key = keccak256(bytes(&proof["address"]));
    let expected = exists.then(|| leaf(proof));
    verify_proof(root, Nibbles::unpack(key), expected, &nodes(&proof["accountProof"])).unwrap();
    for slot in proof["storageProof"].as_array().unwrap() {
        let key = keccak256(uint256(&slot["key"]).to_be_bytes::<32>());
        let value = uint256(&slot["value"]);
        let expected = (!value.is_zero()).then(|| alloy_rlp::encode(value));
        let root = hash(&proof["storageHash"]);
        let nodes = nodes(&slot["proof"]);
        if root == EMPTY_ROOT_HASH {
            assert!(nodes.is_empty() && value.is_zero());
        } else {
            verify_proof(root, Nibbles::unpack(key), expected, &nodes).unwrap();
        }
    }
}

/// Creates a chain with storage: the counter runs once in a sealed block and once in the pending block.
fn bench() -> Bench {
    let mut bench = Bench::new(2);
    let wallet = bench.wallets[0].clone();
    let count = |nonce| {
        wallet.eip1559(
            nonce,
            Contract::Counter.address().into(),
            U256::ZERO,
            100_000,
            Bytes::new(),
            Fees::default(),
        )
    };
    bench.submit(&count(0));
    bench.tick();
    bench.seal();
    bench.submit(&count(1));
    bench.tick();
    bench
}

#[test]
fn present_and_absent_accounts_and_slots_are_proved() {
    let bench = bench();
    let token = Contract::Erc20.address();
    let balance_slot = erc20_balance_slot(bench.wallets[0].address);
    let slots = format!("[\"0x0\",\"0x00\",\"0x7\",\"{balance_slot}\"]");
    let mut proved = 0;
    for block in ["\"earliest\"", "\"latest\"", "\"pending\""] {
        for (address, exists) in [
            (Contract::Counter.address(), true),
            (token, true),
            (bench.wallets[0].address, true),
            (Address::repeat_byte(0x77), false),
        ] {
            let proof = bench.call("eth_getProof", &format!("[\"{address}\",{slots},{block}]"));
            verify(&bench, &proof, block, exists);
            assert_eq!(proof["address"], json!(address));
            proved += proof["storageProof"].as_array().unwrap().len();
        }
    }
    assert_eq!(proved, 48);
}

#[test]
fn a_proved_slot_has_the_requested_key_format() {
    let bench = bench();
    let counter = Contract::Counter.address();
    let padded = B256::ZERO;
    let proof = bench.call("eth_getProof", &format!("[\"{counter}\",[\"0x0\",\"0x00\",\"{padded}\"]]"));
    let slots = proof["storageProof"].as_array().unwrap();
    let keys: Vec<&Value> = slots.iter().map(|slot| &slot["key"]).collect();
    assert_eq!(keys, [&json!("0x0"), &json!("0x0"), &json!(padded)]);
    assert!(slots.iter().all(|slot| slot["value"] == json!("0x1")), "latest is the default");
}

#[test]
fn an_absent_account_is_empty() {
    let bench = Bench::new(1);
    let address = Address::repeat_byte(0x77);
    let proof = bench.call("eth_getProof", &format!("[\"{address}\",[\"0x5\"],\"latest\"]"));
    assert_eq!((&proof["nonce"], &proof["balance"]), (&json!("0x0"), &json!("0x0")));
    assert_eq!(proof["codeHash"], json!(KECCAK256_EMPTY));
    assert_eq!(proof["storageHash"], json!(EMPTY_ROOT_HASH));
    assert_eq!(proof["storageProof"], json!([{"key":"0x5","value":"0x0","proof":[]}]));
    assert!(!proof["accountProof"].as_array().unwrap().is_empty());
}

#[test]
fn proofs_require_a_known_block_and_limit_the_slots() {
    let bench = Bench::new(1);
    let address = Address::ZERO;
    let keys = |count: usize| vec!["\"0x1\""; count].join(",");
    let most = bench.call("eth_getProof", &format!("[\"{address}\",[{}]]", keys(1024)));
    assert_eq!(most["storageProof"].as_array().unwrap().len(), 1024);
    let many = bench.error("eth_getProof", &format!("[\"{address}\",[{}]]", keys(1025)));
    assert_eq!((many.code, data(&many)), (-32005, json!({"limit":"slots","max":1024})));
    let many = bench.error("eth_getStorageValues", &format!("[{{\"{address}\":[{}]}}]", keys(1025)));
    assert_eq!((many.code, data(&many)), (-32005, json!({"limit":"slots","max":1024})));
    for (method, what) in [
        ("eth_getProof", format!("\"{address}\",[]")),
        ("eth_getStorageValues", format!("{{\"{address}\":[\"0x0\"]}}")),
    ] {
        for block in ["\"0x1\"", "\"0x64\""] {
            let error = bench.error(method, &format!("[{what},{block}]"));
            assert_eq!((error.code, error.message.as_str()), (-32001, "block not found"), "{method}");
        }
    }
}

#[test]
fn a_batch_of_slots_equals_single_reads() {
    let bench = bench();
    let [counter, token] = [Contract::Counter, Contract::Erc20].map(Contract::address);
    let slot: U256 = erc20_balance_slot(bench.wallets[1].address).into();
    for block in ["earliest", "latest", "pending"] {
        let params = format!(
            "[{{\"{token:#x}\":[\"{slot:#x}\",\"0x0\"],\"{counter:#x}\":[\"0x0\"],\"{:#x}\":[]}},\"{block}\"]",
            Address::ZERO
        );
        let values = bench.call("eth_getStorageValues", &params);
        let one = |address: Address, slot: U256| {
            bench.call("eth_getStorageAt", &format!("[\"{address}\",\"{slot:#x}\",\"{block}\"]"))
        };
        let expected = json!({
            format!("{token:#x}"): [one(token, slot), one(token, U256::ZERO)],
            format!("{counter:#x}"): [one(counter, U256::ZERO)],
            format!("{:#x}", Address::ZERO): [],
        });
        assert_eq!(values, expected);
    }
}

#[test]
fn the_chain_rules_name_precompiles_and_system_contracts() {
    let bench = Bench::new(1);
    let config = bench.call("eth_config", "[]");
    assert_eq!((&config["next"], &config["last"]), (&Value::Null, &Value::Null));
    let current = &config["current"];
    assert_eq!((&current["activationTime"], &current["chainId"]), (&json!(0), &json!("0x7a69")));
    assert_eq!(current["blobSchedule"], json!({"target":14,"max":21,"baseFeeUpdateFraction":11_684_671}));
    assert_eq!(current["precompiles"].as_object().unwrap().len(), 18);
    assert_eq!(current["precompiles"]["P256VERIFY"], json!("0x0000000000000000000000000000000000000100"));
    assert_eq!(current["systemContracts"].as_object().unwrap().len(), 5);
    let genesis = hash(&bench.call("eth_getBlockByNumber", "[\"earliest\",false]")["hash"]);
    let checksum = alloy_eips::eip2124::ForkHash::from(genesis);
    assert_eq!(current["forkId"], json!(Bytes::from(checksum.0)), "every fork is part of genesis");
}

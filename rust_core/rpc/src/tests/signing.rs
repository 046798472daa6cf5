//! Accounts of a development node: signatures and transactions.

use alloy_eips::eip2718::Decodable2718;
use alloy_primitives::{Address, B256, Bytes, Signature, TxKind, hex, keccak256};
use foreseal_primitives::SignedEnvelope;
use foreseal_testkit::{Contract, Fees, Wallet};
use serde_json::{Value, json};

use super::Bench;

const OTHER: &str = "0x0000000000000000000000000000000000000077";
const SENTINEL: &str = "0x00000000000000000000000000000000000000aa";

fn signature(answer: &Value) -> Signature {
    let raw = hex::decode(answer.as_str().unwrap()).unwrap();
    assert!(raw.len() == 65 && [27, 28].contains(&raw[64]));
    Signature::from_raw(&raw).unwrap()
}

fn send(bench: &Bench, transaction: &Value) -> String {
    bench.call("eth_sendTransaction", &json!([transaction]).to_string()).as_str().unwrap().to_owned()
}

fn transaction(bench: &Bench, hash: &str) -> Value {
    bench.call("eth_getTransactionByHash", &format!("[\"{hash}\"]"))
}

fn receipt(bench: &Bench, hash: &str) -> Value {
    bench.call("eth_getTransactionReceipt", &format!("[\"{hash}\"]"))
}

fn rejection(bench: &Bench, transaction: &Value) -> (i64, String) {
    let error = bench.error("eth_sendTransaction", &json!([transaction]).to_string());
    (error.code, error.message)
}

#[test]
fn accounts_lists_the_addresses_with_keys() {
    let bench = Bench::developing(3);
    let want: Vec<String> = bench.wallets.iter().map(|wallet| format!("{:#x}", wallet.address)).collect();
    assert_eq!(bench.call("eth_accounts", "[]"), json!(want));
}

#[test]
fn messages_are_signed_with_the_prefix() {
    let bench = Bench::developing(2);
    for (index, data) in [(0, "0x"), (1, "0x48656c6c6f")] {
        let address = bench.wallets[index].address;
        let signed = bench.call("eth_sign", &json!([address, data]).to_string());
        let message: Bytes = data.parse().unwrap();
        assert_eq!(signature(&signed).recover_address_from_msg(&message).unwrap(), address);
        for params in [json!([data, address]), json!([data, address, "secret"])] {
            assert_eq!(bench.call("personal_sign", &params.to_string()), signed);
        }
    }
    for (method, params) in [("eth_sign", json!([OTHER, "0x"])), ("personal_sign", json!(["0x", OTHER]))] {
        let error = bench.error(method, &params.to_string());
        let message = format!("unknown account {OTHER}: neither its key is here, nor is it impersonated");
        assert_eq!((error.code, error.message), (-32000, message));
    }
}

#[test]
fn typed_data_is_signed_as_object_and_as_text() {
    let bench = Bench::developing(1);
    let address = bench.wallets[0].address;
    let data = json!({
        "types": {"T": [{"name": "a", "type": "uint8"}]},
        "primaryType": "T", "domain": {"name": "D"}, "message": {"a": 7}
    });
    let separator = keccak256([keccak256("EIP712Domain(string name)").0, keccak256("D").0].concat());
    let message = keccak256([keccak256("T(uint8 a)").0, B256::with_last_byte(7).0].concat());
    let hash = keccak256([&[0x19, 0x01][..], &separator.0, &message.0].concat());
    let signed = bench.call("eth_signTypedData_v4", &json!([address, data]).to_string());
    assert_eq!(signature(&signed).recover_address_from_prehash(&hash).unwrap(), address);
    assert_eq!(bench.call("eth_signTypedData_v4", &json!([address, data.to_string()]).to_string()), signed);
    assert_eq!(bench.error("eth_signTypedData_v4", &json!([OTHER, data]).to_string()).code, -32000);
}

#[test]
fn omitted_fields_are_filled_in() {
    let mut bench = Bench::developing(2);
    let from = bench.wallets[0].address;
    let first = send(&bench, &json!({"to": OTHER, "value": "0x7"}));
    let second = send(&bench, &json!({"from": from, "to": OTHER}));
    let base_fee = bench.view().pending().block.header.base_fee_per_gas.unwrap();
    for (hash, nonce) in [(&first, "0x0"), (&second, "0x1")] {
        let sent = transaction(&bench, hash);
        assert_eq!(sent["from"], json!(from));
        assert_eq!(
            (&sent["nonce"], &sent["type"], &sent["gas"]),
            (&json!(nonce), &json!("0x2"), &json!("0x5208"))
        );
        assert_eq!(sent["maxFeePerGas"], json!(format!("{:#x}", 2 * base_fee + 1_000_000_000)));
        assert_eq!(sent["maxPriorityFeePerGas"], json!("0x3b9aca00"));
    }
    bench.seal();
    assert_eq!(receipt(&bench, &first)["status"], json!("0x1"));
    assert_eq!(bench.call("eth_getBalance", &format!("[\"{OTHER}\",\"latest\"]")), json!("0x7"));
    let third = send(&bench, &json!({"from": bench.wallets[1].address, "to": OTHER, "nonce": "0x5"}));
    assert_eq!(transaction(&bench, &third)["nonce"], json!("0x5"));
}

#[test]
fn every_type_except_blobs_is_sent() {
    let mut bench = Bench::developing(1);
    let list = json!([{"address": OTHER, "storageKeys": [B256::ZERO]}]);
    let authorization = json!([{
        "chainId": "0x0", "address": OTHER, "nonce": "0x0", "yParity": "0x0", "r": "0x1", "s": "0x1"
    }]);
    let cases = [
        ("0x0", json!({"to": OTHER, "gasPrice": "0x77359400"})),
        ("0x0", json!({"to": OTHER, "type": "0x0"})),
        ("0x1", json!({"to": OTHER, "gasPrice": "0x77359400", "accessList": list})),
        ("0x1", json!({"to": OTHER, "type": "0x1"})),
        ("0x2", json!({"to": OTHER, "accessList": list, "gas": "0xc350"})),
        ("0x2", json!({"to": OTHER, "maxFeePerGas": "0x77359400"})),
        ("0x2", json!({"data": "0x6000", "maxPriorityFeePerGas": "0x5"})),
        ("0x4", json!({"to": OTHER, "authorizationList": authorization, "gas": "0x186a0"})),
    ];
    let hashes: Vec<String> = cases.iter().map(|(_, transaction)| send(&bench, transaction)).collect();
    bench.seal();
    for ((kind, request), hash) in cases.iter().zip(hashes) {
        let sent = transaction(&bench, &hash);
        assert_eq!(sent["type"], json!(kind), "{request}");
        for (name, value) in request.as_object().unwrap() {
            if !["data", "to", "authorizationList"].contains(&name.as_str()) {
                assert_eq!(sent[name], *value, "{name} of {request}");
            }
        }
        assert_eq!(receipt(&bench, &hash)["status"], json!("0x1"), "{request}");
    }
    for blobs in [json!({"to": OTHER, "type": "0x3"}), json!({"to": OTHER, "maxFeePerBlobGas": "0x1"})] {
        assert_eq!(rejection(&bench, &blobs).0, -32602);
    }
    let (code, message) = rejection(&bench, &json!({"authorizationList": authorization, "gas": "0x186a0"}));
    assert_eq!(
        (code, message.as_str()),
        (-32602, "a transaction with blobs or authorizations needs a recipient")
    );
    let (code, message) = rejection(&bench, &json!({"to": OTHER, "chainId": "0x1"}));
    assert!(code == -32602 && message.contains("chainId"), "{message}");
}

#[test]
fn an_unknown_sender_is_rejected() {
    let bench = Bench::developing(1);
    let (code, message) = rejection(&bench, &json!({"from": OTHER, "to": OTHER}));
    let want = format!("unknown account {OTHER}: neither its key is here, nor is it impersonated");
    assert_eq!((code, message), (-32000, want));
    let without_keys = Bench::developing(0);
    let (code, message) = rejection(&without_keys, &json!({"to": OTHER}));
    assert_eq!((code, message.as_str()), (-32602, "from is missing, and the node has no accounts"));
}

#[test]
fn impersonated_accounts_and_contracts_send_without_a_key() {
    let mut bench = Bench::developing(1);
    let contract = Contract::ALL[0].address();
    for sender in [OTHER.parse::<Address>().unwrap(), contract] {
        let sending = json!({"from": sender, "to": SENTINEL, "value": "0x3"});
        assert_eq!(rejection(&bench, &sending).0, -32000);
        bench.call("anvil_setBalance", &json!([sender, "0xde0b6b3a7640000"]).to_string());
        bench.call("anvil_impersonateAccount", &json!([sender]).to_string());
        let hash = send(&bench, &sending);
        assert_eq!(transaction(&bench, &hash)["from"], json!(sender));
        bench.seal();
        assert_eq!(receipt(&bench, &hash)["status"], json!("0x1"));
        bench.call("anvil_stopImpersonatingAccount", &json!([sender]).to_string());
        assert_eq!(rejection(&bench, &sending).0, -32000);
    }
    bench.call("anvil_autoImpersonateAccount", "[true]");
    let sender =
        json!({"from": SENTINEL, "to": OTHER, "value": "0x1", "gasPrice": "0x77359400", "gas": "0x5208"});
    // The account is known now, but its balance does not cover the gas.
    let (code, message) = rejection(&bench, &sender);
    assert!(code == -32000 && !message.contains("unknown account"), "{message}");
}

#[test]
fn a_reverting_transaction_without_gas_limit_is_not_sent() {
    let mut bench = Bench::developing(1);
    // Code that reverts with empty output.
    bench.call("anvil_setCode", &json!([OTHER, "0x60006000fd"]).to_string());
    let error = bench.error("eth_sendTransaction", &json!([{"to": OTHER}]).to_string());
    assert_eq!((error.code, error.message.as_str()), (3, "execution reverted"));
    let hash = send(&bench, &json!({"to": OTHER, "gas": "0xc350"}));
    bench.seal();
    assert_eq!(receipt(&bench, &hash)["status"], json!("0x0"));
}

/// Returns what a client signs and submits: the fields that `eth_fillTransaction` returned.
fn signed(wallet: &Wallet, filled: &Value) -> Bytes {
    let number =
        |name: &str| u128::from_str_radix(filled[name].as_str().unwrap().trim_start_matches("0x"), 16);
    let [nonce, gas] = ["nonce", "gas"].map(|name| u64::try_from(number(name).unwrap()).unwrap());
    let [max_fee, tip] = ["maxFeePerGas", "maxPriorityFeePerGas"].map(|name| number(name).unwrap());
    let to = filled["to"].as_str().map_or(TxKind::Create, |to| TxKind::Call(to.parse().unwrap()));
    let (value, input) = (filled["value"].as_str().unwrap(), filled["input"].as_str().unwrap());
    let fees = Fees { max_fee, tip };
    wallet.eip1559(nonce, to, value.parse().unwrap(), gas, input.parse().unwrap(), fees)
}

#[test]
fn filled_transactions_are_valid_once_signed() {
    let mut bench = Bench::new(2);
    let wallet = bench.wallets[0].clone();
    let fill = |bench: &Bench, transaction: &Value| {
        bench.call("eth_fillTransaction", &json!([transaction]).to_string())
    };
    // The second one needs the contract of the first, which no sealed block has yet.
    let deployed = wallet.address.create(0);
    let runtime = "0x600160005500";
    for request in [
        json!({"from": wallet.address, "input": format!("0x6005600c60003960056000f3{}", &runtime[2..])}),
        json!({"from": wallet.address, "to": deployed}),
    ] {
        let filled = fill(&bench, &request);
        let envelope =
            SignedEnvelope::decode_2718_exact(&hex::decode(filled["raw"].as_str().unwrap()).unwrap());
        let envelope = envelope.unwrap();
        assert_eq!(json!(envelope.tx_hash()), filled["tx"]["hash"]);
        assert!(envelope.signature().r().is_zero() && envelope.signature().s().is_zero());
        assert_eq!(filled["tx"]["from"], json!(wallet.address));
        bench.submit(&signed(&wallet, &filled["tx"]));
        bench.tick();
    }
    bench.seal();
    let block = bench.call("eth_getBlockReceipts", "[\"latest\"]");
    let statuses: Vec<&Value> = block.as_array().unwrap().iter().map(|receipt| &receipt["status"]).collect();
    assert_eq!(statuses, ["0x1", "0x1"]);
    let slot = bench.call("eth_getStorageAt", &json!([deployed, "0x0", "latest"]).to_string());
    assert_eq!(slot, json!(B256::with_last_byte(1)));
}

#[test]
fn filled_transactions_have_each_type() {
    let bench = Bench::new(1);
    let from = bench.wallets[0].address;
    let hash = B256::with_last_byte(1);
    let blobs = json!({"from": from, "to": OTHER, "gas": "0xc350", "blobVersionedHashes": [hash]});
    for (kind, request) in [
        ("0x0", json!({"from": from, "to": OTHER, "gasPrice": "0x77359400"})),
        ("0x1", json!({"from": from, "to": OTHER, "gasPrice": "0x77359400", "accessList": []})),
        ("0x2", json!({"from": from, "to": OTHER})),
        ("0x3", blobs),
    ] {
        let filled = bench.call("eth_fillTransaction", &json!([request]).to_string());
        assert_eq!(filled["tx"]["type"], json!(kind), "{filled}");
        assert_eq!((&filled["tx"]["nonce"], &filled["tx"]["to"]), (&json!("0x0"), &json!(OTHER)));
        assert_eq!(filled["tx"]["maxFeePerBlobGas"].is_string(), kind == "0x3", "{filled}");
    }
    let without_recipient = json!({"from": from, "gas": "0xc350", "blobVersionedHashes": [hash]});
    for request in [without_recipient, json!({"from": from, "chainId": "0x1"})] {
        assert_eq!(bench.error("eth_fillTransaction", &json!([request]).to_string()).code, -32602);
    }
}

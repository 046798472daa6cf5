//! `debug_trace*`: every tracer and option, every documented error, and agreement of traces with receipts.

use std::time::Duration;

use alloy_primitives::{Address, B256, Bytes, TxKind, U256, hex, keccak256};
use foreseal_testkit::{Contract, Fees, TransactionKinds, Workload, deploy_code};
use serde_json::{Value, json};

use super::{Bench, data};
use crate::context::limits::Limits;

/// Sends a call of a contract and pre-confirms it. Returns its hash.
fn send(bench: &mut Bench, to: impl Into<TxKind>, input: impl Into<Bytes>) -> B256 {
    let wallet = bench.wallets[0].clone();
    let nonce = bench.call("eth_getTransactionCount", &format!("[\"{}\",\"pending\"]", wallet.address));
    let nonce = nonce.as_str().unwrap().parse::<U256>().unwrap().to();
    let raw = wallet.eip1559(nonce, to.into(), U256::ZERO, 500_000, input.into(), Fees::default());
    let hash = bench.submit(&raw);
    bench.tick();
    assert_eq!(
        bench.call("eth_getTransactionReceipt", &format!("[\"{hash}\"]"))["transactionHash"],
        json!(hash)
    );
    hash
}

/// Deploys runtime code. Returns its address.
fn deploy(bench: &mut Bench, code: &[u8]) -> Address {
    let hash = send(bench, TxKind::Create, deploy_code(code));
    let receipt = bench.call("eth_getTransactionReceipt", &format!("[\"{hash}\"]"));
    assert_eq!(receipt["status"], json!("0x1"));
    receipt["contractAddress"].as_str().unwrap().parse().unwrap()
}

fn trace(bench: &Bench, hash: B256, config: &Value) -> Value {
    bench.call("debug_traceTransaction", &format!("[\"{hash}\",{config}]"))
}

/// Returns code that executes `CALL` for each of `targets` in turn with all remaining gas, without value or
/// input, and then stops.
fn caller(targets: &[Address]) -> Vec<u8> {
    let call = |target: &Address| [&hex!("5f5f5f5f5f73")[..], target.as_slice(), &hex!("5af150")].concat();
    let mut code: Vec<u8> = targets.iter().flat_map(call).collect();
    code.push(0);
    code
}

#[test]
fn steps_show_the_state_before_each_instruction() {
    let mut bench = Bench::new(1);
    let hash = send(&mut bench, Contract::Counter.address(), Bytes::new());
    let traced = trace(&bench, hash, &json!({}));
    let receipt = bench.call("eth_getTransactionReceipt", &format!("[\"{hash}\"]"));
    let gas = u64::from_str_radix(&receipt["gasUsed"].as_str().unwrap()[2..], 16).unwrap();
    assert_eq!(
        (&traced["gas"], &traced["failed"], &traced["returnValue"]),
        (&json!(gas), &json!(false), &json!("0x"))
    );
    let zero = format!("0x{}", "00".repeat(32));
    let one = format!("0x{}01", "00".repeat(31));
    let steps = json!([
        {"pc":0,"op":"PUSH0","gas":479_000,"gasCost":2,"depth":1,"stack":[]},
        {"pc":1,"op":"SLOAD","gas":478_998,"gasCost":2100,"depth":1,"stack":["0x0"],"storage":{&zero:&zero}},
        {"pc":2,"op":"PUSH1","gas":476_898,"gasCost":3,"depth":1,"stack":["0x0"]},
        {"pc":4,"op":"ADD","gas":476_895,"gasCost":3,"depth":1,"stack":["0x0","0x1"]},
        {"pc":5,"op":"PUSH0","gas":476_892,"gasCost":2,"depth":1,"stack":["0x1"]},
        {"pc":6,"op":"SSTORE","gas":476_890,"gasCost":20_000,"depth":1,"stack":["0x1","0x0"],"storage":{&zero:&one}},
        {"pc":7,"op":"STOP","gas":456_890,"gasCost":0,"depth":1,"stack":[]},
    ]);
    assert_eq!(traced["structLogs"], steps);
}

#[test]
fn step_options_add_and_remove_fields() {
    let mut bench = Bench::new(1);
    let hash = send(&mut bench, Contract::Logger.address(), vec![7_u8; 32]);
    let all = trace(&bench, hash, &json!({"enableMemory": true}));
    let caller = bench.wallets[0].address.into_word();
    let last = all["structLogs"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["op"], &last["memory"]), (&json!("STOP"), &json!([caller])));
    assert!(all["structLogs"][0].get("memory").is_none(), "memory that is empty is left out");
    let bare = trace(&bench, hash, &json!({"disableStack": true, "disableStorage": true}));
    assert!(bare["structLogs"].as_array().unwrap().iter().all(|step| step.get("stack").is_none()));
    let usual = trace(&bench, hash, &json!({}));
    let steps = usual["structLogs"].as_array().unwrap();
    let bytes = |count: usize| steps[..count].iter().map(|step| step.to_string().len()).sum::<usize>();
    for (limit, count) in [(1, 1), (bytes(2) - 1, 2), (bytes(2), 3), (bytes(steps.len()), steps.len())] {
        let limited = trace(&bench, hash, &json!({ "limit": limit }));
        assert_eq!(limited["structLogs"].as_array().unwrap()[..], steps[..count], "{limit} bytes");
        assert_eq!(limited["gas"], all["gas"], "execution goes on beyond the limit");
    }

    let hash = send(&mut bench, Contract::Counter.address(), Bytes::new());
    let bare = trace(&bench, hash, &json!({"disableStorage": true}));
    assert!(bare["structLogs"].as_array().unwrap().iter().all(|step| step.get("storage").is_none()));

    let outer = deploy(&mut bench, &caller_of_reverter());
    let hash = send(&mut bench, outer, Bytes::new());
    let shown = |config: &Value| {
        let traced = trace(&bench, hash, config);
        let steps = traced["structLogs"].as_array().unwrap().clone();
        steps.into_iter().filter_map(|step| step.get("returnData").cloned()).collect::<Vec<_>>()
    };
    assert!(shown(&json!({})).is_empty());
    let no = shown(&json!({"enableReturnData": true}));
    assert!(
        !no.is_empty() && no.iter().all(|data| data.as_str().unwrap().starts_with("0x08c379a0")),
        "{no:?}"
    );
}

fn caller_of_reverter() -> Vec<u8> {
    caller(&[Contract::Reverter.address()])
}

#[test]
fn failures_are_worded_like_geth() {
    let mut bench = Bench::new(1);
    let cases: [(&[u8], &str); 7] = [
        (&hex!("fe"), "invalid opcode: INVALID"),
        (&hex!("0c"), "invalid opcode: opcode 0xc not defined"),
        (&hex!("5f01"), "stack underflow (1 <=> 2)"),
        (&hex!("5b5f600056"), "stack limit reached 1024 (1023)"),
        (&hex!("6003 56"), "invalid jump destination"),
        (&hex!("60205f5f3e"), "return data out of bounds"),
        (&hex!("5b5f56"), "out of gas"),
    ];
    for (code, message) in cases {
        let target = deploy(&mut bench, code);
        let hash = send(&mut bench, target, Bytes::new());
        let call = trace(&bench, hash, &json!({"tracer": "callTracer"}));
        assert_eq!((&call["error"], &call["gasUsed"]), (&json!(message), &json!("0x7a120")), "{message}");
        assert!(call.get("output").is_none() && call.get("revertReason").is_none());
        let steps = trace(&bench, hash, &json!({"limit": 0, "disableStack": true}));
        assert_eq!(steps["structLogs"].as_array().unwrap().last().unwrap()["error"], json!(message));
        assert_eq!((&steps["failed"], &steps["returnValue"]), (&json!(true), &json!("0x")));
    }
    // A contract creation that cannot pay for its code: 24,576 bytes at 200 gas each.
    let hash = send(&mut bench, TxKind::Create, hex!("6160005ff3").to_vec());
    let call = trace(&bench, hash, &json!({"tracer": "callTracer"}));
    assert_eq!(call["error"], json!("contract creation code storage out of gas"));
    assert!(call.get("to").is_none(), "nothing was made");
}

#[test]
fn an_empty_revert_reason_is_omitted() {
    let mut bench = Bench::new(1);
    // `Error("")`.
    let code = hex!("6308c379a0 60e0 1b 5f 52 6020 6004 52 6044 5f fd");
    let target = deploy(&mut bench, &code);
    let hash = send(&mut bench, target, Bytes::new());
    let call = trace(&bench, hash, &json!({"tracer": "callTracer"}));
    let output = format!("0x08c379a0{:064x}{:064x}", 32, 0);
    assert_eq!((&call["error"], &call["output"]), (&json!("execution reverted"), &json!(output)));
    assert!(call.get("revertReason").is_none());
}

/// Deploys a contract that logs, calls a contract that reverts, one that destroys itself and one that logs,
/// and then logs again.
fn family(bench: &mut Bench) -> (Address, [Address; 3]) {
    let inner = [Contract::Reverter, Contract::SelfDestructor, Contract::Logger].map(Contract::address);
    let mut code = hex!("60aa5f5fa1").to_vec();
    code.extend(caller(&inner));
    code.pop();
    code.extend(hex!("60bb5f5fa100"));
    (deploy(bench, &code), inner)
}

#[test]
fn calls_form_a_tree() {
    let mut bench = Bench::new(1);
    let (outer, [reverter, destroyed, logger]) = family(&mut bench);
    let hash = send(&mut bench, outer, hex!("01020304").to_vec());
    let receipt = bench.call("eth_getTransactionReceipt", &format!("[\"{hash}\"]"));
    let call = trace(&bench, hash, &json!({"tracer": "callTracer"}));
    assert_eq!(call["from"], json!(bench.wallets[0].address));
    assert_eq!(
        (&call["type"], &call["input"], &call["value"]),
        (&json!("CALL"), &json!("0x01020304"), &json!("0x0"))
    );
    assert_eq!((&call["gas"], &call["gasUsed"]), (&json!("0x7a120"), &receipt["gasUsed"]));
    assert!(call.get("logs").is_none());
    let calls = call["calls"].as_array().unwrap();
    assert_eq!(
        calls.iter().map(|call| &call["to"]).collect::<Vec<_>>(),
        [&json!(reverter), &json!(destroyed), &json!(logger)]
    );
    assert_eq!((&calls[0]["error"], &calls[0]["revertReason"]), (&json!("execution reverted"), &json!("no")));
    assert!(calls[0]["output"].as_str().unwrap().starts_with("0x08c379a0"));
    let end = &calls[1]["calls"][0];
    assert_eq!(
        *end,
        json!({"type":"SELFDESTRUCT","from":destroyed,"to":outer,"value":"0x0","gas":"0x0","gasUsed":"0x0","input":"0x"})
    );
    let top = trace(&bench, hash, &json!({"tracer": "callTracer", "tracerConfig": {"onlyTopCall": true}}));
    let mut expected = call.clone();
    expected.as_object_mut().unwrap().remove("calls");
    assert_eq!(top, expected);
}

#[test]
fn logs_of_calls_have_their_position_and_index() {
    let mut bench = Bench::new(1);
    let (outer, _) = family(&mut bench);
    send(&mut bench, Contract::Logger.address(), Bytes::new());
    let hash = send(&mut bench, outer, Bytes::new());
    let config = json!({"tracer": "callTracer", "tracerConfig": {"withLog": true}});
    let call = trace(&bench, hash, &config);
    let position = |log: &Value| {
        (log["topics"][0].as_str().unwrap()[64..].to_owned(), log["position"].clone(), log["index"].clone())
    };
    let own: Vec<_> = call["logs"].as_array().unwrap().iter().map(position).collect();
    assert_eq!(
        own,
        [("aa".to_owned(), json!("0x0"), json!("0x1")), ("bb".to_owned(), json!("0x3"), json!("0x3"))]
    );
    assert_eq!(call["calls"][2]["logs"][0]["index"], json!("0x2"));
    // The logs of a failed transaction are discarded.
    let code = [&hex!("60aa5f5fa1")[..], &hex!("5f5ffd")].concat();
    let failing = deploy(&mut bench, &code);
    let hash = send(&mut bench, failing, Bytes::new());
    assert!(trace(&bench, hash, &config).get("logs").is_none());
}

#[test]
fn the_flat_list_has_the_same_calls() {
    let mut bench = Bench::new(1);
    let (outer, [_, destroyed, _]) = family(&mut bench);
    let identity = Address::with_last_byte(4);
    let both = deploy(&mut bench, &caller(&[outer, identity]));
    let hash = send(&mut bench, both, Bytes::new());
    let flat = |config: Value| {
        let traced = trace(&bench, hash, &json!({"tracer": "flatCallTracer", "tracerConfig": config}));
        traced.as_array().unwrap().clone()
    };
    let calls = flat(json!({}));
    let at = |call: &Value| (call["traceAddress"].clone(), call["subtraces"].clone(), call["type"].clone());
    let expected = [
        (json!([]), json!(1), json!("call")),
        (json!([0]), json!(3), json!("call")),
        (json!([0, 0]), json!(0), json!("call")),
        (json!([0, 1]), json!(1), json!("call")),
        (json!([0, 1, 0]), json!(0), json!("suicide")),
        (json!([0, 2]), json!(0), json!("call")),
    ];
    assert_eq!(calls.iter().map(at).collect::<Vec<_>>(), expected);
    assert_eq!(calls[2]["error"], json!("execution reverted"));
    assert!(calls[2]["result"]["output"].as_str().unwrap().starts_with("0x08c379a0"));
    assert_eq!(calls[4]["action"], json!({"address":destroyed,"balance":"0x0","refundAddress":outer}));
    let receipt = bench.call("eth_getTransactionReceipt", &format!("[\"{hash}\"]"));
    for call in &calls {
        assert_eq!((&call["transactionHash"], &call["blockHash"]), (&json!(hash), &receipt["blockHash"]));
    }
    let all = flat(json!({"includePrecompiles": true, "convertParityErrors": true}));
    assert_eq!((all.len(), &all[0]["subtraces"], &all[2]["error"]), (7, &json!(2), &json!("Reverted")));
    assert_eq!((&all[6]["traceAddress"], &all[6]["action"]["to"]), (&json!([1]), &json!(identity)));
}

#[test]
fn the_prestate_lists_read_state_or_changes() {
    let mut bench = Bench::new(1);
    let counter = Contract::Counter.address();
    send(&mut bench, counter, Bytes::new());
    let sender = bench.wallets[0].address;
    let before = bench.call("eth_getBalance", &format!("[\"{sender}\",\"pending\"]"));
    let hash = send(&mut bench, counter, Bytes::new());
    let after = bench.call("eth_getBalance", &format!("[\"{sender}\",\"pending\"]"));
    let key = |value: u8| B256::with_last_byte(value).to_string();
    let prestate =
        |config: Value| trace(&bench, hash, &json!({"tracer": "prestateTracer", "tracerConfig": config}));
    let at = |accounts: &Value, address: Address| accounts[&format!("{address:#x}")].clone();
    let needed = prestate(json!({}));
    assert_eq!(at(&needed, sender), json!({"balance": before, "nonce": 1}));
    let code_hash = keccak256(Contract::Counter.code());
    let full = json!({"balance":"0x0","code":Contract::Counter.code(),"codeHash":code_hash,"storage":{key(0):key(1)},"nonce":1});
    let mut shown = at(&needed, counter);
    shown.as_object_mut().unwrap().entry("nonce").or_insert(json!(1));
    assert_eq!(shown, full);
    let bare = at(&prestate(json!({"disableCode": true, "disableStorage": true})), counter);
    assert!(
        bare.get("code").is_none() && bare.get("storage").is_none() && bare["codeHash"] == json!(code_hash)
    );
    let changed = prestate(json!({"diffMode": true}));
    assert_eq!(at(&changed["post"], sender), json!({"balance": after, "nonce": 2}));
    assert_eq!(at(&changed["post"], counter), json!({"storage": {key(0): key(2)}}));
    assert_eq!(at(&changed["pre"], counter)["storage"], json!({key(0): key(1)}));

    let hash = send(&mut bench, TxKind::Create, deploy_code(&hex!("00")));
    let created = sender.create(2);
    let prestate =
        |config: Value| trace(&bench, hash, &json!({"tracer": "prestateTracer", "tracerConfig": config}));
    assert_eq!(at(&prestate(json!({})), created), json!(null), "it was not there");
    assert_eq!(at(&prestate(json!({"includeEmpty": true})), created), json!({"balance": "0x0"}));
    let changed = prestate(json!({"diffMode": true}));
    assert_eq!(at(&changed["pre"], created), json!(null));
    let post = json!({"nonce": 1, "code": "0x00", "codeHash": keccak256([0])});
    assert_eq!(at(&changed["post"], created), post);
}

#[test]
fn a_creation_without_init_code_has_no_step() {
    let bench = Bench::developing(1);
    let caller = Address::repeat_byte(0x77);
    let operations = |code: &str| {
        let config = json!({"stateOverrides": {caller.to_string(): {"code": code}}});
        let trace = bench.call("debug_traceCall", &json!([{"to": caller}, "latest", config]).to_string());
        let steps = trace["structLogs"].as_array().unwrap().clone();
        steps.iter().map(|step| (step["op"].clone(), step["depth"].clone())).collect::<Vec<_>>()
    };
    let at = |depth: u8, names: &[&str]| names.iter().map(|op| (json!(op), json!(depth))).collect::<Vec<_>>();
    assert_eq!(operations("0x5f5f5ff000"), at(1, &["PUSH0", "PUSH0", "PUSH0", "CREATE", "STOP"]));
    let with_code =
        [at(1, &["PUSH1", "PUSH0", "PUSH0", "CREATE"]), at(2, &["STOP"]), at(1, &["STOP"])].concat();
    assert_eq!(operations("0x60015f5ff000"), with_code);
}

#[test]
fn the_prestate_has_no_slot_of_a_rejected_write() {
    let bench = Bench::developing(1);
    let (environment, caller) = (Contract::Environment.address(), Address::repeat_byte(0x77));
    let storage = |call: &str| {
        let code = format!("0x5f5f5f5f{call}00");
        let config =
            json!({"tracer": "prestateTracer", "stateOverrides": {caller.to_string(): {"code": code}}});
        let prestate = bench.call("debug_traceCall", &json!([{"to": caller}, "latest", config]).to_string());
        prestate[format!("{environment:#x}")].get("storage").cloned()
    };
    assert_eq!(storage(&format!("73{environment:x}5afa")), None, "STATICCALL");
    assert!(storage(&format!("5f73{environment:x}5af1")).is_some(), "CALL");
}

#[test]
fn selectors_are_counted_with_the_length_of_the_rest() {
    let mut bench = Bench::new(1);
    let hash = send(&mut bench, Contract::Counter.address(), hex!("aabbccdd0102").to_vec());
    assert_eq!(trace(&bench, hash, &json!({"tracer": "4byteTracer"})), json!({"0xaabbccdd-2": 1}));
    let hash = send(&mut bench, Contract::Counter.address(), hex!("aabbcc").to_vec());
    assert_eq!(trace(&bench, hash, &json!({"tracer": "4byteTracer"})), json!({}));
}

#[test]
fn a_mux_tracer_equals_its_single_tracers() {
    let mut bench = Bench::new(1);
    let (outer, _) = family(&mut bench);
    let hash = send(&mut bench, outer, hex!("01020304").to_vec());
    let config = json!({
        "callTracer": {"withLog": true}, "flatCallTracer": null, "prestateTracer": {"diffMode": true},
        "4byteTracer": null, "noopTracer": {}, "muxTracer": {"4byteTracer": null},
    });
    let all = trace(&bench, hash, &json!({"tracer": "muxTracer", "tracerConfig": config}));
    for (name, config) in config.as_object().unwrap() {
        let alone = trace(&bench, hash, &json!({"tracer": name, "tracerConfig": config}));
        assert_eq!(all[name], alone, "{name}");
    }
    assert_eq!(all.as_object().unwrap().len(), 6);
    assert_eq!(trace(&bench, hash, &json!({"tracer": "noopTracer"})), json!({}));
    assert_eq!(trace(&bench, hash, &json!({"tracer": "muxTracer"})), json!({}));
    assert_eq!(trace(&bench, hash, &json!({"tracer": ""})), trace(&bench, hash, &json!({})));
}

#[test]
fn a_missing_block_or_transaction_is_an_error() {
    let bench = Bench::new(1);
    let unknown = B256::repeat_byte(0xee);
    let genesis = bench.view().latest().block.hash;
    let code = |method, params: String| {
        let error = bench.error(method, &params);
        (error.code, error.message)
    };
    assert_eq!(
        code("debug_traceTransaction", format!("[\"{unknown}\"]")),
        (-32000, "transaction not found".to_owned())
    );
    for (method, block) in
        [("debug_traceBlockByNumber", "0x0".to_owned()), ("debug_traceBlockByHash", genesis.to_string())]
    {
        assert_eq!(code(method, format!("[\"{block}\"]")), (-32000, "genesis is not traceable".to_owned()));
    }
    assert_eq!(
        code("debug_traceBlockByNumber", "[\"0x99\"]".to_owned()),
        (-32001, "block not found".to_owned())
    );
    assert_eq!(
        code("debug_traceBlockByHash", format!("[\"{unknown}\"]")),
        (-32000, format!("block {unknown} not found"))
    );
    assert_eq!(
        code("eth_simulateV1", "[{\"blockStateCalls\":[{}]},\"0x99\"]".to_owned()),
        (-32000, "header not found".to_owned())
    );
    assert_eq!(bench.call("debug_traceBlockByNumber", "[\"pending\"]"), json!([]));
}

#[test]
fn traces_are_limited_in_time_and_size() {
    let mut bench = Bench::with_limits(1, Limits { trace_bytes: 2000, ..Limits::default() });
    let endless = deploy(&mut bench, &hex!("5b5f56"));
    let hash = send(&mut bench, endless, Bytes::new());
    let repeated: Vec<Address> = vec![Contract::Logger.address(); 20];
    let many = deploy(&mut bench, &caller(&repeated));
    let calls = send(&mut bench, many, Bytes::new());
    for (hash, config) in [(hash, json!({})), (calls, json!({"tracer": "callTracer"}))] {
        let error = bench.error("debug_traceTransaction", &format!("[\"{hash}\",{config}]"));
        assert_eq!(error.code, -32005, "{error:?}");
        assert_eq!(data(&error)["limit"], json!("bytes"));
    }
    assert_eq!(trace(&bench, hash, &json!({"limit": 1}))["structLogs"].as_array().unwrap().len(), 1);
    let params = format!("[\"{hash}\",{{\"tracer\":\"noopTracer\",\"timeout\":\"0s\"}}]");
    let error = bench.error("debug_traceTransaction", &params);
    assert_eq!((error.code, data(&error)), (-32005, json!({"limit":"milliseconds","max":0})));

    let mut bench = Bench::with_limits(1, Limits { call_time: Duration::ZERO, ..Limits::default() });
    let hash = send(&mut bench, Contract::Counter.address(), Bytes::new());
    // A request may shorten the time limit, not extend it.
    let error = bench.error("debug_traceTransaction", &format!("[\"{hash}\",{{\"timeout\":\"1h\"}}]"));
    assert_eq!((error.code, data(&error)), (-32005, json!({"limit":"milliseconds","max":0})));
}

#[test]
fn a_superseded_step_is_traced_in_its_own_state() {
    let mut bench = Bench::new(1);
    let first = send(&mut bench, Contract::Counter.address(), Bytes::new());
    let step = bench.view().pending().block.hash;
    send(&mut bench, Contract::Counter.address(), Bytes::new());
    let traced = bench.call("debug_traceBlockByHash", &format!("[\"{step}\"]"));
    assert_eq!(
        traced.as_array().unwrap().iter().map(|one| &one["txHash"]).collect::<Vec<_>>(),
        [&json!(first)]
    );
    assert_eq!(traced[0]["result"], trace(&bench, first, &json!({})));
}

fn logs_of(call: &Value, logs: &mut Vec<Value>) {
    logs.extend(call.get("logs").and_then(Value::as_array).into_iter().flatten().cloned());
    for inner in call.get("calls").and_then(Value::as_array).into_iter().flatten() {
        logs_of(inner, logs);
    }
}

/// Gas, status and logs of every transaction of a random workload, traced from the latest block and from
/// older ones.
#[test]
fn traces_agree_with_receipts() {
    let mut bench = Bench::new(6);
    let mut workload = Workload::new(bench.wallets.clone(), TransactionKinds::WithoutBlobs, 11);
    for _ in 0..20 {
        for _ in 0..12 {
            bench.submit(&workload.next_transaction());
        }
        bench.seal();
    }
    let (mut transactions, mut logs, mut failures) = (0, 0, 0);
    for number in 1..=bench.view().latest().number() {
        let block = format!("\"{number:#x}\"");
        let receipts = bench.call("eth_getBlockReceipts", &format!("[{block}]"));
        let config = json!({"tracer": "callTracer", "tracerConfig": {"withLog": true}});
        let traces = bench.call("debug_traceBlockByNumber", &format!("[{block},{config}]"));
        let steps = bench.call("debug_traceBlockByNumber", &format!("[{block},{{\"disableStack\":true}}]"));
        let receipts = receipts.as_array().unwrap();
        assert_eq!(traces.as_array().unwrap().len(), receipts.len());
        for (index, receipt) in receipts.iter().enumerate() {
            let (traced, stepped) = (&traces[index], &steps[index]);
            assert_eq!(traced["txHash"], receipt["transactionHash"]);
            let call = &traced["result"];
            assert_eq!((&call["gasUsed"], &call["from"]), (&receipt["gasUsed"], &receipt["from"]));
            let failed = receipt["status"] == json!("0x0");
            assert_eq!((call.get("error").is_some(), &stepped["result"]["failed"]), (failed, &json!(failed)));
            let gas = stepped["result"]["gas"].as_u64().unwrap();
            assert_eq!(json!(format!("{gas:#x}")), receipt["gasUsed"]);
            let mut call_logs = Vec::new();
            logs_of(call, &mut call_logs);
            call_logs.sort_by_key(|log| log["index"].as_str().unwrap().parse::<U256>().unwrap());
            let shape = |log: &Value, index: &str| {
                (log["address"].clone(), log["topics"].clone(), log["data"].clone(), log[index].clone())
            };
            let call_logs: Vec<_> = call_logs.iter().map(|log| shape(log, "index")).collect();
            let expected: Vec<_> =
                receipt["logs"].as_array().unwrap().iter().map(|log| shape(log, "logIndex")).collect();
            assert_eq!(call_logs, expected);
            transactions += 1;
            logs += expected.len();
            failures += usize::from(failed);
        }
    }
    println!("{transactions} transactions, {logs} logs, {failures} failures");
    assert!(transactions >= 200 && logs > 30 && failures > 20, "{transactions} {logs} {failures}");
}

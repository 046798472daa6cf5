//! Revert reasons in the messages of development nodes.

use alloy_primitives::{Bytes, hex};
use foreseal_node::{Development, RevertReasonField};
use foreseal_testkit::Contract;
use serde_json::{Value, json};

use super::{Bench, data};

/// Account whose code the tests set.
const CONTRACT: &str = "0x00000000000000000000000000000000000000cc";

/// Revert outputs, each with its reason.
const OUTPUTS: [(&[u8], &str); 4] = [
    (
        &hex!(
            "08c379a00000000000000000000000000000000000000000000000000000000000000020"
            "0000000000000000000000000000000000000000000000000000000000000005"
            "6c696d6974000000000000000000000000000000000000000000000000000000"
        ),
        ": limit",
    ),
    (
        &hex!("4e487b710000000000000000000000000000000000000000000000000000000000000011"),
        ": arithmetic underflow or overflow",
    ),
    (&hex!("82b42900"), ": custom error 0x82b42900"),
    (&[], ""),
];

/// Returns code that reverts with `output`, which follows the code itself.
fn reverting_code(output: &[u8]) -> Bytes {
    let length = u8::try_from(output.len()).unwrap();
    // PUSH1 length, PUSH1 10, PUSH0, CODECOPY, PUSH1 length, PUSH0, REVERT
    let code = [0x60, length, 0x60, 10, 0x5f, 0x39, 0x60, length, 0x5f, 0xfd];
    [&code[..], output].concat().into()
}

fn bench(revert_reason: RevertReasonField) -> Bench {
    Bench::with_development(1, Development { revert_reason, ..Development::default() })
}

/// Returns code, message and data of the error of each method for a contract that reverts with `output`.
fn errors(bench: &Bench, output: &[u8]) -> Vec<(i64, String, Value)> {
    bench.call("anvil_setCode", &format!("[\"{CONTRACT}\",\"{}\"]", reverting_code(output)));
    let from = bench.wallets[0].address;
    let transaction = format!("{{\"from\":\"{from}\",\"to\":\"{CONTRACT}\"}}");
    let call = |method: &str, params: String| {
        let error = bench.error(method, &params);
        let data = data(&error);
        (error.code, error.message, data)
    };
    vec![
        call("eth_call", format!("[{transaction},\"pending\"]")),
        call("eth_estimateGas", format!("[{transaction},\"pending\"]")),
        call("eth_sendTransaction", format!("[{transaction}]")),
    ]
}

#[test]
fn messages_name_the_reason_if_the_setting_says_so() {
    let bench = bench(RevertReasonField::Message);
    for (output, reason) in OUTPUTS {
        let (message, data) = (format!("execution reverted{reason}"), json!(hex::encode_prefixed(output)));
        let expected = [3, -32_000, 3].map(|code| (code, message.clone(), data.clone()));
        assert_eq!(errors(&bench, output), expected);
    }
    assert_eq!(bench.api.node().pool().counts().pooled, 0, "nothing was sent");
}

#[test]
fn the_default_leaves_calls_and_estimates_as_specified() {
    assert_eq!(Development::default().revert_reason, RevertReasonField::Data);
    let bench = bench(RevertReasonField::Data);
    for (output, reason) in OUTPUTS {
        let rejections = errors(&bench, output);
        let of_call = if reason.contains("custom error") { "" } else { reason };
        let messages: Vec<_> =
            rejections.iter().map(|(code, message, _)| (*code, message.as_str())).collect();
        let (call, send) = (format!("execution reverted{of_call}"), format!("execution reverted{reason}"));
        assert_eq!(messages, [(3, call.as_str()), (-32_000, "execution reverted"), (3, send.as_str())]);
        assert!(rejections.iter().all(|(_, _, data)| *data == json!(hex::encode_prefixed(output))));
    }
}

#[test]
fn a_reverting_transaction_with_gas_is_sent_without_an_estimate() {
    let bench = Bench::with_development(1, Development { automine: true, ..Development::default() });
    let (from, to) = (bench.wallets[0].address, Contract::Reverter.address());
    let transaction = format!("[{{\"from\":\"{from}\",\"to\":\"{to}\",\"gas\":\"0x186a0\"}}]");
    let hash = bench.call("eth_sendTransaction", &transaction);
    let receipt = bench.call("eth_getTransactionReceipt", &format!("[{hash}]"));
    assert_eq!((&receipt["status"], &receipt["blockNumber"]), (&json!("0x0"), &json!("0x1")));
    assert_eq!(bench.call("eth_blockNumber", "[]"), json!("0x1"));
}

//! Every RPC method on a small chain.

use std::sync::{LazyLock, Mutex};

use bytes::Bytes;
use foreseal_rpc::{Access, Method, RpcError, method, methods};
use serde_json::value::RawValue;

use crate::{Memory, Target, TestChain};

pub const TARGET: Target = Target {
    name: "methods",
    longest: 384,
    memory: Memory { fixed: 32 << 20, each: 4096 },
    prepare: || {
        LazyLock::force(&CHAIN);
    },
    run,
};

/// Chain that the methods query.
pub static CHAIN: LazyLock<Mutex<TestChain>> = LazyLock::new(|| Mutex::new(TestChain::with_blocks()));

/// Codes that an error of a method may have.
const CODES: [i64; 23] = [
    -32601, -32602, -32000, -32001, -32002, -32005, 3, 4, 5, 6, -32016, -38010, -38011, -38012, -38013,
    -38014, -38015, -38020, -38021, -38022, -38024, -38025, -38026,
];

/// Methods that change state, so that a repeated call may return a different result.
const CHANGING: [&str; 7] = [
    "eth_newFilter",
    "eth_newBlockFilter",
    "eth_newPendingTransactionFilter",
    "eth_getFilterChanges",
    "eth_uninstallFilter",
    "eth_sendRawTransaction",
    "eth_sendRawTransactionSync",
];

/// Checks a request: the name of a method, a line feed and its parameters. A repeated request returns the
/// same result. An installed filter is removed again.
fn run(input: &[u8]) {
    let (method, params) = method_of(input);
    let chain = CHAIN.lock().expect("no run failed");
    let view = chain.view();
    let answer = chain.api.run(Some(&view), method, params);
    check_answer(&answer);
    let changing = CHANGING.contains(&method.name);
    if !changing && method.access == Access::Everyone {
        let again = chain.api.run(Some(&view), method, params);
        assert_eq!(again, answer, "{} answers differently when it is asked again", method.name);
    }
    if let (Ok(id), true) = (&answer, method.name.starts_with("eth_new")) {
        let id = [b"[", &id[..], b"]"].concat();
        assert_eq!(chain.api.call(Some(&view), "eth_uninstallFilter", &id).as_deref(), Ok(&b"true"[..]));
    }
}

/// Returns the method that an input names and the rest of the input. An unknown name selects an arbitrary
/// method that depends only on the name.
pub fn method_of(input: &[u8]) -> (&'static Method, &[u8]) {
    let end = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
    let (name, params) = (&input[..end], input.get(end + 1..).unwrap_or_default());
    let named = std::str::from_utf8(name).ok().and_then(method);
    let some = || {
        let sum = name.iter().map(|byte| usize::from(*byte)).sum::<usize>();
        let place = sum % methods().count();
        methods().nth(place).expect("it is below their number")
    };
    (named.unwrap_or_else(some), params)
}

/// Checks that a result is JSON or an error with a known code.
pub fn check_answer(answer: &Result<Bytes, RpcError>) {
    match answer {
        Ok(json) => check_json(json),
        Err(error) => check_error(error),
    }
}

/// Checks that the code is known and not that of a panic (-32603), that there is a message, and that the data
/// is JSON.
pub fn check_error(error: &RpcError) {
    assert!(CODES.contains(&error.code), "{error:?}");
    assert!(!error.message.is_empty(), "{error:?}");
    if let Some(data) = &error.data {
        check_json(data);
    }
}

fn check_json(json: &[u8]) {
    let parsed: Result<&RawValue, _> = serde_json::from_slice(json);
    assert!(parsed.is_ok(), "no JSON: {}", String::from_utf8_lossy(json));
}

//! Parameters of every RPC method, on a node without a chain.

use std::sync::{LazyLock, Mutex};

use foreseal_rpc::methods;

use super::methods::{check_answer, method_of};
use crate::{Memory, Target, TestChain};

pub const TARGET: Target = Target {
    name: "params",
    longest: 512,
    memory: Memory { fixed: 1 << 20, each: 1024 },
    prepare: || {
        let chain = CHAIN.lock().expect("no run failed");
        for method in methods() {
            let _ = chain.api.run(None, method, b"[]");
        }
    },
    run,
};

/// A node that has not started, on which a method can only parse its parameters.
static CHAIN: LazyLock<Mutex<TestChain>> = LazyLock::new(|| Mutex::new(TestChain::unstarted()));

/// Checks that a request returns JSON or an error with a known code. The input is the name of a method, a
/// line feed and its parameters.
fn run(input: &[u8]) {
    let (method, params) = method_of(input);
    let chain = CHAIN.lock().expect("no run failed");
    check_answer(&chain.api.run(None, method, params));
}

//! The parameters of every method, without a chain behind them.

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

/// A node that has not started: all that a method can do is to read its parameters.
static CHAIN: LazyLock<Mutex<TestChain>> = LazyLock::new(|| Mutex::new(TestChain::unstarted()));

/// A method's name, a line feed, its parameters. Every answer is JSON, every error one that is known.
fn run(input: &[u8]) {
    let (method, params) = method_of(input);
    let chain = CHAIN.lock().expect("no run failed");
    check_answer(&chain.api.run(None, method, params));
}

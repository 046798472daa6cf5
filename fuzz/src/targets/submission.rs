//! Transactions as they are submitted: in the pooled form, blobs with their sidecar.

use std::sync::LazyLock;

use foreseal_pool::{PoolConfig, Rules, decode_submission};
use foreseal_rpc::RpcError;
use foreseal_testkit::test_genesis;
use foreseal_types::{ChainSpec, Transaction, keccak};

use super::{methods::check_error, nothing};
use crate::{Memory, Target};

pub const TARGET: Target = Target {
    name: "submission",
    longest: 1024,
    memory: Memory { fixed: 1 << 14, each: 256 },
    prepare: || {
        LazyLock::force(&RULES);
        nothing();
    },
    run,
};

static RULES: LazyLock<Rules> = LazyLock::new(|| {
    let spec = ChainSpec::new(test_genesis(&[])).expect("the tests' genesis is good");
    Rules::new(&PoolConfig::default(), &spec, &spec.genesis_header(alloy_primitives::B256::ZERO))
});

/// What is taken is kept as the bytes that came, and is a transaction of a block by itself; what is refused has an error.
fn run(input: &[u8]) {
    match decode_submission(input, &RULES) {
        Ok(submission) => {
            assert_eq!(submission.encoded()[..], *input, "one transaction has one encoding");
            assert_eq!(submission.size(), input.len());
            let encoded = submission.transaction().encoded();
            assert_eq!(submission.hash(), keccak(encoded));
            let alone = Transaction::decode(encoded).expect("it is a transaction of a block");
            assert_eq!(alone.sender(), submission.sender());
            assert!(!alone.is_impersonated(), "nobody signs with a zero");
        }
        Err(error) => check_error(&RpcError::from(error)),
    }
}

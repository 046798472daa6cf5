//! Submitted transactions in the pooled form: blob transactions (EIP-4844) include their sidecar.

use std::sync::LazyLock;

use foreseal_keccak::keccak;
use foreseal_pool::{PoolConfig, Rules, decode_submission};
use foreseal_primitives::{ChainSpec, Transaction};
use foreseal_rpc::RpcError;
use foreseal_testkit::test_genesis;

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

/// Checks that an accepted submission is stored as the received bytes and that its transaction decodes in the
/// form of a block. A rejection has an error with a known code.
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

//! GeneralStateTests: one transaction on a state.

use std::collections::BTreeMap;

use alloy_consensus::Header;
use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use alloy_rlp::Encodable;
use foreseal_evm::{BlockGas, ExecutionError, Executor};
use foreseal_primitives::{
    Account, AccountDiff, ChainSpec, ChangedAccount, Receipt, SpecId, StateDiff, Transaction,
};
use foreseal_state::{BlockHashes, State, StateError, StateReader};
use serde::Deserialize;

use crate::{
    Case,
    allocation::{self, Allocation},
    case::same,
    networks::chain_spec,
    source::VectorFile,
};

#[derive(Deserialize)]
struct Test {
    env: Environment,
    pre: Allocation,
    post: BTreeMap<String, Vec<Expected>>,
}

#[derive(Deserialize)]
struct Environment {
    #[serde(rename = "currentCoinbase")]
    coinbase: Address,
    #[serde(rename = "currentNumber")]
    number: U256,
    #[serde(rename = "currentTimestamp")]
    timestamp: U256,
    #[serde(rename = "currentGasLimit")]
    gas_limit: U256,
    #[serde(rename = "currentDifficulty")]
    difficulty: Option<U256>,
    #[serde(rename = "currentRandom")]
    random: Option<B256>,
    #[serde(rename = "currentBaseFee")]
    base_fee: Option<U256>,
    #[serde(rename = "currentExcessBlobGas")]
    excess_blob_gas: Option<U256>,
}

#[derive(Deserialize)]
struct Expected {
    hash: B256,
    logs: B256,
    indexes: Indexes,
    /// Signed transaction.
    txbytes: Bytes,
    #[serde(rename = "expectException")]
    exception: Option<String>,
}

#[derive(Deserialize)]
struct Indexes {
    data: usize,
    gas: usize,
    value: usize,
}

/// Result of `BLOCKHASH` in state tests: the keccak-256 hash of the block number in decimal.
struct NumberHashes;

impl BlockHashes for NumberHashes {
    fn block_hash(&self, number: u64) -> Result<Option<B256>, StateError> {
        Ok(Some(keccak256(number.to_string())))
    }
}

/// Result of executing a transaction.
struct Outcome {
    state: State,
    logs_hash: B256,
    rejected: Option<String>,
}

pub fn run(file: &VectorFile, fork: Option<&str>) -> Result<Vec<Case>, serde_json::Error> {
    let tests: BTreeMap<String, Test> = serde_json::from_slice(&file.bytes)?;
    let mut cases = Vec::new();
    for (name, test) in &tests {
        let pre = allocation::state(&test.pre);
        for (network, posts) in test.post.iter().filter(|(network, _)| fork.is_none_or(|f| f == *network)) {
            for post in posts {
                let mut case = Case::new(&file.name, name);
                case.fork = Some(network.clone());
                let Indexes { data, gas, value } = post.indexes;
                (case.data, case.gas, case.value) = (Some(data), Some(gas), Some(value));
                let outcome = pre.clone().and_then(|pre| execute(network, &test.env, &pre, post));
                cases.push(judge(case, post, outcome));
            }
        }
    }
    Ok(cases)
}

fn judge(mut case: Case, expected: &Expected, outcome: Result<Outcome, String>) -> Case {
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => return case.outcome(Err(error)),
    };
    let root = outcome.state.root();
    (case.state_root, case.logs_hash) = (Some(root), Some(outcome.logs_hash));
    let verdict = match (&expected.exception, &outcome.rejected) {
        (None, Some(reason)) => Err(format!("refused: {reason}")),
        (Some(exception), None) => Err(format!("executed, but {exception} is expected")),
        _ => same("stateRoot", &expected.hash, &root)
            .and_then(|()| same("logsHash", &expected.logs, &outcome.logs_hash)),
    };
    case.outcome(verdict)
}

fn execute(network: &str, env: &Environment, pre: &State, post: &Expected) -> Result<Outcome, String> {
    let spec = chain_spec(network).ok_or_else(|| format!("network {network} is not known"))?;
    let header = env.header(&spec, network)?;
    let mut executor = Executor::new(&spec, pre, &NumberHashes, &header);
    let receipt = match Transaction::decode(&post.txbytes) {
        Err(error) => Err(error.to_string()),
        Ok(transaction) => match executor.transact(&transaction, &mut BlockGas::default()) {
            Ok(receipt) => Ok(receipt),
            Err(ExecutionError::Rejected(reason)) => Err(reason.to_string()),
            Err(error) => return Err(error.to_string()),
        },
    };
    let mut state = pre.apply(&executor.drain_diff()).map_err(|error| error.to_string())?;
    if !executor.fork().is_enabled_in(SpecId::SPURIOUS_DRAGON) {
        state = touch(&state, header.beneficiary)?;
    }
    let logs = receipt.as_ref().map_or(&[][..], |receipt: &Receipt| &receipt.logs);
    let mut encoded = Vec::new();
    logs.to_vec().encode(&mut encoded);
    Ok(Outcome { state, logs_hash: keccak256(encoded), rejected: receipt.err() })
}

/// Touches the beneficiary. The block of a state test pays it nothing, but before EIP-161 that still creates
/// the account.
fn touch(state: &State, address: Address) -> Result<State, String> {
    if state.account(&address).map_err(|error| error.to_string())?.is_some() {
        return Ok(state.clone());
    }
    let diff = AccountDiff { account: Some(Account::default()), ..AccountDiff::default() };
    let accounts = vec![ChangedAccount { address, diff }];
    state.apply(&StateDiff { accounts, codes: Vec::new() }).map_err(|error| error.to_string())
}

impl Environment {
    fn header(&self, spec: &ChainSpec, network: &str) -> Result<Header, String> {
        let small = |value: U256| u64::try_from(value).map_err(|_| format!("{value} is too large"));
        let merged = spec.config().terminal_total_difficulty.is_some();
        let london = spec.config().london_block.is_some();
        let cancun = spec.config().cancun_time.is_some();
        let mut header = Header {
            beneficiary: self.coinbase,
            number: small(self.number)?,
            timestamp: small(self.timestamp)?,
            gas_limit: small(self.gas_limit)?,
            ..Header::default()
        };
        if merged {
            header.mix_hash = self.random.ok_or_else(|| format!("{network} without currentRandom"))?;
        } else {
            header.difficulty = self.difficulty.unwrap_or_default();
        }
        if london {
            header.base_fee_per_gas = self.base_fee.map(small).transpose()?;
        }
        if cancun {
            header.excess_blob_gas = Some(small(self.excess_blob_gas.unwrap_or_default())?);
        }
        Ok(header)
    }
}

//! TransactionTests: transaction bytes under the rules of each fork.

use std::collections::BTreeMap;

use alloy_consensus::{EthereumTypedTransaction, Header, SignableTransaction, Transaction as _};
use alloy_primitives::{Address, B256, Bytes, U256};
use foreseal_evm::{BlockGas, ExecutionError, Executor, RejectedTransaction};
use foreseal_primitives::{
    Account, AccountDiff, ChainSpec, ChangedAccount, SignedEnvelope, StateDiff, Transaction,
};
use foreseal_state::{NoBlockHashes, State};
use serde::Deserialize;

use crate::{Case, case::same, networks::chain_spec, source::VectorFile, wide_fee};

#[derive(Deserialize)]
struct Test {
    txbytes: Bytes,
    result: BTreeMap<String, Expected>,
}

#[derive(Deserialize)]
struct Expected {
    hash: Option<B256>,
    sender: Option<Address>,
    #[serde(rename = "intrinsicGas")]
    intrinsic_gas: Option<U256>,
    exception: Option<String>,
}

pub fn run(file: &VectorFile, fork: Option<&str>) -> Result<Vec<Case>, serde_json::Error> {
    let tests: BTreeMap<String, Test> = serde_json::from_slice(&file.bytes)?;
    let mut cases = Vec::new();
    for (name, test) in &tests {
        for (network, expected) in
            test.result.iter().filter(|(network, _)| fork.is_none_or(|f| f == *network))
        {
            let mut case = Case::new(&file.name, name);
            case.fork = Some(network.clone());
            cases.push(case.outcome(judge(network, &test.txbytes, expected)));
        }
    }
    Ok(cases)
}

fn judge(network: &str, bytes: &[u8], expected: &Expected) -> Result<(), String> {
    let spec = chain_spec(network).ok_or_else(|| format!("network {network} is not known"))?;
    match (admit(&spec, bytes), &expected.exception) {
        (Err(_), Some(_)) => Ok(()),
        (Err(reason), None) => Err(format!("refused: {reason}")),
        (Ok(_), Some(exception)) => Err(format!("accepted, but {exception} is expected")),
        (Ok(admitted), None) => {
            let hash = expected.hash.ok_or("no hash is given")?;
            let sender = expected.sender.ok_or("no sender is given")?;
            same("hash", &hash, &admitted.hash)?;
            same("sender", &sender, &admitted.sender)?;
            let gas = U256::from(admitted.intrinsic_gas);
            expected.intrinsic_gas.map_or(Ok(()), |wanted| same("intrinsicGas", &wanted, &gas))
        }
    }
}

/// Properties of a valid transaction.
struct Admitted {
    hash: B256,
    sender: Address,
    intrinsic_gas: u64,
}

fn admit(spec: &ChainSpec, bytes: &[u8]) -> Result<Admitted, String> {
    if let Some(wide) = wide_fee::read(bytes) {
        let wide = wide?;
        let intrinsic_gas = check(spec, &wide.narrowed)?;
        return Ok(Admitted { hash: wide.hash, sender: wide.sender, intrinsic_gas });
    }
    let transaction = Transaction::decode(bytes).map_err(|error| error.to_string())?;
    let intrinsic_gas = check(spec, &transaction)?;
    Ok(Admitted { hash: transaction.hash(), sender: transaction.sender(), intrinsic_gas })
}

/// Executes the transaction for a sender with a matching nonce and a large balance. Returns its intrinsic
/// gas.
fn check(spec: &ChainSpec, transaction: &Transaction) -> Result<u64, String> {
    let envelope = transaction.envelope();
    let account = Account { nonce: envelope.nonce(), balance: U256::MAX >> 1, ..Account::default() };
    let diff = AccountDiff { account: Some(account), ..AccountDiff::default() };
    let accounts = vec![ChangedAccount { address: transaction.sender(), diff }];
    let state = State::default().apply(&StateDiff { accounts, codes: Vec::new() });
    let state = state.map_err(|error| error.to_string())?;
    let merged = spec.config().terminal_total_difficulty.is_some();
    let header = Header {
        number: 1,
        gas_limit: u64::MAX,
        difficulty: U256::from(u8::from(!merged)),
        excess_blob_gas: Some(0),
        ..Header::default()
    };
    let signed = envelope.signed().ok_or("the transaction has no signature")?;
    let mut executor = Executor::new(spec, &state, &NoBlockHashes, &header);
    // With a gas limit of 0 the executor rejects the transaction, and the error contains its intrinsic gas.
    let broke = Transaction::new(without_gas(signed), transaction.sender());
    let gas = match executor.transact(&broke, &mut BlockGas::default()) {
        Err(ExecutionError::Rejected(RejectedTransaction::IntrinsicGas { needed, .. })) => needed,
        Err(error) => return Err(error.to_string()),
        Ok(_) => return Err("executed without gas".to_owned()),
    };
    match executor.transact(transaction, &mut BlockGas::default()) {
        // Some transactions cost more than any balance, but that does not make them invalid.
        Ok(_) | Err(ExecutionError::Rejected(RejectedTransaction::InsufficientFunds { .. })) => Ok(gas),
        Err(error) => Err(error.to_string()),
    }
}

fn without_gas(envelope: &SignedEnvelope) -> SignedEnvelope {
    let signature = *envelope.signature();
    let mut typed = EthereumTypedTransaction::from(envelope.clone());
    match &mut typed {
        EthereumTypedTransaction::Legacy(transaction) => transaction.gas_limit = 0,
        EthereumTypedTransaction::Eip2930(transaction) => transaction.gas_limit = 0,
        EthereumTypedTransaction::Eip1559(transaction) => transaction.gas_limit = 0,
        EthereumTypedTransaction::Eip4844(transaction) => transaction.gas_limit = 0,
        EthereumTypedTransaction::Eip7702(transaction) => transaction.gas_limit = 0,
    }
    typed.into_signed(signature).into()
}

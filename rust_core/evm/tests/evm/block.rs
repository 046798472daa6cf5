//! Complete blocks: valid ones pass, and each differing field is named.

use crate::memory::{MINER, MemoryState, transaction};
use alloy_consensus::{Header, SignableTransaction, TxEip1559};
use alloy_eips::eip4895::Withdrawals;
use alloy_primitives::{Address, B64, B256, Bloom, Bytes, TxKind, U256};
use foreseal_evm::{
    BlockBody, BlockError, BlockGas, ExecutionError, Executor, RejectedTransaction, execute_block,
};
use foreseal_keccak::logs_bloom;
use foreseal_primitives::{BlockBytes, ChainSpec, DevGenesis, Envelope, Receipt, Transaction, dev_genesis};
use foreseal_state::State;
use foreseal_trie::ordered_trie_root;

const SECRET: B256 = B256::repeat_byte(0x22);
/// Emits one empty log and stores 1.
const CONTRACT_CODE: &[u8] = &[0x5f, 0x5f, 0xa0, 0x60, 0x01, 0x5f, 0x55, 0x00];

fn signed(transaction: TxEip1559) -> Envelope {
    let hash = transaction.signature_hash();
    let signature = alloy_consensus::crypto::secp256k1::sign_message(SECRET, hash).unwrap();
    transaction.into_signed(signature).into()
}

struct Chain {
    spec: ChainSpec,
    state: State,
    parent: Header,
}

fn chain() -> Chain {
    let sender = Transaction::recover(signed(transaction(0, TxKind::Create, 0, vec![]))).unwrap().sender();
    let genesis = dev_genesis(&DevGenesis {
        chain_id: 31_337,
        gas_limit: 400_000_000,
        timestamp: 1_800_000_000,
        accounts: vec![sender],
        balance: U256::from(10).pow(U256::from(20)),
    });
    let spec = ChainSpec::new(genesis).unwrap();
    let state = State::from_genesis(spec.genesis());
    let parent = spec.genesis_header(state.root());
    Chain { spec, state, parent }
}

fn next_header(chain: &Chain) -> Header {
    let timestamp = chain.parent.timestamp + 2;
    Header {
        parent_hash: chain.parent.hash_slow(),
        number: 1,
        timestamp,
        gas_limit: chain.parent.gas_limit,
        beneficiary: MINER,
        mix_hash: B256::repeat_byte(5),
        base_fee_per_gas: chain.spec.base_fee_after(&chain.parent),
        excess_blob_gas: chain.spec.excess_blob_gas_after(&chain.parent, timestamp),
        blob_gas_used: Some(0),
        parent_beacon_block_root: Some(B256::ZERO),
        withdrawals_root: Some(ordered_trie_root([])),
        ..Header::default()
    }
}

/// Returns a valid block with a creation.
fn block(chain: &Chain) -> BlockBytes {
    let mut header = next_header(chain);
    let envelope = signed(transaction(0, TxKind::Create, 0, CONTRACT_CODE));
    let one = Transaction::recover(envelope.clone()).unwrap();
    let hashes = MemoryState::default();
    let mut executor = Executor::new(&chain.spec, &chain.state, &hashes, &header);
    executor.begin_block(header.parent_hash, header.parent_beacon_block_root).unwrap();
    let mut gas = BlockGas::default();
    let receipt: Receipt = executor.transact(&one, &mut gas).unwrap();
    header.requests_hash = executor
        .end_block(&receipt.logs, BlockBody::default())
        .unwrap()
        .map(|requests| requests.requests_hash());
    let mut encoded = Vec::new();
    receipt.encode_2718(&mut encoded);
    header.receipts_root = ordered_trie_root([Bytes::from(encoded)]);
    header.transactions_root = ordered_trie_root([one.encoded().clone()]);
    header.logs_bloom = logs_bloom(&receipt.logs);
    header.gas_used = gas.gas_used;
    header.state_root = chain.state.apply(&executor.drain_diff()).expect("in memory").root();
    BlockBytes {
        header,
        transactions: vec![envelope],
        uncles: vec![],
        withdrawals: Some(Withdrawals::default()),
    }
}

fn run(chain: &Chain, block: BlockBytes) -> Result<foreseal_evm::ExecutionOutput, BlockError> {
    execute_block(&chain.spec, &chain.parent, &chain.state, &MemoryState::default(), block)
}

#[test]
fn a_valid_block_passes() {
    let chain = chain();
    let bytes = block(&chain);
    let wire = alloy_rlp::encode(&bytes);
    let hash = bytes.header.hash_slow();
    let executed = run(&chain, bytes).unwrap();
    assert_eq!(executed.block.hash, hash);
    assert_eq!(executed.state.root(), executed.block.header.state_root);
    assert_eq!(chain.state.apply(&executed.diff).unwrap().root(), executed.block.header.state_root);
    let mut encoded = Vec::new();
    executed.block.encode(&mut encoded);
    assert_eq!(encoded, wire);
    assert_eq!(executed.block.size(), wire.len());
}

#[test]
fn every_field_that_differs_is_named() {
    type Change = fn(&mut BlockBytes);
    let cases: &[(&str, Change)] = &[
        ("parentHash", |b| b.header.parent_hash.0[0] ^= 1),
        ("number", |b| b.header.number = 2),
        ("timestamp", |b| b.header.timestamp = 1_800_000_000),
        ("gasLimit", |b| b.header.gas_limit += 400_000_000 / 1024),
        ("gasUsed", |b| b.header.gas_used += 1),
        ("gasUsed", |b| b.header.gas_used = 400_000_001),
        ("baseFeePerGas", |b| b.header.base_fee_per_gas = Some(1)),
        ("baseFeePerGas", |b| b.header.base_fee_per_gas = None),
        ("nonce", |b| b.header.nonce = B64::with_last_byte(1)),
        ("difficulty", |b| b.header.difficulty = U256::from(1)),
        ("extraData", |b| b.header.extra_data = vec![0; 33].into()),
        ("sha3Uncles", |b| b.uncles.push(Header::default())),
        ("withdrawals", |b| b.withdrawals = None),
        ("withdrawalsRoot", |b| b.header.withdrawals_root = Some(B256::ZERO)),
        ("blobGasUsed", |b| b.header.blob_gas_used = None),
        ("blobGasUsed", |b| b.header.blob_gas_used = Some(1)),
        ("blobGasUsed", |b| b.header.blob_gas_used = Some(131_072)),
        ("excessBlobGas", |b| b.header.excess_blob_gas = Some(131_072)),
        ("parentBeaconBlockRoot", |b| b.header.parent_beacon_block_root = None),
        ("requestsHash", |b| b.header.requests_hash = Some(B256::ZERO)),
        ("transactionsRoot", |b| b.transactions.clear()),
        ("receiptsRoot", |b| b.header.receipts_root = B256::ZERO),
        ("logsBloom", |b| b.header.logs_bloom = Bloom::ZERO),
        ("stateRoot", |b| b.header.beneficiary = Address::ZERO),
    ];
    let chain = chain();
    for (field, change) in cases {
        let mut bytes = block(&chain);
        change(&mut bytes);
        match run(&chain, bytes).map(|_| ()).unwrap_err() {
            BlockError::Field { field: got, .. } => assert_eq!(got, *field),
            other => panic!("{field}: {other}"),
        }
    }
}

#[test]
fn an_impossible_transaction_is_named_by_its_position() {
    let chain = chain();
    let mut bytes = block(&chain);
    bytes.transactions.push(signed(transaction(7, TxKind::Create, 0, vec![])));
    let items = bytes.transactions.iter().map(|e| Transaction::recover(e.clone()).unwrap().encoded().clone());
    bytes.header.transactions_root = ordered_trie_root(items);
    let error = RejectedTransaction::NonceTooHigh { expected: 1, got: 7 }.into();
    assert_eq!(run(&chain, bytes).map(|_| ()).unwrap_err(), BlockError::Transaction { index: 1, error });
}

#[test]
fn an_error_shows_both_sides() {
    let chain = chain();
    let mut bytes = block(&chain);
    bytes.header.gas_used += 1;
    let used = bytes.header.gas_used;
    let text = run(&chain, bytes).map(|_| ()).unwrap_err().to_string();
    assert_eq!(text, format!("gasUsed: expected {}, got {used}", used - 1));
    let missing = ExecutionError::DepositLog.to_string();
    assert_eq!(BlockError::Execution(ExecutionError::DepositLog).to_string(), missing);
}

//! Layer 1: the data types of the chain that the other layers share. Built on alloy types; nothing here
//! executes transactions or writes to disk.

mod account;
mod block;
mod chain;
mod compressed_size;
mod diff;
mod envelope;
mod flashblock;
mod flashblock_commitment;
mod fork_id;
mod genesis;
mod json_size;
mod l1_fees;
mod log_filter;
mod log_search;
mod loopback;
mod optimism;
mod overrides;
mod receipt;
mod transaction;
mod unreleased;
pub mod wire;

pub use account::Account;
pub use block::{Block, BlockBytes, length_in_block};
pub use chain::{ChainSpec, ForkPoint, MAX_BLOCK_BYTES, TRANSACTION_GAS_CAP};
pub use compressed_size::{compressed_size, estimated_size};
pub use diff::{AccountDiff, ChangedAccount, NewCode, StateDiff};
pub use envelope::{Envelope, EnvelopeType, SignedEnvelope, Unsigned};
pub use flashblock::{Flashblock, StepSignature, read_signature};
pub use flashblock_commitment::{CommitmentDomain, FlashblockCommitment};
pub use genesis::{
    DEV_CHAIN_ID, DEV_GAS_LIMIT, DevGenesis, GenesisError, create2_deployer, dev_genesis, parse_genesis,
    system_contracts,
};
pub use json_size::{log_json_size, receipt_json_size, result_json_size, transaction_json_size};
pub use l1_fees::{DATA_FEE_SCALE, L1_ATTRIBUTES_CONTRACT, L1Fees, OperatorFee};
pub use log_filter::LogFilter;
pub use log_search::{FoundLog, LogPosition};
pub use loopback::is_loopback;
pub use op_alloy_consensus::{
    DEPOSIT_TX_TYPE_ID as DEPOSIT_TYPE, L2_TO_L1_MESSAGE_PASSER_ADDRESS as MESSAGE_PASSER, TxDeposit,
};
pub use optimism::{OptimismFork, OptimismRules};
pub use overrides::{Change, Override};
pub use receipt::{DEPOSIT_RECEIPT_VERSION, Receipt};
pub use revm_primitives::hardfork::SpecId;
pub use transaction::{Transaction, TransactionError, recover_all};
pub use unreleased::UNRELEASED;

//! Genesis files and the genesis of the development chain.

use alloy_eips::{eip2935, eip4788, eip7002, eip7251, eip7840::BlobParams};
use alloy_genesis::{ChainConfig, Genesis, GenesisAccount};
use alloy_primitives::{Address, Bytes, U256, address, hex};

/// Gas limit of the development chain.
pub const DEV_GAS_LIMIT: u64 = 400_000_000;
/// Chain id of the development chain.
pub const DEV_CHAIN_ID: u64 = 31_337;

/// Address of the deterministic deployment proxy (github.com/Arachnid/deterministic-deployment-proxy).
const CREATE2_DEPLOYER: Address = address!("0x4e59b44847b379578588920cA78FbF26c0B4956C");
const CREATE2_DEPLOYER_CODE: [u8; 69] = hex!(
    "7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe03601600081602082378035828234f58015156039578182fd5b80"
    "82525050506014600cf3"
);

/// Length in bytes of the code that EIP-7251 deploys.
const CONSOLIDATION_CODE_BYTES: usize = 414;

/// Reasons for which a genesis is rejected.
#[derive(Debug, thiserror::Error)]
pub enum GenesisError {
    #[error("genesis is not valid JSON in geth's format: {0}")]
    Json(#[from] serde_json::Error),
    #[error("genesis sets {0}, a fork that this version does not implement")]
    UnsupportedFork(&'static str),
    #[error("genesis config.minBaseFee must be a whole number of wei below 2^64")]
    MinBaseFee,
    #[error("genesis config.optimism: {0}")]
    Optimism(String),
    #[error(
        "genesis config.{0} does not fit: an OP chain needs Isthmus and all forks before it from genesis on, Jovian \
         and Karst from genesis or not at all, and Osaka with Karst"
    )]
    OptimismFork(&'static str),
    #[error("genesis baseFeePerGas must be below 2^64 wei")]
    BaseFee,
    #[error(
        "genesis config.blobSchedule.{fork} needs a max from 1 to {MAX_BLOBS}, a target not above it, and a \
         baseFeeUpdateFraction from 1 to 2^64 - 1"
    )]
    BlobSchedule { fork: String },
    #[error("genesis sets {fork}Time but has no config.blobSchedule.{fork}")]
    NoBlobSchedule { fork: &'static str },
}

/// Highest number of blobs per block that a schedule may allow: far above
/// real ones, so that sums of their gas fit.
const MAX_BLOBS: u64 = 1 << 20;

/// Rejects unimplemented forks, numbers that would be truncated, and zero divisors.
pub(crate) fn check_genesis(genesis: &Genesis) -> Result<(), GenesisError> {
    let config = &genesis.config;
    let later = [("amsterdamTime", config.amsterdam_time), ("bogotaTime", config.bogota_time)];
    if let Some((fork, _)) = later.into_iter().find(|(_, time)| time.is_some()) {
        return Err(GenesisError::UnsupportedFork(fork));
    }
    if genesis.base_fee_per_gas.is_some_and(|fee| u64::try_from(fee).is_err()) {
        return Err(GenesisError::BaseFee);
    }
    let updates = [
        ("bpo1", config.bpo1_time),
        ("bpo2", config.bpo2_time),
        ("bpo3", config.bpo3_time),
        ("bpo4", config.bpo4_time),
        ("bpo5", config.bpo5_time),
    ];
    for (fork, time) in updates {
        if time.is_some() && !config.blob_schedule.contains_key(fork) {
            return Err(GenesisError::NoBlobSchedule { fork });
        }
    }
    for (fork, params) in &config.blob_schedule {
        let sound = (1..=MAX_BLOBS).contains(&params.max_blob_count)
            && params.target_blob_count <= params.max_blob_count
            && (1..=u128::from(u64::MAX)).contains(&params.update_fraction);
        if !sound {
            return Err(GenesisError::BlobSchedule { fork: fork.clone() });
        }
    }
    Ok(())
}

/// Parses the text of a genesis file (geth's format; alloc keys with or without 0x).
pub fn parse_genesis(json: &str) -> Result<Genesis, GenesisError> {
    Ok(serde_json::from_str(json)?)
}

/// Genesis settings of `foreseal dev`.
#[derive(Clone, Debug)]
pub struct DevGenesis {
    pub chain_id: u64,
    pub gas_limit: u64,
    /// Unix seconds.
    pub timestamp: u64,
    /// Accounts that are funded with `balance` (wei) each.
    pub accounts: Vec<Address>,
    pub balance: U256,
}

/// Returns the development genesis: the newest mainnet rules (Osaka with its second blob schedule) from block
/// 0, the system contracts of EIP-4788, EIP-2935, EIP-7002 and EIP-7251, and funded accounts.
pub fn dev_genesis(settings: &DevGenesis) -> Genesis {
    let zero = Some(0);
    let mut config = ChainConfig {
        chain_id: settings.chain_id,
        homestead_block: zero,
        eip150_block: zero,
        eip155_block: zero,
        eip158_block: zero,
        byzantium_block: zero,
        constantinople_block: zero,
        petersburg_block: zero,
        istanbul_block: zero,
        muir_glacier_block: zero,
        berlin_block: zero,
        london_block: zero,
        arrow_glacier_block: zero,
        gray_glacier_block: zero,
        merge_netsplit_block: zero,
        shanghai_time: zero,
        cancun_time: zero,
        prague_time: zero,
        osaka_time: zero,
        bpo1_time: zero,
        bpo2_time: zero,
        terminal_total_difficulty: Some(U256::ZERO),
        terminal_total_difficulty_passed: true,
        ..ChainConfig::default()
    };
    config.blob_schedule = [
        ("cancun", BlobParams::cancun()),
        ("prague", BlobParams::prague()),
        ("osaka", BlobParams::osaka()),
        ("bpo1", BlobParams::bpo1()),
        ("bpo2", BlobParams::bpo2()),
    ]
    .map(|(name, params)| (name.to_owned(), params))
    .into();
    let funded = settings
        .accounts
        .iter()
        .map(|address| (*address, GenesisAccount { balance: settings.balance, ..Default::default() }));
    let contracts = system_contracts().map(|(address, code)| {
        (address, GenesisAccount { nonce: Some(1), code: Some(code), ..Default::default() })
    });
    Genesis {
        config,
        timestamp: settings.timestamp,
        gas_limit: settings.gas_limit,
        alloc: funded.chain(contracts).collect(),
        ..Genesis::default()
    }
}

/// Returns address and code of the deterministic deployment proxy, which deploys with CREATE2 at addresses that are the
/// same on all chains. Forge and viem expect it. Its account has nonce 1, as after its deployment by a transaction.
pub fn create2_deployer() -> (Address, Bytes) {
    (CREATE2_DEPLOYER, Bytes::from_static(&CREATE2_DEPLOYER_CODE))
}

/// Returns address and code of the contracts that block processing calls from Prague on.
pub fn system_contracts() -> [(Address, Bytes); 4] {
    [
        (eip4788::BEACON_ROOTS_ADDRESS, eip4788::BEACON_ROOTS_CODE.clone()),
        (eip2935::HISTORY_STORAGE_ADDRESS, eip2935::HISTORY_STORAGE_CODE.clone()),
        (eip7002::WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS, eip7002::WITHDRAWAL_REQUEST_PREDEPLOY_CODE.clone()),
        (
            eip7251::CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS,
            // The alloy constant has two extra zero bytes after the code that EIP-7251 deploys.
            eip7251::CONSOLIDATION_REQUEST_PREDEPLOY_CODE.slice(..CONSOLIDATION_CODE_BYTES),
        ),
    ]
}

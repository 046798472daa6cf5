//! A genesis with funded wallets and the test contracts, and that of an OP chain.

use alloy_genesis::{Genesis, GenesisAccount};
use alloy_primitives::{Bytes, U256};
use foreseal_primitives::{DEV_CHAIN_ID, DEV_GAS_LIMIT, DevGenesis, OptimismFork, dev_genesis};
use serde_json::json;

use crate::{Contract, Wallet, erc20_balance_slot};

/// Returns the development genesis with a million ether and a million tokens for each wallet, and every
/// [`Contract`].
pub fn test_genesis(wallets: &[Wallet]) -> Genesis {
    let mut genesis = dev_genesis(&DevGenesis {
        chain_id: DEV_CHAIN_ID,
        gas_limit: DEV_GAS_LIMIT,
        timestamp: 0,
        accounts: wallets.iter().map(|wallet| wallet.address).collect(),
        balance: U256::from(10).pow(U256::from(24)),
    });
    for contract in Contract::ALL {
        let account = GenesisAccount { nonce: Some(1), code: Some(contract.code()), ..Default::default() };
        genesis.alloc.insert(contract.address(), account);
    }
    let tokens =
        wallets.iter().map(|wallet| (erc20_balance_slot(wallet.address), U256::from(1_000_000).into()));
    if let Some(erc20) = genesis.alloc.get_mut(&Contract::Erc20.address()) {
        erc20.storage = Some(tokens.collect());
    }
    genesis
}

/// Returns `genesis` as that of an OP chain on which the forks up to `newest` are active from genesis.
///
/// The base fee changes by at most 1/250, with elasticity 6, and has no minimum.
pub fn optimism_genesis(mut genesis: Genesis, newest: OptimismFork) -> Genesis {
    let config = &mut genesis.config;
    let forks = ["regolith", "canyon", "ecotone", "fjord", "granite", "holocene", "isthmus"];
    let newer = [("jovian", OptimismFork::Jovian), ("karst", OptimismFork::Karst)];
    let newer = newer.into_iter().filter(|(_, fork)| *fork <= newest).map(|(name, _)| name);
    for fork in forks.into_iter().chain(newer) {
        config.extra_fields.insert(format!("{fork}Time"), 0.into());
    }
    if newest < OptimismFork::Karst {
        (config.osaka_time, config.bpo1_time, config.bpo2_time) = (None, None, None);
        config.blob_schedule.retain(|fork, _| ["cancun", "prague"].contains(&fork.as_str()));
    }
    let parameters =
        json!({ "eip1559Elasticity": 6, "eip1559Denominator": 50, "eip1559DenominatorCanyon": 250 });
    config.extra_fields.insert("optimism".to_owned(), parameters);
    // Extra data of Holocene; Jovian adds the minimum base fee.
    genesis.extra_data = if newest < OptimismFork::Jovian {
        Bytes::from_static(&[0, 0, 0, 0, 250, 0, 0, 0, 6])
    } else {
        Bytes::from_static(&[1, 0, 0, 0, 250, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0])
    };
    genesis
}

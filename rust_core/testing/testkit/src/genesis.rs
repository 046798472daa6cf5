//! A genesis with funded wallets and the test contracts.

use alloy_genesis::{Genesis, GenesisAccount};
use alloy_primitives::U256;
use foreseal_primitives::{DEV_CHAIN_ID, DEV_GAS_LIMIT, DevGenesis, dev_genesis};

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

//! Chain rules of the networks that vectors name.

use alloy_eips::eip6110::MAINNET_DEPOSIT_CONTRACT_ADDRESS;
use alloy_genesis::{ChainConfig, Genesis};
use alloy_primitives::U256;
use foreseal_primitives::ChainSpec;

type Activate = fn(&mut ChainConfig, u64);

/// Forks in order, each with its setter of the activation point: block numbers up to London, then timestamps.
const FORKS: [(&str, Activate); 18] = [
    ("Frontier", |_, _| {}),
    ("Homestead", |config, at| config.homestead_block = Some(at)),
    ("Dao", |config, at| {
        config.dao_fork_block = Some(at);
        config.dao_fork_support = true;
    }),
    ("EIP150", |config, at| config.eip150_block = Some(at)),
    ("EIP158", |config, at| {
        config.eip155_block = Some(at);
        config.eip158_block = Some(at);
    }),
    ("Byzantium", |config, at| config.byzantium_block = Some(at)),
    ("Constantinople", |config, at| {
        config.constantinople_block = Some(at);
        // Without a block for Petersburg it would activate together with Constantinople.
        config.petersburg_block = Some(10_000_000);
    }),
    ("ConstantinopleFix", |config, at| config.petersburg_block = Some(at)),
    ("Istanbul", |config, at| config.istanbul_block = Some(at)),
    ("MuirGlacier", |config, at| config.muir_glacier_block = Some(at)),
    ("Berlin", |config, at| config.berlin_block = Some(at)),
    ("London", |config, at| config.london_block = Some(at)),
    ("ArrowGlacier", |config, at| config.arrow_glacier_block = Some(at)),
    ("GrayGlacier", |config, at| config.gray_glacier_block = Some(at)),
    ("Paris", |config, at| config.terminal_total_difficulty = Some(U256::from(at))),
    ("Shanghai", |config, at| config.shanghai_time = Some(at)),
    ("Cancun", |config, at| config.cancun_time = Some(at)),
    ("Prague", |config, at| config.prague_time = Some(at)),
];

/// Osaka and later forks, activated by timestamp. They are separate because [`FORKS`] ends with the last fork
/// that the vectors use.
const LATER: [(&str, Activate); 3] = [
    ("Osaka", |config, at| config.osaka_time = Some(at)),
    ("BPO1", |config, at| config.bpo1_time = Some(at)),
    ("BPO2", |config, at| config.bpo2_time = Some(at)),
];

/// Returns the rules of the network with this name, with chain id 1.
///
/// A name is a fork (`Cancun`), or a transition by block number, time or difficulty (`BerlinToLondonAt5`,
/// `ShanghaiToCancunAtTime15k`, `ArrowGlacierToParisAtDiffC0000`). Returns `None` for an unknown name.
pub fn chain_spec(network: &str) -> Option<ChainSpec> {
    let (base, transition) = match network.split_once("At") {
        None => (network, None),
        Some((forks, at)) => {
            let (base, target) = forks.split_once("To")?;
            (base, Some((target, position(at)?)))
        }
    };
    let base = index(base)?;
    let mut config = ChainConfig {
        deposit_contract_address: Some(MAINNET_DEPOSIT_CONTRACT_ADDRESS),
        ..Default::default()
    };
    // The irregular state change of the DAO fork applies only to networks that name it.
    for (_, activate) in forks().take(base + 1).filter(|(name, _)| *name != "Dao") {
        activate(&mut config, 0);
    }
    if let Some((target, at)) = transition {
        let passed = forks().take(index(target)? + 1).skip(base + 1);
        for (_, activate) in passed.filter(|(name, _)| *name != "Dao" || target == "Dao") {
            activate(&mut config, at);
        }
    }
    ChainSpec::new(Genesis { config, ..Genesis::default() }).ok()
}

fn forks() -> impl Iterator<Item = &'static (&'static str, Activate)> {
    FORKS.iter().chain(&LATER)
}

fn index(name: &str) -> Option<usize> {
    let name = if matches!(name, "Merge" | "ParisBase") { "Paris" } else { name };
    forks().position(|(fork, _)| *fork == name)
}

/// Parses the position of a transition: `5`, `Time15k` or `DiffC0000`.
fn position(text: &str) -> Option<u64> {
    if let Some(difficulty) = text.strip_prefix("Diff") {
        return u64::from_str_radix(difficulty, 16).ok();
    }
    let text = text.strip_prefix("Time").unwrap_or(text);
    match text.strip_suffix('k') {
        Some(thousands) => thousands.parse::<u64>().ok()?.checked_mul(1000),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foreseal_primitives::{ForkPoint, SpecId};

    fn fork(network: &str, number: u64, timestamp: u64, merged: bool) -> SpecId {
        chain_spec(network).unwrap().fork(ForkPoint { number, timestamp, merged })
    }

    #[test]
    fn network_names_map_to_their_forks() {
        let plain = [
            ("Frontier", SpecId::FRONTIER),
            ("Homestead", SpecId::HOMESTEAD),
            ("EIP150", SpecId::TANGERINE),
            ("EIP158", SpecId::SPURIOUS_DRAGON),
            ("Byzantium", SpecId::BYZANTIUM),
            ("ConstantinopleFix", SpecId::PETERSBURG),
            ("Istanbul", SpecId::ISTANBUL),
            ("Berlin", SpecId::BERLIN),
            ("London", SpecId::LONDON),
        ];
        for (name, expected) in plain {
            assert_eq!(fork(name, 1, 1, false), expected, "{name}");
        }
        let merged = [
            ("Merge", SpecId::MERGE),
            ("Shanghai", SpecId::SHANGHAI),
            ("Cancun", SpecId::CANCUN),
            ("Prague", SpecId::PRAGUE),
            ("Osaka", SpecId::OSAKA),
        ];
        for (name, expected) in merged {
            assert_eq!(fork(name, 1, 1, true), expected, "{name}");
        }
        assert!(chain_spec("Nowhere").is_none());
        assert!(chain_spec("BerlinToNowhereAt5").is_none());
    }

    #[test]
    fn transitions_happen_at_their_block_or_time() {
        assert_eq!(fork("BerlinToLondonAt5", 4, 0, false), SpecId::BERLIN);
        assert_eq!(fork("BerlinToLondonAt5", 5, 0, false), SpecId::LONDON);
        assert_eq!(fork("ShanghaiToCancunAtTime15k", 1, 14_999, true), SpecId::SHANGHAI);
        assert_eq!(fork("ShanghaiToCancunAtTime15k", 1, 15_000, true), SpecId::CANCUN);
        let dao = chain_spec("HomesteadToDaoAt5").unwrap();
        assert_eq!(dao.config().dao_fork_block, Some(5));
        for network in ["Cancun", "HomesteadToEIP150At5", "FrontierToHomesteadAt5"] {
            assert_eq!(chain_spec(network).unwrap().config().dao_fork_block, None, "{network}");
        }
        assert_eq!(fork("HomesteadToEIP150At5", 5, 0, false), SpecId::TANGERINE);
    }
}

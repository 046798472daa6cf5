//! Rules of OP chains: genesis files and base fees.

use alloy_consensus::Header;
use alloy_primitives::{Bytes, hex};
use foreseal_primitives::{ChainSpec, GenesisError, OptimismFork, parse_genesis};

const FORKS: &str = r#""regolithTime": 0, "canyonTime": 0, "ecotoneTime": 0, "fjordTime": 0, "graniteTime": 0,
    "holoceneTime": 0, "isthmusTime": 0"#;

fn spec(optimism: &str, forks: &str) -> Result<ChainSpec, GenesisError> {
    let genesis = format!(
        r#"{{"config": {{"chainId": 901, "terminalTotalDifficulty": 0, "londonBlock": 0, "shanghaiTime": 0,
            "cancunTime": 0, "pragueTime": 0, "optimism": {optimism}, {forks}}},
            "difficulty": "0x0", "gasLimit": "0x3938700", "alloc": {{}}}}"#
    );
    ChainSpec::new(parse_genesis(&genesis).unwrap())
}

const PARAMETERS: &str =
    r#"{"eip1559Elasticity": 6, "eip1559Denominator": 50, "eip1559DenominatorCanyon": 250}"#;

fn fork(forks: &str) -> Result<OptimismFork, GenesisError> {
    spec(PARAMETERS, forks).map(|spec| spec.optimism().unwrap().fork())
}

#[test]
fn the_newest_fork_at_genesis_decides() {
    assert_eq!(fork(FORKS).unwrap(), OptimismFork::Isthmus);
    assert_eq!(fork(&format!(r#"{FORKS}, "jovianTime": 0"#)).unwrap(), OptimismFork::Jovian);
    let karst = format!(r#"{FORKS}, "jovianTime": 0, "karstTime": 0, "osakaTime": 0"#);
    assert_eq!(fork(&karst).unwrap(), OptimismFork::Karst);
}

#[test]
fn a_fork_that_is_not_active_at_genesis_is_named() {
    let rejected = |forks: &str| fork(forks).unwrap_err().to_string();
    let without = FORKS.replace(r#""graniteTime": 0,"#, "");
    assert!(rejected(&without).contains("graniteTime"));
    assert!(rejected(&FORKS.replace(r#""isthmusTime": 0"#, r#""isthmusTime": 5"#)).contains("isthmusTime"));
    assert!(rejected(&format!(r#"{FORKS}, "jovianTime": 7"#)).contains("jovianTime"));
    assert!(rejected(&format!(r#"{FORKS}, "karstTime": 0, "osakaTime": 0"#)).contains("jovianTime"));
    assert!(rejected(&format!(r#"{FORKS}, "jovianTime": 0, "osakaTime": 0"#)).contains("osakaTime"));
}

#[test]
fn malformed_parameters_are_named() {
    for parameters in ["{}", "7", r#"{"eip1559Elasticity": 0, "eip1559Denominator": 50}"#] {
        let rejected = spec(parameters, FORKS).unwrap_err().to_string();
        assert!(rejected.contains("config.optimism"), "{rejected}");
    }
}

#[test]
fn a_chain_without_the_section_has_no_such_rules() {
    let genesis = r#"{"config": {"chainId": 1}, "difficulty": "0x0", "gasLimit": "0x1", "alloc": {}}"#;
    assert!(ChainSpec::new(parse_genesis(genesis).unwrap()).unwrap().optimism().is_none());
}

#[test]
fn the_base_fee_follows_the_extra_data_of_the_parent() {
    let spec = spec(PARAMETERS, &format!(r#"{FORKS}, "jovianTime": 0"#)).unwrap();
    let parent = |extra: &[u8], gas_used, footprint| Header {
        number: 1,
        gas_limit: 60_000_000,
        gas_used,
        base_fee_per_gas: Some(1_000_000_000),
        blob_gas_used: Some(footprint),
        extra_data: Bytes::copy_from_slice(extra),
        ..Header::default()
    };
    // Denominator 250, elasticity 6, no minimum: the target is 10,000,000.
    let usual = hex!("01000000fa000000060000000000000000");
    assert_eq!(spec.base_fee_after(&parent(&usual, 10_000_000, 0)), Some(1_000_000_000));
    assert_eq!(spec.base_fee_after(&parent(&usual, 0, 0)), Some(996_000_000));
    assert_eq!(spec.base_fee_after(&parent(&usual, 20_000_000, 0)), Some(1_004_000_000));
    // The footprint of the data counts if it is larger than the gas.
    assert_eq!(spec.base_fee_after(&parent(&usual, 0, 20_000_000)), Some(1_004_000_000));
    // A minimum base fee of 2 gwei.
    let minimum = hex!("01000000fa000000060000000077359400");
    assert_eq!(spec.base_fee_after(&parent(&minimum, 0, 0)), Some(2_000_000_000));
}

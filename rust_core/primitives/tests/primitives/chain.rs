//! Fork activation and the rules of each fork.

use alloy_consensus::Header;
use alloy_eips::eip7840::BlobParams;
use alloy_genesis::Genesis;
use alloy_primitives::{B256, U256};
use foreseal_primitives::{
    ChainSpec, DevGenesis, ForkPoint, GenesisError, SpecId, dev_genesis, parse_genesis,
};

/// Genesis modeled on the chain of the execution API's samples: a fork every few blocks, then every 30 s.
const FORKS: &str = r#"{
  "config": {
    "chainId": 1337, "homesteadBlock": 0, "eip150Block": 3, "eip155Block": 6, "eip158Block": 6,
    "byzantiumBlock": 9, "constantinopleBlock": 12, "petersburgBlock": 15, "istanbulBlock": 18,
    "berlinBlock": 24, "londonBlock": 27, "mergeNetsplitBlock": 36, "shanghaiTime": 390, "cancunTime": 420,
    "pragueTime": 450, "osakaTime": 480, "bpo1Time": 510, "bpo2Time": 540, "terminalTotalDifficulty": 4732352,
    "blobSchedule": {
      "cancun": {"target": 3, "max": 6, "baseFeeUpdateFraction": 3338477},
      "prague": {"target": 6, "max": 9, "baseFeeUpdateFraction": 5007716},
      "osaka": {"target": 6, "max": 9, "baseFeeUpdateFraction": 5007716},
      "bpo1": {"target": 10, "max": 15, "baseFeeUpdateFraction": 8346193},
      "bpo2": {"target": 14, "max": 21, "baseFeeUpdateFraction": 11684671}
    }
  },
  "nonce": "0x0", "timestamp": "0x0", "extraData": "0x", "gasLimit": "0x5f5e100", "difficulty": "0x20000",
  "mixHash": "0x0000000000000000000000000000000000000000000000000000000000000000",
  "coinbase": "0x0000000000000000000000000000000000000000", "alloc": {}
}"#;

fn spec() -> ChainSpec {
    ChainSpec::new(parse_genesis(FORKS).unwrap()).unwrap()
}

fn dev() -> ChainSpec {
    let settings = DevGenesis {
        chain_id: 31_337,
        gas_limit: 400_000_000,
        timestamp: 0,
        accounts: Vec::new(),
        balance: U256::ZERO,
    };
    ChainSpec::new(dev_genesis(&settings)).unwrap()
}

#[test]
fn forks_begin_at_their_block_or_time_and_not_before() {
    let spec = spec();
    let work = |number| ForkPoint { number, timestamp: number * 10, merged: false };
    let stake = |timestamp| ForkPoint { number: timestamp / 10, timestamp, merged: true };
    for (point, fork) in [
        (work(0), SpecId::HOMESTEAD),
        (work(2), SpecId::HOMESTEAD),
        (work(3), SpecId::TANGERINE),
        (work(6), SpecId::SPURIOUS_DRAGON),
        (work(8), SpecId::SPURIOUS_DRAGON),
        (work(9), SpecId::BYZANTIUM),
        (work(12), SpecId::PETERSBURG),
        (work(17), SpecId::PETERSBURG),
        (work(18), SpecId::ISTANBUL),
        (work(24), SpecId::BERLIN),
        (work(35), SpecId::LONDON),
        (stake(360), SpecId::MERGE),
        (stake(389), SpecId::MERGE),
        (stake(390), SpecId::SHANGHAI),
        (stake(420), SpecId::CANCUN),
        (stake(450), SpecId::PRAGUE),
        (stake(479), SpecId::PRAGUE),
        (stake(480), SpecId::OSAKA),
        (stake(999), SpecId::OSAKA),
    ] {
        assert_eq!(spec.fork(point), fork, "{point:?}");
    }
    // Before the merge no timestamp activates a fork, however late it is.
    assert_eq!(spec.fork(ForkPoint { number: 30, timestamp: 500, merged: false }), SpecId::LONDON);
}

#[test]
fn blob_limits_follow_the_schedule() {
    let spec = spec();
    let most = |timestamp| spec.blob_params(timestamp).map(|params| params.max_blob_count);
    assert_eq!(
        [419, 420, 450, 480, 510, 540].map(most),
        [None, Some(6), Some(9), Some(9), Some(15), Some(21)]
    );
}

#[test]
fn the_base_fee_begins_with_london_and_follows_use() {
    let spec = spec();
    let parent = |number, gas_used, base_fee_per_gas| Header {
        number,
        gas_used,
        gas_limit: 30_000_000,
        base_fee_per_gas,
        ..Header::default()
    };
    assert_eq!(spec.base_fee_after(&parent(25, 0, None)), None);
    assert_eq!(spec.base_fee_after(&parent(26, 0, None)), Some(1_000_000_000));
    assert_eq!(spec.base_fee_after(&parent(30, 15_000_000, Some(800))), Some(800));
    assert_eq!(spec.base_fee_after(&parent(30, 30_000_000, Some(800))), Some(900));
    assert_eq!(spec.base_fee_after(&parent(30, 0, Some(800))), Some(700));
}

#[test]
fn a_chain_can_set_a_minimum_base_fee() {
    let with = FORKS.replace("\"chainId\": 1337,", "\"chainId\": 1337, \"minBaseFee\": 750,");
    let spec = ChainSpec::new(parse_genesis(&with).unwrap()).unwrap();
    let parent =
        Header { number: 30, gas_limit: 30_000_000, base_fee_per_gas: Some(800), ..Header::default() };
    assert_eq!(spec.base_fee_after(&parent), Some(700));
    assert_eq!(spec.produced_base_fee(&parent), Some(750));
    let wrong = FORKS.replace("\"chainId\": 1337,", "\"chainId\": 1337, \"minBaseFee\": -1,");
    let rejected = ChainSpec::new(parse_genesis(&wrong).unwrap());
    assert!(matches!(rejected, Err(GenesisError::MinBaseFee)));
}

/// Regression test for a fuzzer finding: the number in an unknown field was changed by storing the genesis.
#[test]
fn a_stored_genesis_equals_the_supplied_genesis() {
    let extra = format!("\"chainId\": 1337, \"note\": 9{},", "0".repeat(81));
    let supplied = parse_genesis(&FORKS.replace("\"chainId\": 1337,", &extra)).unwrap();
    let stored = parse_genesis(&serde_json::to_string_pretty(&supplied).unwrap()).unwrap();
    assert_eq!(serde_json::to_value(stored).unwrap(), serde_json::to_value(supplied).unwrap());
}

#[test]
fn an_unimplemented_fork_is_rejected_by_name() {
    let later = FORKS.replace("\"bpo2Time\": 540,", "\"bpo2Time\": 540, \"amsterdamTime\": 600,");
    let rejected = ChainSpec::new(parse_genesis(&later).unwrap()).unwrap_err();
    assert!(rejected.to_string().contains("amsterdamTime"), "{rejected}");
}

#[test]
fn the_development_genesis_has_the_newest_rules() {
    let spec = dev();
    let header = spec.genesis_header(B256::ZERO);
    assert_eq!(spec.fork(&header), SpecId::OSAKA);
    assert_eq!(spec.blob_params(0).unwrap().max_blob_count, 21);
    assert_eq!(header.base_fee_per_gas, Some(1_000_000_000));
    assert!(header.withdrawals_root.is_some() && header.requests_hash.is_some());
    assert_eq!(header.parent_beacon_block_root, Some(B256::ZERO));
    assert_eq!((header.blob_gas_used, header.excess_blob_gas), (Some(0), Some(0)));
    assert_eq!(spec.genesis().alloc.len(), 4, "the four system contracts");
    let codes = spec.genesis().alloc.values().map(|account| account.code.as_ref().map_or(0, |c| c.len()));
    let mut lengths: Vec<_> = codes.collect();
    lengths.sort_unstable();
    assert_eq!(lengths, [83, 97, 414, 504], "EIP-2935, 4788, 7251 and 7002 as deployed");
}

#[test]
fn excess_blob_gas_begins_at_zero_with_cancun() {
    let spec = spec();
    let before = Header { number: 41, timestamp: 410, base_fee_per_gas: Some(7), ..Header::default() };
    assert_eq!(spec.excess_blob_gas_after(&before, 419), None);
    assert_eq!(spec.excess_blob_gas_after(&before, 420), Some(0));
    let full =
        Header { blob_gas_used: Some(6 * 131_072), excess_blob_gas: Some(131_072), timestamp: 420, ..before };
    assert_eq!(spec.excess_blob_gas_after(&full, 430), Some(4 * 131_072));
}

#[test]
fn the_gas_limit_moves_by_less_than_a_1024th() {
    let spec = spec();
    let after = |number, gas_limit| spec.gas_limits_after(&Header { number, gas_limit, ..Header::default() });
    assert_eq!(after(1, 1_024_000), 1_023_001..=1_024_999);
    assert_eq!(after(1, 5_000), 5_000..=5_003);
    // London doubles the limit first.
    assert_eq!(after(26, 512_000), 1_023_001..=1_024_999);
    assert!(after(1, 4_990).is_empty() && after(1, 0).is_empty());
    let max = u64::MAX >> 1;
    assert_eq!(*after(1, max).end(), max);
    assert!(after(1, u64::MAX).is_empty());
}

/// Matches geth. Tools that create genesis files rely on it: many set a
/// difficulty for chains that were never mined.
#[test]
fn genesis_fields_follow_from_the_forks_at_any_difficulty() {
    let fields = |difficulty: u64, london| {
        let mut genesis = dev().genesis().clone();
        genesis.difficulty = U256::from(difficulty);
        genesis.config.london_block = Some(london);
        let header = ChainSpec::new(genesis).unwrap().genesis_header(B256::ZERO);
        [
            header.base_fee_per_gas.is_some(),
            header.withdrawals_root.is_some(),
            header.excess_blob_gas.is_some(),
            header.requests_hash.is_some(),
        ]
    };
    assert_eq!(fields(0, 0), [true; 4]);
    assert_eq!(fields(1, 0), [true; 4]);
    assert_eq!(fields(0, 1), [false; 4], "none of them without a base fee");
}

#[test]
fn impossible_genesis_numbers_are_named() {
    let rejection = |change: &dyn Fn(&mut Genesis)| {
        let mut genesis = dev().genesis().clone();
        change(&mut genesis);
        ChainSpec::new(genesis).err().map(|error| error.to_string()).unwrap_or_default()
    };
    let base_fee = rejection(&|genesis| genesis.base_fee_per_gas = Some(1 << 64));
    assert_eq!(base_fee, "genesis baseFeePerGas must be below 2^64 wei");
    let bogota = rejection(&|genesis| genesis.config.bogota_time = Some(0));
    assert_eq!(bogota, "genesis sets bogotaTime, a fork that this version does not implement");
    let changes: [fn(&mut BlobParams); 5] = [
        |params| params.max_blob_count = 0,
        |params| params.max_blob_count = u64::MAX,
        |params| params.target_blob_count = params.max_blob_count + 1,
        |params| params.update_fraction = 0,
        |params| params.update_fraction = 1 << 64,
    ];
    for change in changes {
        let schedule = rejection(&|genesis| {
            genesis.config.blob_schedule.entry("bpo1".to_owned()).and_modify(change);
        });
        assert!(schedule.starts_with("genesis config.blobSchedule.bpo1 needs"), "{schedule}");
    }
}

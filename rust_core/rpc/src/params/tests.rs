//! Valid, invalid and fuzzed values of each kind of argument.

use alloy_consensus::TxType;
use alloy_primitives::{Address, B256, Bytes, U256};
use foreseal_chain::BlockId;
use foreseal_evm::StateOverrides;
use proptest::prelude::*;
use serde_json::value::RawValue;

use super::{
    argument::{Argument, Kind, invalid_values::invalid_values},
    call_object::CallObject,
    development::{Amount, Finality, MineOptions, Number, ReorgPairs, ResetOptions},
    filter::{BlockSelection, Filter, LogQuery, Tag},
    invalid::{Param, ParamsError},
    overrides::CallBlock,
    payload::PayloadAttributes,
    positional::Params,
    simulation::Simulation,
    storage::{StorageKey, StorageRequests},
    subscription::{Cursor, SubscriptionName},
    trace::{TraceCallConfig, TraceConfig},
    typed_data::TypedData,
    value::{Milliseconds, Password, Percentiles, StorageWord},
};

const ONE: &[Argument] = &[Argument::required("thing", Kind::Address)];

fn read<T: for<'a> Param<'a>>(value: &str) -> Result<T, String> {
    let json = format!("[{value}]");
    let mut params = Params::parse(json.as_bytes(), "test", ONE).map_err(|e| e.to_string())?;
    params.required().map_err(|e| e.to_string())
}

fn reason<T: for<'a> Param<'a> + std::fmt::Debug>(value: &str) -> String {
    read::<T>(value).expect_err(value)
}

/// Parses `value` as an argument of this kind.
pub fn read_kind(kind: Kind, value: &str) -> Result<(), String> {
    match kind {
        Kind::Address => read::<Address>(value).map(drop),
        Kind::Amount => read::<Amount>(value).map(drop),
        Kind::Block => read::<BlockId>(value).map(drop),
        Kind::BlockOverrides => read::<CallBlock>(value).map(drop),
        Kind::Boolean => read::<bool>(value).map(drop),
        Kind::Call => read::<CallObject>(value).map(drop),
        Kind::Data => read::<Bytes>(value).map(drop),
        Kind::Filter | Kind::SubscriptionOptions => read::<Filter>(value).map(drop),
        Kind::Finality => read::<Finality>(value).map(drop),
        Kind::Hash => read::<B256>(value).map(drop),
        Kind::Milliseconds => read::<Milliseconds>(value).map(drop),
        Kind::LogQuery => read::<LogQuery>(value).map(drop),
        Kind::PayloadAttributes => read::<PayloadAttributes>(value).map(drop),
        Kind::RawTransactions => read::<Vec<Bytes>>(value).map(drop),
        Kind::Password => read::<Password>(value).map(drop),
        Kind::Percentiles => read::<Percentiles>(value).map(drop),
        Kind::Quantity => read::<u64>(value).map(drop),
        Kind::Simulation => read::<Simulation>(value).map(drop),
        Kind::Mine => read::<MineOptions>(value).map(drop),
        Kind::Number => read::<Number>(value).map(drop),
        Kind::ReorgPairs => read::<ReorgPairs>(value).map(drop),
        Kind::Reset => read::<ResetOptions>(value).map(drop),
        Kind::Slot => read::<StorageWord>(value).map(drop),
        Kind::Slots => read::<Vec<StorageKey>>(value).map(drop),
        Kind::StorageRequests => read::<StorageRequests>(value).map(drop),
        Kind::StateOverrides => read::<StateOverrides>(value).map(drop),
        Kind::TraceCallConfig => read::<TraceCallConfig>(value).map(drop),
        Kind::TraceConfig => read::<TraceConfig>(value).map(drop),
        Kind::Cursor => read::<Cursor>(value).map(drop),
        Kind::Subscription => read::<SubscriptionName>(value).map(drop),
        Kind::TypedData => read::<TypedData>(value).map(drop),
    }
}

#[test]
fn every_kind_rejects_every_wrong_form_naming_the_argument() {
    for kind in Kind::ALL {
        assert!(!invalid_values(*kind).is_empty() || *kind == Kind::Milliseconds, "{kind:?}");
        for (value, want) in invalid_values(*kind) {
            let message = read_kind(*kind, value).expect_err(value);
            assert!(message.starts_with("invalid argument 0 (thing"), "{kind:?} {value}: {message}");
            assert!(message.ends_with(want), "{kind:?} {value}: {message} should say: {want}");
        }
    }
}

#[test]
fn params_may_be_absent_or_short_but_not_an_object() {
    const OPTIONAL: &[Argument] = &[Argument::optional("thing", Kind::Address)];
    for json in ["", "null", "[]", "[null]", " [ ] "] {
        let mut params = Params::parse(json.as_bytes(), "test", OPTIONAL).unwrap();
        assert_eq!(params.optional::<Address>().unwrap(), None, "{json}");
        let mut params = Params::parse(json.as_bytes(), "test", ONE).unwrap();
        let error = params.required::<Address>().unwrap_err();
        assert_eq!(error.to_string(), "missing argument 0 (thing)");
    }
    for json in ["{}", "\"0x\"", "7", "[", "\u{0}"] {
        assert_eq!(Params::parse(json.as_bytes(), "test", ONE).unwrap_err(), ParamsError::NotArray, "{json}");
    }
    let error = Params::parse(b"[1, 2]", "test", ONE).unwrap_err();
    assert_eq!(error.to_string(), "invalid argument 1: test takes at most 1");
}

#[test]
fn quantities_are_in_shortest_form() {
    assert_eq!(read::<u64>("\"0x0\""), Ok(0));
    assert_eq!(read::<u64>("\"0xffffffffffffffff\""), Ok(u64::MAX));
    assert_eq!(read::<u64>(r#""\u0030x1A""#), Ok(26), "an escape is still the same string");
    assert!(reason::<u64>("\"0x10000000000000000\"").ends_with("hex number is larger than 64 bits"));
    assert!(reason::<u128>("\"0x100000000000000000000000000000000\"").ends_with("larger than 128 bits"));
    assert_eq!(read::<U256>(&format!("\"0x{}\"", "f".repeat(64))), Ok(U256::MAX));
    assert!(reason::<u64>("\"0x+1\"").ends_with("not a hex digit"));
    assert!(reason::<u64>("\"0x1_0\"").ends_with("not a hex digit"));
}

#[test]
fn slots_are_quantities_or_32_byte_values() {
    let padded = format!("\"0x{}07\"", "0".repeat(62));
    assert_eq!(read::<StorageWord>(&padded), Ok(StorageWord(U256::from(7))));
    assert_eq!(read::<StorageWord>("\"0x7\""), Ok(StorageWord(U256::from(7))));
    assert_eq!(read::<StorageWord>(&format!("\"0x{}\"", "f".repeat(64))), Ok(StorageWord(U256::MAX)));
    assert!(reason::<StorageWord>(&format!("\"0x{}\"", "0".repeat(65))).ends_with("leading zeros"));
}

#[test]
fn every_standard_block_identifier_is_accepted() {
    let hash = B256::repeat_byte(7);
    let by_hash = |require_canonical| BlockId::Hash { hash, require_canonical };
    for (value, want) in [
        ("\"0x1b4\"".to_owned(), BlockId::Number(436)),
        ("\"latest\"".to_owned(), BlockId::Latest),
        ("\"pending\"".to_owned(), BlockId::Pending),
        ("\"safe\"".to_owned(), BlockId::Safe),
        ("\"finalized\"".to_owned(), BlockId::Finalized),
        ("\"earliest\"".to_owned(), BlockId::Earliest),
        (format!("\"{hash}\""), by_hash(false)),
        (format!("{{\"blockHash\":\"{hash}\"}}"), by_hash(false)),
        (format!("{{\"blockHash\":\"{hash}\",\"requireCanonical\":true}}"), by_hash(true)),
        ("{\"blockNumber\":\"0x2\",\"blockHash\":null}".to_owned(), BlockId::Number(2)),
        (
            "{\"blockNumber\":\"0x2\",\"flashblockIndex\":\"0x3\"}".to_owned(),
            BlockId::Step { number: 2, index: 3 },
        ),
    ] {
        assert_eq!(read::<BlockId>(&value), Ok(want), "{value}");
    }
}

#[test]
fn a_filter_has_defaults_and_a_hash_ignores_the_range() {
    let blocks = |json: &str| read::<Filter>(json).unwrap().blocks;
    let range = |from, to| BlockSelection::Range { from, to };
    assert_eq!(blocks("{}"), range(Tag::Latest, Tag::Latest));
    assert_eq!(blocks(r#"{"fromBlock":"pending"}"#), range(Tag::Pending, Tag::Pending));
    assert_eq!(blocks(r#"{"fromBlock":"0x1"}"#), range(Tag::Number(1), Tag::Latest));
    assert_eq!(blocks(r#"{"toBlock":"pending"}"#), range(Tag::Latest, Tag::Pending));
    let hash = B256::repeat_byte(7);
    let json = format!("{{\"blockHash\":\"{hash}\",\"fromBlock\":\"nonsense\",\"toBlock\":5}}");
    assert_eq!(blocks(&json), BlockSelection::Hash(hash));
}

#[test]
fn filter_topics_and_addresses_may_be_one_many_or_any() {
    let (a, b) = (B256::repeat_byte(1), B256::repeat_byte(2));
    let json = format!("{{\"topics\":[null,\"{a}\",[\"{a}\",\"{b}\"],[]]}}");
    assert_eq!(read::<Filter>(&json).unwrap().topics, [vec![], vec![a], vec![a, b], vec![]]);
    let json = format!("{{\"topics\":[[\"{a}\",null]]}}");
    assert_eq!(read::<Filter>(&json).unwrap().topics, [Vec::<B256>::new()]);
    let address = Address::repeat_byte(3);
    for json in [format!("{{\"address\":\"{address}\"}}"), format!("{{\"address\":[\"{address}\"]}}")] {
        assert_eq!(read::<Filter>(&json).unwrap().addresses, [address]);
    }
    let many = format!("{{\"address\":[{}]}}", vec![format!("\"{address}\""); 1001].join(","));
    assert!(reason::<Filter>(&many).ends_with("(thing.address): too many entries, at most 1000"));
}

#[test]
fn a_call_object_is_read_in_full() {
    let call: CallObject = read(
        r#"{"from":"0x0000000000000000000000000000000000000001","to":null,"gas":"0x5208","maxFeePerGas":"0x2",
        "maxPriorityFeePerGas":"0x1","value":"0x3","input":"0x0102","data":"0x0102","nonce":"0x4","type":"0x4",
        "chainId":"0x5","accessList":[{"address":"0x0000000000000000000000000000000000000002","storageKeys":[
        "0x0000000000000000000000000000000000000000000000000000000000000006"]}],"maxFeePerBlobGas":"0x7",
        "authorizationList":[{"chainId":"0x0","address":"0x0000000000000000000000000000000000000009","nonce":"0x0",
        "yParity":"0x1","r":"0xa","s":"0x000000000000000000000000000000000000000000000000000000000000000b"}],
        "unknown":true}"#,
    )
    .unwrap();
    assert_eq!(
        (call.to, call.gas, call.kind, call.nonce),
        (None, Some(21000), Some(TxType::Eip7702), Some(4))
    );
    assert_eq!((call.max_fee_per_gas, call.max_priority_fee_per_gas), (Some(2), Some(1)));
    assert_eq!(call.input.as_ref(), [1, 2]);
    assert_eq!(call.access_list.unwrap().0[0].storage_keys[0], B256::with_last_byte(6));
    let authorization = &call.authorization_list.unwrap()[0];
    assert_eq!((authorization.y_parity(), authorization.s()), (1, U256::from(11)));
}

/// Generates JSON that resembles valid arguments and is often invalid.
pub fn json_value() -> impl Strategy<Value = String> {
    let hex = prop_oneof![
        "\"0x[0-9a-fA-F]{0,70}\"",
        Just(format!("\"{}\"", B256::repeat_byte(0xab))),
        Just(format!("\"{}\"", Address::repeat_byte(0xab))),
        Just("\"0x1\"".to_owned())
    ];
    let leaf = prop_oneof![
        hex,
        Just("null".to_owned()),
        Just("true".to_owned()),
        Just("\"pending\"".to_owned()),
        "-?(0|[1-9][0-9]{0,19})(\\.[0-9]{1,3})?",
        any::<String>().prop_map(|s| serde_json::to_string(&s).unwrap()),
    ];
    let names = prop::sample::select(vec![
        "from",
        "to",
        "gas",
        "gasPrice",
        "value",
        "input",
        "data",
        "type",
        "accessList",
        "address",
        "topics",
        "fromBlock",
        "toBlock",
        "blockHash",
        "blockNumber",
        "flashblockIndex",
        "storageKeys",
        "authorizationList",
        "requireCanonical",
        "chainId",
        "blobVersionedHashes",
    ]);
    leaf.prop_recursive(3, 24, 5, move |inner| {
        let fields = prop::collection::vec((names.clone(), inner.clone()), 0..5)
            .prop_map(|fs| fs.iter().map(|(n, v)| format!("\"{n}\":{v}")).collect::<Vec<_>>().join(","));
        prop_oneof![
            prop::collection::vec(inner, 0..5).prop_map(|items| format!("[{}]", items.join(","))),
            fields.prop_map(|fields| format!("{{{fields}}}")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_json_is_a_value_or_a_named_error(value in json_value()) {
        for kind in Kind::ALL {
            if let Err(message) = read_kind(*kind, &value) {
                let named = message.starts_with("invalid argument 0 (thing");
                prop_assert!(named || message == "missing argument 0 (thing)", "{kind:?} {value}: {message}");
            }
        }
    }

    #[test]
    fn any_bytes_are_params_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _: Result<Params<'_>, ParamsError> = Params::parse(&bytes, "test", ONE);
    }

    #[test]
    fn quantities_agree_with_the_number_parser(number in any::<u64>()) {
        prop_assert_eq!(read::<u64>(&format!("\"{number:#x}\"")), Ok(number));
    }
}

#[test]
fn deep_nesting_does_not_recurse() {
    let deep = format!("[{}{}]", "[".repeat(50_000), "]".repeat(50_000));
    let mut params = Params::parse(deep.as_bytes(), "test", ONE).unwrap();
    assert!(params.required::<Filter>().is_err());
    let raw: &RawValue = serde_json::from_str(&deep).unwrap();
    assert!(CallObject::read(raw).is_err());
}

#[test]
fn a_storage_key_is_hex_of_at_most_32_bytes() {
    let padded = format!("\"0x{:064x}\"", 0xab);
    for (text, slot, whole) in [
        ("\"0x0\"", 0, false),
        ("\"0x00\"", 0, false),
        ("\"0x0ab\"", 0xab, false),
        (padded.as_str(), 0xab, true),
    ] {
        assert_eq!(read(text), Ok(StorageKey { slot: U256::from(slot), whole }), "{text}");
    }
}

#[test]
fn a_time_is_an_integer_or_a_quantity() {
    for (value, want) in [
        ("2000", Some(2000)),
        ("\"0x7d0\"", Some(2000)),
        ("18446744073709551615", Some(u64::MAX)),
        ("18446744073709551616", None),
        ("0", None),
        ("\"0x0\"", None),
        ("-1", None),
        ("1.5", None),
        ("1e3", None),
        ("\"2000\"", None),
        ("\"0x07\"", None),
        ("true", None),
        ("[]", None),
        ("{}", None),
    ] {
        assert_eq!(read(value), Ok(Milliseconds(want)), "{value}");
    }
}

#[test]
fn long_names_of_the_caller_are_truncated_in_errors() {
    let long = "7".repeat(100_000);
    let address = "0x00000000000000000000000000000000000000aa";
    for (kind, value) in [
        (Kind::StateOverrides, format!("{{\"{long}\":{{}}}}")),
        (Kind::StateOverrides, format!("{{\"{address}\":{{\"state\":{{\"{long}\":\"0x1\"}}}}}}")),
        (Kind::StorageRequests, format!("{{\"{long}\":[]}}")),
        (Kind::TraceConfig, format!("{{\"tracer\":\"{long}\"}}")),
        (Kind::TraceConfig, format!("{{\"tracer\":\"muxTracer\",\"tracerConfig\":{{\"{long}\":{{}}}}}}")),
    ] {
        let message = read_kind(kind, &value).unwrap_err();
        assert!(message.contains(&"7".repeat(60)) && message.len() < 400, "{kind:?}: {message}");
    }
}

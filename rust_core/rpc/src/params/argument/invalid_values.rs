//! Invalid values of each kind with the end of the error message, for tests of every method that accepts the
//! kind.

use crate::params::argument::Kind;

type Case = (&'static str, &'static str);

const ADDRESS: &[Case] = &[
    ("5", "expected a string"),
    ("{}", "expected a string"),
    ("\"\"", "hex string without 0x prefix"),
    ("\"00000000000000000000000000000000000000aa\"", "hex string without 0x prefix"),
    ("\"0X00000000000000000000000000000000000000aa\"", "hex string without 0x prefix"),
    ("\"0x0000000000000000000000000000000000000aa\"", "odd number of digits"),
    ("\"0x000000000000000000000000000000000000aa\"", "expected 20 bytes, got 19"),
    ("\"0x0000000000000000000000000000000000000000aa\"", "expected 20 bytes, got 21"),
    ("\"0x00000000000000000000000000000000000000zz\"", "not a hex digit"),
    ("\"latest\"", "hex string without 0x prefix"),
];
const HASH: &[Case] = &[
    ("true", "expected a string"),
    ("[]", "expected a string"),
    ("\"0000000000000000000000000000000000000000000000000000000000000001\"", "without 0x prefix"),
    ("\"0x1\"", "odd number of digits"),
    ("\"0x01\"", "expected 32 bytes, got 1"),
    ("\"0x000000000000000000000000000000000000000000000000000000000000000001\"", "32 bytes, got 33"),
    ("\"0x000000000000000000000000000000000000000000000000000000000000000g\"", "not a hex digit"),
];
const QUANTITY: &[Case] = &[
    ("1", "expected a string"),
    ("\"1\"", "hex string without 0x prefix"),
    ("\"0x\"", "hex number has no digits"),
    ("\"0x01\"", "hex number has leading zeros"),
    ("\"0x00\"", "hex number has leading zeros"),
    ("\"0xzz\"", "not a hex digit"),
    ("\"-0x1\"", "hex string without 0x prefix"),
    ("\"0x10000000000000000\"", "hex number is larger than 64 bits"),
];
const SLOT: &[Case] = &[
    ("0", "expected a string"),
    ("\"0\"", "hex string without 0x prefix"),
    ("\"0x\"", "hex number has no digits"),
    ("\"0x00\"", "hex number has leading zeros"),
    ("\"0xasdf\"", "not a hex digit"),
    (
        "\"0x10000000000000000000000000000000000000000000000000000000000000000\"",
        "hex number is larger than 256 bits",
    ),
    (
        "\"0x00000000000000000000000000000000000000000000000000000000000000000\"",
        "hex number has leading zeros",
    ),
];
const BLOCK: &[Case] = &[
    ("5", "expected a string or an object"),
    ("true", "expected a string or an object"),
    ("[]", "expected a string or an object"),
    ("\"\"", "unknown block tag"),
    ("\"Latest\"", "unknown block tag"),
    ("\"newest\"", "unknown block tag"),
    ("\"12\"", "hex string without 0x prefix"),
    ("\"0x\"", "hex number has no digits"),
    ("\"0x01\"", "hex number has leading zeros"),
    ("\"0xxyz\"", "not a hex digit"),
    ("\"0x10000000000000000\"", "hex number is larger than 64 bits"),
    ("\"0x000000000000000000000000000000000000000000000000000000000000000g\"", "not a hex digit"),
    ("\"0x0000000000000000000000000000000000000000000000000000000000000000ff\"", "leading zeros"),
    ("{}", "requires blockHash or blockNumber"),
    ("{\"blockHash\":\"0x01\"}", ".blockHash): expected 32 bytes, got 1"),
    ("{\"blockNumber\":\"0x01\"}", ".blockNumber): hex number has leading zeros"),
    ("{\"blockNumber\":1}", ".blockNumber): expected a string"),
    ("{\"blockNumber\":\"0x1\",\"requireCanonical\":true}", "requires blockHash"),
    ("{\"blockNumber\":\"0x1\",\"flashblockIndex\":1}", ".flashblockIndex): expected a string"),
    ("{\"flashblockIndex\":\"0x1\"}", "requires a blockNumber in hex"),
    ("{\"blockNumber\":\"0x1\",\"blockNumber\":\"0x2\"}", "duplicate field or invalid JSON"),
    (
        "{\"blockHash\":\"0x0000000000000000000000000000000000000000000000000000000000000001\",\
         \"blockNumber\":\"0x1\"}",
        ".blockNumber): cannot be given together with blockHash",
    ),
    (
        "{\"blockHash\":\"0x0000000000000000000000000000000000000000000000000000000000000001\",\
         \"requireCanonical\":\"yes\"}",
        ".requireCanonical): expected true or false",
    ),
];
const BOOLEAN: &[Case] = &[
    ("\"true\"", "expected true or false"),
    ("1", "expected true or false"),
    ("[]", "expected true or false"),
];
const DATA: &[Case] = &[
    ("7", "expected a string"),
    ("\"\"", "hex string without 0x prefix"),
    ("\"f86c\"", "hex string without 0x prefix"),
    ("\"0xf86\"", "odd number of digits"),
    ("\"0xf8zz\"", "not a hex digit"),
];
const FILTER: &[Case] = &[
    ("\"latest\"", "expected an object"),
    ("[]", "expected an object"),
    ("{\"fromBlock\":\"0x01\"}", ".fromBlock): hex number has leading zeros"),
    ("{\"fromBlock\":3}", ".fromBlock): expected a string"),
    ("{\"toBlock\":\"later\"}", ".toBlock): unknown block tag"),
    ("{\"blockHash\":\"0x1\"}", ".blockHash): hex data has an odd number of digits"),
    ("{\"address\":\"0x01\"}", ".address): expected 20 bytes, got 1"),
    ("{\"address\":[\"0x01\"]}", ".address[0]): expected 20 bytes, got 1"),
    ("{\"address\":5}", ".address): expected a string"),
    ("{\"topics\":\"0x01\"}", ".topics): expected an array"),
    ("{\"topics\":[\"0x01\"]}", ".topics[0]): expected 32 bytes, got 1"),
    ("{\"topics\":[null,[\"0x1\"]]}", ".topics[1][0]): hex data has an odd number of digits"),
    ("{\"topics\":[null,null,null,null,null]}", ".topics): too many entries, at most 4"),
    ("{\"topics\":[7]}", ".topics[0]): expected a string"),
    ("{\"topics\":[],\"topics\":[]}", "duplicate field or invalid JSON"),
];
const LOG_QUERY: &[Case] = &[
    ("\"latest\"", "expected an object"),
    ("{}", ".filter): is missing"),
    ("{\"filter\":null}", ".filter): is missing"),
    ("{\"filter\":[]}", ".filter): expected an object"),
    ("{\"filter\":{\"fromBlock\":\"0x01\"}}", ".filter.fromBlock): hex number has leading zeros"),
    ("{\"filter\":{},\"cursor\":7}", ".cursor): expected a string"),
    ("{\"filter\":{},\"cursor\":\"0x1\"}", ".cursor): hex data has an odd number of digits"),
    ("{\"filter\":{},\"limit\":10}", ".limit): expected a string"),
    ("{\"filter\":{},\"limits\":\"0x1\"}", ".limits): unknown member"),
    ("{\"filter\":{},\"limit\":\"0x1\",\"Limit\":\"0x1\"}", ".Limit): occurs twice"),
];
const CALL: &[Case] = &[
    ("\"0x\"", "expected an object"),
    ("[]", "expected an object"),
    ("{\"from\":\"0x01\"}", ".from): expected 20 bytes, got 1"),
    ("{\"to\":\"0x\"}", ".to): expected 20 bytes, got 0"),
    ("{\"gas\":\"0x05208\"}", ".gas): hex number has leading zeros"),
    ("{\"gas\":21000}", ".gas): expected a string"),
    ("{\"gasPrice\":\"1\"}", ".gasPrice): hex string without 0x prefix"),
    ("{\"value\":\"0x\"}", ".value): hex number has no digits"),
    ("{\"nonce\":\"0x10000000000000000\"}", ".nonce): hex number is larger than 64 bits"),
    ("{\"data\":\"0x1\"}", ".data): hex data has an odd number of digits"),
    ("{\"input\":\"zz\"}", ".input): hex string without 0x prefix"),
    ("{\"input\":\"0x01\",\"data\":\"0x02\"}", ".data): differs from input"),
    ("{\"type\":\"0x5\"}", ".type): transaction type is not supported"),
    ("{\"type\":\"0x2\",\"gasPrice\":\"0x1\"}", ".type): contradicts gasPrice"),
    ("{\"type\":\"0x0\",\"maxFeePerGas\":\"0x1\"}", ".type): contradicts maxFeePerGas"),
    ("{\"chainId\":1}", ".chainId): expected a string"),
    ("{\"gasPrice\":\"0x1\",\"maxFeePerGas\":\"0x1\"}", "cannot be given together with maxFeePerGas"),
    (
        "{\"gasPrice\":\"0x1\",\"maxPriorityFeePerGas\":\"0x1\"}",
        "cannot be given together with maxPriorityFeePerGas",
    ),
    ("{\"accessList\":{}}", ".accessList): expected an array"),
    ("{\"accessList\":[{}]}", ".accessList[0].address): is missing"),
    ("{\"blobVersionedHashes\":[\"0x01\"]}", ".blobVersionedHashes[0]): expected 32 bytes, got 1"),
    ("{\"maxFeePerBlobGas\":\"0x00\"}", ".maxFeePerBlobGas): hex number has leading zeros"),
    ("{\"authorizationList\":[{\"chainId\":\"0x1\"}]}", ".authorizationList[0].address): is missing"),
];
const PERCENTILES: &[Case] = &[
    ("5", "expected an array"),
    ("[\"5\"]", "[0]): expected a number"),
    ("[-1]", "[0]): expected ascending percentiles from 0 to 100"),
    ("[101]", "[0]): expected ascending percentiles from 0 to 100"),
    ("[50,20]", "[1]): expected ascending percentiles from 0 to 100"),
];
const SLOTS: &[Case] = &[
    ("\"0x0\"", "expected an array"),
    ("[0]", "[0]): expected a string"),
    ("[\"0x0\",\"0\"]", "[1]): hex string without 0x prefix"),
    ("[\"0x\"]", "[0]): hex number has no digits"),
    ("[\"0xzz\"]", "[0]): hex string has a character that is not a hex digit"),
    (
        "[\"0x00000000000000000000000000000000000000000000000000000000000000000\"]",
        "[0]): hex number is larger than 256 bits",
    ),
];
const STORAGE_REQUESTS: &[Case] = &[
    ("[]", "expected an object"),
    ("{}", "must have at least one slot"),
    ("{\"0x00000000000000000000000000000000000000aa\":[]}", "must have at least one slot"),
    ("{\"0x01\":[\"0x0\"]}", ".0x01): expected 20 bytes, got 1"),
    (
        "{\"0x00000000000000000000000000000000000000aa\":\"0x0\"}",
        ".0x00000000000000000000000000000000000000aa): expected an array",
    ),
    (
        "{\"0x00000000000000000000000000000000000000aa\":[\"zz\"]}",
        ".0x00000000000000000000000000000000000000aa[0]): hex string without 0x prefix",
    ),
    (
        "{\"0x00000000000000000000000000000000000000aa\":[\"0x0\"],\
         \"0x00000000000000000000000000000000000000AA\":[\"0x0\"]}",
        "AA): occurs twice",
    ),
];
const TRACE_CONFIG: &[Case] = &[
    ("\"callTracer\"", "expected an object"),
    ("{\"tracer\":5}", ".tracer): expected a string"),
    ("{\"tracer\":\"opcountTracer\"}", ".tracer): unknown tracer opcountTracer"),
    ("{\"tracer\":\"{data: [], fault: function() {}}\"}", ".tracer): JavaScript tracers are not supported"),
    ("{\"tracer\":\"callTracer\",\"tracerConfig\":[]}", ".tracerConfig): expected an object"),
    (
        "{\"tracer\":\"callTracer\",\"tracerConfig\":{\"withLog\":1}}",
        ".tracerConfig.withLog): expected true or false",
    ),
    (
        "{\"tracer\":\"flatCallTracer\",\"tracerConfig\":{\"includePrecompiles\":0}}",
        ".tracerConfig.includePrecompiles): expected true or false",
    ),
    (
        "{\"tracer\":\"prestateTracer\",\"tracerConfig\":{\"diffMode\":true,\"includeEmpty\":true}}",
        ".tracerConfig.includeEmpty): cannot be given together with diffMode",
    ),
    (
        "{\"tracer\":\"muxTracer\",\"tracerConfig\":{\"noTracer\":{}}}",
        ".tracerConfig.noTracer.tracer): unknown tracer noTracer",
    ),
    (
        "{\"tracer\":\"muxTracer\",\"tracerConfig\":{\"noopTracer\":null,\"noopTracer\":{}}}",
        ".tracerConfig.noopTracer): occurs twice",
    ),
    ("{\"timeout\":5}", ".timeout): expected a string"),
    ("{\"timeout\":\"5\"}", ".timeout): expected a duration such as 5s or 300ms"),
    ("{\"limit\":\"0x1\"}", ".limit): expected a whole number that is not negative"),
    ("{\"limit\":-1}", ".limit): expected a whole number that is not negative"),
    ("{\"enableMemory\":\"yes\"}", ".enableMemory): expected true or false"),
    ("{\"EnableMemory\":\"yes\"}", ".enableMemory): expected true or false"),
    ("{\"enabledMemory\":true}", ".enabledMemory): unknown member"),
    ("{\"stateOverrides\":{}}", ".stateOverrides): unknown member"),
    ("{\"Tracer\":\"callTracer\",\"tracer\":null}", ".tracer): occurs twice"),
    (
        "{\"tracer\":\"callTracer\",\"tracerConfig\":{\"withLogs\":true}}",
        ".tracerConfig.withLogs): unknown member",
    ),
];
const TRACE_CALL_CONFIG: &[Case] = &[
    ("\"callTracer\"", "expected an object"),
    ("{\"tracer\":5}", ".tracer): expected a string"),
    ("{\"timeout\":\"5\"}", ".timeout): expected a duration such as 5s or 300ms"),
    ("{\"stateOverrides\":[]}", ".stateOverrides): expected an object"),
    (
        "{\"stateOverrides\":{\"0x00000000000000000000000000000000000000aa\":{\"balance\":5}}}",
        ".stateOverrides.0x00000000000000000000000000000000000000aa.balance): expected a string",
    ),
    ("{\"blockOverrides\":{\"time\":5}}", ".blockOverrides.time): expected a string"),
    (
        "{\"blockOverrides\":{\"withdrawals\":[]}}",
        ".blockOverrides.withdrawals): is only supported by eth_simulateV1",
    ),
    ("{\"txIndex\":0}", ".txIndex): expected a string"),
    ("{\"TxIndex\":\"0x0\",\"txIndex\":\"0x0\"}", ".txIndex): occurs twice"),
    ("{\"blockOverride\":{}}", ".blockOverride): unknown member"),
    ("{\"txIndex\":\"0x01\"}", ".txIndex): hex number has leading zeros"),
];

const BLOCK_OVERRIDES: &[Case] = &[
    ("\"latest\"", "expected an object"),
    ("[]", "expected an object"),
    ("{\"number\":5}", ".number): expected a string"),
    ("{\"number\":\"0x10000000000000000\"}", ".number): hex number is larger than 64 bits"),
    ("{\"time\":\"0x05\"}", ".time): hex number has leading zeros"),
    ("{\"gasLimit\":\"5\"}", ".gasLimit): hex string without 0x prefix"),
    ("{\"feeRecipient\":\"0x01\"}", ".feeRecipient): expected 20 bytes, got 1"),
    ("{\"prevRandao\":\"0x\"}", ".prevRandao): hex number has no digits"),
    ("{\"baseFeePerGas\":true}", ".baseFeePerGas): expected a string"),
    ("{\"blobBaseFee\":\"0xg\"}", ".blobBaseFee): hex string has a character that is not a hex digit"),
    ("{\"difficulty\":[]}", ".difficulty): expected a string"),
    ("{\"beaconRoot\":\"0x01\"}", ".beaconRoot): expected 32 bytes, got 1"),
    ("{\"withdrawals\":{}}", ".withdrawals): expected an array"),
    ("{\"withdrawals\":[{\"index\":\"0x0\"}]}", ".withdrawals[0].validatorIndex): is missing"),
    ("{\"withdrawals\":[]}", ".withdrawals): is only supported by eth_simulateV1"),
    ("{\"time\":\"0x1\",\"time\":\"0x2\"}", ".time): occurs twice"),
    ("{\"time\":\"0x1\",\"Time\":\"0x2\"}", ".Time): occurs twice"),
    ("{\"coinbase\":\"0x1\"}", ".coinbase): unknown member"),
];
const SIMULATION: &[Case] = &[
    ("[]", "expected an object"),
    ("{}", ".blockStateCalls): is missing"),
    ("{\"blockStateCalls\":{}}", ".blockStateCalls): expected an array"),
    ("{\"blockStateCalls\":[]}", ".blockStateCalls): is empty"),
    ("{\"blockStateCalls\":[5]}", ".blockStateCalls[0]): expected an object"),
    ("{\"blockStateCalls\":[{\"call\":[]}]}", ".blockStateCalls[0].call): unknown member"),
    ("{\"blockStateCalls\":[{}],\"validate\":true}", ".validate): unknown member"),
    ("{\"blockStateCalls\":[{}],\"validation\":1}", ".validation): expected true or false"),
    ("{\"blockStateCalls\":[{}],\"traceTransfers\":\"\"}", ".traceTransfers): expected true or false"),
    (
        "{\"blockStateCalls\":[{}],\"returnFullTransactions\":{}}",
        ".returnFullTransactions): expected true or false",
    ),
    (
        "{\"blockStateCalls\":[{},{\"calls\":[{},{\"gas\":5}]}]}",
        ".blockStateCalls[1].calls[1].gas): expected a string",
    ),
    (
        "{\"blockStateCalls\":[{\"blockOverrides\":{\"time\":\"0x00\"}}]}",
        ".blockStateCalls[0].blockOverrides.time): hex number has leading zeros",
    ),
    (
        "{\"blockStateCalls\":[{\"stateOverrides\":{\"0x01\":{}}}]}",
        ".blockStateCalls[0].stateOverrides.0x01): expected 20 bytes, got 1",
    ),
];
const STATE_OVERRIDES: &[Case] = &[
    ("\"latest\"", "expected an object"),
    ("[]", "expected an object"),
    ("{\"0x01\":{}}", ".0x01): expected 20 bytes, got 1"),
    ("{\"00000000000000000000000000000000000000aa\":{}}", "hex string without 0x prefix"),
    ("{\"0x00000000000000000000000000000000000000aa\":[]}", "aa): expected an object"),
    ("{\"0x00000000000000000000000000000000000000aa\":{\"storage\":{}}}", "aa.storage): unknown member"),
    (
        "{\"0x00000000000000000000000000000000000000aa\":{\"state\":{},\"State\":{}}}",
        "aa.State): occurs twice",
    ),
    (
        "{\"0x00000000000000000000000000000000000000aa\":{},\"0x00000000000000000000000000000000000000AA\":{}}",
        "AA): occurs twice",
    ),
    ("{\"0x00000000000000000000000000000000000000aa\":{\"balance\":5}}", "aa.balance): expected a string"),
    (
        "{\"0x00000000000000000000000000000000000000aa\":{\"nonce\":\"0x01\"}}",
        "aa.nonce): hex number has leading zeros",
    ),
    (
        "{\"0x00000000000000000000000000000000000000aa\":{\"code\":\"0x1\"}}",
        "aa.code): hex data has an odd number of digits",
    ),
    ("{\"0x00000000000000000000000000000000000000aa\":{\"state\":[]}}", "aa.state): expected an object"),
    (
        "{\"0x00000000000000000000000000000000000000aa\":{\"state\":{\"zz\":\"0x1\"}}}",
        "aa.state.zz): hex string without 0x prefix",
    ),
    (
        "{\"0x00000000000000000000000000000000000000aa\":{\"stateDiff\":{\"0x1\":7}}}",
        "aa.stateDiff.0x1): expected a string",
    ),
    (
        "{\"0x00000000000000000000000000000000000000aa\":{\"state\":{},\"stateDiff\":{}}}",
        "aa.stateDiff): cannot be given together with state",
    ),
    (
        "{\"0x00000000000000000000000000000000000000aa\":{\"movePrecompileToAddress\":\"0x\"}}",
        "aa.movePrecompileToAddress): expected 20 bytes, got 0",
    ),
];

const AMOUNT: &[Case] = &[
    ("true", WHOLE),
    ("-1", WHOLE),
    ("1.5", WHOLE),
    ("\"\"", WHOLE),
    ("\"0x\"", WHOLE),
    ("\"zz\"", WHOLE),
    ("\"0xzz\"", WHOLE),
    (
        "\"0x10000000000000000000000000000000000000000000000000000000000000000\"",
        "hex number is larger than 256 bits",
    ),
];
const NUMBER: &[Case] = &[
    ("[]", WHOLE),
    ("-1", WHOLE),
    ("1e3", WHOLE),
    ("\"0x\"", WHOLE),
    ("18446744073709551616", "hex number is larger than 64 bits"),
    ("\"0x10000000000000000\"", "hex number is larger than 64 bits"),
];
const MINE: &[Case] = &[
    ("true", WHOLE),
    ("[]", WHOLE),
    ("{\"timestamp\":true}", WHOLE),
    ("{\"blocks\":-1}", WHOLE),
    ("{\"blocks\":1,\"blocks\":2}", ".blocks): occurs twice"),
];
const PAYLOAD_ATTRIBUTES: &[Case] = &[
    ("\"0x1\"", "expected an object"),
    ("{}", ".timestamp): is missing"),
    ("{\"timestamp\":1}", ".timestamp): expected a string"),
    ("{\"timestamp\":\"0x1\",\"prevRandao\":\"0x00\"}", ".prevRandao): expected 32 bytes, got 1"),
    ("{\"timestamp\":\"0x1\",\"withdrawals\":{}}", ".withdrawals): expected an array"),
];
const RAW_TRANSACTIONS: &[Case] = &[
    ("{}", "expected an array"),
    ("[1]", "[0]): expected a string"),
    ("[\"zz\"]", "[0]): hex string without 0x prefix"),
];
const REORG_PAIRS: &[Case] = &[
    ("{}", "expected an array"),
    ("[\"0x00\"]", "[0]): expected an array"),
    ("[[\"0x00\"]]", "[0]): expected a signed transaction and the index of its block"),
    ("[[\"zz\",0]]", "[0][0]): hex string without 0x prefix"),
    ("[[\"0x00\",-1]]", WHOLE),
];
const RESET: &[Case] = &[
    ("\"0x1\"", "expected an object"),
    (
        "{\"forking\":{\"jsonRpcUrl\":\"http://a\"}}",
        ".forking): is not supported: the chain begins with its own genesis",
    ),
];
const FINALITY: &[Case] = &[
    ("\"0x1\"", "expected an object"),
    ("{}", "requires safe, finalized or both"),
    ("{\"safe\":1}", ".safe): expected a string"),
    ("{\"finalized\":\"latest\"}", ".finalized): hex string without 0x prefix"),
    ("{\"safe\":\"0x01\"}", ".safe): hex number has leading zeros"),
];
const CURSOR: &[Case] = &[
    ("\"0x1\"", "expected an object"),
    ("{}", ".block): is missing"),
    ("{\"block\":1}", ".block): expected a string"),
    ("{\"block\":\"0x1\"}", ".index): is missing"),
    ("{\"block\":\"0x1\",\"index\":\"0x01\"}", ".index): hex number has leading zeros"),
    ("{\"block\":\"0x1\",\"index\":\"0x0\",\"hash\":null}", ".hash): is missing"),
    ("{\"block\":\"0x1\",\"index\":\"0x0\",\"hash\":\"0x01\"}", ".hash): expected 32 bytes, got 1"),
    (
        "{\"block\":\"0x1\",\"index\":\"0x0\",\"hash\":\"0x1111111111111111111111111111111111111111111111111111111111111111\",\"part\":1}",
        ".part): expected an object",
    ),
    (
        "{\"block\":\"0x1\",\"index\":\"0x0\",\"hash\":\"0x1111111111111111111111111111111111111111111111111111111111111111\",\"part\":{\"index\":\"0x1\"}}",
        ".part.transaction): is missing",
    ),
];
const SUBSCRIPTION: &[Case] = &[
    ("5", "expected a string"),
    ("{}", "expected a string"),
    ("\"\"", "unknown subscription "),
    ("\"newheads\"", "unknown subscription newheads"),
    ("\"foreseal_Feed\"", "unknown subscription foreseal_Feed"),
];
const WHOLE: &str = "expected a whole number, such as 5, \"5\" or \"0x5\"";

const PASSWORD: &[Case] = &[("5", "expected a string"), ("{}", "expected a string")];
const TYPED_DATA: &[Case] = &[
    ("5", "expected an object"),
    ("\"0x00\"", "expected an object"),
    ("{}", NOT_TYPED),
    ("\"{}\"", NOT_TYPED),
    ("{\"types\":{\"T\":[{}]},\"primaryType\":\"T\",\"domain\":{},\"message\":{}}", NOT_TYPED),
    ("{\"types\":{},\"primaryType\":\"T\",\"domain\":{},\"message\":{}}", ".message): unknown type T"),
    (
        "{\"types\":{},\"primaryType\":\"T\",\"domain\":{\"chainId\":\"x\"},\"message\":{}}",
        ".domain.chainId): is not of type uint256",
    ),
];
const NOT_TYPED: &str = "expected typed data: types, primaryType, domain and message (EIP-712)";

/// Returns invalid values of this kind, each with the end of its error message.
pub fn invalid_values(kind: Kind) -> &'static [Case] {
    match kind {
        Kind::Address => ADDRESS,
        Kind::Amount => AMOUNT,
        Kind::Block => BLOCK,
        Kind::BlockOverrides => BLOCK_OVERRIDES,
        Kind::Boolean => BOOLEAN,
        Kind::Call => CALL,
        Kind::Cursor => CURSOR,
        Kind::Data => DATA,
        // The valid parameters in the tests subscribe to logs, whose option is a filter.
        Kind::Filter | Kind::SubscriptionOptions => FILTER,
        Kind::Finality => FINALITY,
        Kind::Hash => HASH,
        Kind::Milliseconds => &[],
        Kind::LogQuery => LOG_QUERY,
        Kind::Password => PASSWORD,
        Kind::PayloadAttributes => PAYLOAD_ATTRIBUTES,
        Kind::Percentiles => PERCENTILES,
        Kind::Quantity => QUANTITY,
        Kind::Simulation => SIMULATION,
        Kind::Mine => MINE,
        Kind::Number => NUMBER,
        Kind::RawTransactions => RAW_TRANSACTIONS,
        Kind::ReorgPairs => REORG_PAIRS,
        Kind::Reset => RESET,
        Kind::Slot => SLOT,
        Kind::Slots => SLOTS,
        Kind::StorageRequests => STORAGE_REQUESTS,
        Kind::StateOverrides => STATE_OVERRIDES,
        Kind::Subscription => SUBSCRIPTION,
        Kind::TraceCallConfig => TRACE_CALL_CONFIG,
        Kind::TraceConfig => TRACE_CONFIG,
        Kind::TypedData => TYPED_DATA,
    }
}

//! JSON Schemas of the parameters: one component of the document for each kind and each of their parts.

use crate::params::argument::Kind;

/// Returns the name of a kind's component.
pub fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Address => "Address",
        Kind::Amount => "Amount",
        Kind::Block => "Block",
        Kind::BlockOverrides => "BlockOverrides",
        Kind::Boolean => "Boolean",
        Kind::Call => "Call",
        Kind::Cursor => "Cursor",
        Kind::Data => "Data",
        Kind::Filter => "Filter",
        Kind::Finality => "Finality",
        Kind::Hash => "Hash",
        Kind::LogQuery => "LogQuery",
        Kind::Milliseconds => "Milliseconds",
        Kind::Mine => "Mine",
        Kind::Number => "Number",
        Kind::Password => "Password",
        Kind::PayloadAttributes => "PayloadAttributes",
        Kind::Percentiles => "Percentiles",
        Kind::Quantity => "Quantity",
        Kind::RawTransactions => "RawTransactions",
        Kind::ReorgPairs => "ReorgPairs",
        Kind::Reset => "Reset",
        Kind::Simulation => "Simulation",
        Kind::Slot => "Slot",
        Kind::Slots => "Slots",
        Kind::StateOverrides => "StateOverrides",
        Kind::StorageRequests => "StorageRequests",
        Kind::Subscription => "Subscription",
        Kind::SubscriptionOptions => "SubscriptionOptions",
        Kind::TraceCallConfig => "TraceCallConfig",
        Kind::TraceConfig => "TraceConfig",
        Kind::TypedData => "TypedData",
    }
}

/// Name and JSON Schema. Unknown fields are allowed and ignored.
pub const COMPONENTS: &[(&str, &str)] = &[
    ("Address", r#"{"type":"string","pattern":"^0x[0-9a-fA-F]{40}$"}"#),
    (
        "Amount",
        r#"{"anyOf":[{"type":"integer","minimum":0},{"type":"string","pattern":"^([0-9]+|0x[0-9a-fA-F]+)$"}]}"#,
    ),
    (
        "Block",
        r##"{"anyOf":[{"$ref":"#/components/schemas/Tag"},{"$ref":"#/components/schemas/Hash"},
        {"type":"object","required":["blockHash"],
            "properties":{"blockHash":{"$ref":"#/components/schemas/Hash"},"requireCanonical":{"type":"boolean"}},
            "not":{"anyOf":[{"required":["blockNumber"]},{"required":["flashblockIndex"]}]}},
        {"type":"object","required":["blockNumber"],"properties":{"blockNumber":{"$ref":"#/components/schemas/Tag"}},
            "not":{"anyOf":[{"required":["blockHash"]},{"required":["requireCanonical"]},{"required":["flashblockIndex"]}]}},
        {"type":"object","required":["blockNumber","flashblockIndex"],
            "properties":{"blockNumber":{"$ref":"#/components/schemas/Quantity"},
                "flashblockIndex":{"$ref":"#/components/schemas/Quantity"}},
            "not":{"anyOf":[{"required":["blockHash"]},{"required":["requireCanonical"]}]}}]}"##,
    ),
    (
        "BlockOverrides",
        r##"{"allOf":[{"$ref":"#/components/schemas/BlockFields"}],
        "not":{"anyOf":[{"required":["beaconRoot"]},{"required":["withdrawals"]}]}}"##,
    ),
    ("Boolean", r#"{"type":"boolean"}"#),
    ("Call", CALL),
    (
        "Cursor",
        r##"{"type":"object","required":["block","index","hash"],"properties":{
        "block":{"$ref":"#/components/schemas/Quantity"},"index":{"$ref":"#/components/schemas/Quantity"},
        "hash":{"$ref":"#/components/schemas/Hash"},
        "part":{"type":"object","required":["index","transaction","log","removed"],"properties":{
            "index":{"$ref":"#/components/schemas/Quantity"},"transaction":{"$ref":"#/components/schemas/Quantity"},
            "log":{"$ref":"#/components/schemas/Quantity"},"removed":{"$ref":"#/components/schemas/Boolean"}}}}}"##,
    ),
    ("Data", r#"{"type":"string","pattern":"^0x([0-9a-fA-F]{2})*$"}"#),
    ("Filter", FILTER),
    (
        "Finality",
        r##"{"type":"object","anyOf":[{"required":["safe"]},{"required":["finalized"]}],
        "properties":{"safe":{"$ref":"#/components/schemas/SealedBlock"},
            "finalized":{"$ref":"#/components/schemas/SealedBlock"}}}"##,
    ),
    ("Hash", r#"{"type":"string","pattern":"^0x[0-9a-fA-F]{64}$"}"#),
    (
        "LogQuery",
        r##"{"type":"object","required":["filter"],"properties":{"filter":{"$ref":"#/components/schemas/Filter"},
        "cursor":{"$ref":"#/components/schemas/Data"},"limit":{"$ref":"#/components/schemas/Quantity"}}}"##,
    ),
    (
        "Milliseconds",
        r##"{"anyOf":[{"type":"integer","minimum":1},{"$ref":"#/components/schemas/Quantity"}]}"##,
    ),
    (
        "Mine",
        r##"{"anyOf":[{"$ref":"#/components/schemas/Number"},{"type":"object","properties":{
        "timestamp":{"$ref":"#/components/schemas/Number"},"blocks":{"$ref":"#/components/schemas/Number"}}}]}"##,
    ),
    (
        "Number",
        r#"{"anyOf":[{"type":"integer","minimum":0,"maximum":18446744073709551615},
        {"type":"string","pattern":"^([0-9]+|0x[0-9a-fA-F]+)$"}]}"#,
    ),
    (
        "PayloadAttributes",
        r##"{"type":"object","required":["timestamp","prevRandao","suggestedFeeRecipient"],"properties":{
        "timestamp":{"$ref":"#/components/schemas/Quantity"},"prevRandao":{"$ref":"#/components/schemas/Hash"},
        "suggestedFeeRecipient":{"$ref":"#/components/schemas/Address"},
        "withdrawals":{"type":"array","items":{"$ref":"#/components/schemas/Withdrawal"}},
        "parentBeaconBlockRoot":{"$ref":"#/components/schemas/Hash"}}}"##,
    ),
    ("Percentiles", r#"{"type":"array","maxItems":100,"items":{"type":"number","minimum":0,"maximum":100}}"#),
    ("Password", r#"{"type":"string"}"#),
    ("Quantity", r#"{"type":"string","pattern":"^0x(0|[1-9a-fA-F][0-9a-fA-F]{0,15})$"}"#),
    ("RawTransactions", r##"{"type":"array","items":{"$ref":"#/components/schemas/Data"}}"##),
    (
        "ReorgPairs",
        r##"{"type":"array","items":{"type":"array","minItems":2,"maxItems":2,
        "items":[{"$ref":"#/components/schemas/Data"},{"$ref":"#/components/schemas/Number"}]}}"##,
    ),
    ("Reset", r#"{"type":"object","properties":{"forking":{"type":"null"}}}"#),
    ("Simulation", SIMULATION),
    (
        "Slot",
        r##"{"anyOf":[{"$ref":"#/components/schemas/Quantity256"},{"$ref":"#/components/schemas/Hash"}]}"##,
    ),
    ("Slots", r##"{"type":"array","items":{"$ref":"#/components/schemas/StorageKey"}}"##),
    (
        "StateOverrides",
        r##"{"type":"object","propertyNames":{"$ref":"#/components/schemas/Address"},
        "additionalProperties":{"$ref":"#/components/schemas/AccountOverride"}}"##,
    ),
    (
        "StorageRequests",
        r##"{"type":"object","minProperties":1,"propertyNames":{"$ref":"#/components/schemas/Address"},
        "additionalProperties":{"$ref":"#/components/schemas/Slots"}}"##,
    ),
    (
        "Subscription",
        r#"{"enum":["newHeads","logs","newPendingTransactions","syncing","pendingLogs","newFlashblockTransactions",
        "newFlashblocks","foreseal_feed"]}"#,
    ),
    (
        "SubscriptionOptions",
        r##"{"anyOf":[{"$ref":"#/components/schemas/Filter"},{"$ref":"#/components/schemas/Boolean"},
        {"$ref":"#/components/schemas/Cursor"}]}"##,
    ),
    (
        "TraceCallConfig",
        r##"{"allOf":[{"$ref":"#/components/schemas/TraceConfig"}],"properties":{
            "stateOverrides":{"$ref":"#/components/schemas/StateOverrides"},
            "blockOverrides":{"$ref":"#/components/schemas/BlockOverrides"},
            "txIndex":{"$ref":"#/components/schemas/Quantity"}}}"##,
    ),
    ("TraceConfig", TRACE_CONFIG),
    (
        "TypedData",
        r#"{"anyOf":[{"type":"string"},{"type":"object","required":["types","primaryType","domain","message"],
        "properties":{"types":{"type":"object"},"primaryType":{"type":"string"},"domain":{"type":"object"}}}]}"#,
    ),
    // Parts of the kinds above.
    (
        "AccessList",
        r##"{"type":"array","items":{"type":"object","required":["address"],"properties":{
        "address":{"$ref":"#/components/schemas/Address"},
        "storageKeys":{"type":"array","items":{"$ref":"#/components/schemas/Hash"}}}}}"##,
    ),
    (
        "AccountOverride",
        r##"{"type":"object","properties":{"balance":{"$ref":"#/components/schemas/Quantity256"},
        "nonce":{"$ref":"#/components/schemas/Quantity"},"code":{"$ref":"#/components/schemas/Data"},
        "state":{"$ref":"#/components/schemas/Storage"},"stateDiff":{"$ref":"#/components/schemas/Storage"},
        "movePrecompileToAddress":{"$ref":"#/components/schemas/Address"}},"not":{"required":["state","stateDiff"]}}"##,
    ),
    (
        "Authorization",
        r##"{"type":"object","required":["chainId","address","nonce","yParity","r","s"],"properties":{
        "chainId":{"$ref":"#/components/schemas/Quantity256"},"address":{"$ref":"#/components/schemas/Address"},
        "nonce":{"$ref":"#/components/schemas/Quantity"},"yParity":{"$ref":"#/components/schemas/Quantity"},
        "r":{"$ref":"#/components/schemas/Slot"},"s":{"$ref":"#/components/schemas/Slot"}}}"##,
    ),
    ("BlockFields", BLOCK_FIELDS),
    ("Quantity128", r#"{"type":"string","pattern":"^0x(0|[1-9a-fA-F][0-9a-fA-F]{0,31})$"}"#),
    ("Quantity256", r#"{"type":"string","pattern":"^0x(0|[1-9a-fA-F][0-9a-fA-F]{0,63})$"}"#),
    (
        "SealedBlock",
        r##"{"anyOf":[{"$ref":"#/components/schemas/Quantity"},{"$ref":"#/components/schemas/Hash"}]}"##,
    ),
    (
        "Storage",
        r##"{"type":"object","propertyNames":{"$ref":"#/components/schemas/Slot"},
        "additionalProperties":{"$ref":"#/components/schemas/Slot"}}"##,
    ),
    ("StorageKey", r#"{"type":"string","pattern":"^0x[0-9a-fA-F]{1,64}$"}"#),
    (
        "Tag",
        r##"{"anyOf":[{"enum":["latest","pending","safe","finalized","earliest"]},
        {"$ref":"#/components/schemas/Quantity"}]}"##,
    ),
    (
        "Withdrawal",
        r##"{"type":"object","required":["index","validatorIndex","address","amount"],"properties":{
        "index":{"$ref":"#/components/schemas/Quantity"},"validatorIndex":{"$ref":"#/components/schemas/Quantity"},
        "address":{"$ref":"#/components/schemas/Address"},"amount":{"$ref":"#/components/schemas/Quantity"}}}"##,
    ),
];

const CALL: &str = r##"{"type":"object","properties":{
    "from":{"$ref":"#/components/schemas/Address"},
    "to":{"anyOf":[{"$ref":"#/components/schemas/Address"},{"type":"null"}]},
    "gas":{"$ref":"#/components/schemas/Quantity"},
    "gasPrice":{"$ref":"#/components/schemas/Quantity128"},
    "maxFeePerGas":{"$ref":"#/components/schemas/Quantity128"},
    "maxPriorityFeePerGas":{"$ref":"#/components/schemas/Quantity128"},
    "maxFeePerBlobGas":{"$ref":"#/components/schemas/Quantity128"},
    "value":{"$ref":"#/components/schemas/Quantity256"},
    "input":{"$ref":"#/components/schemas/Data"},
    "data":{"$ref":"#/components/schemas/Data"},
    "nonce":{"$ref":"#/components/schemas/Quantity"},
    "type":{"enum":["0x0","0x1","0x2","0x3","0x4"]},
    "chainId":{"$ref":"#/components/schemas/Quantity"},
    "accessList":{"$ref":"#/components/schemas/AccessList"},
    "blobVersionedHashes":{"type":"array","items":{"$ref":"#/components/schemas/Hash"}},
    "authorizationList":{"type":"array","items":{"$ref":"#/components/schemas/Authorization"}}},
    "not":{"anyOf":[{"required":["gasPrice","maxFeePerGas"]},{"required":["gasPrice","maxPriorityFeePerGas"]}]}}"##;

const BLOCK_FIELDS: &str = r##"{"type":"object","properties":{
    "number":{"$ref":"#/components/schemas/Quantity"},
    "difficulty":{"$ref":"#/components/schemas/Quantity256"},
    "time":{"$ref":"#/components/schemas/Quantity"},
    "gasLimit":{"$ref":"#/components/schemas/Quantity"},
    "feeRecipient":{"$ref":"#/components/schemas/Address"},
    "prevRandao":{"$ref":"#/components/schemas/Slot"},
    "baseFeePerGas":{"$ref":"#/components/schemas/Quantity"},
    "blobBaseFee":{"$ref":"#/components/schemas/Quantity128"},
    "beaconRoot":{"$ref":"#/components/schemas/Hash"},
    "withdrawals":{"type":"array","items":{"$ref":"#/components/schemas/Withdrawal"}}}}"##;

const FILTER: &str = r##"{"type":"object","properties":{
    "fromBlock":{"$ref":"#/components/schemas/Tag"},
    "toBlock":{"$ref":"#/components/schemas/Tag"},
    "blockHash":{"$ref":"#/components/schemas/Hash"},
    "address":{"anyOf":[{"$ref":"#/components/schemas/Address"},{"type":"null"},
        {"type":"array","maxItems":1000,"items":{"$ref":"#/components/schemas/Address"}}]},
    "topics":{"type":"array","maxItems":4,"items":{"anyOf":[{"$ref":"#/components/schemas/Hash"},{"type":"null"},
        {"type":"array","maxItems":1000,"items":{"anyOf":[{"$ref":"#/components/schemas/Hash"},{"type":"null"}]}}]}}}}"##;

const SIMULATION: &str = r##"{"type":"object","required":["blockStateCalls"],"properties":{
    "blockStateCalls":{"type":"array","minItems":1,"maxItems":256,"items":{"type":"object","properties":{
        "blockOverrides":{"$ref":"#/components/schemas/BlockFields"},
        "stateOverrides":{"$ref":"#/components/schemas/StateOverrides"},
        "calls":{"type":"array","maxItems":5000,"items":{"$ref":"#/components/schemas/Call"}}}}},
    "traceTransfers":{"type":"boolean"},"validation":{"type":"boolean"},"returnFullTransactions":{"type":"boolean"}}}"##;

/// Each option in `tracerConfig` belongs to one tracer; for muxTracer the options are tracers by name.
const TRACE_CONFIG: &str = r#"{"type":"object","properties":{
    "tracer":{"enum":["","callTracer","flatCallTracer","prestateTracer","4byteTracer","noopTracer","muxTracer"]},
    "tracerConfig":{"type":"object","properties":{
        "onlyTopCall":{"type":"boolean"},"withLog":{"type":"boolean"},
        "convertParityErrors":{"type":"boolean"},"includePrecompiles":{"type":"boolean"},
        "diffMode":{"type":"boolean"},"disableCode":{"type":"boolean"},"disableStorage":{"type":"boolean"},
        "includeEmpty":{"type":"boolean"}}},
    "timeout":{"type":"string"},
    "limit":{"type":"integer","minimum":0},
    "enableMemory":{"type":"boolean"},"disableStack":{"type":"boolean"},"disableStorage":{"type":"boolean"},
    "enableReturnData":{"type":"boolean"}}}"#;

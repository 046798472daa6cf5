//! Invalid values for every argument of every method.

use proptest::{prelude::*, test_runner::TestRunner};

use crate::{
    methods::method::Method,
    params::{
        argument::{Argument, Kind, invalid_values::invalid_values},
        tests::json_value,
    },
    request::table::methods,
};

use super::Bench;

/// Returns a valid value for an argument of this kind.
pub fn right_value(kind: Kind) -> &'static str {
    match kind {
        Kind::Address => "\"0x00000000000000000000000000000000000000aa\"",
        Kind::Amount => "\"5\"",
        Kind::Block => "\"pending\"",
        Kind::BlockOverrides => "{\"time\":\"0x7fffffff\"}",
        Kind::Boolean => "true",
        Kind::Call => "{\"to\":\"0x00000000000000000000000000000000000000aa\"}",
        Kind::Cursor => {
            "{\"block\":\"0x0\",\"index\":\"0x0\",\"hash\":\"0x00000000000000000000000000000000000000000000000000000000000000aa\"}"
        }
        Kind::Data => "\"0x00\"",
        Kind::LogQuery => "{\"filter\":{\"fromBlock\":\"pending\"}}",
        Kind::Filter => "{\"fromBlock\":\"pending\"}",
        Kind::Finality => "{\"safe\":\"0x0\"}",
        Kind::Hash => "\"0x00000000000000000000000000000000000000000000000000000000000000aa\"",
        Kind::Milliseconds => "100",
        Kind::Mine => "{\"blocks\":1}",
        Kind::Number => "2",
        Kind::Password => "\"\"",
        Kind::PayloadAttributes => {
            "{\"timestamp\":\"0x7fffffff\",\"suggestedFeeRecipient\":\"0x00000000000000000000000000000000000000aa\",\
             \"prevRandao\":\"0x00000000000000000000000000000000000000000000000000000000000000aa\"}"
        }
        Kind::Percentiles => "[10,50.5]",
        Kind::Quantity => "\"0x1\"",
        Kind::Simulation => "{\"blockStateCalls\":[{\"calls\":[{}]}]}",
        Kind::RawTransactions | Kind::ReorgPairs => "[]",
        Kind::Slot => "\"0x0\"",
        Kind::Slots => "[\"0x0\",\"0x00\"]",
        Kind::StorageRequests => "{\"0x00000000000000000000000000000000000000aa\":[\"0x1\"]}",
        Kind::StateOverrides => "{\"0x00000000000000000000000000000000000000aa\":{\"balance\":\"0x1\"}}",
        Kind::Subscription => "\"logs\"",
        Kind::Reset | Kind::SubscriptionOptions => "{}",
        Kind::TraceCallConfig => "{\"tracer\":\"callTracer\",\"txIndex\":\"0x0\"}",
        Kind::TraceConfig => "{\"tracer\":\"callTracer\"}",
        Kind::TypedData => "{\"types\":{\"T\":[]},\"primaryType\":\"T\",\"domain\":{},\"message\":{}}",
    }
}

/// Methods that need a connection, and return an error without one.
const ON_CONNECTIONS: [&str; 2] = ["eth_subscribe", "eth_unsubscribe"];

fn right_values(method: &Method) -> Vec<&'static str> {
    method.arguments.iter().map(|argument| right_value(argument.kind)).collect()
}

fn array(values: &[&str]) -> String {
    format!("[{}]", values.join(","))
}

#[test]
fn the_table_names_each_method_once_with_required_arguments_first() {
    let mut names: Vec<&str> = methods().map(|method| method.name).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
    for method in methods() {
        assert!(method.arguments.is_sorted_by_key(|argument| !argument.required), "{}", method.name);
        assert!(crate::method(method.name).is_some());
    }
}

#[test]
fn every_method_accepts_right_arguments() {
    let bench = Bench::developing(1);
    for method in methods() {
        match bench.try_call(method.name, &array(&right_values(method))) {
            Ok(_) => {}
            Err(error) => assert!(![-32602, -32603].contains(&error.code), "{}: {error:?}", method.name),
        }
    }
}

#[test]
fn every_wrong_argument_of_every_method_is_named() {
    let bench = Bench::developing(1);
    let mut tried = 0;
    for method in methods() {
        for (index, Argument { name, kind, .. }) in method.arguments.iter().enumerate() {
            for (wrong, reason) in invalid_values(*kind) {
                let mut values = right_values(method);
                values[index] = wrong;
                let error = bench.error(method.name, &array(&values));
                let start = format!("invalid argument {index} ({name}");
                assert_eq!(error.code, -32602, "{} {values:?}: {error:?}", method.name);
                assert!(error.message.starts_with(&start), "{} {values:?}: {}", method.name, error.message);
                assert!(error.message.ends_with(reason), "{} {values:?}: {}", method.name, error.message);
                tried += 1;
            }
        }
    }
    assert!(tried > 200);
}

#[test]
fn a_missing_required_argument_is_named() {
    let bench = Bench::developing(1);
    for method in methods() {
        // A missing block means the latest one, even where another argument is required after it.
        let arguments = method.arguments.iter().filter(|argument| argument.kind != Kind::Block);
        for Argument { name, required, .. } in arguments {
            let index = method.arguments.iter().position(|other| other.name == *name).unwrap();
            let values = right_values(method);
            let short = array(&values[..index]);
            let mut with_null = values.clone();
            with_null[index] = "null";
            for params in [short, array(&with_null)] {
                match bench.try_call(method.name, &params) {
                    Ok(_) => assert!(!required, "{} {params}", method.name),
                    Err(error) if *required => {
                        let want = format!("missing argument {index} ({name})");
                        assert_eq!((error.code, error.message), (-32602, want), "{} {params}", method.name);
                    }
                    Err(error) => assert_ne!(error.code, -32602, "{} {params}: {error:?}", method.name),
                }
            }
        }
    }
}

#[test]
fn a_missing_block_means_latest_in_every_method() {
    let bench = Bench::developing(1);
    let mut compared = 0;
    for method in methods() {
        let Some(index) = method.arguments.iter().position(|argument| argument.kind == Kind::Block) else {
            continue;
        };
        let mut values = right_values(method);
        values[index] = "\"latest\"";
        let latest = bench.try_call(method.name, &array(&values)).map_err(|error| error.message);
        values[index] = "null";
        let with_null = bench.try_call(method.name, &array(&values)).map_err(|error| error.message);
        assert_eq!(with_null, latest, "{} with null", method.name);
        let last = !method.arguments[index + 1..].iter().any(|argument| argument.required);
        assert_eq!(method.arguments[index].required, !last, "{}", method.name);
        if last {
            let short = |block: &[&str]| {
                let params = array(&[&values[..index], block].concat());
                bench.try_call(method.name, &params).map_err(|error| error.message)
            };
            assert_eq!(short(&[]), short(&["\"latest\""]), "{} without a block", method.name);
        }
        compared += 1;
    }
    assert!(compared > 20, "{compared}");
}

#[test]
fn every_method_rejects_an_extra_argument() {
    let bench = Bench::developing(1);
    for method in methods() {
        let mut values = right_values(method);
        values.push("true");
        let error = bench.error(method.name, &array(&values));
        let max = method.arguments.len();
        let want = format!("invalid argument {max}: {} takes at most {max}", method.name);
        assert_eq!((error.code, error.message), (-32602, want));
    }
}

#[test]
fn every_method_rejects_params_that_are_no_array() {
    let bench = Bench::developing(1);
    for method in methods() {
        let error = bench.error(method.name, "{}");
        assert_eq!((error.code, error.message.as_str()), (-32602, "params must be an array"));
    }
}

#[test]
fn an_unknown_method_is_named() {
    let error = Bench::developing(1).error("eth_nonsense", "[]");
    assert_eq!(
        (error.code, error.message.as_str()),
        (-32601, "the method eth_nonsense does not exist/is not available")
    );
}

#[test]
fn before_the_first_view_methods_report_a_starting_node() {
    let bench = Bench::developing(1);
    let mut unavailable = 0;
    for method in methods() {
        let params = array(&right_values(method));
        if let Err(error) = bench.api.run(None, method, params.as_bytes()) {
            let expected = if ON_CONNECTIONS.contains(&method.name) { -32601 } else { -32002 };
            assert!([expected, -32000].contains(&error.code), "{}: {error:?}", method.name);
            unavailable += u32::from(error.code == -32002);
        }
    }
    assert!(unavailable > 10);
    for name in ["eth_chainId", "net_version", "web3_clientVersion", "foreseal_status"] {
        assert!(bench.api.call(None, name, b"").is_ok(), "{name}");
    }
}

#[test]
fn any_arguments_yield_a_result_or_a_documented_error() {
    let bench = Bench::developing(1);
    let mut runner = TestRunner::new(ProptestConfig::with_cases(128));
    let params =
        prop::collection::vec(json_value(), 0..4).prop_map(|values| format!("[{}]", values.join(",")));
    let tried = runner.run(&params, |params| {
        for method in methods() {
            if let Err(error) = bench.try_call(method.name, &params) {
                let documented = [-32602, -32000, -32001, -32005].contains(&error.code)
                    || ON_CONNECTIONS.contains(&method.name) && error.code == -32601;
                prop_assert!(documented, "{} {params}: {error:?}", method.name);
            }
        }
        Ok(())
    });
    tried.unwrap();
}

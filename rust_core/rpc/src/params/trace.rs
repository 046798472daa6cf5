//! Trace configuration.

use std::{collections::BTreeMap, time::Duration};

use foreseal_evm::{BlockOverrides, CallOptions, PrestateOptions, StateOverrides, StructLogOptions, Tracer};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    CallBlock, Invalid, Param, Reason,
    invalid::shown,
    value::{entries, field, object, text},
};

/// Tracer with its output options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamedTracer {
    Steps(StructLogOptions),
    Calls(CallOptions),
    FlatCalls(FlatOptions),
    Prestate(PrestateOptions),
    FourByte,
    Noop,
    /// Tracers by the requested names.
    Mux(Vec<(String, NamedTracer)>),
}

/// Output options of a flat list of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlatOptions {
    /// Reports errors with Parity's messages instead of geth's.
    pub parity_errors: bool,
    /// Includes calls of precompiled contracts.
    pub precompiles: bool,
}

impl NamedTracer {
    /// Returns the tracer that records the data.
    pub fn tracer(&self) -> Tracer {
        match self {
            Self::Steps(options) => Tracer::StructLogs(*options),
            Self::Calls(options) => Tracer::Calls(*options),
            Self::FlatCalls(_) => Tracer::Calls(CallOptions::default()),
            Self::Prestate(options) => Tracer::Prestate(*options),
            Self::FourByte => Tracer::FourByte,
            Self::Noop => Tracer::Noop,
            Self::Mux(tracers) => Tracer::Mux(tracers.iter().map(|(_, tracer)| tracer.tracer()).collect()),
        }
    }

    fn new(name: &str, config: Option<&RawValue>) -> Result<Self, Invalid> {
        let in_config = |invalid: Invalid| invalid.in_field("tracerConfig");
        match name {
            "callTracer" => calls(config).map(Self::Calls).map_err(in_config),
            "flatCallTracer" => flat_calls(config).map(Self::FlatCalls).map_err(in_config),
            "prestateTracer" => prestate(config).map(Self::Prestate).map_err(in_config),
            "4byteTracer" => Ok(Self::FourByte),
            "noopTracer" => Ok(Self::Noop),
            "muxTracer" => mux(config).map(Self::Mux).map_err(in_config),
            unknown => Err(Invalid::from(no_tracer(unknown)).in_field("tracer")),
        }
    }
}

fn no_tracer(name: &str) -> Reason {
    if name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Reason::UnknownTracer { name: shown(name) };
    }
    Reason::JavaScript
}

/// Configuration of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceConfig {
    pub tracer: NamedTracer,
    pub timeout: Option<Duration>,
}

impl Default for TraceConfig {
    fn default() -> Self {
        Self { tracer: NamedTracer::Steps(StructLogOptions::default()), timeout: None }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct TraceFields<'a> {
    tracer: Option<&'a RawValue>,
    tracer_config: Option<&'a RawValue>,
    timeout: Option<&'a RawValue>,
    limit: Option<&'a RawValue>,
    enable_memory: Option<&'a RawValue>,
    disable_stack: Option<&'a RawValue>,
    disable_storage: Option<&'a RawValue>,
    enable_return_data: Option<&'a RawValue>,
}

impl Param<'_> for TraceConfig {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        let fields: TraceFields<'_> = object(raw)?;
        let steps = StructLogOptions {
            memory: flag(fields.enable_memory, "enableMemory")?,
            no_stack: flag(fields.disable_stack, "disableStack")?,
            no_storage: flag(fields.disable_storage, "disableStorage")?,
            return_data: flag(fields.enable_return_data, "enableReturnData")?,
            limit: field(fields.limit, "limit")?.map_or(0, |Count(count)| count),
        };
        let name = fields.tracer.map(|raw| text(raw).map_err(|invalid| invalid.in_field("tracer")));
        let tracer = match name.transpose()?.as_deref() {
            None | Some("") => NamedTracer::Steps(steps),
            Some(name) => NamedTracer::new(name, fields.tracer_config)?,
        };
        let timeout = field(fields.timeout, "timeout")?.map(|GoDuration(timeout)| timeout);
        Ok(Self { tracer, timeout })
    }
}

/// Configuration of a traced call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceCallConfig {
    pub trace: TraceConfig,
    pub state: StateOverrides,
    pub block: BlockOverrides,
    /// Index of the transaction in the block before which the call executes; `None` executes it after the
    /// block.
    pub index: Option<u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct CallConfigFields<'a> {
    state_overrides: Option<&'a RawValue>,
    block_overrides: Option<&'a RawValue>,
    tx_index: Option<&'a RawValue>,
}

impl Param<'_> for TraceCallConfig {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        let fields: CallConfigFields<'_> = object(raw)?;
        let CallBlock(block) = field(fields.block_overrides, "blockOverrides")?.unwrap_or_default();
        Ok(Self {
            trace: TraceConfig::read(raw)?,
            state: field(fields.state_overrides, "stateOverrides")?.unwrap_or_default(),
            block,
            index: field(fields.tx_index, "txIndex")?,
        })
    }
}

fn flag(raw: Option<&RawValue>, name: &str) -> Result<bool, Invalid> {
    Ok(field(raw, name)?.unwrap_or(false))
}

/// Parses the fields of a tracer's configuration; absent fields have their defaults.
fn config<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>) -> Result<Option<T>, Invalid> {
    raw.map(object).transpose()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct CallFields<'a> {
    only_top_call: Option<&'a RawValue>,
    with_log: Option<&'a RawValue>,
}

fn calls(raw: Option<&RawValue>) -> Result<CallOptions, Invalid> {
    let Some(fields) = config::<CallFields<'_>>(raw)? else { return Ok(CallOptions::default()) };
    Ok(CallOptions {
        only_top: flag(fields.only_top_call, "onlyTopCall")?,
        logs: flag(fields.with_log, "withLog")?,
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct FlatFields<'a> {
    convert_parity_errors: Option<&'a RawValue>,
    include_precompiles: Option<&'a RawValue>,
}

fn flat_calls(raw: Option<&RawValue>) -> Result<FlatOptions, Invalid> {
    let Some(fields) = config::<FlatFields<'_>>(raw)? else { return Ok(FlatOptions::default()) };
    Ok(FlatOptions {
        parity_errors: flag(fields.convert_parity_errors, "convertParityErrors")?,
        precompiles: flag(fields.include_precompiles, "includePrecompiles")?,
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
struct PrestateFields<'a> {
    diff_mode: Option<&'a RawValue>,
    disable_code: Option<&'a RawValue>,
    disable_storage: Option<&'a RawValue>,
    include_empty: Option<&'a RawValue>,
}

fn prestate(raw: Option<&RawValue>) -> Result<PrestateOptions, Invalid> {
    let Some(fields) = config::<PrestateFields<'_>>(raw)? else { return Ok(PrestateOptions::default()) };
    let options = PrestateOptions {
        diff: flag(fields.diff_mode, "diffMode")?,
        no_code: flag(fields.disable_code, "disableCode")?,
        no_storage: flag(fields.disable_storage, "disableStorage")?,
        include_empty: flag(fields.include_empty, "includeEmpty")?,
    };
    if options.diff && options.include_empty {
        return Err(Invalid::from(Reason::Conflict { other: "diffMode" }).in_field("includeEmpty"));
    }
    Ok(options)
}

/// Returns the tracers in the order of their names, as geth does.
fn mux(raw: Option<&RawValue>) -> Result<Vec<(String, NamedTracer)>, Invalid> {
    let Some(raw) = raw else { return Ok(Vec::new()) };
    let configs = entries(raw, |name| Ok(name.to_owned()), Ok)?;
    let tracer = |(name, raw): (String, &RawValue)| {
        let config = Some(raw).filter(|raw| raw.get() != "null");
        let tracer = NamedTracer::new(&name, config).map_err(|invalid| invalid.in_field(&name))?;
        Ok((name, tracer))
    };
    let tracers: BTreeMap<String, NamedTracer> =
        configs.into_iter().map(tracer).collect::<Result<_, Invalid>>()?;
    Ok(tracers.into_iter().collect())
}

/// Non-negative JSON integer.
struct Count(u64);

impl Param<'_> for Count {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        Ok(Self(raw.get().parse().map_err(|_| Reason::NotCount)?))
    }
}

/// Duration in Go's format: decimal numbers, each with a unit.
struct GoDuration(Duration);

impl Param<'_> for GoDuration {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        Ok(Self(go_duration(&text(raw)?).ok_or(Reason::NotDuration)?))
    }
}

/// Longer units come first, so that `ms` is not parsed as `m`.
const UNITS: [(&str, f64); 8] = [
    ("ns", 1e-9),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("μs", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("m", 60.0),
    ("h", 3600.0),
];

fn go_duration(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let mut total = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        let (unit, seconds) = UNITS.iter().find(|(unit, _)| rest[digits..].starts_with(unit))?;
        let part = Duration::try_from_secs_f64(number * seconds).ok()?;
        total = total.checked_add(part)?;
        rest = &rest[digits + unit.len()..];
    }
    (!text.is_empty()).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed_in_gos_format() {
        let milliseconds = |text| go_duration(text).map(|time| time.as_millis());
        for (text, expected) in
            [("5s", 5000), ("300ms", 300), ("2m", 120_000), ("1m30s", 90_000), ("1.5h", 5_400_000), ("0", 0)]
        {
            assert_eq!(milliseconds(text), Some(expected), "{text}");
        }
        assert_eq!(go_duration("1500us"), Some(Duration::from_micros(1500)));
        assert_eq!(go_duration("2µs"), Some(Duration::from_micros(2)));
        for text in ["", "5", "s", "-5s", "5 s", "5x", ".s", "1e3s", "9999999999999999999999h"] {
            assert_eq!(milliseconds(text), None, "{text}");
        }
    }
}

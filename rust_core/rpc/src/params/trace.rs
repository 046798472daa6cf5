//! Trace configuration.

use std::{collections::BTreeMap, time::Duration};

use foreseal_evm::{BlockOverrides, CallOptions, PrestateOptions, StateOverrides, StructLogOptions, Tracer};
use serde_json::value::RawValue;

use super::{
    invalid::{Invalid, Param, Reason, shown},
    options::Options,
    overrides::CallBlock,
    value::{entries, text},
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

/// Members of a trace configuration, including those of older clients.
const TRACE: [&str; 12] = [
    "tracer",
    "tracerConfig",
    "timeout",
    "limit",
    "enableMemory",
    "disableMemory",
    "disableStack",
    "disableStorage",
    "enableReturnData",
    "disableReturnData",
    // Without effect here: states are not limited to the newest blocks, and there is no log of the tracer.
    "reexec",
    "debug",
];

impl TraceConfig {
    fn from_options(options: &Options<'_>) -> Result<Self, Invalid> {
        let steps = StructLogOptions {
            memory: options.flag("enableMemory")? && !options.flag("disableMemory")?,
            no_stack: options.flag("disableStack")?,
            no_storage: options.flag("disableStorage")?,
            return_data: options.flag("enableReturnData")? && !options.flag("disableReturnData")?,
            limit: options.get("limit")?.map_or(0, |Count(count)| count),
        };
        let tracer = match options.text("tracer")?.as_deref() {
            None | Some("") => NamedTracer::Steps(steps),
            Some(name) => NamedTracer::new(name, options.raw("tracerConfig"))?,
        };
        let timeout = options.get("timeout")?.map(|GoDuration(timeout)| timeout);
        Ok(Self { tracer, timeout })
    }
}

impl Param<'_> for TraceConfig {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        Self::from_options(&Options::read(raw, &TRACE)?)
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

const TRACE_CALL: [&str; 3] = ["stateOverrides", "blockOverrides", "txIndex"];

impl Param<'_> for TraceCallConfig {
    fn read(raw: &RawValue) -> Result<Self, Invalid> {
        let options = Options::read(raw, &[&TRACE[..], &TRACE_CALL[..]].concat())?;
        let CallBlock(block) = options.get("blockOverrides")?.unwrap_or_default();
        Ok(Self {
            trace: TraceConfig::from_options(&options)?,
            state: options.get("stateOverrides")?.unwrap_or_default(),
            block,
            index: options.get("txIndex")?,
        })
    }
}

/// Parses a tracer's configuration; absent members have their defaults.
fn config<'a>(raw: Option<&'a RawValue>, names: &[&'static str]) -> Result<Option<Options<'a>>, Invalid> {
    raw.map(|raw| Options::read(raw, names)).transpose()
}

fn calls(raw: Option<&RawValue>) -> Result<CallOptions, Invalid> {
    let Some(options) = config(raw, &["onlyTopCall", "withLog"])? else { return Ok(CallOptions::default()) };
    Ok(CallOptions { only_top: options.flag("onlyTopCall")?, logs: options.flag("withLog")? })
}

fn flat_calls(raw: Option<&RawValue>) -> Result<FlatOptions, Invalid> {
    let Some(options) = config(raw, &["convertParityErrors", "includePrecompiles"])? else {
        return Ok(FlatOptions::default());
    };
    Ok(FlatOptions {
        parity_errors: options.flag("convertParityErrors")?,
        precompiles: options.flag("includePrecompiles")?,
    })
}

fn prestate(raw: Option<&RawValue>) -> Result<PrestateOptions, Invalid> {
    let names = ["diffMode", "disableCode", "disableStorage", "includeEmpty"];
    let Some(options) = config(raw, &names)? else { return Ok(PrestateOptions::default()) };
    let options = PrestateOptions {
        diff: options.flag("diffMode")?,
        no_code: options.flag("disableCode")?,
        no_storage: options.flag("disableStorage")?,
        include_empty: options.flag("includeEmpty")?,
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

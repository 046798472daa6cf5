//! Log lines of the core, written to standard error in the same format as those of Python
//! (`foreseal.server.logs`).

use std::fmt;
use std::sync::Once;

use serde::Deserialize;
use serde_json::Value;
use tracing::field::Field;
use tracing::{Event, Subscriber};
use tracing_subscriber::field::MakeExt as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, JsonFields, Writer, debug_fn};
use tracing_subscriber::fmt::time::{ChronoUtc, FormatTime as _};
use tracing_subscriber::fmt::{FmtContext, layer};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, registry};

/// Error for levels that do not parse.
#[derive(Debug, thiserror::Error)]
#[error(
    "log level must be off, error, warn, info, debug or trace, optionally followed by targets such as foreseal_node=debug, got {0}"
)]
pub struct LogLevelError(String);

/// Environment variable with the levels, used when the settings name none.
const VARIABLE: &str = "FORESEAL_LOG";

/// Format of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Readable text.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Log settings.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PyLog {
    /// Default level, then levels by target: `warn,foreseal_node=debug`. If absent, the environment variable
    /// FORESEAL_LOG applies, then `warn`.
    levels: Option<String>,
    form: LogFormat,
    /// Name of this process if there are several.
    process: Option<String>,
    /// `true` in a server's own process: panics are then logged.
    server: bool,
}

/// Installs the subscriber, once in a process; later calls only check the levels.
pub fn install(log: &PyLog) -> Result<(), LogLevelError> {
    static INSTALLED: Once = Once::new();
    let from_environment = || std::env::var(VARIABLE).ok().filter(|levels| !levels.is_empty());
    let levels = log.levels.clone().or_else(from_environment).unwrap_or_else(|| "warn".to_owned());
    let targets = targets(&levels).ok_or(LogLevelError(levels))?;
    INSTALLED.call_once(|| {
        let layer = layer().event_format(LineFormat::new(log)).with_ansi(false).with_writer(std::io::stderr);
        // An embedding program may have installed its own subscriber, which then receives the lines.
        let _ = match log.form {
            LogFormat::Text => {
                let fields = debug_fn(write_text_field).delimited(" ");
                registry().with(layer.fmt_fields(fields).with_filter(targets)).try_init()
            }
            LogFormat::Json => {
                registry().with(layer.fmt_fields(JsonFields::new()).with_filter(targets)).try_init()
            }
        };
        if log.server {
            std::panic::set_hook(Box::new(|panic| {
                let place = panic.location().map(ToString::to_string).unwrap_or_default();
                let why = panic.payload_as_str().unwrap_or("no text");
                tracing::error!(why, place, "a thread panicked");
            }));
        }
    });
    Ok(())
}

/// Parses the levels by target. Rejects a word that is not a level; `Targets` would parse it as the name of a
/// target.
fn targets(levels: &str) -> Option<Targets> {
    let mut targets = Targets::new();
    for part in levels.split(',') {
        let (target, level) = part.trim().rsplit_once('=').unwrap_or(("", part.trim()));
        let level: LevelFilter = level.parse().ok()?;
        targets = match target {
            "" if part.contains('=') => return None,
            "" => targets.with_default(level),
            target => targets.with_target(target, level),
        };
    }
    Some(targets)
}

/// Format of a whole line: time, level, process, target, and what tracing-subscriber makes of the fields.
struct LineFormat {
    format: LogFormat,
    process: Option<String>,
    time: ChronoUtc,
}

impl LineFormat {
    fn new(log: &PyLog) -> Self {
        let time = ChronoUtc::new("%Y-%m-%dT%H:%M:%S%.3fZ".to_owned());
        Self { format: log.form, process: log.process.clone(), time }
    }
}

impl<S, N> FormatEvent<S, N> for LineFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let (level, target) = (event.metadata().level().as_str(), event.metadata().target());
        match self.format {
            LogFormat::Text => {
                self.time.format_time(&mut writer)?;
                write!(writer, " {level:>5} ")?;
                if let Some(process) = &self.process {
                    write!(writer, "[{process}] ")?;
                }
                write!(writer, "{target}: ")?;
                context.format_fields(writer.by_ref(), event)?;
            }
            LogFormat::Json => {
                let mut fields = String::new();
                context.format_fields(Writer::new(&mut fields), event)?;
                writer.write_str("{\"time\":\"")?;
                self.time.format_time(&mut writer)?;
                write!(writer, "\",\"level\":\"{level}\",\"target\":\"{target}\"")?;
                if let Some(process) = &self.process {
                    write!(writer, ",\"process\":{}", Value::from(process.as_str()))?;
                }
                // The fields are an object with at least the message.
                writer.write_char(',')?;
                writer.write_str(fields.strip_prefix('{').unwrap_or(&fields))?;
            }
        }
        writeln!(writer)
    }
}

/// Writes a field of a text line. Only values that would be ambiguous are quoted.
fn write_text_field(writer: &mut Writer<'_>, field: &Field, value: &dyn fmt::Debug) -> fmt::Result {
    if field.name() == "message" {
        return write!(writer, "{value:?}");
    }
    let written = format!("{value:?}");
    let text = serde_json::from_str::<String>(&written).unwrap_or(written);
    if text.is_empty() || text.contains([' ', '"', '=', '\n']) {
        write!(writer, "{}={}", field.name(), Value::from(text))
    } else {
        write!(writer, "{}={text}", field.name())
    }
}

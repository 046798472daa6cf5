//! Log lines of the core, written to standard error in the same format as those of Python
//! (`foreseal.server.logs`).

use std::fmt::{self, Write as _};
use std::sync::Once;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, Writer};
use tracing_subscriber::fmt::{FmtContext, layer};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, registry};

/// Error for levels that do not parse.
#[derive(Debug, thiserror::Error)]
#[error(
    "log levels are one of off, error, warn, info, debug and trace, and others by target behind it such as foreseal_node=debug; not {0}"
)]
pub struct LogLevelError(String);

/// Environment variable with the levels, used when the settings name none.
const VARIABLE: &str = "FORESEAL_LOG";

/// Format of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Form {
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
    form: Form,
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
        let lines = Lines { form: log.form, process: log.process.clone() };
        let layer = layer().event_format(lines).with_ansi(false).with_writer(std::io::stderr);
        // An embedding program may have installed its own subscriber, which then receives the lines.
        let _ = registry().with(layer.with_filter(targets)).try_init();
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

struct Lines {
    form: Form,
    process: Option<String>,
}

impl<S, N> FormatEvent<S, N> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut found = Found::default();
        event.record(&mut found);
        let line = match self.form {
            Form::Text => self.text(event, now, &found)?,
            Form::Json => self.json(event, now, found).to_string(),
        };
        writeln!(writer, "{line}")
    }
}

impl Lines {
    fn text(&self, event: &Event<'_>, now: Duration, found: &Found) -> Result<String, fmt::Error> {
        let metadata = event.metadata();
        let mut line = format!("{} {:>5} ", rfc3339(now), metadata.level().as_str());
        if let Some(process) = &self.process {
            write!(line, "[{process}] ")?;
        }
        write!(line, "{}: {}", metadata.target(), found.message)?;
        for (name, value) in &found.fields {
            match value.as_str() {
                Some(text) if !text.is_empty() && !text.contains([' ', '"', '=', '\n']) => {
                    write!(line, " {name}={text}")?;
                }
                _ => write!(line, " {name}={value}")?,
            }
        }
        Ok(line)
    }

    fn json(&self, event: &Event<'_>, now: Duration, found: Found) -> Value {
        let metadata = event.metadata();
        // The standard members replace fields of the same name.
        let mut line = found.fields;
        line.insert("time".to_owned(), rfc3339(now).into());
        line.insert("level".to_owned(), metadata.level().as_str().into());
        line.insert("target".to_owned(), metadata.target().into());
        line.insert("message".to_owned(), found.message.into());
        if let Some(process) = &self.process {
            line.insert("process".to_owned(), process.as_str().into());
        }
        Value::Object(line)
    }
}

/// Message and fields of an event.
#[derive(Default)]
struct Found {
    message: String,
    fields: Map<String, Value>,
}

impl Found {
    fn put(&mut self, field: &Field, value: Value) {
        match (field.name(), value) {
            ("message", Value::String(message)) => self.message = message,
            (name, value) => drop(self.fields.insert(name.to_owned(), value)),
        }
    }
}

impl Visit for Found {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.put(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }
}

/// Formats a time since 1970 as in RFC 3339, with milliseconds.
fn rfc3339(time: Duration) -> String {
    let (days, second) = (time.as_secs() / 86_400, time.as_secs() % 86_400);
    // Years begin in March here, so that a leap day is the last day of its year: 146,097 days are 400 years.
    let day = days + 719_468;
    let (era, of_era) = (day / 146_097, day % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let (hour, minute) = (second / 3_600, second / 60 % 60);
    format!(
        "{:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{:02}.{:03}Z",
        era * 400 + year + later,
        second % 60,
        time.subsec_millis()
    )
}

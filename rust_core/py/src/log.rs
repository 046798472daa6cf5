//! Log lines of the core, to standard error.

use std::io::IsTerminal;
use std::sync::Once;

use tracing_subscriber::filter::LevelFilter;

use crate::settings::SettingsError;

/// Environment variable with the log level.
const VARIABLE: &str = "FORESEAL_LOG";

/// Installs the subscriber, once in a process; later calls only check the level. The environment variable
/// FORESEAL_LOG has precedence over `level`; without either it is warn.
pub fn install(level: Option<&str>) -> Result<(), SettingsError> {
    static INSTALLED: Once = Once::new();
    let from_environment = std::env::var(VARIABLE).ok().filter(|level| !level.is_empty());
    let level = from_environment.as_deref().or(level).unwrap_or("warn");
    let filter: LevelFilter = level.parse().map_err(|_| SettingsError::LogLevel(level.to_owned()))?;
    INSTALLED.call_once(|| {
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(filter)
            .with_ansi(std::io::stderr().is_terminal())
            .with_writer(std::io::stderr);
        // An embedding program may have installed its own: then that one is to have the lines.
        let _ = subscriber.try_init();
    });
    Ok(())
}

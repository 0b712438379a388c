//! What the daemon logs: a level, which can be another for parts of it, and can be changed while it
//! runs.

use std::io::{IsTerminal, stderr};
use std::sync::{Mutex, OnceLock};

use env::lock;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload::Handle;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Registry, fmt, reload};

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// The filter that is in force, as it was given, and where to put another.
static FILTER: OnceLock<Mutex<(String, Handle<EnvFilter, Registry>)>> = OnceLock::new();

/// `info,nfs=debug` as a filter; `Err` says what makes no sense.
pub fn parse(text: &str) -> Result<EnvFilter, String> {
    for part in text.split(',') {
        let (of, level) = part.split_once('=').map_or((None, part), |(of, level)| (Some(of), level));
        let is_name =
            |of: &str| !of.is_empty() && of.bytes().all(|c| c.is_ascii_alphanumeric() || b"_:".contains(&c));
        if !LEVELS.contains(&level) || !of.is_none_or(is_name) {
            return Err(format!("'{part}' is no level: write {}, or PART=LEVEL", LEVELS.join(", ")));
        }
    }
    EnvFilter::try_new(text).map_err(|error| error.to_string())
}

/// Begins with what the command line says, else `$CISTERN_LOG`, else `info`.
pub fn start(filter: Option<&str>) -> Result<(), String> {
    let chosen = filter.map(str::to_owned).or_else(|| std::env::var("CISTERN_LOG").ok());
    let chosen = chosen.unwrap_or_else(|| "info".into());
    let (filter, handle) = reload::Layer::new(parse(&chosen)?);
    // A terminal may be gone; who logs goes on.
    let lines = fmt::layer().with_writer(stderr).with_ansi(stderr().is_terminal()).log_internal_errors(false);
    tracing_subscriber::registry().with(filter).with(lines).init();
    FILTER.get_or_init(|| Mutex::new((chosen, handle)));
    Ok(())
}

/// The filter in force, which may be a new one from now on.
pub fn filter(wanted: Option<&str>) -> Result<String, String> {
    let filter = FILTER.get().ok_or("nothing is logged")?;
    let mut filter = lock(filter);
    if let Some(wanted) = wanted {
        filter.1.reload(parse(wanted)?).map_err(|error| error.to_string())?;
        filter.0 = wanted.to_owned();
    }
    Ok(filter.0.clone())
}

#[cfg(test)]
mod tests;

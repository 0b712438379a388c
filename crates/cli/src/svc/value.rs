//! What several kinds of services take, from the options of a command line.

use std::num::NonZero;

use super::schedule::when;
use crate::fail::{Stop, usage};
use crate::getopt::Parsed;
use api_types::Schedule;

/// The zone of all times.
pub fn zone(options: &Parsed) -> Option<&str> {
    options.value("z")
}

pub fn schedule_of(schedule: &mut Schedule, options: &Parsed) -> Result<(), Stop> {
    if let Some(text) = options.value("S") {
        schedule.when = when(text)?;
    }
    if let Some(name) = zone(options) {
        schedule.zone = Some(name.to_owned());
    }
    Ok(())
}

pub fn number(text: &str, what: &str) -> Result<u32, Stop> {
    text.parse().or_else(|_| usage(format!("'{text}' is no {what}")))
}

pub fn bytes(text: &str) -> Result<u64, Stop> {
    stdx::number::parse(text).or_else(|_| usage(format!("'{text}' is no size: 512M, 20G")))
}

/// A host that is reached by SSH: its user, its name and its port.
pub type Place = (Option<String>, String, Option<NonZero<u16>>);

/// Of `user@host:port`. `None`: it is none.
pub fn ssh_place(text: &str) -> Option<Place> {
    let (user, place) = match text.split_once('@') {
        Some((user, place)) => (Some(user.to_owned()), place),
        None => (None, text),
    };
    // An address with colons stands in brackets.
    let (host, port) = match place.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => place.split_at(place.find(':').unwrap_or(place.len())),
    };
    let port = match port {
        "" => None,
        port => Some(port.strip_prefix(':')?.parse().ok()?),
    };
    Some((user, host.to_owned(), port))
}

/// As [`ssh_place`] takes it, behind what says that it is by SSH.
pub fn shown_place(user: Option<&str>, host: &str, port: Option<NonZero<u16>>) -> String {
    let user = user.map_or_else(String::new, |user| format!("{user}@"));
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    let port = port.map_or_else(String::new, |port| format!(":{port}"));
    format!("ssh://{user}{host}{port}")
}

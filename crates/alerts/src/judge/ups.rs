//! A UPS, as Network UPS Tools' `upsd` tells of it over its text protocol (RFC 9271).

use api_types::{AlertKind, Severity};

use crate::book::Finding;

/// `NAME@HOST` or `NAME@HOST:PORT`, as NUT writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub ups: String,
    pub host: String,
    pub port: u16,
}

const PORT: u16 = 3493;

impl Place {
    /// `None`: it is none.
    pub fn of(text: &str) -> Option<Place> {
        let (ups, at) = text.split_once('@')?;
        let is_word = |text: &str| {
            !text.is_empty() && text.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_.".contains(&it))
        };
        let (host, port) = match at.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().ok()?),
            None => (at, PORT),
        };
        (is_word(ups) && is_word(host)).then(|| Place { ups: ups.to_owned(), host: host.to_owned(), port })
    }
}

/// What a UPS says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ups {
    /// On battery, and nearly empty.
    pub on_battery: bool,
    pub is_low: bool,
    /// Somebody has decided that all it feeds has to go down (`FSD`).
    pub is_ending: bool,
    /// Percent, and seconds.
    pub charge: Option<u64>,
    pub seconds: Option<u64>,
}

impl Ups {
    /// Reads a line of the answer to `LIST VAR`. Whether more lines follow; `Err`: the server
    /// refuses, in its words.
    pub fn take(&mut self, line: &str) -> Result<bool, String> {
        if let Some(why) = line.strip_prefix("ERR ") {
            return Err(why.chars().filter(|it| !it.is_control()).take(100).collect());
        }
        if line.starts_with("END LIST VAR") {
            return Ok(false);
        }
        // VAR <ups> <name> "<value>"
        let mut words = line.splitn(4, ' ');
        if words.next() != Some("VAR") {
            return Ok(true);
        }
        let (name, value) = (words.nth(1).unwrap_or_default(), words.next().unwrap_or_default());
        let value = value.trim().trim_matches('"');
        let number = || value.split('.').next().and_then(|whole| whole.parse().ok());
        match name {
            "ups.status" => {
                for word in value.split_whitespace() {
                    match word {
                        "OB" => self.on_battery = true,
                        "LB" => self.is_low = true,
                        "FSD" => self.is_ending = true,
                        _ => {}
                    }
                }
            }
            "battery.charge" => self.charge = number(),
            "battery.runtime" => self.seconds = number(),
            _ => {}
        }
        Ok(true)
    }

    /// Whether all that it feeds should go down now.
    pub fn is_last_call(&self) -> bool {
        self.is_ending || self.on_battery && self.is_low
    }

    pub fn findings(&self, ups: &str) -> Vec<Finding> {
        let mut findings = Vec::new();
        if self.on_battery {
            let (charge, seconds) = (self.charge, self.seconds);
            let what = AlertKind::UpsOnBattery { ups: ups.to_owned(), charge, seconds };
            findings.push(Finding::new(Severity::Warning, what));
        }
        if self.is_last_call() {
            findings.push(Finding::new(Severity::Critical, AlertKind::UpsLow { ups: ups.to_owned() }));
        }
        findings
    }
}

#[cfg(test)]
mod tests;

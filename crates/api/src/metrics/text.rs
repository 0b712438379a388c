//! The text format of Prometheus, version 0.0.4.
//!
//! Source: github:prometheus/docs, content/docs/instrumenting/exposition_formats.md.

use std::fmt::{Display, Write};

use api_types::Latency;

use super::seen::Seen;

/// Powers of two of nanoseconds that histograms have as bounds: 8 µs to 8.6 s.
const BOUNDS: std::ops::RangeInclusive<usize> = 13..=33;
const STEP: usize = 2;

/// What a metric is to Prometheus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It only grows, and begins at 0 again when the daemon starts, or when a pool is imported.
    Counter,
    Gauge,
    Histogram,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        }
    }
}

/// A metric. Name, kind and labels are a promise.
pub struct Family {
    pub name: &'static str,
    pub kind: Kind,
    pub labels: &'static [&'static str],
    pub help: &'static str,
    /// Finds its values.
    pub find: fn(&Seen, &mut Samples),
}

/// What was written so far.
#[derive(Default)]
pub struct Text(String);

/// Where the samples of one metric go.
pub struct Samples<'a> {
    family: &'a Family,
    text: &'a mut String,
}

impl Text {
    /// A metric with its samples; nothing where it has none.
    pub fn put(&mut self, family: &Family, seen: &Seen) {
        let begin = self.0.len();
        let Family { name, kind, help, find, .. } = family;
        self.line(format_args!("# HELP {name} {help}"));
        self.line(format_args!("# TYPE {name} {}", kind.name()));
        let head = self.0.len();
        find(seen, &mut Samples { family, text: &mut self.0 });
        if self.0.len() == head {
            self.0.truncate(begin);
        }
    }

    fn line(&mut self, line: impl Display) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.0, "{line}");
    }

    pub fn into_string(self) -> String {
        self.0
    }
}

impl Samples<'_> {
    /// A value with the values of the metric's labels, in their order.
    pub fn put(&mut self, labels: &[&str], value: impl Display) {
        self.sample("", labels, None, value);
    }

    /// One of nanoseconds, as seconds.
    pub fn seconds(&mut self, labels: &[&str], nanos: u64) {
        self.put(labels, seconds(nanos));
    }

    /// A histogram of nanoseconds, in seconds.
    pub fn histogram(&mut self, labels: &[&str], latency: &Latency) {
        debug_assert_eq!(self.family.kind, Kind::Histogram);
        for power in BOUNDS.step_by(STEP) {
            let count: u64 = latency.buckets.iter().take(power).sum();
            self.sample("_bucket", labels, Some(&seconds(1 << power)), count);
        }
        self.sample("_bucket", labels, Some("+Inf"), latency.count());
        self.sample("_sum", labels, None, seconds(latency.time));
        self.sample("_count", labels, None, latency.count());
    }

    fn sample(&mut self, suffix: &str, values: &[&str], le: Option<&str>, value: impl Display) {
        let Family { name, labels, .. } = self.family;
        assert_eq!(labels.len(), values.len(), "labels of {name}");
        let labels = labels.iter().copied().zip(values.iter().copied()).chain(le.map(|le| ("le", le)));
        let labels: Vec<String> =
            labels.map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "{name}{suffix}{labels} {value}");
    }
}

/// Exactly, without needless zeroes.
fn seconds(nanos: u64) -> String {
    let (whole, part) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    match part {
        0 => whole.to_string(),
        _ => format!("{whole}.{part:09}").trim_end_matches('0').to_owned(),
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_exact() {
        let cases = [
            (0, "0"),
            (1, "0.000000001"),
            (1 << 13, "0.000008192"),
            (1_500_000_000, "1.5"),
            (3_000_000_000, "3"),
        ];
        assert!(cases.iter().all(|(nanos, text)| seconds(*nanos) == *text));
    }

    #[test]
    fn what_others_have_named_stays_within_its_quotes() {
        assert_eq!(escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}

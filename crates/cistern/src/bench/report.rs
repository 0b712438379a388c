//! The figures, as a table or as JSON, beside those that were published.

use std::fmt::Write;
use std::time::Duration;

use load::Outcome;

use super::rig::Usage;

/// One load on one set-up.
pub struct Cell {
    pub outcome: Outcome,
    pub usage: Usage,
}

/// One set-up.
pub struct Row {
    pub set_up: &'static str,
    pub sync: &'static str,
    pub single: Cell,
    pub files: Cell,
    pub copy: Cell,
}

/// Published figures of a set-up: synchronous writes a second of one writer, small files of 400
/// writers, copy.
struct Published {
    set_up: &'static str,
    sync: &'static str,
    single: &'static str,
    files: &'static str,
    copy: &'static str,
}

/// What administrators reported of file servers with such devices, clients on a network of one
/// gigabit.
const PUBLISHED: &[Published] = &[
    Published { set_up: "one disk", sync: "standard", single: "120", files: "880", copy: "28" },
    Published { set_up: "one disk", sync: "disabled", single: "", files: "", copy: "48" },
    Published { set_up: "disk + RAM log", sync: "standard", single: "", files: "6000", copy: "" },
];

pub fn micros(span: Duration) -> f64 {
    span.as_secs_f64() * 1e6
}

fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

pub fn heading(writers: usize) -> String {
    format!(
        "{:<17} {:<9} {:^31}   {:^44}   {:^16}\n{:<17} {:<9} {:>8} {:>7} {:>7} {:>6}   {:>8} {:>7} {:>7} {:>6} {:>5} {:>6}   {:>9} {:>6}\n",
        "",
        "",
        "1 writer, 4 KiB",
        format!("{writers} writers, 512-byte files"),
        "copy",
        "set-up",
        "sync",
        "writes/s",
        "p50 ms",
        "p99 ms",
        "publ.",
        "files/s",
        "KB/s",
        "p99 ms",
        "cpu µs",
        "disk%",
        "publ.",
        "MB/s",
        "publ.",
    )
}

pub fn legend() -> &'static str {
    "\n\
     NFSv3 over loopback on modelled devices: SATA disk 7,200 rpm with 120 flushes or random writes a second and\n\
     100 MB/s, consumer SSD 1.5 ms a flush and 500 MB/s, RAM log 20 µs. Every write FILE_SYNC. A file is a CREATE and\n\
     a WRITE, both stable when answered; 'cpu' is of server and client together, for one file; 'disk%' is how long the\n\
     (first) disk was at work. The copy is 64 KiB writes, 16 in flight, until the last byte is on the disks. 'publ.' is\n\
     what was published of such set-ups.\n"
}

impl Cell {
    /// Processor time of one operation in microseconds.
    fn cpu(&self) -> f64 {
        self.usage.cpu.as_secs_f64() * 1e6 / (self.outcome.operations.max(1) as f64)
    }

    fn disk_percent(&self) -> f64 {
        100.0 * self.usage.disk_busy.as_secs_f64() / self.outcome.took.as_secs_f64().max(1e-9)
    }

    fn json(&self) -> String {
        let outcome = &self.outcome;
        format!(
            "{{\"operations\":{},\"per_second\":{:.1},\"bytes_per_second\":{:.0},\"p50_ms\":{:.3},\"p99_ms\":{:.3},\
             \"p999_ms\":{:.3},\"cpu_us\":{:.1},\"disk_busy\":{:.3},\"disk_flushes\":{},\"log_writes\":{},\"log_flushes\":{}}}",
            outcome.operations,
            outcome.rate(),
            outcome.throughput(),
            millis(outcome.latency(500)),
            millis(outcome.latency(990)),
            millis(outcome.latency(999)),
            self.cpu(),
            self.disk_percent() / 100.0,
            self.usage.disk_flushes,
            self.usage.log_writes,
            self.usage.log_flushes,
        )
    }
}

impl Row {
    fn published(&self) -> Option<&'static Published> {
        PUBLISHED.iter().find(|known| known.set_up == self.set_up && known.sync == self.sync)
    }

    pub fn line(&self) -> String {
        let known = self.published();
        let of = |get: fn(&Published) -> &'static str| known.map_or("", get);
        let (single, files, copy) = (&self.single.outcome, &self.files.outcome, &self.copy.outcome);
        let mut line = format!("{:<17} {:<9}", self.set_up, self.sync);
        let _ = write!(
            line,
            " {:>8.0} {:>7.2} {:>7.2} {:>6}  ",
            single.rate(),
            millis(single.latency(500)),
            millis(single.latency(990)),
            of(|known| known.single),
        );
        let _ = write!(
            line,
            " {:>8.0} {:>7.0} {:>7.1} {:>6.0} {:>5.0} {:>6}  ",
            files.rate(),
            files.throughput() / 1e3,
            millis(files.latency(990)),
            self.files.cpu(),
            self.files.disk_percent(),
            of(|known| known.files),
        );
        let _ = writeln!(line, " {:>9.1} {:>6}", copy.throughput() / 1e6, of(|known| known.copy));
        line
    }

    pub fn json(&self) -> String {
        let mut line = format!("{{\"set_up\":\"{}\",\"sync\":\"{}\"", self.set_up, self.sync);
        let _ = write!(line, ",\"single_writer_4k\":{}", self.single.json());
        let _ = write!(line, ",\"small_files\":{}", self.files.json());
        let _ = write!(line, ",\"copy\":{}", self.copy.json());
        if let Some(known) = self.published() {
            let names = [
                ("single_writer_4k", known.single),
                ("small_files", known.files),
                ("copy_mb_per_second", known.copy),
            ];
            let known: Vec<String> = names
                .iter()
                .filter(|(_, value)| !value.is_empty())
                .map(|(name, value)| format!("\"{name}\":{value}"))
                .collect();
            let _ = write!(line, ",\"published\":{{{}}}", known.join(","));
        }
        line.push_str("}\n");
        line
    }
}

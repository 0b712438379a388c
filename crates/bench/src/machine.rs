//! What the figures belong to.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::options::Options;
use crate::process::ended;

/// Processors, memory, kernel, disk, peers, day and how it was measured, in one line.
pub fn describe(dir: &Path, options: &Options) -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let value = |text: &str, key: &str| -> String {
        let line = text.lines().find(|line| line.starts_with(key)).and_then(|line| line.split_once(':'));
        line.map_or(String::new(), |(_, value)| value.trim().to_owned())
    };
    let memory =
        value(&read("/proc/meminfo"), "MemTotal").split(' ').next().and_then(|kib| kib.parse::<u64>().ok());
    let said = |program: &str, args: &[&str]| ended(Command::new(program).args(args)).unwrap_or_default();
    let folder = dir.display().to_string();
    let disk = said("df", &["--output=source,fstype", &folder]);
    let disk: Vec<&str> = disk.lines().nth(1).unwrap_or_default().split_whitespace().collect();
    let ganesha = said("dpkg-query", &["-W", "-f=${Version}", "nfs-ganesha"]);
    format!(
        "{} × {}, {} GiB, Linux {}, disk {}{}, {}; load {} at the beginning; median of {} rounds of {} s",
        std::thread::available_parallelism().map_or(0, std::num::NonZero::get),
        value(&read("/proc/cpuinfo"), "model name"),
        memory.unwrap_or_default() >> 20,
        read("/proc/sys/kernel/osrelease").trim(),
        disk.join(", "),
        if ganesha.is_empty() { String::new() } else { format!(", nfs-ganesha {ganesha}") },
        said("date", &["-u", "+%F %R UTC"]).trim(),
        read("/proc/loadavg").split(' ').next().unwrap_or_default(),
        options.rounds,
        options.span.as_secs_f64(),
    )
}

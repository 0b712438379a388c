//! Processor time so far, from proc(5), in hundredths of a second as Linux counts it.

use std::fs;
use std::time::Duration;

const TICK_MILLIS: u64 = 10;

/// Of a process with all its threads, user and system; "self" is this one. Zero if there is no such
/// process.
pub fn process_time(process: &str) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The second field is the program's name in brackets, which may hold anything.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: u64 = fields.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * TICK_MILLIS)
}

/// Of the whole machine: everything but idling and waiting for disks, the kernel's own threads
/// included.
pub fn machine_time() -> Duration {
    busy(&fs::read_to_string("/proc/stat").unwrap_or_default())
}

/// cpu user nice system idle iowait irq softirq steal …; what a hypervisor stole was nobody's work
/// here.
pub(crate) fn busy(stat: &str) -> Duration {
    let ticks = stat.lines().next().unwrap_or_default().split_whitespace().skip(1).take(7).enumerate();
    let ticks: u64 =
        ticks.filter(|(i, _)| !matches!(i, 3 | 4)).filter_map(|(_, n)| n.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * TICK_MILLIS)
}

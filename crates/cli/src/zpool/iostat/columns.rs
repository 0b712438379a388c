//! One line a vdev: capacity, operations, bandwidth; with `-l` mean latencies, with `-q` queues.
//!
//! Facts: OpenZFS's cmd/zpool/zpool_main.c (`iostat_top_labels`, `print_iostat_latency`,
//! `print_iostat_queues`).

use super::sample::Change;
use super::{Format, Show};
use crate::human::{nicenum, nicetime};
use api_types::VdevStatus;

/// Columns that are asked for together.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Group {
    Default,
    Latency,
    Queues,
}

/// A title and the number of columns it stands over.
pub type Label = (&'static str, usize);

/// Tallies of waiting, of which `-w` shows all and `-l` the means.
pub const LATENCIES: [&str; 11] = [
    "vdev_tot_r_lat_histo",
    "vdev_tot_w_lat_histo",
    "vdev_disk_r_lat_histo",
    "vdev_disk_w_lat_histo",
    "vdev_sync_r_lat_histo",
    "vdev_sync_w_lat_histo",
    "vdev_async_r_lat_histo",
    "vdev_async_w_lat_histo",
    "vdev_scrub_histo",
    "vdev_trim_histo",
    "vdev_rebuild_histo",
];

/// What waits and what is on the disk is `…_pend_queue` and `…_active_queue`.
const QUEUES: [&str; 7] = [
    "vdev_sync_r",
    "vdev_sync_w",
    "vdev_async_r",
    "vdev_async_w",
    "vdev_async_scrub",
    "vdev_async_trim",
    "vdev_rebuild",
];

impl Group {
    /// Exact numbers need room: for a petabyte, ten seconds, a million.
    fn width(self, literal: bool) -> usize {
        match self {
            _ if !literal => 5,
            Group::Default => 15,
            Group::Latency => 10,
            Group::Queues => 6,
        }
    }

    fn titles(self) -> &'static [Label] {
        match self {
            Group::Default => &[("capacity", 2), ("operations", 2), ("bandwidth", 2)],
            Group::Latency => &[
                ("total_wait", 2),
                ("disk_wait", 2),
                ("syncq_wait", 2),
                ("asyncq_wait", 2),
                ("scrub", 1),
                ("trim", 1),
                ("rebuild", 1),
            ],
            Group::Queues => &[
                ("syncq_read", 2),
                ("syncq_write", 2),
                ("asyncq_read", 2),
                ("asyncq_write", 2),
                ("scrubq_read", 2),
                ("trimq_write", 2),
                ("rebuildq_write", 2),
            ],
        }
    }

    fn columns(self) -> &'static [&'static str] {
        match self {
            Group::Default => &["alloc", "free", "read", "write", "read", "write"],
            Group::Latency => {
                &["read", "write", "read", "write", "read", "write", "read", "write", "wait", "wait", "wait"]
            }
            Group::Queues => &[
                "pend", "activ", "pend", "activ", "pend", "activ", "pend", "activ", "pend", "activ", "pend",
                "activ", "pend", "activ",
            ],
        }
    }

    fn cells(self, format: &Format, vdev: &VdevStatus, change: &Change<'_>) -> Vec<String> {
        match self {
            Group::Default => usual(format, vdev, change),
            Group::Latency => LATENCIES.iter().map(|name| mean(format, &change.tally(vdev, name))).collect(),
            Group::Queues => {
                let both = |queue: &&str| ["pend", "active"].map(|what| format!("{queue}_{what}_queue"));
                let depth = |name: String| change.now_of(vdev, &name).first().copied().unwrap_or(0);
                QUEUES.iter().flat_map(both).map(|name| number(format, depth(name))).collect()
            }
        }
    }
}

fn number(format: &Format, value: u64) -> String {
    if format.literal { value.to_string() } else { nicenum(value) }
}

/// Capacity, then operations and bytes a second.
fn usual(format: &Format, vdev: &VdevStatus, change: &Change<'_>) -> Vec<String> {
    let none = if format.literal { "0" } else { "-" }.to_owned();
    let (alloc, free) = match vdev.size > 0 {
        true => (number(format, vdev.allocated), number(format, vdev.size.saturating_sub(vdev.allocated))),
        false => (none.clone(), none),
    };
    let io = change.counters(vdev);
    let rate = |count: u64| number(format, (count as f64 / change.seconds()) as u64);
    vec![alloc, free, rate(io.read_ops), rate(io.write_ops), rate(io.read_bytes), rate(io.write_bytes)]
}

/// Of a histogram of nanoseconds, by the middle of each bucket.
fn mean(format: &Format, counts: &[u64]) -> String {
    let middle = |bucket: usize| (1u128 << bucket) + (1u128 << bucket) / 2;
    let sum: u128 =
        counts.iter().enumerate().map(|(bucket, count)| u128::from(*count) * middle(bucket)).sum();
    let count: u64 = counts.iter().sum();
    match sum.checked_div(u128::from(count)) {
        None | Some(0) => "-".to_owned(),
        Some(mean) if format.literal => mean.to_string(),
        Some(mean) => nicetime(u64::try_from(mean).unwrap_or(u64::MAX)),
    }
}

/// A title over its columns, as `print_iostat_labels` puts it.
pub fn label((title, columns): Label, width: usize) -> String {
    let all = width * columns + 2 * (columns - 1);
    let start = (all / columns).saturating_sub(title.len() / columns);
    let end = all.saturating_sub(start + title.len());
    format!("  {:start$}{title}{:end$}", "", "")
}

/// Titles, names of columns, a line.
pub fn heading(format: &Format) -> String {
    let width = |group: Group| group.width(format.literal);
    let mut titles = format!("{:width$}", "", width = format.name_width);
    let first = if format.vdevs.is_empty() { "pool" } else { "vdev" };
    let mut names = format!("{first:<width$}", width = format.name_width);
    for &group in format.groups() {
        titles.extend(group.titles().iter().map(|title| label(*title, width(group))));
        names.extend(group.columns().iter().map(|name| label((name, 1), width(group))));
    }
    names.push_str(&format.scripts.heading(false));
    format!("{titles}\n{names}\n{}", separator(format))
}

pub fn separator(format: &Format) -> String {
    let mut line = "-".repeat(format.name_width);
    for &group in format.groups() {
        let column = format!("  {}", "-".repeat(group.width(format.literal)));
        line.push_str(&column.repeat(group.columns().len()));
    }
    line + &format.scripts.heading(true) + "\n"
}

/// A name with nothing behind it but dashes.
pub fn dashes(format: &Format, title: &str) -> String {
    let mut line = format!("{title:<width$}", width = format.name_width);
    for &group in format.groups() {
        let column = format!("  {:>width$}", "-", width = group.width(format.literal));
        line.push_str(&column.repeat(group.columns().len()));
    }
    line
}

pub fn line(format: &Format, vdev: &VdevStatus, name: &str, depth: usize, change: &Change<'_>) -> String {
    let pad = format.name_width.saturating_sub(depth);
    let mut line = if format.scripted { name.to_owned() } else { format!("{:depth$}{name:<pad$}", "") };
    let Show::Columns(groups) = &format.show else { return line };
    for group in groups {
        let width = group.width(format.literal);
        for cell in group.cells(format, vdev, change) {
            line.push_str(&if format.scripted { format!("\t{cell}") } else { format!("  {cell:>width$}") });
        }
    }
    line + &format.scripts.cells(vdev) + "\n"
}

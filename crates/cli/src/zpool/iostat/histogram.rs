//! One table a vdev: `-w` latencies, `-r` sizes of requests.
//!
//! Facts: OpenZFS's cmd/zpool/zpool_main.c (`print_iostat_histos`, `vsx_type_to_nvlist`).

use super::Format;
use super::columns::{LATENCIES, Label, label};
use super::sample::Change;
use crate::human::{nicenum, nicetime};
use api_types::VdevStatus;

pub struct Histogram {
    title: &'static str,
    labels: &'static [Label],
    columns: &'static [&'static str],
    /// By column.
    tallies: &'static [&'static str],
    /// The first bucket shown, and how many there are.
    first: usize,
    buckets: usize,
    /// Buckets are named by their ends, as times; else by their beginnings, as sizes.
    is_time: bool,
}

pub static LATENCY: Histogram = Histogram {
    title: "latency",
    labels: &[("total_wait", 2), ("disk_wait", 2), ("syncq_wait", 2), ("asyncq_wait", 2)],
    columns: &[
        "read", "write", "read", "write", "read", "write", "read", "write", "scrub", "trim", "rebuild",
    ],
    tallies: &LATENCIES,
    first: 0,
    buckets: 37,
    is_time: true,
};

pub static SIZES: Histogram = Histogram {
    title: "req_size",
    labels: &[
        ("sync_read", 2),
        ("sync_write", 2),
        ("async_read", 2),
        ("async_write", 2),
        ("scrub", 2),
        ("trim", 2),
        ("rebuild", 2),
    ],
    columns: &[
        "ind", "agg", "ind", "agg", "ind", "agg", "ind", "agg", "ind", "agg", "ind", "agg", "ind", "agg",
    ],
    tallies: &[
        "vdev_sync_ind_r_histo",
        "vdev_sync_agg_r_histo",
        "vdev_sync_ind_w_histo",
        "vdev_sync_agg_w_histo",
        "vdev_async_ind_r_histo",
        "vdev_async_agg_r_histo",
        "vdev_async_ind_w_histo",
        "vdev_async_agg_w_histo",
        "vdev_ind_scrub_histo",
        "vdev_agg_scrub_histo",
        "vdev_ind_trim_histo",
        "vdev_agg_trim_histo",
        "vdev_ind_rebuild_histo",
        "vdev_agg_rebuild_histo",
    ],
    // No request is smaller than a sector.
    first: 9,
    buckets: 25,
    is_time: false,
};

impl Histogram {
    pub fn table(&self, format: &Format, vdev: &VdevStatus, name: &str, change: &Change<'_>) -> String {
        let all: Vec<Vec<u64>> = self.tallies.iter().map(|tally| change.tally(vdev, tally)).collect();
        let most = all.iter().flatten().copied().max().unwrap_or(0);
        let width = if format.literal { most.to_string().len().max(5) } else { 5 };
        let name_width = format.name_width.max(self.title.len());
        let mut text = String::from("\n");
        match format.scripted {
            true => text.push_str(&format!("{name}\n")),
            false => text.push_str(&self.heading(name, name_width.max(name.chars().count()), width)),
        }
        for bucket in self.first..self.buckets {
            let end = if self.is_time { (2u64 << bucket) - 1 } else { 1 << bucket };
            let shown = if self.is_time { nicetime(end) } else { nicenum(end) };
            text.push_str(&if format.scripted { end.to_string() } else { format!("{shown:<name_width$}") });
            for counts in &all {
                let count = counts.get(bucket).copied().unwrap_or(0) as f64 / change.seconds();
                let cell = if format.literal { (count as u64).to_string() } else { nicenum(count as u64) };
                text.push_str(&if format.scripted {
                    format!("\t{cell}")
                } else {
                    format!("  {cell:>width$}")
                });
            }
            text.push('\n');
        }
        if !format.scripted {
            text.push_str(&"-".repeat(name_width + (width + 2) * self.columns.len()));
            text.push('\n');
        }
        text
    }

    fn heading(&self, name: &str, name_width: usize, width: usize) -> String {
        let titles: String = self.labels.iter().map(|title| label(*title, width)).collect();
        let columns: String = self.columns.iter().map(|name| label((name, 1), width)).collect();
        let lines = format!("  {}", "-".repeat(width)).repeat(self.columns.len());
        let line = "-".repeat(name_width);
        format!("{name:<name_width$}{titles}\n{:<name_width$}{columns}\n{line}{lines}\n", self.title)
    }
}

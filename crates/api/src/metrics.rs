//! `GET /metrics`: what Prometheus scrapes.
//!
//! Each metric is a row of [`families`], with its name, which is a promise (docs/metrics.md), and
//! who finds its values in what was gathered ([`seen`]). How they are written is known by [`text`]
//! alone.
//!
//! Invariants:
//! - A scrape waits for no pool: what a pool that is suspended cannot tell is left out.
//! - The number of series is bounded: clients, initiators, file systems and volumes that are not
//!   among the [`BUSIEST`] are summed, and datasets beyond [`DATASETS`] are counted.

mod families;
mod seen;
mod text;

use crate::app::App;
use seen::Seen;
use text::Text;

/// Of what is written.
pub const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Clients, initiators, file systems and volumes that have series of their own.
const BUSIEST: usize = 256;
/// Datasets of which it is told what space they take.
const DATASETS: usize = 1000;

/// All metrics as they are now.
pub fn exposition(app: &App) -> String {
    write(&Seen::gather(app))
}

fn write(seen: &Seen) -> String {
    let mut text = Text::default();
    families::FAMILIES.iter().for_each(|family| text.put(family, seen));
    text.into_string()
}

#[cfg(test)]
mod tests;

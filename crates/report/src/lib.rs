//! The weekly report: for people who look at their storage once a week, by mail or chat.
//!
//! [`Facts`] are what was seen of a week. They become a [`document`]: sentences, tables and
//! pictures, which [`plain`] and [`page`] write as text and as HTML. [`forecast`] says when a pool
//! will be full, or why that cannot be said; [`picture`] draws lines as PNG. [`queue`] says when a
//! report is due, and whom it is still to be told.
//!
//! Invariants:
//! - The same facts make the same report. Nothing here reads a clock or a file, or draws
//!   randomness.
//! - What others have named is text: it is escaped, and cannot turn the direction of what stands
//!   beside it.
//! - A report is bounded: tables have [`document::ROWS`] rows, cells so many characters, and there
//!   are pictures of [`document::PICTURED`] pools at most. What is left out is counted.
//! - What is not known is said to be unknown. It is never a zero.

pub mod document;
mod facts;
pub mod forecast;
pub mod page;
pub mod picture;
pub mod plain;
pub mod queue;
mod words;

use alerts::message::{Inline, Message, Pages};
use api_types::AlertReport;

pub use facts::{Alerts, Busiest, Busy, Facts, PoolFacts, Series, ServiceFacts, Traffic};

use document::Document;

/// As the management API tells it: the page has its pictures within.
pub fn told(facts: &Facts) -> AlertReport {
    let document = Document::of(facts);
    AlertReport {
        from: facts.from,
        to: facts.to,
        title: document.title.clone(),
        summary: document.summary.clone(),
        text: plain::write(&document),
        html: page::write(&document, page::Pictures::Within),
    }
}

/// As routes are sent it. `at` is the moment for which it was due: one that is sent again has the
/// same id.
pub fn message(facts: &Facts, at: i64) -> Message {
    let document = Document::of(facts);
    let pages = Pages {
        text: plain::write(&document),
        html: page::write(&document, page::Pictures::Beside),
        pictures: document
            .pictures()
            .map(|picture| Inline { name: picture.name.clone(), png: picture.png.clone() })
            .collect(),
    };
    let open = facts.alerts.iter().flat_map(|alerts| &alerts.open);
    Message {
        id: format!("report-{at}"),
        host: facts.host.clone(),
        severity: open.map(|alert| alert.severity).max().unwrap_or_default(),
        about: None,
        at: facts.to,
        title: document.title.clone(),
        text: document.summary.iter().map(|line| format!("{line}\n")).collect(),
        pages: Some(pages),
    }
}

#[cfg(test)]
mod tests;

//! Other appliances: whether they answer as peers, and how far their clocks are from the one here.

use api_types::{AlertKind, PeerChecked, Severity};

use crate::book::Finding;

/// Seconds between two clocks that are an alert, and below which it is over.
const APART: u64 = 120;
const TOGETHER: u64 = 60;

/// What a peer has answered.
pub fn peer(name: &str, checked: &PeerChecked) -> Vec<Finding> {
    let peer = name.to_owned();
    if let Some(problem) = &checked.problem {
        let what = AlertKind::PeerFails { peer, why: problem.detail.clone() };
        return vec![Finding::new(Severity::Warning, what)];
    }
    let Some(ahead) = checked.ahead else { return Vec::new() };
    let what = AlertKind::PeerClock { peer, ahead };
    match ahead.unsigned_abs() {
        apart if apart > APART => vec![Finding::new(Severity::Warning, what)],
        apart if apart > TOGETHER => vec![Finding::lingering(Severity::Warning, what)],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests;

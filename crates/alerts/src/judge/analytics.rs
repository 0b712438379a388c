//! Panes of worksheets: whether what their drill-downs found is above what their alerts allow.

use api_types::{AlertKind, PaneAlert, Severity};

use crate::book::Finding;

/// Of what an alert allows, in hundredths: below this it is over.
const OVER: u64 = 90;

/// Of the pane with this number, the first of which is 1.
pub fn pane(worksheet: &str, pane: u64, alert: &PaneAlert, value: u64) -> Option<Finding> {
    let PaneAlert { measure, above, seconds, ref values } = *alert;
    let (worksheet, values) = (worksheet.to_owned(), values.clone());
    let what = || AlertKind::PaneAbove { worksheet, pane, measure, value, above, seconds, values };
    match () {
        () if value > above => Some(Finding::new(Severity::Warning, what())),
        () if value > above / 100 * OVER + above % 100 * OVER / 100 => {
            Some(Finding::lingering(Severity::Warning, what()))
        }
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use api_types::PaneMeasure;

    use super::*;

    #[test]
    fn what_raises_is_stricter_than_what_lets_go() {
        let alert = |above| PaneAlert { measure: PaneMeasure::Bytes, above, seconds: 10, values: None };
        let firm = |above, value| pane("w", 1, &alert(above), value).map(|finding| finding.is_firm);
        assert_eq!(
            [1_001, 1_000, 901, 900, 0].map(|value| firm(1_000, value)),
            [Some(true), Some(false), Some(false), None, None]
        );
        assert_eq!([u64::MAX, 0].map(|value| firm(u64::MAX, value)), [Some(false), None]);
        assert_eq!([1, 0].map(|value| firm(0, value)), [Some(true), None], "anything at all");
    }
}

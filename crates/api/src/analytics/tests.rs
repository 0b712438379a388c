use api_types::DrillDownCost;

use super::*;

/// Of a drill-down that began at 1,000, with a row each of its two seconds.
fn found() -> DrillDownFound {
    let sum = |operations| RequestSum { operations, bytes: operations * 4_096, time: 0 };
    let row = |second, count, slow| DrillDownRow {
        second,
        seconds: 1,
        total: sum(count),
        cells: vec![(7, sum(count / 2))],
        latencies: vec![(0, u32::try_from(count).expect("few") - slow), (10, slow)],
    };
    let (values, begins) = (vec!["READ".into()], vec![None]);
    let key = DrillDownKey { number: 7, values, begins, filter: None, sum: sum(0), missing: 0 };
    DrillDownFound {
        drill_down: Told {
            id: 1,
            by: vec![Dimension::Operation],
            filter: RequestFilter::default(),
            owner: String::new(),
            running: true,
            began: 1_000,
            left: 100,
            watched: true,
            cost: DrillDownCost::default(),
        },
        keys: vec![key],
        total: sum(0),
        others: sum(0),
        datasets: Vec::new(),
        rows: vec![row(1_000, 10, 10), row(1_015, 500, 5), row(1_018, 1_000, 10)],
        buckets: (0..BUCKETS).map(begin_of).collect(),
    }
}

#[test]
fn what_an_alert_looks_at_is_of_the_last_seconds_alone() {
    let at = |measure, seconds, values: Option<&str>, now| {
        let values = values.map(|value| vec![value.to_owned()]);
        measured(&found(), &PaneAlert { measure, above: 0, seconds, values }, now)
    };
    assert_eq!(at(PaneMeasure::Operations, 10, None, 1_020), Some(150));
    assert_eq!(at(PaneMeasure::Bytes, 10, None, 1_020), Some(150 * 4_096));
    assert_eq!(at(PaneMeasure::Operations, 10, Some("READ"), 1_020), Some(75));
    assert_eq!(at(PaneMeasure::Operations, 10, Some("WRITE"), 1_020), Some(0), "it has no place");
    assert_eq!(at(PaneMeasure::Operations, 10, None, 1_009), None, "it does not run for so long");
    // One in a hundred was slow: the 99th percentile is quick. With the first second it is slow.
    assert_eq!(at(PaneMeasure::P99, 10, None, 1_020), Some(1));
    assert_eq!(at(PaneMeasure::P99, 20, None, 1_020), Some(32));
    assert_eq!(at(PaneMeasure::P99, 10, None, 1_100), Some(0), "nothing came");
}

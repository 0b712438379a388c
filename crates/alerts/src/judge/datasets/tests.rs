use super::*;

const NOW: i64 = 1_795_855_205;
const HOUR: i64 = 3_600;

fn dataset(freshness: Option<&str>, snapshots: &[i64]) -> Vec<PoolDatasets> {
    let mut dataset = Dataset {
        name: "tank/a".into(),
        freshness: freshness.map(str::to_owned),
        created: NOW - 100 * 24 * HOUR,
        ..Dataset::default()
    };
    snapshots.iter().for_each(|taken| dataset.saw(*taken, NOW));
    vec![PoolDatasets { pool: "tank".into(), room: 1_000, datasets: vec![dataset] }]
}

fn judged(pools: &[PoolDatasets]) -> Vec<Finding> {
    let (findings, nonsense) = findings(pools, &AlertSettings::default(), NOW);
    assert_eq!(nonsense, None);
    findings
}

#[test]
fn a_span_is_read_and_nonsense_is_not() {
    let read = ["90s", "30m", "12h", "1d", "2w"].map(span);
    assert_eq!(read, [90, 1_800, 43_200, 86_400, 1_209_600].map(|it| Ok(Some(it))));
    assert_eq!(["off", "none", "-", ""].map(span), [Ok(None); 4]);
    for bad in [
        "0d",
        "d",
        "1",
        "1y",
        "-1d",
        "1.5d",
        "+1d",
        "1d ",
        "99999999999999999999s",
        "9999999999999999w",
        "\u{e4}",
    ] {
        assert_eq!(span(bad), Err(NoSpan), "{bad}");
    }
}

#[test]
fn a_dataset_is_stale_when_its_newest_snapshot_is_too_old() {
    assert!(judged(&dataset(Some("1d"), &[NOW - 23 * HOUR, NOW - 90 * HOUR])).is_empty());
    assert!(judged(&dataset(None, &[])).is_empty() && judged(&dataset(Some("off"), &[])).is_empty());
    let stale = judged(&dataset(Some("1d"), &[NOW - 25 * HOUR]));
    assert_eq!(stale[0].severity, Severity::Warning);
    assert!(
        matches!(stale[0].what, AlertKind::Stale { newest: Some(at), limit: 86_400, .. } if at == NOW - 25 * HOUR)
    );
    assert_eq!(judged(&dataset(Some("1d"), &[NOW - 50 * HOUR]))[0].severity, Severity::Error);
    assert_eq!(judged(&dataset(Some("1d"), &[])).len(), 1);
    let mut young = dataset(Some("1d"), &[]);
    young[0].datasets[0].created = NOW - HOUR;
    assert!(judged(&young).is_empty(), "it had no time for a snapshot yet");
}

#[test]
fn stamps_that_are_wrong_make_nothing_fresh_for_years() {
    // Of 2099, and of 1970.
    assert_eq!(judged(&dataset(Some("1d"), &[4_080_000_000, 0])).len(), 1);
    // The clock went back an hour: snapshots of just now are later than now.
    assert!(judged(&dataset(Some("1h"), &[NOW + HOUR])).is_empty());
    let mut future = dataset(Some("1d"), &[]);
    future[0].datasets[0].created = 4_080_000_000;
    assert!(judged(&future).is_empty());
}

#[test]
fn what_a_service_allows_counts_for_what_has_changed() {
    let mut pools = dataset(None, &[NOW - 3 * HOUR]);
    pools[0].datasets[0].stale_after = Some((7_200, "home".into()));
    let stale =
        |pools: &[PoolDatasets]| judged(pools).into_iter().map(|found| found.what).collect::<Vec<_>>();
    assert!(
        matches!(&stale(&pools)[..], [AlertKind::Stale { limit: 7_200, service: Some(id), .. }] if id == "home")
    );
    assert_eq!(cause(&dataset(None, &[NOW]), &stale(&pools)[0]), ClearCause::DatasetGone);
    // The stricter of two is told, once.
    pools[0].datasets[0].freshness = Some("1h".into());
    assert!(matches!(stale(&pools)[..], [AlertKind::Stale { limit: 3_600, service: None, .. }]));
    pools[0].datasets[0].freshness = Some("soon".into());
    assert_eq!(findings(&pools, &AlertSettings::default(), NOW).0.len(), 1, "nonsense hides no service");
    pools[0].datasets[0].freshness = None;
    pools[0].datasets[0].unchanged = true;
    assert!(stale(&pools).is_empty());
    pools[0].datasets[0].newest = None;
    assert_eq!(stale(&pools).len(), 1, "it has no snapshot at all");
}

#[test]
fn nonsense_in_a_property_is_said_and_stops_nothing() {
    let mut pools = dataset(Some("soon"), &[]);
    pools[0].datasets.push(Dataset {
        freshness: Some("1h".into()),
        name: "tank/b".into(),
        ..Dataset::default()
    });
    let (findings, nonsense) = findings(&pools, &AlertSettings::default(), NOW);
    assert_eq!(findings.len(), 1);
    assert!(nonsense.is_some_and(|why| why.contains("tank/a")));
}

#[test]
fn snapshots_and_promises_are_counted() {
    let mut pools = dataset(None, &[]);
    pools[0].datasets[0].snapshots = 2_001;
    pools[0].datasets[0].promised = 2_001;
    let found = judged(&pools);
    assert!(
        matches!(found[0].what, AlertKind::OverCommitted { promised: 2_001, room: 1_000, .. }),
        "{found:?}"
    );
    assert!(matches!(found[1].what, AlertKind::TooManySnapshots { snapshots: 2_001, .. }), "{found:?}");
    pools[0].datasets[0].snapshots = 1_900;
    pools[0].datasets[0].promised = 1_950;
    assert!(judged(&pools).iter().all(|finding| !finding.is_firm));
    pools[0].room = 0;
    pools[0].datasets[0].promised = u64::MAX;
    let twin = pools[0].datasets[0].clone();
    pools[0].datasets.push(twin);
    assert!(judged(&pools)[0].is_firm, "no sum overflows");
    pools[0].datasets.iter_mut().for_each(|it| it.promised = 0);
    assert!(!judged(&pools).iter().any(|it| matches!(it.what, AlertKind::OverCommitted { .. })));
}

#[test]
fn why_it_is_over_tells_a_dataset_that_is_gone_from_one_that_is_fresh() {
    let stale = judged(&dataset(Some("1d"), &[]))[0].what.clone();
    assert_eq!(cause(&dataset(Some("1d"), &[NOW]), &stale), ClearCause::WithinLimits);
    assert_eq!(cause(&dataset(None, &[]), &stale), ClearCause::DatasetGone);
    assert_eq!(cause(&[], &stale), ClearCause::DatasetGone);
}

use std::collections::BTreeSet;

use api_types::{Named, NfsCounts, OTHERS};

use super::families::FAMILIES;
use super::text::Kind;
use super::*;

const PAGE: &str = include_str!("../../../../docs/metrics.md");

/// Rows of the page: name, kind and labels.
fn promised() -> BTreeSet<(String, String, String)> {
    let rows = PAGE.lines().filter(|line| line.starts_with("| `cistern_"));
    let cells = rows.map(|row| row.split('|').map(str::trim).map(str::to_owned).collect::<Vec<_>>());
    cells.map(|cells| (cells[1].replace('`', ""), cells[2].clone(), cells[3].replace('`', ""))).collect()
}

#[test]
fn the_names_are_those_that_the_page_promises() {
    let built = FAMILIES
        .iter()
        .map(|family| (family.name.to_owned(), family.kind.name().to_owned(), family.labels.join(", ")));
    let built: BTreeSet<_> = built.collect();
    assert_eq!(built.len(), FAMILIES.len(), "a name twice");
    assert_eq!(built, promised());
}

#[test]
fn names_have_the_form_that_prometheus_wants() {
    for family in FAMILIES {
        let name = family.name;
        assert!(
            name.starts_with("cistern_") && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'),
            "{name}"
        );
        assert_eq!(name.ends_with("_total"), family.kind == Kind::Counter, "{name}");
        assert!(family.help.ends_with('.') && !family.help.contains('\n'), "{name}");
        assert!(!family.labels.contains(&"le"), "{name}");
    }
}

#[test]
fn a_sample_is_written_once_whoever_calls_himself_how() {
    let mut seen = Seen::default();
    let client = |name: &str, reads| Named {
        name: name.to_owned(),
        counts: NfsCounts { calls: [("read".to_owned(), reads)].into(), ..NfsCounts::default() },
    };
    let clients = &mut seen.statistics.program.nfs.clients;
    clients.each = vec![client("192.0.2.1", 5), client("a\"\n\\", 2), client(OTHERS, 3)];
    seen::busiest(clients);
    let text = write(&seen);
    for line in [
        "cistern_nfs_client_requests_total{client=\"192.0.2.1\"} 5",
        "cistern_nfs_client_requests_total{client=\"a\\\"\\n\\\\\"} 2",
        "cistern_nfs_client_requests_total{client=\"(other)\"} 3",
        "cistern_nfs_requests_total{procedure=\"read\"} 10",
        "cistern_nfs_request_duration_seconds_bucket{kind=\"read\",le=\"0.000008192\"} 0",
        "cistern_nfs_request_duration_seconds_bucket{kind=\"read\",le=\"+Inf\"} 0",
        "cistern_build_info{version=\"\"} 1",
        "# TYPE cistern_iscsi_sessions gauge",
    ] {
        assert!(text.lines().any(|one| one == line), "{line} is missing in\n{text}");
    }
    let samples: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.rsplit_once(' '))
        .map(|(name, _)| name)
        .collect();
    let once: BTreeSet<&str> = samples.iter().copied().collect();
    assert_eq!(once.len(), samples.len());
    assert!(!text.contains("cistern_pool_health"), "a metric without samples is left out");
}

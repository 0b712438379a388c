use super::*;
use api_types::{DatasetKind, Source};

fn dataset(name: &str, createtxg: u64, used: &str) -> DatasetInfo {
    let props = match used {
        "" => Vec::new(),
        value => vec![PropValue {
            name: "used".into(),
            value: value.into(),
            kind: PropKind::Size,
            source: Source::None,
            received: None,
        }],
    };
    DatasetInfo { name: name.into(), kind: DatasetKind::Filesystem, guid: 1, createtxg, props }
}

fn names(datasets: &[DatasetInfo]) -> Vec<&str> {
    datasets.iter().map(|dataset| dataset.name.as_str()).collect()
}

#[test]
fn snapshots_follow_their_dataset_in_the_order_of_their_making() {
    let mut all =
        [dataset("t/b", 1, ""), dataset("t/a@x", 9, ""), dataset("t/a@y", 5, ""), dataset("t/a", 1, "")];
    all.sort_by(in_name_order);
    assert_eq!(names(&all), ["t/a", "t/a@y", "t/a@x", "t/b"]);
}

#[test]
fn sorting_is_by_number_and_what_has_none_comes_last() {
    let mut all =
        [dataset("a", 1, "900"), dataset("b", 1, ""), dataset("c", 1, "1000"), dataset("d", 1, "900")];
    sort(&mut all, &[("used".into(), false)]);
    assert_eq!(names(&all), ["a", "d", "c", "b"]);
    sort(&mut all, &[("used".into(), true)]);
    assert_eq!(names(&all), ["c", "a", "d", "b"]);
    sort(&mut all, &[("name".into(), true)]);
    assert_eq!(names(&all), ["d", "c", "b", "a"]);
}
